//! P1, P2, P9: who must hear does, in time, in every sink that works; and is not woken for what is being cured.
//!
//! Owed only where defib lived all the while, saw the engine, and the sink had worked for long enough that nothing was
//! still being held back from it. The store is no excuse: messages fail open.

use super::{
    Violation, causes,
    evidence::{Reading, Says, says},
    story::{Container, Lived, Send, Span, Story},
    told::{Standing, asked_at, brake_is_open, names},
};
use crate::account::{Condition, Ms, ServiceRule, Who};
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    observation::{EventAction, HealthResult},
};
use std::collections::{BTreeMap, BTreeSet};

/// From the threshold to the sink's answer: coalescing, a commit that does not come (2 s), an attempt.
const HEARD_WITHIN_MS: Ms = 60_000;

/// After a sink or the engine was bad, what waits for it may still be backing off.
const BACKED_OFF_MS: Ms = 330_000;

/// What joins the brake is told of a minute after the first that did.
pub const JOINS_WITHIN_MS: Ms = 60_000;

/// What an event had said for so long had every chance to be heeded.
const HEEDED_MS: Ms = 3_000;

/// From the end of an attempt that did not help to the page.
const RAISED_WITHIN_MS: Ms = 60_000;

/// A restart that did not help at once is known to have failed no sooner.
const JUST_BEGUN_MS: Ms = 5_000;

/// From spending, of which a person hears, to the act: a commit, evidence, a look, a commit.
const SPENT_BEFORE_MS: Ms = 15_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in &story.rules.services {
        for trouble in troubles(story, service) {
            owed(story, service, trouble, &mut found);
        }
        first_words(story, service, &mut found);
        woken_for_theirs(story, service, &mut found);
    }
    found
}

/// Times in which a replica surely was in trouble: from the moment its failures reached what a person is to be told at,
/// until it was first seen well, or anything else began to happen to it.
fn troubles(story: &Story<'_>, service: &ServiceRule) -> Vec<Span> {
    let mut troubles = Vec::new();
    for replica in &service.replicas {
        for container in story.containers_of(replica) {
            for lived in &container.instances {
                if let Some(at) = reaches(story, service, container, lived) {
                    let to = interrupted(story, container, replica, at);
                    let from = settled(story, at);
                    if from < to {
                        troubles.push(Span { from, to });
                    }
                }
            }
        }
    }
    troubles.sort_by_key(|trouble| trouble.from);
    troubles
}

/// When what was shown against this life reached what a person is to be told at.
fn reaches(
    story: &Story<'_>,
    service: &ServiceRule,
    container: &Container<'_>,
    lived: &Lived<'_>,
) -> Option<Ms> {
    let instance = lived.instance;
    let times = container
        .samples
        .iter()
        .map(|shown| (shown.at, shown.life))
        .chain(container.inspected.iter().map(|shown| (shown.at, shown.life)));
    let mut moments: Vec<Ms> = times.map(|time| time.0).collect();
    moments.sort_unstable();
    let reached = |at: Ms| {
        let probes = service.probes.iter().filter_map(|probe| {
            container.probe_streak(service, probe, instance, at, Reading::Least)
        });
        let health = container.health_streak(instance, at, Reading::Least);
        let born = story.life_at(at).map_or(Ms::MAX, |life| life.from);
        probes
            .chain(health)
            .filter(|streak| streak.first >= born && streak.verdict <= at)
            .any(|streak| streak.reached(service.page_after, service.page_after_ms, at))
    };
    // A life that is over fails no longer.
    moments.into_iter().filter(|at| *at < lived.span.to).find(|at| reached(*at))
}

/// Nothing is told of before things have settled.
fn settled(story: &Story<'_>, at: Ms) -> Ms {
    let born = story.life_at(at).map_or(at, |life| life.from);
    let booted = story
        .boots
        .iter()
        .rev()
        .find(|boot| **boot <= at)
        .map_or(0, |boot| boot + story.rules.host_boot);
    at.max(born + story.rules.own_start).max(booted)
}

