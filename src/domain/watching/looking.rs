//! Where to look next.
//!
//! When all is well: the list of unhealthy containers often, the full list rarely, and nobody is inspected. A container is
//! inspected when something happened to it, when its next healthcheck result is due while it matters, and right before
//! acting. One question at a time for each container: a hung lock in the engine hangs one inspect and not a pile of them
//! (moby 30605). An answer that was asked for before the latest event is not used but asked for again.

use crate::domain::{
    effect::{Effect, Look},
    moment::{AwakeMs, Moment},
    name::{ContainerId, LookId},
    observation::LookFailure,
    policy,
    stall::leave_out,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Inspections under way at the same time: enough to take in 1,000 containers within seconds, few enough for any engine.
const MOST_IN_FLIGHT: usize = 16;

/// After a failed list, the next one; doubles up to the usual pace.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// What happened within so long is replayed when the event stream is opened anew: the engine keeps 256 events, of which each
/// healthcheck on the host makes three.
const REPLAYED: Duration = Duration::from_secs(10);

/// Where events follow each other faster than it answers, an answer that was overtaken is used all the same after this: what is
/// a little old says more than nothing at all.
const OVERTAKEN_FOR: Duration = Duration::from_secs(15);

/// Between two questions about a container that can't be inspected.
const MAX_RETRY: Duration = Duration::from_secs(30);

/// What is asked and what is to be asked.
#[derive(Debug)]
pub(crate) struct Looking {
    list: Poll,
    unhealthy: Poll,
    containers: BTreeMap<ContainerId, Asked>,
    wanted: BTreeSet<ContainerId>,
    due: BTreeSet<(AwakeMs, ContainerId)>,
    in_flight: usize,
    last: LookId,
    /// The engine was not there at all, so that what comes back is a fresh start of it.
    pub(crate) was_away: bool,
    /// Since when there has been no event stream, and why. The list was asked for on that account.
    events_lost: Option<(Moment, LookFailure)>,
    /// Since when it has been open.
    pub(crate) events_open_since: Option<AwakeMs>,
    /// When it came back after it had been away for [`REPLAYED`] or longer.
    pub(crate) events_back_at: Option<AwakeMs>,
    /// The full list came at least once.
    pub(crate) has_listed: bool,
    /// A full list has come since the config was last read.
    pub(crate) has_listed_as_configured: bool,
}

#[derive(Debug, Default)]
struct Poll {
    under_way: bool,
    /// It was wanted once more since it was asked for.
    again: bool,
    due: AwakeMs,
    /// Since when it could not be had, how often in a row, and why.
    failing: Option<(Moment, u32, LookFailure)>,
}

#[derive(Debug, Default)]
struct Asked {
    in_flight: Option<LookId>,
    again: bool,
    /// Since when every answer about it was overtaken by an event.
    overtaken_since: Option<AwakeMs>,
    due: Option<AwakeMs>,
    failures: u32,
}

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Worth {
    /// It says how things stand.
    Current,
    /// Something happened after it was asked for, or nobody asked: not to be used.
    Outdated,
}

impl Looking {
    pub(crate) fn new() -> Self {
        Self {
            list: Poll::default(),
            unhealthy: Poll::default(),
            containers: BTreeMap::new(),
            wanted: BTreeSet::new(),
            due: BTreeSet::new(),
            in_flight: 0,
            last: LookId(0),
            was_away: false,
            events_lost: None,
            events_open_since: None,
            events_back_at: None,
            has_listed: false,
            has_listed_as_configured: false,
        }
    }

    /// The full list is wanted at once: something may have been missed.
    pub(crate) fn want_list(&mut self, now: AwakeMs) {
        self.list.due = now;
        // What is under way may have been asked for before it.
        self.list.again = self.list.under_way;
    }

    /// Whether a full list that was wanted is still to come.
    pub(crate) fn list_is_to_come(&self, now: AwakeMs) -> bool {
        self.list.under_way || self.list.due <= now
    }

    /// Nobody looked for so long: whether there was a list meanwhile nobody knows.
    pub(crate) fn leave_out(&mut self, stalled: Duration) {
        for poll in [&mut self.list, &mut self.unhealthy] {
            if let Some((since, ..)) = &mut poll.failing {
                leave_out(since, stalled);
            }
        }
        if let Some((since, _)) = &mut self.events_lost {
            leave_out(since, stalled);
        }
    }

    /// This container is to be looked at as soon as there is room.
    pub(crate) fn want(&mut self, container: &ContainerId) {
        let asked = self.containers.entry(container.clone()).or_default();
        if asked.in_flight.is_some() {
            asked.again = true;
        } else {
            self.wanted.insert(container.clone());
        }
    }

    /// This container is to be looked at by `at`; an earlier appointment stands.
    pub(crate) fn want_by(&mut self, container: &ContainerId, at: AwakeMs) {
        let asked = self.containers.entry(container.clone()).or_default();
        if let Some(before) = asked.due {
            if before <= at {
                return;
            }
            self.due.remove(&(before, container.clone()));
        }
        asked.due = Some(at);
        self.due.insert((at, container.clone()));
    }

    /// This container is of no more interest.
    pub(crate) fn forget(&mut self, container: &ContainerId) {
        self.wanted.remove(container);
        if let Some(asked) = self.containers.remove(container) {
            if let Some(due) = asked.due {
                self.due.remove(&(due, container.clone()));
            }
            if asked.in_flight.is_some() {
                self.in_flight = self.in_flight.saturating_sub(1);
            }
        }
    }

    /// An answer came: is it of use? Where it is not, the container is asked about again.
    pub(crate) fn answered(
        &mut self,
        look: LookId,
        container: &ContainerId,
        failure: Option<&LookFailure>,
        now: AwakeMs,
    ) -> Worth {
        let Some(asked) =
            self.containers.get_mut(container).filter(|asked| asked.in_flight == Some(look))
        else {
            return Worth::Outdated;
        };
        asked.in_flight = None;
        self.in_flight = self.in_flight.saturating_sub(1);
        let again = std::mem::take(&mut asked.again);
        let since = asked.overtaken_since.take().unwrap_or(now);
        match failure {
            None => asked.failures = 0,
            Some(_) => {
                let wait = FIRST_RETRY.saturating_mul(1 << asked.failures.min(6)).min(MAX_RETRY);
                asked.failures = asked.failures.saturating_add(1);
                self.want_by(container, now + wait);
                return Worth::Current;
            }
        }
        if again {
            self.wanted.insert(container.clone());
            if now.since(since) < OVERTAKEN_FOR {
                asked.overtaken_since = Some(since);
                return Worth::Outdated;
            }
        }
        Worth::Current
    }

    /// A list came. True where it ends a blindness.
    pub(crate) fn listed(&mut self, full: bool, pace: policy::Looking, now: AwakeMs) -> bool {
        let every = if full { pace.list_every } else { pace.unhealthy_every };
        self.has_listed |= full;
        self.has_listed_as_configured |= full;
        let poll = self.poll(full);
        poll.under_way = false;
        poll.due = if std::mem::take(&mut poll.again) { now } else { now + every };
        poll.failing.take().is_some()
    }

    /// A list did not come.
    pub(crate) fn list_failed(
        &mut self,
        full: bool,
        failure: LookFailure,
        pace: policy::Looking,
        now: Moment,
    ) {
        self.was_away |= matches!(failure, LookFailure::Unreachable(_));
        let poll = self.poll(full);
        let (since, failures) =
            poll.failing.take().map_or((now, 0), |(since, failures, _)| (since, failures));
        let wait = FIRST_RETRY.saturating_mul(1 << failures.min(4)).min(pace.unhealthy_every);
        poll.under_way = false;
        poll.due = now.awake + wait;
        poll.failing = Some((since, failures.saturating_add(1), failure));
    }

    fn poll(&mut self, full: bool) -> &mut Poll {
        if full { &mut self.list } else { &mut self.unhealthy }
    }

    /// Since when one of the lists could not be had, and why.
    pub(crate) fn blind(&self) -> Option<(Moment, &LookFailure)> {
        let failing =
            [&self.list, &self.unhealthy].into_iter().filter_map(|poll| poll.failing.as_ref());
        failing.map(|(since, _, failure)| (*since, failure)).min_by_key(|(since, _)| since.awake)
    }

    /// The event stream is lost. The list stands in for it, once: opening the stream again asks for it too.
    pub(crate) fn events_lost(&mut self, failure: LookFailure, now: Moment) {
        let since = self.events_lost.as_ref().map(|(since, _)| *since);
        if since.is_none() {
            self.want_list(now.awake);
        }
        self.events_lost = Some((since.unwrap_or(now), failure));
        self.events_open_since = None;
    }

    /// The event stream is open: how things stand is in the list, and who brought that about in what the stream replays.
    pub(crate) fn events_opened(&mut self, now: AwakeMs) {
        let lost = self.events_lost.take();
        self.events_open_since = Some(now);
        if lost.is_some_and(|(since, _)| now.since(since.awake) >= REPLAYED) {
            self.events_back_at = Some(now);
        }
        self.want_list(now);
    }

    /// Since when there has been no event stream, and why.
    pub(crate) fn no_events(&self) -> Option<(Moment, &LookFailure)> {
        self.events_lost.as_ref().map(|(since, failure)| (*since, failure))
    }

    /// What is to be asked now.
    pub(crate) fn think(&mut self, now: AwakeMs) -> Vec<Effect> {
        let mut effects = Vec::new();
        for (poll, look) in
            [(&mut self.list, Look::List), (&mut self.unhealthy, Look::ListUnhealthy)]
        {
            if !poll.under_way && poll.due <= now {
                poll.under_way = true;
                effects.push(Effect::Look(look));
            }
        }
        while let Some((at, container)) = self.due.first().cloned() {
            if at > now {
                break;
            }
            self.due.remove(&(at, container.clone()));
            if let Some(asked) = self.containers.get_mut(&container) {
                asked.due = None;
                if asked.in_flight.is_none() {
                    self.wanted.insert(container);
                }
            }
        }
        while self.in_flight < MOST_IN_FLIGHT {
            let Some(container) = self.wanted.pop_first() else {
                break;
            };
            self.last = LookId(self.last.0 + 1);
            let asked = self.containers.entry(container.clone()).or_default();
            asked.in_flight = Some(self.last);
            if let Some(due) = asked.due.take() {
                self.due.remove(&(due, container.clone()));
            }
            self.in_flight += 1;
            effects.push(Effect::Look(Look::Inspect { look: self.last, container }));
        }
        effects
    }

    /// When to think again at the latest.
    pub(crate) fn next_deadline(&self) -> Option<AwakeMs> {
        let polls = [&self.list, &self.unhealthy]
            .into_iter()
            .filter(|poll| !poll.under_way)
            .map(|poll| poll.due);
        polls.chain(self.due.first().map(|(at, _)| *at)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_wanted_while_one_is_under_way_comes_after_it() {
        let pace = policy::Looking {
            unhealthy_every: Duration::from_secs(10),
            list_every: Duration::from_secs(60),
        };
        let mut looking = Looking::new();
        let lists = |looking: &mut Looking, at: u64| {
            let asked = looking.think(AwakeMs(at));
            asked.iter().filter(|effect| **effect == Effect::Look(Look::List)).count()
        };
        assert_eq!(lists(&mut looking, 0), 1);
        looking.want_list(AwakeMs(1));
        assert_eq!(lists(&mut looking, 1), 0, "one at a time");
        looking.listed(true, pace, AwakeMs(2));
        assert_eq!(lists(&mut looking, 2), 1, "what happened meanwhile may not be in it");
        looking.listed(true, pace, AwakeMs(3));
        assert_eq!(lists(&mut looking, 3), 0);
    }
}
