//! How a replica thinks: lifecycle → evidence → verdict → trouble → attempt → gates, in this order.
//!
//! Each step of that order has a file: `probing` tells the prober what runs, `judging` turns evidence into a verdict and a
//! trouble, `healing` drives an attempt, `deciding` asks the gates and begins one. Here they are put in order, and what a
//! replica comes to is written down.

mod deciding;
mod healing;
pub(in crate::domain) mod judging;
pub(in crate::domain) mod probing;

use super::{
    Domain,
    acting::attempt::Attempt,
    effect::{Effect, ProbeOrder},
    judging::absence,
    moment::AwakeMs,
    name::ReplicaName,
    observation::Target,
    record::{OnBoot, Record, RecordKey},
    watching::{
        lifecycle::Lifecycle,
        replica::{Replica, ReplicaRecord, Watched},
    },
};
use judging::BACK_AFTER;
use std::{borrow::Cow, time::Duration};

/// A replica in trouble that can't be looked at asks so often whether it can again.
const LOOK_WHILE_BLIND_EVERY: Duration = Duration::from_secs(10);

/// What somebody removed is forgotten after this, with its ticket: a day is long enough to have forgotten it.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 3600);

impl Domain {
    pub(super) fn think_replica(&mut self, name: &ReplicaName) -> Option<AwakeMs> {
        let mut replica = self.replicas.remove(name)?;
        self.order_probes(&mut replica);
        self.judge(&mut replica);
        self.count_trouble(&mut replica);
        self.drive_attempt(&mut replica);
        let asked_again = self.decide_restart(&mut replica);
        let deadline = self.deadline_of(&replica, asked_again);
        if self.is_over(&replica) {
            self.forget(&replica);
            return None;
        }
        self.record_replica(&mut replica);
        self.member_changed(&replica);
        self.replicas.insert(name.clone(), replica);
        deadline
    }

    /// When this replica has to think again at the latest.
    fn deadline_of(&self, replica: &Replica, asked_again: Option<AwakeMs>) -> Option<AwakeMs> {
        let now = self.now.awake;
        let attempt = replica.kept.attempt.as_ref().map(Attempt::deadline);
        let policy = &replica.policy;
        let healthy = replica.healthy_since.map(|since| since.awake).and_then(|since| {
            let stable = replica.kept.trouble.as_ref().map(|_| since + policy.stable_for);
            let refill = (replica.kept.spending.spent > 0)
                .then_some(since + policy.budget.refill_after_healthy);
            // While it can't be looked at, whether it can again is asked for.
            let seen = replica.blind_since.map(|_| now + LOOK_WHILE_BLIND_EVERY);
            let due = [stable, refill].into_iter().flatten().map(|at| seen.unwrap_or(at).max(at));
            due.filter(|at| *at > now).min()
        });
        let grace = match &replica.lifecycle {
            Lifecycle::Running { since, .. } => {
                let back = replica.kept.absent_since.map(|_| *since + BACK_AFTER);
                let stopped = replica.being_stopped_until();
                let grown = (!policy.probes.is_empty()).then_some(*since + policy.start_grace);
                [back, grown, stopped].into_iter().flatten().filter(|at| *at > now).min()
            }
            Lifecycle::Unseen
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Created
            | Lifecycle::Stopped(_)
            | Lifecycle::Gone
            | Lifecycle::Remote
            | Lifecycle::Odd(_) => None,
        };
        let unjudged = replica.unjudged_since.filter(|_| replica.kept.trouble.is_some());
        let unjudged = unjudged.map(|since| since.awake + policy.stable_for).filter(|at| *at > now);
        let gone = absence::stands_since(replica).and_then(|since| {
            let over = since.awake + replica.policy.stable_for;
            [over, since.awake + FORGET_AFTER].into_iter().filter(|at| *at > now).min()
        });
        [attempt, healthy, grace, unjudged, gone, asked_again].into_iter().flatten().min()
    }

    /// Gone for long enough, and nothing to remember.
    fn is_over(&self, replica: &Replica) -> bool {
        if replica.lifecycle != Lifecycle::Gone || replica.kept.attempt.is_some() {
            return false;
        }
        let gone_for = absence::stands_since(replica)
            .map_or(Duration::ZERO, |since| self.now.awake.since(since.awake));
        let unlisted = !replica.listed && !replica.is_worth_keeping();
        let mut services = self.policy.services.iter();
        let dropped = replica.listed && services.all(|service| service.name != replica.policy.name);
        // What is configured and went by itself is missed until it is back, or no longer configured (P8).
        let removed = !replica.listed || replica.kept.stopped_by_hand.is_some();
        unlisted || dropped || (removed && gone_for >= FORGET_AFTER)
    }

    pub(super) fn forget(&mut self, replica: &Replica) {
        let name = &replica.kept.name;
        self.leave_rivals(replica);
        if let Some(Watched { policy, .. }) = &replica.watched {
            for probe in &policy.probes {
                let target = Target { replica: name.clone(), probe: probe.name.clone() };
                self.effects.push(Effect::Probe(ProbeOrder::Drop(target)));
            }
        }
        if replica.recorded.is_some() {
            self.records.push(Record::Forgotten(RecordKey::replica(name)));
        }
        if let Some(attempt) = &replica.kept.attempt {
            self.attempts.remove(&attempt.id);
        }
        self.host.acting.remove(name);
        self.host.waiting.remove(name);
        self.leave_service(&replica.policy.name, name);
    }

    /// Writes it down where it changed.
    pub(super) fn record_replica(&mut self, replica: &mut Replica) {
        let kept = worth_recording(&replica.kept);
        if replica.recorded.as_ref() == Some(&*kept) {
            return;
        }
        let kept = kept.into_owned();
        replica.recorded = Some(kept.clone());
        self.records
            .push(Record::Replica(Box::new(OnBoot { boot_id: self.boot_id.clone(), kept })));
    }
}

/// What of a replica has to outlive us. An attempt that has only looked is forgotten by a crash: it did and cost nothing, and
/// its record would keep the disk busy just when the record of the intent is waited for.
fn worth_recording(kept: &ReplicaRecord) -> Cow<'_, ReplicaRecord> {
    if kept.attempt.as_ref().is_some_and(Attempt::only_looked) {
        Cow::Owned(ReplicaRecord { attempt: None, ..kept.clone() })
    } else {
        Cow::Borrowed(kept)
    }
}
