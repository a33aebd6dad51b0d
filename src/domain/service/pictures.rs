//! What each matter of a service looks like now: one picture for each kind of incident, and how much it disturbs.

use crate::domain::{
    Domain,
    acting::{
        attempt::Attempt,
        brake::Brake,
        gates::evidence_case,
        hold::{Hold, Settle},
    },
    judging::{absence, health::Reading, verdict::Verdict},
    message::{IncidentKind, Severity},
    moment::{AwakeMs, Moment},
    name::ServiceName,
    policy::{PageWhen, ProbePolicy, ServicePolicy},
    replicas::judging::fails_now,
    telling::{
        IncidentKey,
        incident::{Incident, Picture},
        story::Stage,
        wording,
    },
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::{collections::BTreeSet, time::Duration};

/// What could not be looked at for so long is told of (S5): longer than any hiccup of engine or network.
const BLIND_FOR: Duration = Duration::from_secs(60);

/// Two containers may be one replica for so long: a deploy may let the old one run on until the new one is well.
const DOUBLE_FOR: Duration = Duration::from_secs(600);

/// Waiting for others that are being restarted is brief for so long; then it is being held, and somebody hears of it.
const BRIEF_FOR: Duration = Duration::from_secs(60);

impl Domain {
    pub(super) fn picture_unhealthy(
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
            deadlines.extend(replica.being_stopped_until());
            if let (Some(trouble), Some(span)) =
                (&replica.kept.trouble, policy.page_after.failing_for)
            {
                deadlines.push(trouble.since.awake + span);
            }
        }
        deadlines.push(self.own_start + self.policy.settling.own_start);
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
        let is_to_come = |replica: &Replica| {
            replica.verdict == Verdict::Unhealthy
                && self.first_shut(replica).is_some_and(|shut| {
                    matches!(shut.hold, Hold::Recovered | Hold::Settling(Settle::Verdict))
                })
        };
        let needed = |name: &str| {
            let of = |replica: &&Replica| replica.policy.name.as_str() == name;
            wording::needed::Needed::of(self.replicas.values().filter(of))
        };
        let content = wording::unhealthy(policy, &members, is_to_come, needed, recovered, self.now);
        let fails = |replica: &&Replica| {
            replica.verdict == Verdict::Unhealthy
                || replica.kept.attempt.is_some()
                || replica.stands_by_own_stop()
        };
        let failing = members.iter().any(fails);
        let given_up = members.iter().any(|replica| replica.is_given_up());
        Some(Picture { since, level, recovered, given_up, grown: 0, failing, content })
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
        if replica.is_stopped_by_hand(self.now.awake) {
            // Whoever stopped it knows of it.
            return None;
        }
        if replica.verdict == Verdict::Healthy && replica.kept.attempt.is_none() {
            // What it went through was told of: another replica that fails is told of for itself.
            return None;
        }
        let failing = fails_now(replica);
        let by_count =
            policy.page_after.failures.is_some_and(|failures| trouble.failures() >= failures);
        let failing_for = self.now.awake.since(trouble.since.awake);
        let by_time = policy.page_after.failing_for.is_some_and(|span| failing_for >= span);
        let over = failing && (by_count || by_time);
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
        let settling = self.now.awake < self.own_start + self.policy.settling.own_start;
        if trouble.not_cured > 0 || trouble.attempts > 1 || replica.is_given_up() {
            return Some(policy.severity);
        }
        if in_hand {
            return Some(cure);
        }
        if trouble.attempts == 1 {
            return Some(if over && !brief { policy.severity } else { cure });
        }
        match (over, settling, brief) {
            (false, _, _) | (true, true, _) => None,
            (true, false, true) => Some(cure),
            (true, false, false) => Some(policy.severity),
        }
    }

    /// Whether people were told at least so loudly that this service fails or is down, or of what it waits for itself.
    fn is_told_of(&self, service: &str, level: Severity) -> bool {
        let mut asked = BTreeSet::new();
        let mut next = vec![service];
        while let Some(service) = next.pop() {
            if self.is_itself_told_of(service, level) {
                return true;
            }
            if asked.insert(service) {
                next.extend(self.waited_for_by(service));
            }
        }
        false
    }

    /// What replicas of a service are held back for (S9).
    fn waited_for_by(&self, service: &str) -> impl Iterator<Item = &str> {
        let members = self.services.iter().find(|(name, _)| name.as_str() == service);
        let members = members.into_iter().flat_map(|(_, service)| &service.members);
        members.filter_map(|name| match &self.replicas.get(name)?.hold {
            Some(Hold::DependencyNotHealthy(needed)) => Some(needed.as_str()),
            Some(_) | None => None,
        })
    }

    fn is_itself_told_of(&self, service: &str, level: Severity) -> bool {
        self.incidents.values().any(|incident| {
            let same = incident.key.service.as_ref().is_some_and(|name| name.as_str() == service);
            let about = matches!(incident.key.kind, IncidentKind::Unhealthy | IncidentKind::Down);
            let loud = incident.story.level >= level;
            same && about && loud && incident.story.stage == Stage::Failing
        })
    }

    pub(super) fn picture_down(
        &mut self,
        name: &ServiceName,
        policy: &ServicePolicy,
        listed: bool,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let now = self.now;
        let members = self.members(name);
        // A service that the config does not name any more, and that an attempt keeps until it ends, wants nothing.
        let wanted = policy.replicas.filter(|_| listed);
        let mut count = absence::count(&members, wanted);
        // What this service and another one match may be meant to be here: of that it can't be said to be missing.
        let contested = self.services.get(name).map_or(0, |service| service.contested.len());
        let contested = u32::try_from(contested).unwrap_or(u32::MAX);
        count.never_seen = count.never_seen.saturating_sub(contested);
        let braked = matches!(self.host.brake, Brake::Engaged(_));
        let too_few_since = self.services.get(name).and_then(|service| service.too_few_since);
        let seen_all = self.looking.blind().is_none();
        // While the engine can't be asked nothing new is known to be missing, and nothing to be back.
        let too_few_since = match (count.never_seen > 0, seen_all) {
            (true, true) => too_few_since.or(Some(now)),
            (true, false) => too_few_since,
            (false, _) => None,
        };
        let content = wording::down(policy, &count, wanted, &members);
        let since =
            [count.since, too_few_since].into_iter().flatten().min_by_key(|since| since.awake);
        if let Some(service) = self.services.get_mut(name) {
            service.too_few_since = too_few_since;
        }
        let lasts = since.is_some_and(|since| now.awake.since(since.awake) >= absence::DOWN_AFTER);
        let missing = !count.missing.is_empty() || count.never_seen > 0;
        self.note_down(name, lasts && missing);
        let since = since?;
        deadlines.push(since.awake + absence::DOWN_AFTER);
        let severity = if listed { policy.severity } else { policy.severity.min(Severity::Ticket) };
        // While the brake is on it is told of with all the rest.
        let is_seen = seen_all || !count.missing.is_empty();
        let level = (lasts && missing && !braked && is_seen).then_some(severity);
        Some(Picture::failing(since, level, content))
    }

    pub(super) fn picture_by_hand(
        &self,
        name: &ServiceName,
        listed: bool,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        if !listed {
            return None;
        }
        let theirs =
            |replica: &&Replica| absence::is_by_hand(replica) || replica.paused_since.is_some();
        let members: Vec<&Replica> = self.members(name).into_iter().filter(theirs).collect();
        let since = members
            .iter()
            .filter_map(|replica| replica.paused_since.or_else(|| absence::stands_since(replica)))
            .min_by_key(|since| since.awake)?;
        deadlines.push(since.awake + absence::BY_HAND_AFTER);
        let due = self.now.awake.since(since.awake) >= absence::BY_HAND_AFTER;
        let content = wording::by_hand(&members);
        Some(Picture::failing(since, due.then_some(Severity::Ticket), content))
    }

    pub(super) fn picture_blind(
        &self,
        name: &ServiceName,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
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
        let Some(since) = earliest else {
            // A new life begins anew, and has not shown that it can be evaluated.
            let known = self.open(name, IncidentKind::CannotEvaluate)?;
            let members = self.members(name);
            deadlines.extend(members.iter().filter_map(|replica| gone_until(replica)));
            let is_to_show = members.iter().any(|replica| is_to_show(replica, self.now.awake));
            return is_to_show.then(|| Picture::failing(known.since, None, known.content.clone()));
        };
        let due = self.now.awake.since(since.awake) >= BLIND_FOR;
        let content = wording::cannot_evaluate(name, lines);
        Some(Picture::failing(since, due.then_some(Severity::Ticket), content))
    }

    pub(super) fn picture_never_passed(
        &self,
        name: &ServiceName,
        policy: &ServicePolicy,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let mut lines = Vec::new();
        let mut since: Option<Moment> = None;
        let mut is_open = false;
        for replica in self.members(name) {
            // What is re-created is away for a moment.
            let gone_at = gone_until(replica);
            let is_here = gone_at.is_none_or(|at| at > self.now.awake);
            deadlines.extend(gone_at);
            for probe in policy.probes.iter().filter(|probe| replica.concerns(probe)) {
                if replica.has_passed(probe) {
                    continue;
                }
                is_open |= is_here;
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
        let Some(since) = since else {
            // A new life, or a pause, begins the count anew. That it has passed, it has not shown.
            let known = self.open(name, IncidentKind::NeverPassed).filter(|_| is_open)?;
            return Some(Picture::failing(known.since, None, known.content.clone()));
        };
        let content = wording::never_passed(policy, lines);
        Some(Picture::failing(since, Some(policy.severity), content))
    }

    pub(super) fn picture_chronic(
        &self,
        name: &ServiceName,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
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

impl Domain {
    /// What nobody can say from the config and the labels: which service is meant, or which container.
    pub(super) fn picture_ambiguous(
        &self,
        name: &ServiceName,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let now = self.now.awake;
        let mut since: Vec<Moment> = Vec::new();
        let mut unclear: Vec<&Replica> = Vec::new();
        let mut is_due = false;
        for replica in self.members(name) {
            let doubles = replica.doubles.values().map(|double| double.since);
            deadlines.extend(doubles.clone().map(|since| since.awake + DOUBLE_FOR));
            // Of a container that has just gone whether the next one is matched so too is not known.
            let gone_at = gone_until(replica);
            let is_here = gone_at.is_none_or(|at| at > now);
            deadlines.extend(gone_at.filter(|_| replica.rivals_since.is_some()));
            let rivals_since = replica.rivals_since.filter(|_| is_here);
            let known: Vec<Moment> = doubles.chain(rivals_since).collect();
            is_due |= !replica.rivals.is_empty()
                || replica.doubles.values().any(|double| double.since.awake + DOUBLE_FOR <= now);
            if !known.is_empty() {
                since.extend(known);
                unclear.push(replica);
            }
        }
        let since = since.into_iter().min_by_key(|since| since.awake)?;
        if !is_due && let Some(known) = self.open(name, IncidentKind::Ambiguous) {
            // A double that is young, as each is after our start, ends nothing that was told of it before.
            return Some(Picture::failing(known.since, None, known.content.clone()));
        }
        let level = is_due.then_some(Severity::Ticket);
        Some(Picture::failing(since, level, wording::ambiguous(&unclear)))
    }
}

impl Domain {
    /// The incident of this kind that is open for a service.
    fn open(&self, name: &ServiceName, kind: IncidentKind) -> Option<&Incident> {
        let key = IncidentKey { service: Some(name.clone()), kind };
        self.incidents.get(&key).filter(|known| known.story.stage != Stage::Resolved)
    }
}

/// Whether it runs, as far as is known. What stands still has no healthcheck and no probe that could miss anything.
fn may_run(lifecycle: &Lifecycle) -> bool {
    match lifecycle {
        Lifecycle::Unseen | Lifecycle::Running { .. } | Lifecycle::Remote => true,
        Lifecycle::Paused { .. }
        | Lifecycle::Restarting
        | Lifecycle::Created
        | Lifecycle::Stopped(_)
        | Lifecycle::Gone
        | Lifecycle::Odd(_) => false,
    }
}

/// What of a replica can't be looked at, since when and why.
fn blind_spots(replica: &Replica) -> Vec<(Moment, String)> {
    let by_engine = replica.could_not_look.clone();
    if !may_run(&replica.lifecycle) {
        return by_engine.into_iter().collect();
    }
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

/// Until when what is gone, or stands still for good, may only be on its way to a new life. What ends again and again is here.
fn gone_until(replica: &Replica) -> Option<AwakeMs> {
    let is_gone = replica.lifecycle == Lifecycle::Gone
        || absence::is_by_hand(replica)
        || absence::is_finished(replica);
    absence::stands_since(replica).filter(|_| is_gone).map(|at| at.awake + absence::DOWN_AFTER)
}

/// Whether something of it has yet to show whether it can be looked at.
fn is_to_show(replica: &Replica, now: AwakeMs) -> bool {
    if !may_run(&replica.lifecycle) {
        return gone_until(replica).is_none_or(|at| at > now);
    }
    let health = &replica.evidence.health;
    let by_health =
        health.present && matches!(health.reading, Reading::Nothing | Reading::Starting);
    let unseen = |probe: &ProbePolicy| {
        replica.evidence.probes.get(&probe.name).is_none_or(|seen| seen.last_evidence.is_none())
    };
    let mut probes = replica.policy.probes.iter().filter(|probe| replica.concerns(probe));
    by_health || probes.any(unseen)
}
