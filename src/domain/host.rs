//! How the host thinks: the store, the engine, the brake, and what is told of them.

use super::{
    Domain,
    acting::{
        attempt::Ending,
        brake::{Brake, Engaged, Failing, GATHERED_FOR, OVER_FOR},
        budget::HostSpending,
        gates::{first_order, is_stateful},
        hold::Hold,
    },
    agenda::{Owner, earlier},
    durability::TELL_AFTER,
    message::{IncidentKind, Severity},
    moment::{AwakeMs, Moment},
    name::{ReplicaName, ServiceName},
    record::{Decision, HostRecord, OnBoot, Record, Serials},
    service::LOOKED_AT_WITHIN,
    telling::{
        IncidentKey,
        incident::{Incident, Picture},
        story::Stage,
        wording,
    },
};
use std::{collections::BTreeSet, time::Duration};

/// The engine may be away for this long before a person hears of it: a restart of it takes some seconds.
const ENGINE_AWAY_FOR: Duration = Duration::from_secs(60);

/// After the engine refused to act it is not asked to for this long.
const REFUSED_FOR: Duration = Duration::from_secs(10 * 60);

/// When nothing was fit for a trial, it is asked again so soon.
const CHOOSE_AGAIN_AFTER: Duration = Duration::from_secs(5);

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

    fn think_brake(&mut self) -> Option<AwakeMs> {
        let Some(policy) = self.policy.limits.brake else {
            if self.host.brake != Brake::Released {
                self.release_brake("the config has switched the brake off".to_owned());
            }
            return None;
        };
        let now = self.now;
        // What was not looked at yet, or can't be, neither fails at once nor is over: how much fails is not known.
        let looked_at = self.own_start + LOOKED_AT_WITHIN;
        if now.awake < looked_at {
            return Some(looked_at);
        }
        if !self.looking.has_listed || self.looking.blind().is_some() {
            if let Brake::Engaged(engaged) = &mut self.host.brake {
                engaged.over_since = None;
            }
            return Some(now.awake + CHOOSE_AGAIN_AFTER);
        }
        match std::mem::take(&mut self.host.brake) {
            Brake::Released => {
                if self.host.failing.is_much(policy, now.awake) {
                    let mut engaged = Engaged::begin(now);
                    engaged.count(&self.host.failing, |name| self.is_untroubled(name), now);
                    let at = engaged.next_trial_at();
                    self.host.brake = Brake::Engaged(Box::new(engaged));
                    self.decide(None, None, Decision::BrakeEngaged);
                    self.tell_of_brake();
                    earlier(Some(at), Some(now.awake + GATHERED_FOR))
                } else {
                    self.set_picture(host_key(IncidentKind::Brake), None);
                    None
                }
            }
            Brake::Engaged(mut engaged) => {
                let little = self.host.failing.is_little(policy);
                engaged.over_since = if little { engaged.over_since.or(Some(now)) } else { None };
                let over = engaged
                    .over_since
                    .is_some_and(|since| now.awake.since(since.awake) >= OVER_FOR);
                if over {
                    self.release_brake("what made it on is over".to_owned());
                    return None;
                }
                let under_way =
                    engaged.trial.as_ref().is_some_and(|trial| self.host.acting.contains(trial));
                if engaged.next_trial_at() <= now.awake && !under_way {
                    self.choose_trial(&mut engaged);
                }
                engaged.count(&self.host.failing, |name| self.is_untroubled(name), now);
                // Nothing was fit to be tried: what holds it back ends with time, or touches it.
                let trial_at = engaged.next_trial_at().max(now.awake + CHOOSE_AGAIN_AFTER);
                let until =
                    earlier(Some(trial_at), engaged.over_since.map(|since| since.awake + OVER_FOR));
                let until = earlier(until, engaged.joined_told_at());
                let until = earlier(until, Some(engaged.told_at()).filter(|at| *at > now.awake));
                self.host.brake = Brake::Engaged(engaged);
                self.tell_of_brake();
                until
            }
        }
    }

    /// One of the failing replicas that nothing but the brake holds, so that what it needs is healthy; never one that holds
    /// data. The brake is off while this is asked.
    fn choose_trial(&mut self, engaged: &mut Engaged) {
        let held = self.host.waiting.iter().filter_map(|name| self.replicas.get(name));
        let fit = held.filter(|replica| {
            let is_held = replica.hold == Some(Hold::Brake);
            is_held && !is_stateful(replica) && self.first_shut(replica).is_none()
        });
        engaged.trial = None;
        if let Some(replica) = fit.min_by_key(|replica| replica.kept.name.clone()) {
            engaged.last = self.now;
            engaged.trial = Some(replica.kept.name.clone());
            engaged.trials = engaged.trials.saturating_add(1);
            let (service, name) = (replica.policy.name.clone(), replica.kept.name.clone());
            self.agenda.touch(Owner::Replica(name.clone()));
            self.decide(Some(&service), Some(&name), Decision::TrialChosen);
        }
    }

    /// A trial that recovered releases the brake; any other only ends.
    pub(super) fn trial_ended(&mut self, name: &ReplicaName, ending: &Ending) {
        let Brake::Engaged(engaged) = &mut self.host.brake else {
            return;
        };
        if engaged.trial.as_ref() != Some(name) {
            return;
        }
        match ending {
            Ending::Verified { .. } => self.release_brake(format!("the trial of `{name}` helped")),
            Ending::NotCured(_)
            | Ending::Gone
            | Ending::NotOurs(_)
            | Ending::TakenOver(_)
            | Ending::Interrupted
            | Ending::Refused(_) => {
                engaged.trial = None;
                engaged.last = self.now;
            }
            // Nothing was tried.
            Ending::Abandoned(_) => {
                engaged.trial = None;
                engaged.trials = engaged.trials.saturating_sub(1);
            }
        }
    }

    fn release_brake(&mut self, why: String) {
        self.host.brake = Brake::Released;
        self.host.failing.judged_until = Some(self.now);
        let still = self.host.failing.all().into_iter();
        let still =
            still.map(|name| format!("{name} still fails{}", self.in_short(name))).collect();
        let key = host_key(IncidentKind::Brake);
        let open = |incident: &&mut Incident| incident.story.stage != Stage::Resolved;
        if let Some(incident) = self.incidents.get_mut(&key).filter(open) {
            incident.content = wording::host::brake_released(&why, still);
        }
        self.decide(None, None, Decision::BrakeReleased(why));
        self.set_picture(key, None);
        self.touch_waiting();
        let services: Vec<_> = self.services.keys().cloned().collect();
        for service in services {
            self.agenda.touch(Owner::Service(service));
        }
    }

    /// Whether anything of what fails may be restarted at all: no order speaks against it, and it holds no data.
    fn may_be_tried(&self) -> bool {
        let failing = self.host.failing.onset.keys();
        let mut failing = failing.flat_map(|name| self.members(name));
        failing.any(|replica| {
            let fails = replica.kept.trouble.is_some();
            fails && !is_stateful(replica) && first_order(&self.scene(replica)).is_none()
        })
    }

    /// What a service shows, as its first troubled replica does.
    fn in_short(&self, name: &ServiceName) -> String {
        if self.host.failing.down.contains(name) {
            return ": down".to_owned();
        }
        let mut members = self.replicas.values().filter(|replica| replica.policy.name == *name);
        let shows = members.find_map(|replica| replica.kept.trouble.as_ref());
        shows.map_or(String::new(), |trouble| {
            format!(": {}", wording::host::in_short(&trouble.shows))
        })
    }

    fn tell_of_brake(&mut self) {
        let Brake::Engaged(engaged) = &self.host.brake else {
            return;
        };
        let failing = &self.host.failing;
        let name = |name: &ServiceName, is_new: bool| {
            let new = if is_new { " (new)" } else { "" };
            if failing.onset.contains_key(name) || failing.down.contains(name) {
                format!("{name}{new}{}", self.in_short(name))
            } else {
                format!("{name}{new}: not failing just now")
            }
        };
        // What a message is about comes first: the end of a long list is cut.
        let latest = engaged.latest.iter().filter(|name| engaged.told.contains(*name));
        let others = engaged.told.iter().chain(&engaged.joined);
        let others = others.filter(|name| !engaged.latest.contains(*name));
        let members: Vec<String> = latest
            .map(|latest| name(latest, true))
            .chain(others.map(|other| name(other, false)))
            .collect();
        let content = wording::host::brake(
            engaged,
            members,
            failing.all().len(),
            failing.watched.len(),
            self.may_be_tried(),
        );
        let due = engaged.told_at() <= self.now.awake;
        let picture = Picture {
            grown: engaged.grown,
            ..Picture::failing(engaged.since, due.then_some(Severity::Page), content)
        };
        self.set_picture(host_key(IncidentKind::Brake), Some(picture));
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
