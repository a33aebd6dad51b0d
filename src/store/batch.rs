//! A batch on its way to the disk, together with the place kept for its answer.
//!
//! The place in the answers' channel is reserved when the batch is taken, so that a store can always answer at once: it
//! waits for nobody, and no answer is ever dropped. Where no place is left the loop has not read its answers for a whole
//! queue's length, and the batch is refused as [`NotTaken::Busy`] there and then.

use super::port::NotTaken;
use crate::domain::{moment::WallMs, name::Seq, observation::Observation, record::Record};
use tokio::sync::mpsc::{self, OwnedPermit, error::TrySendError};

/// How many batches may wait for the disk. The loop makes at most one a turn; 64 is a second or more of a storm behind a
/// slow disk, and what waits longer than 2 s has been given up by the domain anyway.
pub(super) const QUEUE: usize = 64;

/// One submitted batch.
pub(super) struct Waiting {
    pub(super) seq: Seq,
    pub(super) records: Vec<Record>,
    /// When it was submitted, for the history: a disk that hung in between must not shift what is told of the past.
    pub(super) wall: WallMs,
    /// `None` where nobody listens any more: at the end, what was submitted is still written.
    answer: Option<OwnedPermit<Observation>>,
}

impl Waiting {
    pub(super) fn reserve(
        seq: Seq,
        records: Vec<Record>,
        wall: WallMs,
        answers: &mpsc::Sender<Observation>,
    ) -> Result<Self, NotTaken> {
        match answers.clone().try_reserve_owned() {
            Ok(permit) => Ok(Self { seq, records, wall, answer: Some(permit) }),
            Err(TrySendError::Closed(_)) => Ok(Self { seq, records, wall, answer: None }),
            Err(TrySendError::Full(_)) => Err(NotTaken::Busy),
        }
    }

    fn answer(self, observation: Observation) {
        if let Some(permit) = self.answer {
            permit.send(observation);
        }
    }
}

/// One answer for all of `group`, which is in the order of submission.
pub(super) fn committed(mut group: Vec<Waiting>) {
    if let Some(last) = group.pop() {
        let seq = last.seq;
        last.answer(Observation::Committed(seq));
    }
}

/// One answer for all of `group`, which is in the order of submission.
pub(super) fn refused(mut group: Vec<Waiting>, reason: String) {
    if let Some(last) = group.pop() {
        let seq = last.seq;
        last.answer(Observation::Refused { seq, reason });
    }
}
