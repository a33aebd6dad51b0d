//! Segments: files of lines, `crc32 json`, bounded in size and number.
//!
//! Text and not binary, so that one broken line costs one line: the next begins after the next newline, which JSON never
//! holds. `cut -c10- journal-*.log | jq` reads it without defib. A segment ends for good when a write failed: what is
//! torn at its end stays behind, and the next line begins a new one.

use super::entry::{Entry, Header, Origin, VERSION};
use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// How much the journal keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// A segment is closed before it grows beyond this.
    pub segment_bytes: u64,
    /// The oldest segments are removed before all of them grow beyond this.
    pub total_bytes: u64,
}

impl Default for Bounds {
    /// 64 MiB: some days of a host with 200 containers, and nothing that fills a disk.
    fn default() -> Self {
        Self { segment_bytes: 8 << 20, total_bytes: 64 << 20 }
    }
}

/// A line may be so long. A first full list of 1,000 containers with their labels takes about 1 MiB.
pub(super) const LINE_BYTES: usize = 4 << 20;

/// Hex digits and a space.
const CHECKSUM_BYTES: usize = 9;

/// What is written to.
pub(super) struct Segments {
    dir: PathBuf,
    bounds: Bounds,
    origin: Origin,
    /// Closed ones, by number.
    closed: BTreeMap<u64, u64>,
    open: Option<Open>,
    is_listed: bool,
}

struct Open {
    file: File,
    number: u64,
    bytes: u64,
}

impl Segments {
    /// Touches nothing yet.
    pub(super) fn new(dir: PathBuf, bounds: Bounds, origin: Origin) -> Self {
        Self { dir, bounds, origin, closed: BTreeMap::new(), open: None, is_listed: false }
    }

    /// Appends a line made by [`line()`].
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let length = line.len() as u64;
        let mut open = match self.open.take() {
            Some(open) if open.bytes + length <= self.bounds.segment_bytes => open,
            Some(full) => {
                self.closed.insert(full.number, full.bytes);
                self.begin()?
            }
            None => self.begin()?,
        };
        let written = open.file.write_all(line);
        open.bytes += length;
        match written {
            Ok(()) => self.open = Some(open),
            Err(_) => drop(self.closed.insert(open.number, open.bytes)),
        }
        written
    }

    fn begin(&mut self) -> io::Result<Open> {
        if !self.is_listed {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
            for (number, path) in list(&self.dir)? {
                self.closed.insert(number, fs::metadata(path)?.len());
            }
            self.is_listed = true;
        }
        self.make_room()?;
        let number = self.closed.keys().next_back().map_or(1, |last| last + 1);
        let path = self.dir.join(name(number));
        let mut file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path)?;
        let header = Header {
            version: VERSION,
            defib: env!("CARGO_PKG_VERSION").to_owned(),
            segment: number,
            origin: self.origin.clone(),
        };
        let begun = line(&Entry::Began(header))
            .map_err(io::Error::from)
            .and_then(|line| file.write_all(&line).map(|()| line.len() as u64));
        match begun {
            Ok(bytes) => Ok(Open { file, number, bytes }),
            Err(error) => {
                // Without its header it tells nothing, and a disk that is full for long would gather thousands.
                fs::remove_file(&path)?;
                Err(error)
            }
        }
    }

    fn make_room(&mut self) -> io::Result<()> {
        let room = self.bounds.total_bytes.saturating_sub(self.bounds.segment_bytes);
        while self.closed.values().sum::<u64>() > room
            && let Some((oldest, _)) = self.closed.first_key_value()
        {
            let oldest = *oldest;
            match fs::remove_file(self.dir.join(name(oldest))) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            self.closed.remove(&oldest);
        }
        Ok(())
    }
}

/// The segments in `dir`, oldest first.
pub(super) fn list(dir: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let number = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_prefix("journal-")?.strip_suffix(".log")?.parse().ok());
        found.extend(number.map(|number| (number, path)));
    }
    found.sort_unstable();
    Ok(found)
}

/// The entry as a line, without secrets.
pub(super) fn line(entry: &Entry) -> Result<Vec<u8>, serde_json::Error> {
    let mut value = serde_json::to_value(entry)?;
    super::redact::redact(&mut value);
    let json = serde_json::to_vec(&value)?;
    let mut line = Vec::with_capacity(CHECKSUM_BYTES + json.len() + 1);
    line.extend_from_slice(checksum_of(&json).as_bytes());
    line.extend_from_slice(&json);
    line.push(b'\n');
    Ok(line)
}

/// The entry in a line without its newline, or what is the matter with it.
pub(super) fn parse(line: &[u8]) -> Result<Entry, String> {
    let (checksum, json) =
        line.split_at_checked(CHECKSUM_BYTES).ok_or_else(|| "it is too short".to_owned())?;
    // Compared as text: a digit that was damaged into its upper case is damage too.
    let found = checksum_of(json);
    if checksum != found.as_bytes() {
        return Err(format!(
            "it begins with {:?} and its checksum is {found:?}",
            String::from_utf8_lossy(checksum)
        ));
    }
    serde_json::from_slice(json).map_err(|error| format!("this version can't decode it: {error}"))
}

fn checksum_of(json: &[u8]) -> String {
    format!("{:08x} ", crc32fast::hash(json))
}

fn name(number: u64) -> String {
    format!("journal-{number:08}.log")
}
