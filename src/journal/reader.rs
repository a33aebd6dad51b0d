//! Reads a journal back, also one that is being written or was left by a crash.
//!
//! A line without its newline at the end of a segment is where its writer stopped: the segment ends there, and that is no
//! damage. Any other line that does not hold is reported with its place, and reading goes on behind it.

use super::{
    entry::{Entry, VERSION},
    segment,
};
use std::{
    collections::VecDeque,
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

/// A segment is read into memory up to this. Several times what is ever written, were the bounds to change.
const SEGMENT_READ: u64 = 64 << 20;

/// Where a line begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// In which file.
    pub segment: PathBuf,
    /// At which byte.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.segment.display(), self.offset)
    }
}

/// Something that could not be read. What comes behind it can.
#[derive(Debug)]
pub enum Damage {
    /// A line does not hold.
    Line {
        /// Where it begins.
        place: Place,
        /// What is the matter with it.
        reason: String,
    },
    /// A whole segment was written by a later version, and was left out.
    Newer {
        /// Which.
        segment: PathBuf,
        /// Its format's version.
        found: u32,
    },
    /// A whole segment could not be read.
    Segment {
        /// Which.
        segment: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Damage::Line { place, reason } => {
                write!(f, "left out a line of the journal ({place}): {reason}")
            }
            Damage::Newer { segment, found } => write!(
                f,
                "left out `{}`: it was written by a later defib (format {found}, this one reads {VERSION})",
                segment.display()
            ),
            Damage::Segment { segment, .. } => {
                write!(f, "left out `{}`: it can't be read", segment.display())
            }
        }
    }
}

impl std::error::Error for Damage {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Damage::Segment { source, .. } => Some(source),
            Damage::Line { .. } | Damage::Newer { .. } => None,
        }
    }
}

/// Goes through the entries of a journal, oldest first.
pub struct Reader {
    segments: VecDeque<(u64, PathBuf)>,
    open: Option<Open>,
    torn: Vec<Place>,
}

struct Open {
    path: PathBuf,
    bytes: Vec<u8>,
    at: usize,
}

impl Reader {
    /// Of the journal in `dir`, as far as it is written now.
    ///
    /// # Errors
    /// Where the directory can't be read.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let segments = segment::list(dir)?.into();
        Ok(Self { segments, open: None, torn: Vec::new() })
    }

    /// Where segments ended in the middle of a line, so far.
    pub fn torn(&self) -> &[Place] {
        &self.torn
    }

    /// The next whole line of the open segment; closes it at its end.
    fn next_line(&mut self) -> Option<(Place, Result<Entry, String>)> {
        let open = self.open.as_mut()?;
        let rest = open.bytes.get(open.at..).unwrap_or_default();
        let place = Place { segment: open.path.clone(), offset: open.at as u64 };
        match rest.iter().position(|byte| *byte == b'\n') {
            Some(length) => {
                let parsed = segment::parse(rest.get(..length).unwrap_or_default());
                open.at += length + 1;
                Some((place, parsed))
            }
            None => {
                if !rest.is_empty() {
                    self.torn.push(place);
                }
                self.open = None;
                None
            }
        }
    }
}

impl Iterator for Reader {
    type Item = Result<(Place, Entry), Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_line() {
                Some((place, Ok(Entry::Began(header)))) if header.version > VERSION => {
                    self.open = None;
                    let found = header.version;
                    return Some(Err(Damage::Newer { segment: place.segment, found }));
                }
                Some((place, Ok(entry))) => return Some(Ok((place, entry))),
                Some((place, Err(reason))) => return Some(Err(Damage::Line { place, reason })),
                None => {
                    let (_, path) = self.segments.pop_front()?;
                    match read(&path) {
                        Ok(bytes) => self.open = Some(Open { path, bytes, at: 0 }),
                        // Removed by its writer since it was listed: older than what is kept.
                        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                        Err(source) => return Some(Err(Damage::Segment { segment: path, source })),
                    }
                }
            }
        }
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(SEGMENT_READ + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SEGMENT_READ {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "it is larger than a segment may be",
        ));
    }
    Ok(bytes)
}
