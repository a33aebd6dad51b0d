//! Where what must outlive us is kept.
//!
//! The domain goes on while the store writes: a batch is handed over and the answer comes back later as an observation,
//! [`Committed`](crate::domain::observation::Observation::Committed) or
//! [`Refused`](crate::domain::observation::Observation::Refused). Nothing here ever blocks the loop.

use crate::{
    domain::{name::Seq, record::Record},
    tasks::Pending,
};
use std::{error::Error, fmt};

/// Why the store did not take a batch, which is lost to it then, as if refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// Its queue is full. It may take the next one.
    Busy,
    /// Its thread has ended, which only a panic does. It takes none any more.
    Ended,
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Busy => "the store is behind: its queue is full",
            Self::Ended => {
                "the store's thread broke down, which is a fault of defib; restart it, and please report what its log says"
            }
        })
    }
}

impl Error for NotTaken {}

/// Where records go.
pub trait Store: Send {
    /// Hands over the records up to `seq`. Returns at once. Answers come in order through the channel the store was opened
    /// with. Several batches may share one commit and one answer.
    ///
    /// # Errors
    /// See [`NotTaken`].
    fn submit(&mut self, seq: Seq, records: Vec<Record>) -> Result<(), NotTaken>;

    /// Writes what was submitted and ends. The caller bounds the wait.
    fn close(self: Box<Self>) -> Pending<'static, ()>;
}
