//! That a service can't be judged: it can't be looked at, has never passed, or nobody can say which container is meant.

use crate::domain::{
    Domain,
    acting::gates::{evidence_case, first_order, stateful::may_have_any},
    judging::{absence, health::Reading},
    message::{IncidentKind, Severity},
    moment::{AwakeMs, Moment},
    name::ServiceName,
    policy::{ProbePolicy, ServicePolicy},
    telling::{
        IncidentKey,
        incident::{Incident, Picture},
        story::Stage,
        wording,
    },
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::time::Duration;

/// What could not be looked at for so long is told of (S5): longer than any hiccup of engine or network.
const BLIND_FOR: Duration = Duration::from_secs(60);

/// Two containers may be one replica for so long: a deploy may let the old one run on until the new one is well.
const DOUBLE_FOR: Duration = Duration::from_secs(600);

impl Domain {
    pub(in crate::domain::service) fn picture_blind(
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

    pub(in crate::domain::service) fn picture_never_passed(
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

    /// What nobody can say from the config and the labels: which service is meant, or which container.
    pub(in crate::domain::service) fn picture_ambiguous(
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
        let may_be_restarted = |replica: &Replica| {
            may_have_any(replica) && first_order(&self.scene(replica)).is_none()
        };
        let content = wording::ambiguous(&unclear, may_be_restarted);
        Some(Picture::failing(since, level, content))
    }

    /// The incident of this kind that is open for a service.
    pub(super) fn open(&self, name: &ServiceName, kind: IncidentKind) -> Option<&Incident> {
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
