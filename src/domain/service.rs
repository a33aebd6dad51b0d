//! How a service thinks: what its replicas mean together, as people hear of it.

use super::{
    Domain,
    acting::{attempt::Attempt, brake::Brake, gates::evidence_case, hold::Hold},
    agenda::Owner,
    judging::{absence, verdict::Verdict},
    message::{IncidentKind, Severity},
    moment::{AwakeMs, Moment},
    name::{ReplicaName, ServiceName},
    policy::{PageWhen, ServicePolicy},
    telling::{IncidentKey, incident::Picture, story::Stage, wording},
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// What could not be looked at for so long is told of (S5): longer than any hiccup of engine or network.
const BLIND_FOR: Duration = Duration::from_secs(60);

/// After our start every container is looked at within this, or it can't be.
const LOOKED_AT_WITHIN: Duration = Duration::from_secs(30);

/// After our start, what could not be looked at before is tried again within this.
const SEEN_WITHIN: Duration = Duration::from_secs(75);

/// So long before something is called down the list is asked for once more.
const LIST_BEFORE_DOWN: Duration = Duration::from_secs(5);

/// Waiting for others that are being restarted is brief for so long; then it is being held, and somebody hears of it.
const BRIEF_FOR: Duration = Duration::from_secs(60);

/// One service.
#[derive(Debug, Default)]
pub(crate) struct Service {
    pub(super) members: BTreeSet<ReplicaName>,
    pub(super) healthy: BTreeSet<ReplicaName>,
    /// Since when fewer replicas have been known than the config wants.
    too_few_since: Option<Moment>,
    /// For which absence a list was asked for, right before it is called down: what is missing may be back, and with the
    /// event stream cut nobody says so.
    listed_for: Option<AwakeMs>,
}

impl Domain {
    /// A replica has thought: its service does.
    pub(super) fn member_changed(&mut self, replica: &Replica) {
        let service = self.services.entry(replica.policy.name.clone()).or_default();
        service.members.insert(replica.kept.name.clone());
        if replica.verdict == Verdict::Healthy {
            service.healthy.insert(replica.kept.name.clone());
        } else {
            service.healthy.remove(&replica.kept.name);
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

    /// S9: what it needs and what was not seen healthy since its trouble began.
    pub(super) fn dependency_down(&self, replica: &Replica) -> Option<ServiceName> {
        let since = replica.kept.trouble.as_ref().map(|trouble| trouble.since)?;
        replica
            .policy
            .depends_on
            .iter()
            .find(|needed| {
                let healthy = self.services.get(*needed).is_some_and(|service| {
                    service.healthy.iter().filter_map(|name| self.replicas.get(name)).any(|other| {
                        let probes =
                            other.evidence.probes.values().filter_map(|probe| probe.last_evidence);
                        let evidence = probes.chain(other.evidence.health.last_pass);
                        evidence.map(|at| at.awake).max().is_some_and(|at| at >= since.awake)
                    })
                });
                !healthy
            })
            .cloned()
    }

    pub(super) fn think_service(&mut self, name: &ServiceName) -> Option<AwakeMs> {
        let policy = self.policy_of(name)?;
        if let Some(at) = self.unseen_until(name) {
            // Just started: what was told before stands until its members were looked at (S6).
            return Some(at);
        }
        let mut deadlines = Vec::new();
        let listed = self.policy.services.iter().any(|service| service.name == *name);
        let key = |kind| IncidentKey { service: Some(name.clone()), kind };

        self.note_onset(name);
        let unhealthy = self.picture_unhealthy(name, &policy, &mut deadlines);
        self.set_picture(key(IncidentKind::Unhealthy), unhealthy);
        let down = self.picture_down(name, &policy, listed, &mut deadlines);
        self.set_picture(key(IncidentKind::Down), down);
        let by_hand = self.picture_by_hand(name, listed, &mut deadlines);
        self.set_picture(key(IncidentKind::StoppedByHand), by_hand);
        let blind = self.picture_blind(name, &mut deadlines);
        let seen_by = self.own_start + SEEN_WITHIN;
        if blind.is_none() && self.now.awake < seen_by {
            // What could not be looked at before our start has not been tried for long enough to say that it can.
            deadlines.push(seen_by);
        } else {
            self.set_picture(key(IncidentKind::CannotEvaluate), blind);
        }
        let never_passed = self.picture_never_passed(name, &policy);
        self.set_picture(key(IncidentKind::NeverPassed), never_passed);
        let chronic = self.picture_chronic(name, &mut deadlines);
        self.set_picture(key(IncidentKind::Chronic), chronic);

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
        let members =
            self.services.get(name).map(|service| service.members.clone()).unwrap_or_default();
        let found = listed.or_else(|| {
            members
                .iter()
                .find_map(|member| self.replicas.get(member))
                .map(|replica| Arc::clone(&replica.policy))
        });
        if found.is_none() {
            self.services.remove(name);
            self.host.failing.onset.remove(name);
            self.close_incidents_of(name);
        }
        found
    }

    fn members(&self, name: &ServiceName) -> Vec<&Replica> {
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

    fn picture_unhealthy(
        &self,
        name: &ServiceName,
        policy: &ServicePolicy,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let members: Vec<&Replica> = self
            .members(name)
            .into_iter()
            .filter(|replica| replica.kept.trouble.is_some())
            .collect();
        let since = members
            .iter()
            .filter_map(|replica| replica.kept.trouble.as_ref())
            .map(|trouble| trouble.since)
            .min_by_key(|since| since.awake)?;
        for replica in &members {
            deadlines.push(replica.hold_since + BRIEF_FOR);
            deadlines.extend(replica.kept.attempt.as_ref().map(Attempt::is_cure_until));
            if let (Some(trouble), Some(span)) =
                (&replica.kept.trouble, policy.page_after.failing_for)
            {
                deadlines.push(trouble.since.awake + span);
            }
        }
        let braked = matches!(self.host.brake, Brake::Engaged(_));
        let level = members
            .iter()
            .filter_map(|replica| self.level_of(replica, policy))
            .max()
            .filter(|_| !braked);
        let well = |replica: &&&Replica| {
            replica.verdict == Verdict::Healthy && replica.kept.attempt.is_none()
        };
        let recovered = members.iter().filter(well).count() == members.len();
        let content = wording::unhealthy(policy, &members, recovered, self.now);
        let fails = |replica: &&Replica| {
            replica.verdict == Verdict::Unhealthy
                || replica.kept.attempt.is_some()
                || replica.stands_by_own_stop()
        };
        let failing = members.iter().any(fails);
        let given_up = members.iter().any(|replica| replica.is_given_up());
        Some(Picture { since, level, recovered, given_up, failing, content })
    }

    /// How much one replica's trouble disturbs. Causes first: where what it needs is told of as loudly, that incident stands
    /// for this one (S9).
    fn level_of(&self, replica: &Replica, policy: &ServicePolicy) -> Option<Severity> {
        let level = self.own_level_of(replica, policy)?;
        let tried = replica.kept.trouble.as_ref().is_some_and(|trouble| trouble.attempts > 0);
        match &replica.hold {
            Some(Hold::DependencyNotHealthy(needed))
                if !tried && self.is_told_of(needed, level) =>
            {
                None
            }
            Some(_) | None => Some(level),
        }
    }

    /// The same, for itself alone: nobody is woken for what is being cured (P9).
    fn own_level_of(&self, replica: &Replica, policy: &ServicePolicy) -> Option<Severity> {
        let trouble = replica.kept.trouble.as_ref()?;
        let failing = replica.verdict == Verdict::Unhealthy;
        let by_count =
            policy.page_after.failures.is_some_and(|failures| trouble.failures() >= failures);
        let failing_for = self.now.awake.since(trouble.since.awake);
        let by_time =
            policy.page_after.failing_for.is_some_and(|span| failing && failing_for >= span);
        let over = by_count || by_time;
        let in_hand = replica
            .kept
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.is_cure_until() > self.now.awake);
        let cure = match policy.page {
            PageWhen::IfNotCured => Severity::Notice.min(policy.severity),
            PageWhen::AtOnce => policy.severity,
        };
        let held_for = self.now.awake.since(replica.hold_since);
        let brief = replica.hold.as_ref().is_some_and(Hold::is_brief) && held_for < BRIEF_FOR;
        let settling =
            matches!(&replica.hold, Some(Hold::Settling(super::acting::hold::Settle::OwnStart)));
        if trouble.not_cured > 0 || trouble.attempts > 1 || replica.is_given_up() {
            return Some(policy.severity);
        }
        if in_hand {
            return Some(cure);
        }
        if trouble.attempts == 1 {
            return Some(if failing && over && !brief { policy.severity } else { cure });
        }
        match (over, settling, brief) {
            (false, _, _) | (true, true, _) => None,
            (true, false, true) => Some(cure),
            (true, false, false) => Some(policy.severity),
        }
    }

    /// Whether people were told at least so loudly that this service fails or is down.
    fn is_told_of(&self, service: &str, level: Severity) -> bool {
        self.incidents.values().any(|incident| {
            let same = incident.key.service.as_ref().is_some_and(|name| name.as_str() == service);
            let about = matches!(incident.key.kind, IncidentKind::Unhealthy | IncidentKind::Down);
            let loud = incident.story.level >= level;
            same && about && loud && incident.story.stage == Stage::Failing
        })
    }

    fn picture_down(
        &mut self,
        name: &ServiceName,
        policy: &ServicePolicy,
        listed: bool,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let now = self.now;
        let members = self.members(name);
        let count = absence::count(&members, policy.replicas);
        let braked = matches!(self.host.brake, Brake::Engaged(_));
        let too_few_since = self.services.get(name).and_then(|service| service.too_few_since);
        let seen_all = self.looking.blind().is_none();
        let too_few_since =
            if count.never_seen > 0 && seen_all { too_few_since.or(Some(now)) } else { None };
        let content = wording::down(policy, &count, &members);
        let since =
            [count.since, too_few_since].into_iter().flatten().min_by_key(|since| since.awake);
        if let Some(service) = self.services.get_mut(name) {
            service.too_few_since = too_few_since;
        }
        let since = since?;
        deadlines.push(since.awake + absence::DOWN_AFTER);
        let missing_for = now.awake.since(since.awake);
        if missing_for < absence::DOWN_AFTER - LIST_BEFORE_DOWN {
            deadlines.push(since.awake + (absence::DOWN_AFTER - LIST_BEFORE_DOWN));
        } else if let Some(service) =
            self.services.get_mut(name).filter(|service| service.listed_for != Some(since.awake))
        {
            service.listed_for = Some(since.awake);
            self.looking.want_list(now.awake);
            self.agenda.touch(Owner::Looking);
        }
        let down = missing_for >= absence::DOWN_AFTER;
        let missing = !count.missing.is_empty() || count.never_seen > 0;
        let severity = if listed { policy.severity } else { policy.severity.min(Severity::Ticket) };
        Some(Picture::failing(since, (down && missing && !braked).then_some(severity), content))
    }

    fn picture_by_hand(
        &self,
        name: &ServiceName,
        listed: bool,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        if !listed {
            return None;
        }
        let members: Vec<&Replica> =
            self.members(name).into_iter().filter(|replica| absence::is_by_hand(replica)).collect();
        let since = members
            .iter()
            .filter_map(|replica| absence::stands_since(replica))
            .min_by_key(|since| since.awake)?;
        deadlines.push(since.awake + absence::BY_HAND_AFTER);
        let due = self.now.awake.since(since.awake) >= absence::BY_HAND_AFTER;
        let content = wording::by_hand(&members);
        Some(Picture::failing(since, due.then_some(Severity::Ticket), content))
    }

    fn picture_blind(&self, name: &ServiceName, deadlines: &mut Vec<AwakeMs>) -> Option<Picture> {
        if self.looking.blind().is_some() {
            // Nothing can be seen at all: that is the host's incident.
            return None;
        }
        let mut lines = Vec::new();
        let mut earliest: Option<Moment> = None;
        for replica in self.members(name) {
            for (since, why) in blind_spots(replica) {
                deadlines.push(since.awake + BLIND_FOR);
                earliest =
                    Some(earliest.map_or(since, |known| {
                        if since.awake < known.awake { since } else { known }
                    }));
                lines.push(format!("{}: {why}", replica.kept.name));
            }
        }
        let since = earliest?;
        let due = self.now.awake.since(since.awake) >= BLIND_FOR;
        let content = wording::cannot_evaluate(name, lines);
        Some(Picture::failing(since, due.then_some(Severity::Ticket), content))
    }

    fn picture_never_passed(&self, name: &ServiceName, policy: &ServicePolicy) -> Option<Picture> {
        let mut lines = Vec::new();
        let mut since: Option<Moment> = None;
        for replica in self.members(name) {
            for probe in policy.probes.iter().filter(|probe| !replica.has_passed(probe)) {
                let Some(seen) = replica.evidence.probes.get(&probe.name) else {
                    continue;
                };
                let reached =
                    evidence_case::reached(&seen.streak, policy.page_after, self.now.awake);
                if seen.streak.failing && reached {
                    lines.push(format!("{}: {}", replica.kept.name, seen.streak.shows));
                    since = since.or(seen.streak.since);
                }
            }
        }
        let since = since?;
        let content = wording::never_passed(policy, lines);
        Some(Picture::failing(since, Some(policy.severity), content))
    }

    fn picture_chronic(&self, name: &ServiceName, deadlines: &mut Vec<AwakeMs>) -> Option<Picture> {
        let chronic: Vec<&Replica> = self
            .members(name)
            .into_iter()
            .filter(|replica| replica.kept.spending.is_chronic(&self.boot_id, self.now))
            .collect();
        let first = chronic.first()?;
        // Looked at hourly: that it is no more so is no news that hurries.
        deadlines.push(self.now.awake + Duration::from_secs(3600));
        let since = first.kept.spending.recent.front().map_or(self.now, |stamp| stamp.moment);
        let content = wording::chronic(name, &chronic);
        Some(Picture::failing(since, Some(Severity::Ticket), content))
    }
}

/// What of a replica can't be looked at, since when and why.
fn blind_spots(replica: &Replica) -> Vec<(Moment, String)> {
    let by_engine = replica.could_not_look.clone();
    let by_health = replica.evidence.health.could_not_run.clone().map(|(since, why)| {
        (since, format!("its healthcheck could not be executed: {}", why.trim()))
    });
    let by_probes =
        replica.evidence.probes.values().filter_map(|probe| probe.could_not_look.clone());
    let stale = replica
        .evidence
        .health
        .stale_since
        .map(|since| (since, "its healthcheck has stopped reporting".to_owned()));
    by_engine.into_iter().chain(by_health).chain(stale).chain(by_probes).collect()
}
