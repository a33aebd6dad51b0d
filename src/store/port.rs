//! Where what must outlive us is kept.
//!
//! The domain goes on while the store writes: a batch is handed over and the answer comes back later as an observation,
//! [`Committed`](crate::domain::observation::Observation::Committed) or
//! [`Refused`](crate::domain::observation::Observation::Refused). Nothing here ever blocks the loop.

use crate::{
    domain::{name::Seq, record::Record},
    tasks::Pending,
};

/// The store cannot take another batch now: its queue is full. The batch is lost to it, as if refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreBusy;

/// Where records go.
pub trait Store: Send {
    /// Hands over the records up to `seq`. Returns at once. Answers come in order through the channel the store was opened
    /// with. Several batches may share one commit and one answer.
    ///
    /// # Errors
    /// [`StoreBusy`] where the bounded queue is full.
    fn submit(&mut self, seq: Seq, records: Vec<Record>) -> Result<(), StoreBusy>;

    /// Writes what was submitted and ends. The caller bounds the wait.
    fn close(self: Box<Self>) -> Pending<'static, ()>;
}
