//! What is on disk and what is not yet.
//!
//! The domain never waits for the disk. A machine that must not act before its record is durable remembers the batch it
//! recorded in and asks here what became of it. A disk that does not answer within [`COMMIT_WITHIN`] counts as lost: then
//! restarts fail closed and messages fail open. After a refusal the records of that batch are missing on disk, so that the
//! whole state is written again until a commit confirms it.

use super::{moment::AwakeMs, name::Seq};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};

/// How long a restart waits for its record. An fsync on a busy disk takes some 100 ms; one that takes 2 s is a disk that
/// can't be relied on.
pub const COMMIT_WITHIN: Duration = Duration::from_secs(2);

/// How long the store may fail before a person is told: longer than a hiccup, shorter than the next restart's backoff.
pub const TELL_AFTER: Duration = Duration::from_secs(10);

/// Between two attempts at writing everything again.
pub const REWRITE_EVERY: Duration = Duration::from_secs(5);

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// No answer yet.
    Waiting,
    /// On disk.
    Durable,
    /// Refused.
    Lost,
}

/// What is on disk and what is not yet.
#[derive(Debug)]
pub(crate) struct Durability {
    /// The batch that is being made now.
    current: Seq,
    committed: Seq,
    /// The last batch of the life before.
    began_at: Seq,
    /// The last run of batches that were refused, first and last.
    lost: Option<(Seq, Seq)>,
    outstanding: VecDeque<(Seq, AwakeMs)>,
    /// Since when the store has not been what it should, and what it said.
    failing: Option<(AwakeMs, String)>,
    /// The batch that holds everything, written after a refusal.
    rewrite: Option<(Seq, AwakeMs)>,
    rewrite_due: Option<AwakeMs>,
}

impl Durability {
    pub(crate) fn new(last: Seq) -> Self {
        Self {
            current: Seq(last.0 + 1),
            committed: last,
            began_at: last,
            lost: None,
            outstanding: VecDeque::new(),
            failing: None,
            rewrite: None,
            rewrite_due: None,
        }
    }

    /// The batch that a record made now belongs to.
    pub(crate) fn current(&self) -> Seq {
        self.current
    }

    /// Whether the store has taken anything since the start.
    pub(crate) fn has_committed(&self) -> bool {
        self.committed > self.began_at
    }

    /// The last batch that was handed over.
    pub(crate) fn last_handed_over(&self) -> Seq {
        Seq(self.current.0 - 1)
    }

    /// The batch that was being made is handed over.
    pub(crate) fn hand_over(&mut self, now: AwakeMs) -> Seq {
        let seq = self.current;
        self.outstanding.push_back((seq, now));
        self.current = Seq(seq.0 + 1);
        seq
    }

    pub(crate) fn committed(&mut self, seq: Seq, now: AwakeMs) {
        self.committed = self.committed.max(seq);
        while self.outstanding.front().is_some_and(|(waiting, _)| *waiting <= seq) {
            self.outstanding.pop_front();
        }
        let rewritten = self.rewrite.is_some_and(|(rewrite, _)| rewrite <= seq);
        let nothing_lost = self.rewrite.is_none() && self.rewrite_due.is_none();
        if rewritten || (nothing_lost && self.late(now).is_none()) {
            self.failing = None;
            self.rewrite = None;
            self.rewrite_due = None;
        }
    }

    pub(crate) fn refused(&mut self, seq: Seq, reason: String, now: AwakeMs) {
        self.lost = Some((Seq(self.committed.0 + 1), seq));
        while self.outstanding.front().is_some_and(|(waiting, _)| *waiting <= seq) {
            self.outstanding.pop_front();
        }
        let since = self.failing.take().map_or(now, |(since, _)| since);
        self.failing = Some((since, reason));
        self.rewrite = None;
        self.rewrite_due = Some(now + REWRITE_EVERY);
    }

    /// What became of `seq`. Asked in the step of the store's answer, before the next answer comes.
    pub(crate) fn fate(&self, seq: Seq) -> Fate {
        if self.lost.is_some_and(|(first, last)| first <= seq && seq <= last) {
            Fate::Lost
        } else if seq <= self.committed {
            Fate::Durable
        } else {
            Fate::Waiting
        }
    }

    /// Whether everything must be written again now; the caller then does so within this step.
    pub(crate) fn rewrite_is_due(&mut self, now: AwakeMs) -> bool {
        let overdue = self.rewrite.is_some_and(|(_, at)| now.since(at) >= REWRITE_EVERY * 6);
        let due = self.rewrite_due.is_some_and(|at| at <= now) || overdue;
        if due {
            self.rewrite_due = None;
            self.rewrite = Some((self.current, now));
        }
        due
    }

    /// Notices a store that has not answered in time.
    pub(crate) fn watch(&mut self, now: AwakeMs) {
        if let (Some(since), None) = (self.late(now), &self.failing) {
            self.failing = Some((since, "the store has not answered".to_owned()));
        }
    }

    fn late(&self, now: AwakeMs) -> Option<AwakeMs> {
        self.outstanding.front().map(|(_, at)| *at).filter(|at| now.since(*at) >= COMMIT_WITHIN)
    }

    /// Since when nothing can be recorded, and what the store said.
    pub(crate) fn failing(&self) -> Option<&(AwakeMs, String)> {
        self.failing.as_ref()
    }

    pub(crate) fn next_deadline(&self) -> Option<AwakeMs> {
        let late = self
            .outstanding
            .front()
            .map(|(_, at)| *at + COMMIT_WITHIN)
            .filter(|_| self.failing.is_none());
        let told = self.failing.as_ref().map(|(since, _)| *since + TELL_AFTER);
        let overdue = self.rewrite.map(|(_, at)| at + REWRITE_EVERY * 6);
        [late, told, overdue, self.rewrite_due].into_iter().flatten().min()
    }
}
