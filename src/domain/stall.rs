//! Time in which nobody looked, because the process was stopped or got no CPU: it counts neither as failing nor as healthy.
//!
//! The awake clock goes on meanwhile, and all spans of behaviour are counted on it: without this, what was last seen to fail
//! right before a stall of two minutes would have "failed for two minutes" right after it, and be restarted and paged for on
//! that. So every moment since when something has been so moves on by the stall. What says how fresh something is (a probe's
//! last evidence, a healthcheck's last pass) stays: that has grown old, and the gates see it.
//!
//! Then what came meanwhile is taken in, and the list is waited for, before anybody's deadline counts. That wait is short:
//! an engine that does not answer must not keep messages and attempts waiting.

use super::{
    Domain,
    acting::brake::Brake,
    agenda::Owner,
    moment::{AwakeMs, Moment},
    record::Rebase,
    watching::replica::Replica,
};
use std::time::Duration;

/// An engine that is well answers a list within milliseconds, right after the host woke too.
const LIST_FIRST_WITHIN: Duration = Duration::from_secs(2);

/// A moment since when something has been so, with the time left out in which nobody saw whether it was.
pub(crate) fn leave_out(since: &mut Moment, stalled: Duration) {
    since.awake = since.awake + stalled;
}

impl Domain {
    /// Nobody looked for so long.
    pub(super) fn leave_out(&mut self, stalled: Duration) {
        for replica in self.replicas.values_mut() {
            replica.leave_out(stalled);
        }
        for service in self.services.values_mut() {
            service.leave_out(stalled);
        }
        for sink in self.sinks.values_mut() {
            sink.leave_out(stalled);
        }
        self.looking.leave_out(stalled);
        self.own_start = self.own_start + stalled;
        self.host.engine_start = self.host.engine_start.map(|at| at + stalled);
        let judged_until = self.host.failing.judged_until.as_mut();
        judged_until.into_iter().for_each(|until| leave_out(until, stalled));
        if let Brake::Engaged(engaged) = &mut self.host.brake {
            let lately = [&mut engaged.over_since, &mut engaged.joined_since];
            lately
                .into_iter()
                .flatten()
                .chain([&mut engaged.since, &mut engaged.last])
                .for_each(|since| leave_out(since, stalled));
        }
    }

    /// The list is asked for, and comes before anybody's deadline counts.
    pub(super) fn list_first(&mut self) {
        self.looking.want_list(self.now.awake);
        self.agenda.touch(Owner::Looking);
        self.list_first_until = Some(self.now.awake + LIST_FIRST_WITHIN);
    }

    /// Whether that list is still to come, and not late.
    pub(super) fn waits_for_list(&mut self) -> bool {
        let now = self.now.awake;
        self.list_first_until =
            self.list_first_until.filter(|until| now < *until && self.looking.list_is_to_come(now));
        self.list_first_until.is_some()
    }
}

impl Replica {
    fn leave_out(&mut self, stalled: Duration) {
        let move_on = |at: &mut AwakeMs| *at = *at + stalled;
        self.kept.rebase(&|since| leave_out(since, stalled));
        self.evidence.health.leave_out(stalled);
        for probe in self.evidence.probes.values_mut() {
            probe.leave_out(stalled);
        }
        move_on(&mut self.verdict_since);
        self.brief_since.as_mut().map(move_on);
        self.blind_since.as_mut().map(move_on);
        self.own_until.as_mut().map(move_on);
        let unseen = self.could_not_look.as_mut().map(|(since, _)| since);
        let doubles = self.doubles.values_mut().map(|double| &mut double.since);
        let since = [&mut self.healthy_since, &mut self.unjudged_since, &mut self.paused_since];
        since
            .into_iter()
            .chain([&mut self.rivals_since])
            .flatten()
            .chain(unseen)
            .chain(doubles)
            .for_each(|since| leave_out(since, stalled));
    }
}
