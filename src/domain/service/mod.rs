//! How a service thinks: what its replicas mean together, as people hear of it. `pictures` says what each matter looks like.

mod pictures;

use super::{
    Domain,
    agenda::Owner,
    judging::{absence, verdict::Verdict},
    message::IncidentKind,
    moment::{AwakeMs, Moment},
    name::{ReplicaName, ServiceName},
    observation::Inspection,
    policy::ServicePolicy,
    replicas::{judging::failing_since, probing::is_remote},
    stall::leave_out,
    telling::IncidentKey,
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// After our start every container is looked at within this, or it can't be.
pub(super) const LOOKED_AT_WITHIN: Duration = Duration::from_secs(30);

/// After our start, what could not be looked at before is tried again within this.
const SEEN_WITHIN: Duration = Duration::from_secs(75);

/// So long before something is called down the list is asked for once more.
const LIST_BEFORE_DOWN: Duration = Duration::from_secs(5);

/// One service.
#[derive(Debug, Default)]
pub(crate) struct Service {
    pub(super) members: BTreeSet<ReplicaName>,
    /// Of these, what others may rest on.
    pub(super) healthy: BTreeSet<ReplicaName>,
    /// Replicas of another service that this one matches too: whose they are nobody can say.
    pub(super) contested: BTreeSet<ReplicaName>,
    /// Since when fewer replicas have been known than the config wants.
    too_few_since: Option<Moment>,
    /// For which absence a list was asked for, right before it is called down.
    listed_for: Option<AwakeMs>,
}

impl Service {
    /// Nobody looked for so long.
    pub(super) fn leave_out(&mut self, stalled: Duration) {
        if let Some(since) = &mut self.too_few_since {
            leave_out(since, stalled);
        }
    }
}

impl Domain {
    /// A replica has thought: its service does.
    pub(super) fn member_changed(&mut self, replica: &Replica) {
        let service = self.services.entry(replica.policy.name.clone()).or_default();
        service.members.insert(replica.kept.name.clone());
        let is_back = if replica.is_surely_healthy() {
            service.healthy.insert(replica.kept.name.clone())
        } else {
            service.healthy.remove(&replica.kept.name);
            false
        };
        if is_back {
            // What needs it need not wait for its next look.
            self.touch_waiting();
        }
        self.agenda.touch(Owner::Service(replica.policy.name.clone()));
    }

    /// A replica is not part of a service any more.
    pub(super) fn leave_service(&mut self, service: &ServiceName, replica: &ReplicaName) {
        if let Some(known) = self.services.get_mut(service) {
            known.members.remove(replica);
            known.healthy.remove(replica);
        }
        self.agenda.touch(Owner::Service(service.clone()));
    }

    /// S9: what it needs and what was not seen healthy since it began to fail this time, and whether that has anything to be
    /// judged by. That it was healthy before an earlier restart in the same trouble says nothing of now.
    pub(super) fn dependency_down(&self, replica: &Replica) -> Option<(ServiceName, bool)> {
        let since = failing_since(replica)?;
        let is_healthy = |name: &ServiceName| {
            self.services.get(name).is_some_and(|service| {
                service.healthy.iter().filter_map(|name| self.replicas.get(name)).any(|other| {
                    let probes = other.evidence.probes.values();
                    let passes = probes.filter_map(|probe| probe.last_pass);
                    let passes = passes.chain(other.evidence.health.last_pass);
                    passes.map(|at| at.awake).max().is_some_and(|at| at >= since)
                })
            })
        };
        let down = replica.policy.depends_on.iter().find(|needed| !is_healthy(needed))?;
        let members = self.members(down);
        let is_judged = members.is_empty() || !members.into_iter().all(nothing_to_judge_by);
        Some((down.clone(), is_judged))
    }

    pub(super) fn think_service(&mut self, name: &ServiceName) -> Option<AwakeMs> {
        let policy = self.policy_of(name)?;
        let mut deadlines = Vec::new();
        let listed = self.policy.services.iter().any(|service| service.name == *name);
        let key = |kind| IncidentKey { service: Some(name.clone()), kind };
        if let Some(at) = self.unseen_until(name) {
            // Just started: what was told before stands until its members were looked at (S6). A URL was.
            let url_fails = |replica: &&Replica| {
                replica.lifecycle == Lifecycle::Remote && replica.verdict == Verdict::Unhealthy
            };
            if self.members(name).iter().any(url_fails) {
                let unhealthy = self.picture_unhealthy(name, &policy, &mut deadlines);
                self.set_picture(key(IncidentKind::Unhealthy), unhealthy);
            }
            let now = self.now.awake;
            return deadlines.into_iter().chain([at]).filter(|at| *at > now).min();
        }

        self.note_watched(name);
        self.note_onset(name);
        let unhealthy = self.picture_unhealthy(name, &policy, &mut deadlines);
        self.set_picture(key(IncidentKind::Unhealthy), unhealthy);
        let down = self.picture_down(name, &policy, listed, &mut deadlines);
        if let Some(down) = &down {
            self.list_before_down(name, down.since.awake, &mut deadlines);
        }
        self.set_picture(key(IncidentKind::Down), down);
        let by_hand = self.picture_by_hand(name, listed, &mut deadlines);
        self.set_picture(key(IncidentKind::StoppedByHand), by_hand);
        let blind = self.picture_blind(name, &mut deadlines);
        let seen_by = self.own_start + SEEN_WITHIN;
        // What could not be looked at before our start has not been tried for long enough to say that it can; and while
        // nothing can be, nothing of it is known to be over (S6, S5).
        let is_new = self.now.awake < seen_by;
        if is_new {
            deadlines.push(seen_by);
        }
        let is_unknown = is_new || self.looking.blind().is_some();
        self.set_picture_unless(is_unknown, key(IncidentKind::CannotEvaluate), blind);
        let never_passed = self.picture_never_passed(name, &policy, &mut deadlines);
        self.set_picture(key(IncidentKind::NeverPassed), never_passed);
        let chronic = self.picture_chronic(name, &mut deadlines);
        self.set_picture(key(IncidentKind::Chronic), chronic);
        let ambiguous = self.picture_ambiguous(name, &mut deadlines);
        self.set_picture_unless(is_new, key(IncidentKind::Ambiguous), ambiguous);

        let is_empty = self.services.get(name).is_none_or(|service| service.members.is_empty());
        if is_empty && !listed {
            self.services.remove(name);
            return None;
        }
        let now = self.now.awake;
        deadlines.into_iter().filter(|at| *at > now).min()
    }

    fn policy_of(&mut self, name: &ServiceName) -> Option<Arc<ServicePolicy>> {
        let listed = self.policy.services.iter().find(|service| service.name == *name).cloned();
        let found = listed.or_else(|| {
            let mut members = self.services.get(name).into_iter().flat_map(|one| &one.members);
            let replica = members.find_map(|member| self.replicas.get(member))?;
            Some(Arc::clone(&replica.policy))
        });
        if found.is_none() {
            self.services.remove(name);
            self.host.failing.onset.remove(name);
            self.host.failing.down.remove(name);
            self.host.failing.watched.remove(name);
            self.close_incidents_of(name);
        }
        found
    }

    /// Whether nothing of a service is in a bad time any more.
    pub(super) fn is_untroubled(&self, name: &ServiceName) -> bool {
        let mut members = self.members(name).into_iter();
        let troubled = members.any(|replica| replica.kept.trouble.is_some());
        !troubled && !self.host.failing.down.contains(name)
    }

    pub(super) fn members(&self, name: &ServiceName) -> Vec<&Replica> {
        let members = self.services.get(name).map(|service| &service.members);
        members.into_iter().flatten().filter_map(|member| self.replicas.get(member)).collect()
    }

    /// Until when members that were not looked at since our start keep this service from being judged. While no list came
    /// at all, that is until one does: nobody can be looked at, and nothing is known to have changed.
    fn unseen_until(&self, name: &ServiceName) -> Option<AwakeMs> {
        let until = self.own_start + LOOKED_AT_WITHIN;
        let members = self.members(name);
        let unseen = |replica: &&Replica| replica.lifecycle == Lifecycle::Unseen;
        let can_be_seen = |replica: &&Replica| replica.could_not_look.is_none();
        let waits = if self.looking.has_listed {
            until > self.now.awake
                && members.iter().any(|replica| unseen(replica) && can_be_seen(replica))
        } else {
            members.is_empty() || members.iter().any(unseen)
        };
        let again = if self.looking.has_listed { until } else { self.now.awake + LOOKED_AT_WITHIN };
        waits.then_some(again)
    }

    /// For the brake: whether anything of it here can be seen to fail.
    fn note_watched(&mut self, name: &ServiceName) {
        let is_watched = self.members(name).into_iter().any(can_be_judged);
        if is_watched {
            self.host.failing.watched.insert(name.clone());
        } else {
            self.host.failing.watched.remove(name);
        }
    }

    /// For the brake: when the latest of its replicas that fail began to, if any does. An old failure of one must not hide
    /// that another has just joined what fails at once.
    fn note_onset(&mut self, name: &ServiceName) {
        let failing =
            self.members(name).into_iter().filter(|replica| replica.verdict == Verdict::Unhealthy);
        let onset = failing
            .filter_map(|replica| replica.kept.trouble.as_ref())
            .map(|trouble| trouble.onset.awake)
            .max();
        let before = self.host.failing.onset.get(name).copied();
        match onset {
            Some(onset) => self.host.failing.onset.insert(name.clone(), onset),
            None => self.host.failing.onset.remove(name),
        };
        if before != onset {
            self.agenda.touch(Owner::Host);
        }
    }

    /// For the brake's word: whether it is down.
    fn note_down(&mut self, name: &ServiceName, is_down: bool) {
        let changed = if is_down {
            self.host.failing.down.insert(name.clone())
        } else {
            self.host.failing.down.remove(name)
        };
        if changed {
            self.agenda.touch(Owner::Host);
        }
    }

    /// What is missing since then may be back, and with the event stream cut nobody says so: right before it is called down
    /// the list is asked for, once.
    fn list_before_down(
        &mut self,
        name: &ServiceName,
        since: AwakeMs,
        deadlines: &mut Vec<AwakeMs>,
    ) {
        let at = since + (absence::DOWN_AFTER - LIST_BEFORE_DOWN);
        if at > self.now.awake {
            deadlines.push(at);
        } else if let Some(service) =
            self.services.get_mut(name).filter(|service| service.listed_for != Some(since))
        {
            service.listed_for = Some(since);
            self.looking.want_list(self.now.awake);
            self.agenda.touch(Owner::Looking);
        }
    }
}

/// Whether it runs and nothing of it can ever fail.
pub(in crate::domain) fn nothing_to_judge_by(replica: &Replica) -> bool {
    replica.lifecycle.running().is_some() && !can_be_judged(replica)
}

/// Whether there is a healthcheck or a probe of it, or was not looked yet. A URL's stand-in has its probe.
fn can_be_judged(replica: &Replica) -> bool {
    let checked = |seen: &Inspection| seen.healthcheck.is_some();
    replica.lifecycle == Lifecycle::Remote
        || replica.inspection.as_deref().is_none_or(checked)
        || replica.policy.probes.iter().any(|probe| !is_remote(&probe.spec))
}