fn interrupted(story: &Story<'_>, container: &Container<'_>, replica: &str, from: Ms) -> Ms {
    // A stop that is under way has begun a little earlier.
    let lately = from.saturating_sub(15_000);
    let well = story.shown_well(replica, from, story.end).unwrap_or(story.end);
    let died = story.life_at(from).map_or(from, |life| life.to);
    let paused = container.pauses.iter().map(|pause| pause.from).filter(|at| *at >= lately);
    let stopped = container
        .stops
        .iter()
        .filter(|stop| stop.0 >= lately && stop.1 != Who::Defib)
        .map(|stop| stop.0);
    let ended = container
        .instances
        .iter()
        .filter(|lived| {
            lived.span.to >= lately && lived.ended.is_some_and(|end| end.0 != Who::Defib)
        })
        .map(|lived| lived.span.to);
    let slept = story.sleeps.iter().map(|sleep| sleep.0).filter(|at| *at >= from);
    let gone = container.destroyed.into_iter().filter(|at| *at >= from);
    paused
        .chain(stopped)
        .chain(ended)
        .chain(slept)
        .chain(gone)
        .chain([well, died])
        .min()
        .unwrap_or(from)
}

fn owed(story: &Story<'_>, service: &ServiceRule, trouble: Span, found: &mut Vec<Violation>) {
    let told_by = trouble.from + HEARD_WITHIN_MS;
    // Every restart begins the count of its own verification.
    let restarts = story
        .acts
        .iter()
        .filter(|act| act.service.name == service.name && act.restarts() && act.at < trouble.to)
        .map(|act| act.at)
        .filter(|at| *at >= trouble.from.saturating_sub(60_000));
    let first = restarts.min().unwrap_or(trouble.from);
    let paged_by = first.max(trouble.from) + service.longest_attempt() + RAISED_WITHIN_MS;
    let page_by = if service.page_at_once { told_by } else { paged_by.max(told_by) };
    for sink in &story.rules.sinks {
        let joining = if brake_is_open(story, sink, told_by) { JOINS_WITHIN_MS } else { 0 };
        // What the brake had kept from being cured is to be cured from its end on.
        let freed = brake_ended(story, sink, Span { from: trouble.from, to: page_by + joining });
        let cured_by = freed.map_or(0, |at| at + service.longest_attempt() + RAISED_WITHIN_MS);
        let page_by = page_by.max(cured_by);
        for (by, paging) in [(told_by + joining, false), (page_by + joining, true)] {
            let span = Span { from: trouble.from.saturating_sub(BACKED_OFF_MS), to: by };
            let watched = Span { from: trouble.from, to: by };
            if by > trouble.to
                || story.is_removed(service, by)
                || !story.unhindered(watched)
                || !story.sink_fine(sink, span)
                || (paging && !service.pages)
                || !(paging || takes_first_word(story, service, sink))
                || causes::stands_for(story, service, sink, by, paging)
            {
                continue;
            }
            let mut asked = asked_at(story, sink, by).into_iter();
            if !asked.any(|at| open_in(story, service, sink, at, paging)) {
                let what = if paging { "no page" } else { "no message" };
                found.push(Violation {
                    rule: if paging { "P9" } else { "P2" },
                    at: by,
                    what: format!(
                        "{} fails since {} and {sink} has {what}",
                        service.name,
                        crate::account::Clockface(trouble.from)
                    ),
                });
            }
        }
    }
}

/// When this sink was told last that the brake is off again.
fn brake_ended(story: &Story<'_>, sink: &str, within: Span) -> Option<Ms> {
    let told = story.sends.iter().filter(|send| {
        send.sink == sink
            && send.message.incident_kind == IncidentKind::Brake
            && send.message.kind == MessageKind::Resolved
    });
    told.filter_map(|send| send.landed).filter(|at| within.holds(*at)).max()
}

/// Whether this sink is for the first word on a service, which is a notice where it may be cured; a louder one has its own time.
fn takes_first_word(story: &Story<'_>, service: &ServiceRule, sink: &str) -> bool {
    let aloud = if service.pages { Severity::Page } else { Severity::Ticket };
    let first = if service.page_at_once { aloud } else { Severity::Notice };
    story.rules.takes(sink, first)
}

