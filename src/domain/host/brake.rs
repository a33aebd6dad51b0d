//! How the host decides that much fails at once, what is tried then, and what is told of it (S8). What the brake is, is in
//! `acting::brake`.

use super::host_key;
use crate::domain::watching::{lifecycle::Lifecycle, replica::Replica};
use crate::domain::{
    Domain,
    acting::{
        attempt::Ending,
        brake::{Brake, Engaged, GATHERED_FOR, ONSET_WITHIN, OVER_FOR},
        gates::{first_order, is_stateful},
        hold::Hold,
    },
    agenda::{Owner, earlier},
    message::{IncidentKind, Severity},
    moment::AwakeMs,
    name::{ReplicaName, ServiceName},
    record::Decision,
    service::LOOKED_AT_WITHIN,
    telling::{
        incident::{Incident, Picture},
        story::Stage,
        wording,
    },
};
use std::{collections::BTreeSet, time::Duration};

/// When nothing was fit for a trial, it is asked again so soon.
const CHOOSE_AGAIN_AFTER: Duration = Duration::from_secs(5);

impl Domain {
    pub(super) fn think_brake(&mut self) -> Option<AwakeMs> {
        let Some(policy) = self.policy.limits.brake else {
            if self.host.brake != Brake::Released {
                self.release_brake("the config has switched the brake off".to_owned());
            }
            return None;
        };
        let now = self.now;
        // Before all was looked at, how much of it fails is not known: neither much nor little.
        let looked_at = self.own_start + LOOKED_AT_WITHIN;
        if !self.has_looked_at_all() {
            return Some(if now.awake < looked_at {
                looked_at
            } else {
                now.awake + CHOOSE_AGAIN_AFTER
            });
        }
        match std::mem::take(&mut self.host.brake) {
            Brake::Released => {
                if self.host.failing.is_much(policy, now.awake) {
                    let mut engaged = Engaged::begin(now);
                    self.count_into(&mut engaged);
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
                // What can't be looked at now is not seen to be well.
                let little = self.looking.blind().is_none() && self.host.failing.is_little(policy);
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
                self.count_into(&mut engaged);
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

    /// Whether everything that the engine has listed was looked at since our start, or has had the time for it.
    fn has_looked_at_all(&self) -> bool {
        let unseen = |replica: &Replica| {
            replica.lifecycle == Lifecycle::Unseen && replica.could_not_look.is_none()
        };
        let in_time = self.now.awake >= self.own_start + LOOKED_AT_WITHIN;
        self.looking.has_listed && (in_time || !self.replicas.values().any(unseen))
    }

    /// Counts who fails now; the most is of what fails at once, and not of what has failed for days.
    fn count_into(&self, engaged: &mut Engaged) {
        engaged.count(&self.host.failing, |name| self.is_untroubled(name), self.now);
        let at_once = self.host.failing.all().into_iter();
        let at_once = at_once.filter(|name| self.is_of_brake(engaged, name)).count();
        engaged.most = engaged.most.max(u32::try_from(at_once).unwrap_or(u32::MAX));
    }

    /// Whether what a service shows belongs to what fails at once: it began not long before the brake went on, or later.
    fn is_of_brake(&self, engaged: &Engaged, name: &ServiceName) -> bool {
        let failing = &self.host.failing;
        let fresh = |since: AwakeMs| {
            engaged.since.awake.since(since) < ONSET_WITHIN
                && failing.judged_until.is_none_or(|until| since > until.awake)
        };
        let has_joined = engaged.joined.contains(name) || engaged.latest.contains(name);
        let absent = |replica: &Replica| replica.kept.absent_since.map(|since| since.awake);
        has_joined
            || failing.onset.get(name).copied().is_some_and(fresh)
            || (failing.down.contains(name)
                && self.members(name).into_iter().filter_map(absent).any(fresh))
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
    pub(in crate::domain) fn trial_ended(&mut self, name: &ReplicaName, ending: &Ending) {
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

    pub(super) fn release_brake(&mut self, why: String) {
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
    pub(super) fn in_short(&self, name: &ServiceName) -> String {
        if self.host.failing.down.contains(name) {
            return ": down".to_owned();
        }
        let mut members = self.members(name).into_iter();
        let shows = members.find_map(|replica| replica.kept.trouble.as_ref());
        shows.map_or(String::new(), |trouble| {
            format!(": {}", wording::host::in_short(&trouble.shows))
        })
    }

    pub(super) fn tell_of_brake(&mut self) {
        let Brake::Engaged(engaged) = &self.host.brake else {
            return;
        };
        let failing = &self.host.failing;
        let all = failing.all();
        let line = |name: &ServiceName, beside: &str| {
            if all.contains(name) {
                format!("{name}{beside}{}", self.in_short(name))
            } else {
                format!("{name}{beside}: not failing just now")
            }
        };
        // What a message is about comes first, what has nothing to do with it last: the end of a long list is cut.
        let latest = engaged.latest.iter().filter(|name| engaged.told.contains(*name));
        let others = engaged.told.iter().chain(&engaged.joined);
        let others = others.filter(|name| !engaged.latest.contains(*name));
        let is_older =
            |name: &&ServiceName| all.contains(*name) && !self.is_of_brake(engaged, name);
        let (older, others): (Vec<_>, Vec<_>) = others.partition(is_older);
        let members: Vec<String> = latest
            .map(|latest| line(latest, " (new)"))
            .chain(others.iter().map(|other| line(other, "")))
            .chain(older.iter().map(|older| line(older, " (since before the others)")))
            .collect();
        let fail = all.iter().filter(|name| self.is_of_brake(engaged, name)).count();
        let of = failing.watched.iter().chain(all).collect::<BTreeSet<_>>().len();
        let content = wording::host::brake(engaged, members, fail, of, self.may_be_tried());
        let due = engaged.told_at() <= self.now.awake;
        let picture = Picture {
            grown: engaged.grown,
            ..Picture::failing(engaged.since, due.then_some(Severity::Page), content)
        };
        self.set_picture(host_key(IncidentKind::Brake), Some(picture));
    }
}
