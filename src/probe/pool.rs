//! How many probes may run at once, and who waits.
//!
//! A target that hangs holds its place for the whole timeout, a healthy one for a millisecond; so a few hundred hung targets
//! could starve all others (Monit's good hosts are then probed every 21 s instead of every second). Therefore at most half of
//! the places may be held by targets whose last sample failed. Each of the two kinds waits in its own line, first come first
//! served; between the lines, the longer wait goes first. No deadline runs in a line: waiting is lag (L1).

use crate::domain::{moment::AwakeMs, observation::Target};
use std::collections::{BTreeMap, BTreeSet};

/// One run of a probe. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RunId(pub(super) u64);

/// In which of the two lines a target stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its last sample passed, or there was none yet.
    Up,
    /// Its last sample did not pass.
    Down,
}

/// The places, and the two lines before them.
#[derive(Debug)]
pub(super) struct Pool {
    places: usize,
    held: BTreeMap<RunId, Kind>,
    held_by_down: usize,
    up: BTreeSet<(AwakeMs, Target)>,
    down: BTreeSet<(AwakeMs, Target)>,
    next: RunId,
}

impl Pool {
    /// A pool of at least one place.
    pub(super) fn of(places: usize) -> Self {
        Self {
            places: places.max(1),
            held: BTreeMap::new(),
            held_by_down: 0,
            up: BTreeSet::new(),
            down: BTreeSet::new(),
            next: RunId(1),
        }
    }

    /// Joins a line, with the wait counted from `since`.
    pub(super) fn queue(&mut self, since: AwakeMs, target: Target, kind: Kind) {
        self.line(kind).insert((since, target));
    }

    /// Leaves the line without having run.
    pub(super) fn leave(&mut self, since: AwakeMs, target: &Target, kind: Kind) {
        self.line(kind).remove(&(since, target.clone()));
    }

    /// Gives the next place to whoever may have it.
    pub(super) fn take(&mut self) -> Option<(RunId, Target)> {
        if self.held.len() >= self.places {
            return None;
        }
        let half = (self.places / 2).max(1);
        let up = self.up.first();
        let down = self.down.first().filter(|_| self.held_by_down < half);
        let kind = match (up, down) {
            (None, None) => return None,
            (Some(_), None) => Kind::Up,
            (None, Some(_)) => Kind::Down,
            (Some(up), Some(down)) if up.0 <= down.0 => Kind::Up,
            (Some(_), Some(_)) => Kind::Down,
        };
        let (_, target) = self.line(kind).pop_first()?;
        let run = self.next;
        self.next = RunId(run.0 + 1);
        self.held.insert(run, kind);
        self.held_by_down += usize::from(kind == Kind::Down);
        Some((run, target))
    }

    /// Gives the place of a run back, once nothing of it is open any more.
    pub(super) fn give_back(&mut self, run: RunId) {
        if self.held.remove(&run) == Some(Kind::Down) {
            self.held_by_down -= 1;
        }
    }

    pub(super) fn places(&self) -> usize {
        self.places
    }

    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    pub(super) fn held_by_down(&self) -> usize {
        self.held_by_down
    }

    pub(super) fn waiting(&self) -> usize {
        self.up.len() + self.down.len()
    }

    fn line(&mut self, kind: Kind) -> &mut BTreeSet<(AwakeMs, Target)> {
        match kind {
            Kind::Up => &mut self.up,
            Kind::Down => &mut self.down,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::{ProbeName, ReplicaName};

    fn target(name: &str) -> Target {
        Target { replica: ReplicaName::new(name), probe: ProbeName::new("http") }
    }

    #[test]
    fn those_that_are_down_hold_half_and_the_others_pass_them_by() {
        let mut pool = Pool::of(4);
        for name in ["d1", "d2", "d3"] {
            pool.queue(AwakeMs(1), target(name), Kind::Down);
        }
        pool.queue(AwakeMs(9), target("u1"), Kind::Up);
        let order: Vec<Target> = std::iter::from_fn(|| pool.take()).map(|(_, t)| t).collect();
        assert_eq!(order, [target("d1"), target("d2"), target("u1")]);
        pool.give_back(RunId(1));
        assert_eq!(pool.take().map(|(_, t)| t), Some(target("d3")), "a place of its kind is free");
    }

    #[test]
    fn whoever_waits_longer_goes_first() {
        let mut pool = Pool::of(2);
        pool.queue(AwakeMs(5), target("late"), Kind::Up);
        pool.queue(AwakeMs(3), target("early"), Kind::Down);
        assert_eq!(pool.take().map(|(_, t)| t), Some(target("early")));
    }

    #[test]
    fn a_pool_of_one_serves_both_kinds() {
        let mut pool = Pool::of(0);
        pool.queue(AwakeMs(1), target("down"), Kind::Down);
        assert!(pool.take().is_some());
    }
}
