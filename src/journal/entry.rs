//! What a line of the journal says.

use crate::domain::{
    moment::{BootId, Moment},
    name::HostName,
    observation::Observation,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The format's version. A reader leaves out segments of a later one.
pub const VERSION: u32 = 1;

/// One line.
///
/// Lines stand in the order in which they were decided on; [`Entry::Repeated`] comes at the end of its run and tells of what
/// was seen before, among lines that were seen since. Whoever replays sorts by moment within one life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Entry {
    /// The first line of every segment.
    Began(Header),
    /// Something was observed.
    Seen {
        /// When.
        at: Moment,
        /// What, without secrets.
        observation: Observation,
    },
    /// The same was observed again and again; only the last is here.
    Repeated {
        /// How often, this one included. What was written as [`Entry::Seen`] before the run was coalesced does not count.
        count: u64,
        /// When the first of these was seen.
        from: Moment,
        /// When this one was.
        at: Moment,
        /// The longest total of these, where they are samples.
        slowest: Option<Duration>,
        /// The last of them, without secrets.
        observation: Observation,
    },
    /// So many entries are missing here: the disk did not keep up, refused, or the entry was too large.
    Lost {
        /// How many, since the last time this was said.
        count: u64,
    },
}

/// Who wrote a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Of the format.
    pub version: u32,
    /// Of defib.
    pub defib: String,
    /// The segment's number.
    pub segment: u64,
    /// Where.
    pub origin: Origin,
}

/// One life of a daemon: segments with the same origin belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// On which host.
    pub host: HostName,
    /// In which boot of it.
    pub boot_id: BootId,
    /// When the daemon was started.
    pub started: Moment,
}

impl Entry {
    /// When what it tells of was (last) observed.
    pub fn at(&self) -> Option<Moment> {
        match self {
            Entry::Seen { at, .. } | Entry::Repeated { at, .. } => Some(*at),
            Entry::Began(_) | Entry::Lost { .. } => None,
        }
    }
}
