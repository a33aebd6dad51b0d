//! The state directory: who owns it, and what becomes of a damaged file in it.
//!
//! The lock is on the directory itself and not on a file in it, so that deleting files cannot let a second daemon in. It
//! ends with the process, however that ends. `defib.pid` only says whose lock it is. Nothing here is ever deleted but the
//! shared-memory index of a database that is moved aside, which SQLite makes anew.

use super::problem::StoreProblem;
use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

const DATABASE: &str = "state.db";
const OWNER: &str = "defib.pid";

/// Damaged files kept. Each start on a failing disk may add one; after so many the disk is in doubt and not the file.
const DAMAGED_KEPT: u32 = 16;

/// A state directory that is ours until this is dropped.
pub(super) struct Place {
    dir: PathBuf,
    /// Holds the lock.
    handle: File,
}

/// Which file a name stands for, so that a replaced one is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// The database's path in a state directory.
pub(super) fn database(dir: &Path) -> PathBuf {
    dir.join(DATABASE)
}

impl Place {
    /// Makes the directory where it is missing and takes it.
    pub(super) fn take(dir: &Path) -> Result<Self, StoreProblem> {
        let missing = !dir.exists();
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(dir)
            .map_err(|source| StoreProblem::from_io("make the state directory", dir, source))?;
        let handle = File::open(dir)
            .map_err(|source| StoreProblem::from_io("open the state directory", dir, source))?;
        match handle.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreProblem::InUse { dir: dir.to_owned(), pid: owner(dir) });
            }
            Err(TryLockError::Error(source)) => {
                return Err(StoreProblem::from_io("lock the state directory", dir, source));
            }
        }
        let place = Self { dir: dir.to_owned(), handle };
        place.sign()?;
        if missing && let Some(parent) = dir.parent() {
            sync_directory(parent)?;
        }
        Ok(place)
    }

    pub(super) fn database(&self) -> PathBuf {
        database(&self.dir)
    }

    /// Whether there is a log whose database is gone. SQLite would delete it without a word.
    pub(super) fn has_orphaned_log(&self) -> bool {
        let length = |path: PathBuf| fs::metadata(path).map_or(0, |found| found.len());
        length(self.database()) == 0 && length(beside(&self.database(), "-wal")) > 0
    }

    /// Makes an empty database file that only its owner can read, where there is none. SQLite gives its other files the
    /// same mode.
    pub(super) fn make_database_file(&self) -> Result<(), StoreProblem> {
        let path = self.database();
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        match made {
            Ok(_) => self.sync(),
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(source) => Err(StoreProblem::from_io("make", path, source)),
        }
    }

    /// Moves the database and its log to a name of their own, and returns that.
    pub(super) fn keep_aside(&self) -> Result<PathBuf, StoreProblem> {
        let from = self.database();
        let free = (1..=DAMAGED_KEPT)
            .map(|n| self.dir.join(format!("{DATABASE}.damaged-{n}")))
            .find(|path| !path.exists() && !beside(path, "-wal").exists());
        let Some(to) = free else {
            return Err(StoreProblem::TooManyDamaged { dir: self.dir.clone(), kept: DAMAGED_KEPT });
        };
        // The database first: a crash in between leaves a log without a database, which counts as damage at the next
        // start. The other way round, it would leave a database without its newest commits, which looks sound.
        rename_if_there(&from, &to)?;
        rename_if_there(&beside(&from, "-wal"), &beside(&to, "-wal"))?;
        match fs::remove_file(beside(&from, "-shm")) {
            Ok(()) => {}
            Err(source) if source.kind() == io::ErrorKind::NotFound => {}
            Err(source) => {
                return Err(StoreProblem::from_io("remove", beside(&from, "-shm"), source));
            }
        }
        self.sync()?;
        Ok(to)
    }

    fn sync(&self) -> Result<(), StoreProblem> {
        self.handle
            .sync_all()
            .map_err(|source| StoreProblem::from_io("write out", &self.dir, source))
    }

    fn sign(&self) -> Result<(), StoreProblem> {
        let path = self.dir.join(OWNER);
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| writeln!(file, "{}", std::process::id()))
            .map_err(|source| StoreProblem::from_io("write", path, source))
    }
}

impl FileIdentity {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|found| Self { device: found.dev(), inode: found.ino() })
    }
}

/// The name of a file that SQLite keeps beside `database`.
pub(super) fn beside(database: &Path, suffix: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn owner(dir: &Path) -> Option<u32> {
    fs::read_to_string(dir.join(OWNER)).ok()?.trim().parse().ok()
}

fn rename_if_there(from: &Path, to: &Path) -> Result<(), StoreProblem> {
    match fs::rename(from, to) {
        Ok(()) => Ok(()),
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(StoreProblem::from_io("keep aside the damaged", from, source)),
    }
}

fn sync_directory(dir: &Path) -> Result<(), StoreProblem> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    File::open(dir)
        .and_then(|handle| handle.sync_all())
        .map_err(|source| StoreProblem::from_io("write out", dir, source))
}