/// Whether this sink has been told, by this moment, of a trouble of this service that is still open, or of one of the host
/// that takes its place.
fn open_in(story: &Story<'_>, service: &ServiceRule, sink: &str, by: Ms, paging: bool) -> bool {
    let landed = |send: &&Send<'_>| send.sink == sink && send.landed.is_some_and(|at| at <= by);
    let mut standing: BTreeMap<&str, Standing> = BTreeMap::new();
    for send in story.sends.iter().filter(landed) {
        let message = send.message;
        // The brake stands for those only that its last word names.
        let about = match (&message.service, message.incident_kind) {
            (Some(name), _) => name.as_str() == service.name,
            (None, IncidentKind::Brake) if !names(message, &service.name) => {
                standing.remove(message.key.as_str());
                false
            }
            (None, IncidentKind::Brake | IncidentKind::EngineUnreachable) => true,
            (None, _) => false,
        };
        if about {
            let known = standing.entry(&message.key).or_insert(Standing::Closed);
            *known = known.after(message);
        }
    }
    standing.values().any(|standing| match standing {
        Standing::Closed => false,
        Standing::Open(level) | Standing::Recovered(level) => !paging || *level == Severity::Page,
    })
}

/// The first word on a trouble that defib is about to cure is a notice; with `page = "at_once"` it is the page.
fn first_words(story: &Story<'_>, service: &ServiceRule, found: &mut Vec<Violation>) {
    let opened = story.sends.iter().filter(|send| {
        send.message.kind == MessageKind::Opened
            && send.message.incident_kind == IncidentKind::Unhealthy
            && send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
    });
    let mut judged: BTreeSet<String> = BTreeSet::new();
    for send in opened {
        // A later attempt says what was so when the message was decided.
        if !judged.insert(format!("{} {}", send.sink, send.message.idempotency_key())) {
            continue;
        }
        if service.pages && service.page_at_once && send.message.severity != Severity::Page {
            found.push(Violation {
                rule: "P9",
                at: send.at,
                what: format!("{} pages at once, and {} gets a notice", service.name, send.sink),
            });
        }
        if !service.page_at_once
            && service.replicas.len() == 1
            && send.message.severity == Severity::Page
            && being_cured(story, service, send)
        {
            found.push(Violation {
                rule: "P9",
                at: send.at,
                what: format!("{} is being cured, and {} is paged", service.name, send.sink),
            });
        }
    }
}

/// Nobody is woken for what somebody else has stopped, and was seen to have stopped, before there was anything to wake for.
fn woken_for_theirs(story: &Story<'_>, service: &ServiceRule, found: &mut Vec<Violation>) {
    let [replica] = service.replicas.as_slice() else { return };
    for send in &story.sends {
        let message = send.message;
        let wakes = matches!(message.kind, MessageKind::Opened | MessageKind::Raised)
            && message.severity == Severity::Page
            && message.incident_kind == IncidentKind::Unhealthy
            && message.service.as_ref().is_some_and(|name| name.as_str() == service.name);
        let decided = story.decided(send);
        if !wakes || story.is_removed(service, decided) {
            continue;
        }
        let containers = story.containers_of(replica);
        let lives = containers
            .iter()
            .flat_map(|container| container.instances.iter().map(move |lived| (container, lived)));
        let last = lives
            .filter(|(_, lived)| lived.span.from <= decided)
            .max_by_key(|(_, lived)| lived.span.from);
        let Some((container, lived)) = last else { continue };
        let theirs = lived.ended.is_some_and(|(by, _)| by == Who::Somebody)
            && lived.span.to + HEEDED_MS < decided;
        let shown = container.events.iter().any(|shown| {
            let ended = matches!(shown.what, EventAction::Stopped | EventAction::Destroyed);
            ended && shown.at >= lived.span.to && shown.at + HEEDED_MS < decided
        });
        // What was owed before it was stopped may come late.
        let before = Span { from: lived.span.to.saturating_sub(BACKED_OFF_MS), to: decided };
        let in_time = story.sink_fine(send.sink, before)
            && story.unhindered(before)
            && !story.store_bad.iter().any(|bad| bad.meets(before))
            && story.life_at(decided).is_some_and(|life| life.from < before.from);
        if theirs && shown && in_time {
            found.push(Violation {
                rule: "P9",
                at: send.at,
                what: format!(
                    "{replica} was stopped by somebody at {}, and {} is woken for it",
                    crate::account::Clockface(lived.span.to),
                    send.sink
                ),
            });
        }
    }
}

