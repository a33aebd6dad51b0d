//! When something is due in a simulated world. One queue for everything, ordered by time and then by when it was set, so
//! that two runs of one script fire in one order. Each container has at most one timer of each kind: setting it again
//! replaces it.

use super::truth::{RequestId, WorldTime};
use std::{collections::BTreeMap, time::Duration};

/// A container's place in the order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Slot(pub(super) u64);

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    /// The process answers from now on.
    Booted,
    /// Its behaviour strikes.
    Behaviour,
    /// It reacts to its stop signal.
    Exit,
    /// A healthcheck begins.
    CheckBegins,
    /// A healthcheck ends.
    CheckEnds,
    /// Docker's own restart policy starts it again.
    Policy,
    /// A request's step is over.
    Request(RequestId),
    /// The engine comes back.
    EngineUp,
}

impl Due {
    /// What belongs to the process, and stands still while it is frozen.
    pub(super) const OF_PROCESS: [Due; 3] = [Due::Booted, Due::Behaviour, Due::Exit];
}

#[derive(Debug, Default)]
pub(super) struct Timers {
    queue: BTreeMap<(WorldTime, u64), (Slot, Due)>,
    index: BTreeMap<(Slot, Due), (WorldTime, u64)>,
    serial: u64,
}

impl Timers {
    pub(super) fn set(&mut self, slot: Slot, due: Due, at: WorldTime) {
        self.cancel(slot, due);
        self.serial += 1;
        self.queue.insert((at, self.serial), (slot, due));
        self.index.insert((slot, due), (at, self.serial));
    }

    /// When it was due, where it was set.
    pub(super) fn cancel(&mut self, slot: Slot, due: Due) -> Option<WorldTime> {
        let key = self.index.remove(&(slot, due))?;
        self.queue.remove(&key);
        Some(key.0)
    }

    pub(super) fn next(&self) -> Option<WorldTime> {
        self.queue.first_key_value().map(|((at, _), _)| *at)
    }

    /// The first that is due at `now`.
    pub(super) fn pop(&mut self, now: WorldTime) -> Option<(WorldTime, Slot, Due)> {
        let (&(at, serial), &(slot, due)) = self.queue.first_key_value()?;
        if at > now {
            return None;
        }
        self.queue.remove(&(at, serial));
        self.index.remove(&(slot, due));
        Some((at, slot, due))
    }

    /// Puts everything off.
    pub(super) fn shift(&mut self, by: Duration) {
        let queue = std::mem::take(&mut self.queue);
        self.queue = queue.into_iter().map(|((at, n), what)| ((at + by, n), what)).collect();
        for (at, _) in self.index.values_mut() {
            *at = *at + by;
        }
    }
}
