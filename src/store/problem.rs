//! Why the state directory cannot be used, and what to do about it.
//!
//! These are problems of opening: once a store is open, what goes wrong with a batch comes back as
//! [`Refused`](crate::domain::observation::Observation::Refused). Whether the daemon runs on without a store is for it to
//! decide; [`StoreProblem::another_daemon_owns_it`] is the one case in which it must not.

use rusqlite::ErrorCode;
use std::{fmt, io, path::PathBuf, time::Duration};

/// Why a store could not be opened. Nothing was overwritten.
#[derive(Debug)]
pub enum StoreProblem {
    /// Another process has this state directory open.
    InUse {
        /// Which directory.
        dir: PathBuf,
        /// Whose it is, where it could be read.
        pid: Option<u32>,
    },
    /// Written by a later version of defib.
    Newer {
        /// Which file.
        file: PathBuf,
        /// The version of its schema.
        found: u32,
        /// The latest that this defib knows.
        known: u32,
    },
    /// A sound database, but not one of defib's.
    Foreign {
        /// Which file.
        file: PathBuf,
    },
    /// So many damaged files are kept already that the disk itself is in doubt.
    TooManyDamaged {
        /// Which directory.
        dir: PathBuf,
        /// How many are kept.
        kept: u32,
    },
    /// The disk, or the user's quota, is full.
    Full {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
    },
    /// The file system refused.
    Unusable {
        /// What was being done.
        operation: &'static str,
        /// To what.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The database refused.
    Database {
        /// What was being done.
        operation: &'static str,
        /// To which file.
        file: PathBuf,
        /// What it said.
        source: rusqlite::Error,
    },
    /// The disk did not answer in time.
    Hangs {
        /// Which directory.
        dir: PathBuf,
        /// How long it was waited for.
        waited: Duration,
    },
    /// The store's thread could not be started, or ended before it had opened anything.
    Thread {
        /// What the system said.
        source: io::Error,
    },
}

impl StoreProblem {
    /// True where running on would put two daemons on the same containers.
    pub fn another_daemon_owns_it(&self) -> bool {
        matches!(self, StoreProblem::InUse { .. })
    }

    /// A refusal of the file system, sorted.
    pub(super) fn from_io(
        operation: &'static str,
        path: impl Into<PathBuf>,
        source: io::Error,
    ) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StoreProblem::Full { operation, path }
            }
            _ => StoreProblem::Unusable { operation, path, source },
        }
    }

    /// A refusal of the database, sorted.
    pub(super) fn from_sqlite(
        operation: &'static str,
        file: impl Into<PathBuf>,
        source: rusqlite::Error,
    ) -> Self {
        let file = file.into();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => StoreProblem::Full { operation, path: file },
            _ => StoreProblem::Database { operation, file, source },
        }
    }
}

impl fmt::Display for StoreProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreProblem::InUse { dir, pid: Some(pid) } => write!(
                f,
                "the state directory `{}` is in use by process {pid}; stop that one first (`systemctl stop defib`), \
                 or give this one a state directory of its own",
                dir.display()
            ),
            StoreProblem::InUse { dir, pid: None } => write!(
                f,
                "the state directory `{}` is in use by another process (`fuser -v {}` names it); stop that one first, \
                 or give this one a state directory of its own",
                dir.display(),
                dir.display()
            ),
            StoreProblem::Newer { file, found, known } => write!(
                f,
                "`{}` was written by a later defib (its schema is version {found}, this one knows {known}) and was left \
                 as it is; install that version again, or move the file away to begin anew",
                file.display()
            ),
            StoreProblem::Foreign { file } => write!(
                f,
                "`{}` is a database, but not one of defib's, and was left as it is; move it away, or name another state \
                 directory",
                file.display()
            ),
            StoreProblem::TooManyDamaged { dir, kept } => write!(
                f,
                "the state in `{}` is damaged, and {kept} damaged files are kept there already; check the disk, then \
                 move `state.db.damaged-*` away",
                dir.display()
            ),
            StoreProblem::Full { operation, path } => write!(
                f,
                "cannot {operation} `{}`: the disk or the quota is full; free some space there",
                path.display()
            ),
            StoreProblem::Unusable { operation, path, source } => {
                write!(f, "cannot {operation} `{}`; {}", path.display(), remedy(source.kind()))
            }
            StoreProblem::Database { operation, file, .. } => write!(
                f,
                "cannot {operation} `{}`; nothing in it was overwritten; check the disk and who may write there",
                file.display()
            ),
            StoreProblem::Hangs { dir, waited } => write!(
                f,
                "the disk under `{}` did not answer within {} s; check it (`dmesg`, the mount), then restart defib",
                dir.display(),
                waited.as_secs()
            ),
            StoreProblem::Thread { .. } => f.write_str(
                "cannot start the store's thread; check the limits on tasks and memory (`TasksMax`, `ulimit -u`)",
            ),
        }
    }
}

impl std::error::Error for StoreProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StoreProblem::Unusable { source, .. } | StoreProblem::Thread { source } => Some(source),
            StoreProblem::Database { source, .. } => Some(source),
            StoreProblem::InUse { .. }
            | StoreProblem::Newer { .. }
            | StoreProblem::Foreign { .. }
            | StoreProblem::TooManyDamaged { .. }
            | StoreProblem::Full { .. }
            | StoreProblem::Hangs { .. } => None,
        }
    }
}

/// What a person can do about it.
fn remedy(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::PermissionDenied => {
            "it must belong to the user that defib runs as (`chown`), and the unit must allow writing there \
             (`StateDirectory=defib`)"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is mounted read-only: look for the cause in `dmesg`, mount it writable, or name a state \
             directory elsewhere"
        }
        io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists => {
            "something that is not a directory stands in its place: move that away, or name another state directory"
        }
        io::ErrorKind::NotFound => "make it (`install -d -m 700`), or name another state directory",
        _ => "check the disk and the mount, or name another state directory",
    }
}
