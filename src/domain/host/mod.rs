//! How the host thinks: the store, the engine, the brake, and what is told of them.

mod brake;

use super::{
    Domain,
    acting::{
        brake::{Brake, Failing},
        budget::HostSpending,
    },
    agenda::Owner,
    durability::TELL_AFTER,
    message::{IncidentKind, Severity},
    moment::{AwakeMs, Moment},
    name::ReplicaName,
    record::{HostRecord, OnBoot, Record, Serials},
    telling::{IncidentKey, incident::Picture, wording},
};
use std::{collections::BTreeSet, time::Duration};

/// The engine may be away for this long before a person hears of it: a restart of it takes some seconds.
const ENGINE_AWAY_FOR: Duration = Duration::from_secs(60);

/// After the engine refused to act it is not asked to for this long.
const REFUSED_FOR: Duration = Duration::from_secs(10 * 60);

/// That memory was lost is told for so long: by then every budget of before would have been counted anew.
const MEMORY_LOST_FOR: Duration = Duration::from_secs(24 * 3600);

/// What concerns the host as a whole.
#[derive(Debug, Default)]
pub struct Host {
    pub(super) serials: Serials,
    pub(super) spending: HostSpending,
    pub(super) brake: Brake,
    pub(super) failing: Failing,
    pub(super) hold_file: bool,
    pub(super) engine_start: Option<AwakeMs>,
    pub(super) refused: Option<(Moment, String)>,
    /// Replicas acted on or unverified.
    pub(super) acting: BTreeSet<ReplicaName>,
    /// Replicas held back by something that happens elsewhere.
    pub(super) waiting: BTreeSet<ReplicaName>,
    /// When the host thinks again at the latest.
    pub(super) deadline: Option<AwakeMs>,
    pub(super) recorded: Option<HostRecord>,
    could_record: bool,
}

impl Host {
    /// The engine refused to act.
    pub(super) fn refused(&mut self, now: Moment, why: String) {
        self.refused = Some((now, why));
    }

    pub(super) fn is_refused(&self, now: AwakeMs) -> bool {
        self.refused.as_ref().is_some_and(|(since, _)| now.since(since.awake) < REFUSED_FOR)
    }
}

impl Domain {
    pub(super) fn think_host(&mut self) -> Option<AwakeMs> {
        let now = self.now.awake;
        self.durability.watch(now);
        if self.durability.rewrite_is_due(now) {
            self.write_everything();
        }
        let can_record = self.durability.failing().is_none();
        if can_record != self.host.could_record {
            self.host.could_record = can_record;
            self.touch_waiting();
        }
        let brake = self.think_brake();
        let engine = self.tell_of_engine();
        let refused = self.tell_of_refusals();
        self.tell_of_store();
        let lost = self.memory_lost_until();
        let sinks = self.tell_of_sinks();
        self.record_host();
        let deadlines = [brake, engine, refused, lost, sinks, self.durability.next_deadline()];
        self.host.deadline = deadlines.into_iter().flatten().filter(|at| *at > now).min();
        self.host.deadline
    }

    fn tell_of_engine(&mut self) -> Option<AwakeMs> {
        let key = host_key(IncidentKind::EngineUnreachable);
        let Some((since, failure)) = self.looking.blind() else {
            if self.looking.has_listed {
                self.set_picture(key, None);
            }
            return None;
        };
        let level =
            (self.now.awake.since(since.awake) >= ENGINE_AWAY_FOR).then_some(Severity::Page);
        let content = wording::host::engine_unreachable(&failure.to_string());
        self.set_picture(key, Some(Picture::failing(since, level, content)));
        Some(since.awake + ENGINE_AWAY_FOR)
    }

    fn tell_of_refusals(&mut self) -> Option<AwakeMs> {
        let key = host_key(IncidentKind::ActionsRefused);
        let Some((since, why)) = &self.host.refused else {
            self.set_picture(key, None);
            return None;
        };
        let (since, until) = (*since, since.awake + REFUSED_FOR);
        // While something is tried, or waits for it, whether it still refuses is not known.
        if until <= self.now.awake && self.host.waiting.is_empty() && self.host.acting.is_empty() {
            self.host.refused = None;
            self.set_picture(key, None);
            return None;
        }
        let content = wording::host::actions_refused(&why.clone());
        self.set_picture(key, Some(Picture::failing(since, Some(Severity::Page), content)));
        if until <= self.now.awake {
            // Worth another try; a new refusal goes on with the same incident.
            self.touch_waiting();
        }
        Some(until)
    }

    fn tell_of_store(&mut self) {
        let key = host_key(IncidentKind::StoreFailing);
        let Some((since, why)) = self.durability.failing() else {
            if self.durability.has_committed() {
                self.set_picture(key, None);
            }
            return;
        };
        let failing_for = self.now.awake.since(*since);
        let since = self.now.back_to(*since);
        let content = wording::host::store_failing(why);
        let level = (failing_for >= TELL_AFTER).then_some(Severity::Page);
        self.set_picture(key, Some(Picture::failing(since, level, content)));
    }

    /// What was kept was damaged. It can't be seen to end, so it is told of for a day, also over a restart of ours.
    pub(super) fn memory_lost(&mut self, why: &str) {
        let picture =
            Picture::failing(self.now, Some(Severity::Ticket), wording::host::memory_lost(why));
        self.set_picture(host_key(IncidentKind::MemoryLost), Some(picture));
    }

    fn memory_lost_until(&mut self) -> Option<AwakeMs> {
        let key = host_key(IncidentKind::MemoryLost);
        let until = self.incidents.get(&key)?.since.awake + MEMORY_LOST_FOR;
        if until > self.now.awake {
            return Some(until);
        }
        self.set_picture(key, None);
        None
    }

    /// An act was carried out: the engine does not refuse any more.
    pub(super) fn act_carried_out(&mut self) {
        if self.host.refused.take().is_some() {
            self.agenda.touch(Owner::Host);
        }
    }

    pub(super) fn record_host(&mut self) {
        let record = HostRecord {
            boot_id: self.boot_id.clone(),
            serials: self.host.serials,
            spending: self.host.spending.clone(),
            brake: self.host.brake.clone(),
            refused: self.host.refused.clone(),
            judged_until: self.host.failing.judged_until,
        };
        if self.host.recorded.as_ref() != Some(&record) {
            self.records.push(Record::Host(Box::new(record.clone())));
            self.host.recorded = Some(record);
        }
    }

    /// After a refusal the records of some batches are missing: all that is known is written once more.
    fn write_everything(&mut self) {
        self.host.recorded = None;
        self.records.push(Record::Cleared);
        let names: Vec<ReplicaName> = self.replicas.keys().cloned().collect();
        for name in names {
            if let Some(mut replica) = self.replicas.remove(&name) {
                replica.recorded = None;
                self.record_replica(&mut replica);
                self.replicas.insert(name, replica);
            }
        }
        for incident in self.incidents.values() {
            let kept = OnBoot { boot_id: self.boot_id.clone(), kept: incident.clone() };
            self.records.push(Record::Incident(Box::new(kept)));
        }
        self.record_all_sinks();
    }
}

pub(super) fn host_key(kind: IncidentKind) -> IncidentKey {
    IncidentKey { service: None, kind }
}
