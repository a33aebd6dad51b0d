//! The main job: what a restart can cure is restarted. A watchdog that never acts breaks no safety rule; this is the rule
//! that it breaks.
//!
//! Owed only for the first trouble of a replica in a run in which nothing else happens near it: then no budget is spent,
//! nothing backs off, no brake holds.

use super::{
    Violation,
    causes::are_well,
    evidence::Reading,
    story::{Span, Story},
};
use crate::account::{Ms, ServiceRule};
use defib::domain::{message::IncidentKind, observation::EventAction};

/// From the last failure that was needed to the call: settle (beside it), commit, evidence (3 s), inspect, queue.
const ACTED_WITHIN_MS: Ms = 45_000;

/// The longest that an engine's start is given to settle.
const ENGINE_SETTLES_MS: Ms = 180_000;

/// Nothing else may have failed so near.
const QUIET_MS: Ms = 60_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in story.rules.services.iter().filter(|service| service.may_act) {
        for replica in &service.replicas {
            if let Some(violation) = owed(story, service, replica) {
                found.push(violation);
            }
        }
    }
    found
}

fn owed(story: &Story<'_>, service: &ServiceRule, replica: &str) -> Option<Violation> {
    // A sibling that is down may hold it, rightly.
    if story.rules.hands_off || service.min_healthy > 0 {
        return None;
    }
    let failing = failing_since(story, service, replica)?;
    let soon = Span { from: failing, to: failing + service.settle + ACTED_WITHIN_MS };
    // What was held back is done when nobody holds it any more.
    let held = story.holds.iter().filter(|hold| hold.meets(soon)).map(|hold| hold.to).max();
    let since = held.map_or(failing, |to| to.max(failing));
    let by = since + service.settle + ACTED_WITHIN_MS;
    // What it needs was seen well for long enough before that.
    if !are_well(story, service, failing, since + service.settle) {
        return None;
    }
    let window = Span { from: since.saturating_sub(QUIET_MS), to: by };
    let life = story.life_at(since)?;
    // An engine that could not be reached may have been started anew, and is given time to settle.
    let sighted = Span { from: since.saturating_sub(ENGINE_SETTLES_MS).max(life.from), to: by };
    let settled = since > life.from + story.rules.own_start
        && story.boots.iter().all(|boot| since > boot + story.rules.host_boot);
    let disturbed = story.store_bad.iter().any(|bad| bad.meets(window))
        || story.sleeps.iter().any(|sleep| window.holds(sleep.0))
        || !story.unhindered(sighted)
        || by > story.end;
    let others = story.acts.iter().any(|act| act.replica != replica && act.at < by);
    let others_fail = story.rules.services.iter().any(|other| {
        other.replicas.iter().any(|name| name != replica && troubled(story, name, window))
    });
    // The brake goes by itself only when what made it is long over.
    let braked = story
        .sends
        .iter()
        .any(|send| send.at <= by && send.message.incident_kind == IncidentKind::Brake);
    let acted = story.acts.iter().any(|act| act.replica == replica && act.at <= by);
    let meddled = story.containers_of(replica).iter().any(|container| {
        // What got a signal that ends most things may be about to end.
        let signalled = container
            .events
            .iter()
            .any(|shown| shown.at <= by && matches!(shown.what, EventAction::Killed { .. }));
        signalled
            || container.stops.iter().any(|stop| stop.0 <= by)
            || container.pauses.iter().any(|pause| pause.from <= by)
            || container.destroyed.is_some_and(|at| at <= by)
            || container.instances.iter().any(|lived| lived.span.to < by)
    });
    let well = story.shown_well(replica, failing, by).is_some();
    let forbidden = story.hands_off_from.is_some_and(|from| from <= by)
        || story.is_removed(service, by)
        || story.holds.iter().any(|hold| hold.meets(Span { from: since, to: by }));
    if !settled
        || disturbed
        || others
        || others_fail
        || braked
        || acted
        || meddled
        || well
        || forbidden
    {
        return None;
    }
    Some(Violation {
        rule: "CURE",
        at: by,
        what: format!(
            "{replica} fails since {} as a restart cures, nothing stands in the way, and nothing is done",
            crate::account::Clockface(since)
        ),
    })
}

/// When a replica's first trouble of the run had shown all that its restart needs.
fn failing_since(story: &Story<'_>, service: &ServiceRule, replica: &str) -> Option<Ms> {
    let container = *story.containers_of(replica).first()?;
    let lived = container.instances.first()?;
    let mut moments: Vec<Ms> = container
        .samples
        .iter()
        .map(|shown| shown.at)
        .chain(container.inspected.iter().map(|shown| shown.at))
        .collect();
    moments.sort_unstable();
    moments.into_iter().find(|at| {
        let born = story.life_at(*at).map_or(Ms::MAX, |life| life.from);
        let probes = service
            .probes
            .iter()
            .filter(|probe| story.passed_in_life(container.replica, &probe.name, *at))
            .filter_map(|probe| {
                container.probe_streak(service, probe, lived.instance, *at, Reading::Least)
            });
        let health = container.health_streak(lived.instance, *at, Reading::Least);
        probes.chain(health).any(|streak| {
            streak.curable
                && streak.reached(service.restart_after, service.restart_after_ms, *at)
                && streak.first >= born
                && streak.verdict <= *at
        })
    })
}

/// Whether anything but "well" was true of a replica around that time.
fn troubled(story: &Story<'_>, replica: &str, window: Span) -> bool {
    story.condition(replica, window.from) != crate::account::Condition::Well
        || story
            .containers_of(replica)
            .iter()
            .any(|container| container.conditions.iter().any(|turned| window.holds(turned.0)))
}