/// Whether this is said of the first restart of the run, from its spending on, with nothing that could have held it: then
/// the cure is under way, and nothing speaks against it yet.
fn being_cured(story: &Story<'_>, service: &ServiceRule, send: &Send<'_>) -> bool {
    let Some(first) = story.acts.first() else { return false };
    let replica = first.replica;
    let cures = first.service.name == service.name
        && first.restarts()
        && first.life == send.life
        && send.at < first.at + JUST_BEGUN_MS
        && first.at < send.at + SPENT_BEFORE_MS;
    // Where a person is to hear before a restart is due, nothing is being cured yet.
    let by_time = service.page_after_ms.is_some() || service.restart_after_ms.is_some();
    if !cures || by_time || service.page_after < service.restart_after {
        return false;
    }
    let until = send.at.min(first.at);
    let Some(since) = only_trouble(story, replica, until) else { return false };
    let window = Span { from: since.saturating_sub(BACKED_OFF_MS), to: send.at + 1 };
    let settled = story.life_at(send.at).is_some_and(|life| {
        send.at > life.from + story.rules.own_start + BACKED_OFF_MS && since > life.from
    }) && story.boots.iter().all(|boot| since > boot + story.rules.host_boot);
    let disturbed = !story.unhindered(window)
        || story.store_bad.iter().any(|bad| bad.meets(window))
        || story.holds.iter().any(|hold| hold.meets(window))
        || story.hands_off_from.is_some_and(|from| from <= send.at)
        || story.sleeps.iter().any(|sleep| window.holds(sleep.0));
    settled && !disturbed && !meddled(story, service, replica, since, until)
}

/// Since when a replica has been failing as a restart cures, where it was nothing but well before.
fn only_trouble(story: &Story<'_>, replica: &str, until: Ms) -> Option<Ms> {
    let mut began = None;
    for container in story.containers_of(replica) {
        for (at, condition) in container.conditions.iter().filter(|turned| turned.0 <= until) {
            match (condition, began) {
                (Condition::Well | Condition::Absent, None) => {}
                (Condition::Failing, None) => began = Some(*at),
                (Condition::Well | Condition::Absent | Condition::Failing, Some(_))
                | (Condition::Wrong, _) => return None,
            }
        }
    }
    began
}

/// Whether anything but this trouble happened to a replica: its grace, somebody's hand, a look that was no look.
fn meddled(story: &Story<'_>, service: &ServiceRule, replica: &str, since: Ms, until: Ms) -> bool {
    story.containers_of(replica).iter().any(|container| {
        let mut lives = container.instances.iter().filter(|lived| lived.span.from <= until);
        let young = lives.any(|lived| {
            lived.span.from + service.start_grace + 2_000 > since || lived.span.to < since
        });
        let unseen = container.checks.iter().any(|check| {
            check.0 >= since && check.0 <= until && check.2 == HealthResult::CouldNotRun
        }) || container.samples.iter().any(|shown| {
            // Of what no restart cures a person hears at once, whatever else begins to fail.
            let tells = matches!(says(shown.what), Says::Nothing | Says::Incurable);
            shown.at >= since && shown.at <= until && tells
        });
        let touched = container.pauses.iter().any(|pause| pause.from <= until)
            || container.destroyed.is_some_and(|at| at <= until)
            || container.stops.iter().any(|stop| stop.0 <= until && stop.1 != Who::Defib);
        young || unseen || touched
    })
}
