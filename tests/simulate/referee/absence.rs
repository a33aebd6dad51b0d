//! P8: fewer running than should for 60 s is told, whatever the cause; and what runs is not called down.

use super::{
    Violation,
    story::{Send, Span, Story},
    told::Standing,
};
use crate::account::{Ms, ServiceRule, Who};
use defib::domain::message::{IncidentKind, MessageKind};
use std::collections::BTreeMap;

/// Fewer running for so long is `down`.
const DOWN_AFTER_MS: Ms = 60_000;

/// Stopped by somebody else is a ticket after so long.
const BY_HAND_AFTER_MS: Ms = 600_000;

/// Noticing (an event, or the next list), a commit, an attempt at delivery.
const SLACK_MS: Ms = 45_000;

/// See `hearing`.
const BACKED_OFF_MS: Ms = 330_000;

/// Docker resets its own backoff after 10 s; less is not being back.
const BACK_AFTER_MS: Ms = 15_000;

/// Counted by us from the truth, by defib from when it heard.
const EARLY_MS: Ms = 5_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in &story.rules.services {
        let wanted = service.wanted.unwrap_or(service.replicas.len());
        let gaps = gaps(story, service, wanted);
        for gap in &gaps {
            owed(story, service, *gap, &mut found);
        }
        early(story, service, &gaps, &mut found);
    }
    found
}

/// When fewer than wanted ran.
fn gaps(story: &Story<'_>, service: &ServiceRule, wanted: usize) -> Vec<Span> {
    let mut moments: Vec<Ms> = story
        .containers
        .values()
        .filter(|container| service.replicas.iter().any(|name| name == container.replica))
        .flat_map(|container| &container.instances)
        .flat_map(|lived| [lived.span.from, lived.span.to])
        .filter(|at| *at < story.end)
        .collect();
    moments.sort_unstable();
    moments.dedup();
    let mut gaps: Vec<Span> = Vec::new();
    for (index, &from) in moments.iter().enumerate() {
        if story.running(service, from) >= wanted {
            continue;
        }
        let to = moments.get(index + 1).copied().unwrap_or(story.end);
        match gaps.last_mut() {
            Some(last) if last.to == from => last.to = to,
            _ => gaps.push(Span { from, to }),
        }
    }
    gaps
}

/// Why a replica is missing decides when it is owed.
fn owed_after(story: &Story<'_>, service: &ServiceRule, gap: Span) -> Option<Ms> {
    let ends: Vec<(Who, i64)> = story
        .containers
        .values()
        .filter(|container| service.replicas.iter().any(|name| name == container.replica))
        .flat_map(|container| &container.instances)
        .filter(|lived| lived.span.to <= gap.to && lived.span.to >= gap.from)
        .filter_map(|lived| lived.ended)
        .collect();
    if ends.iter().all(|end| end.0 == Who::Itself && end.1 == 0) {
        // A finished job.
        return None;
    }
    if ends.iter().any(|end| end.0 == Who::Somebody) {
        // What is not in the config may be stopped for as long as anybody likes.
        service.listed.then_some(BY_HAND_AFTER_MS)
    } else {
        Some(DOWN_AFTER_MS)
    }
}

fn owed(story: &Story<'_>, service: &ServiceRule, gap: Span, found: &mut Vec<Violation>) {
    let Some(after) = owed_after(story, service, gap) else { return };
    // What defib never saw running it can't miss; what happened while it was down it counts from its start.
    let Some(life) =
        story.lives.iter().rev().find(|life| life.from <= gap.to && life.to > gap.from)
    else {
        return;
    };
    let seen_running = story
        .containers
        .values()
        .filter(|container| service.replicas.iter().any(|name| name == container.replica))
        .flat_map(|container| &container.instances)
        .filter(|lived| {
            lived.span.from < gap.from
                && story.lives.iter().any(|life| {
                    life.meets(Span {
                        from: lived.span.from + 30_000,
                        to: lived.span.to.min(gap.from + 1),
                    })
                })
        })
        .count();
    let wanted = service.wanted.unwrap_or(service.replicas.len());
    if seen_running < wanted {
        return;
    }
    let settling = story
        .boots
        .iter()
        .rev()
        .find(|boot| **boot <= gap.from)
        .map_or(0, |boot| boot + story.rules.host_boot);
    let begins = gap.from.max(life.from + story.rules.own_start.max(15_000)).max(settling);
    let by = begins + after + SLACK_MS + story.rules.list_every;
    let window = Span { from: begins.saturating_sub(10_000).max(life.from), to: by };
    let slept = story.sleeps.iter().any(|sleep| window.holds(sleep.0));
    if by > gap.to || slept || !story.unhindered(window) {
        return;
    }
    for sink in &story.rules.sinks {
        let fine =
            story.sink_fine(sink, Span { from: begins.saturating_sub(BACKED_OFF_MS), to: by });
        if fine && !told(story, service, sink, by) {
            found.push(Violation {
                rule: "P8",
                at: by,
                what: format!(
                    "fewer of {} run than should since {} and {sink} is not told",
                    service.name,
                    crate::account::Clockface(gap.from)
                ),
            });
        }
    }
}

/// Any open word on this service or on the host will do: a missing replica may be told of in an incident that is open.
fn told(story: &Story<'_>, service: &ServiceRule, sink: &str, by: Ms) -> bool {
    let mut standing: BTreeMap<&str, Standing> = BTreeMap::new();
    for send in &story.sends {
        let landed = send.sink == sink && send.landed.is_some_and(|at| at <= by);
        let about = match &send.message.service {
            Some(name) => name.as_str() == service.name,
            None => true,
        };
        if landed && about {
            let known = standing.entry(&send.message.key).or_insert(Standing::Closed);
            *known = known.after(send.message);
        }
    }
    standing.values().any(|standing| *standing != Standing::Closed)
}

/// What runs for a moment between two ends is not back: a crash loop is one gap.
fn joined(gaps: &[Span]) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for gap in gaps {
        match joined.last_mut() {
            Some(last) if gap.from - last.to < BACK_AFTER_MS => last.to = gap.to,
            _ => joined.push(*gap),
        }
    }
    joined
}

fn early(story: &Story<'_>, service: &ServiceRule, gaps: &[Span], found: &mut Vec<Violation>) {
    let opened = |send: &&Send<'_>| {
        send.message.kind == MessageKind::Opened
            && send.message.incident_kind == IncidentKind::Down
            && send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
    };
    for send in story.sends.iter().filter(opened) {
        let long_enough = joined(gaps).iter().any(|gap| {
            let seen = Span { from: gap.from, to: gap.to.min(send.at) };
            gap.from < send.at && story.elapsed(seen) + EARLY_MS >= DOWN_AFTER_MS
        });
        if !long_enough {
            found.push(Violation {
                rule: "P8",
                at: send.at,
                what: format!(
                    "{} is told that {} is down, and it was not",
                    send.sink, service.name
                ),
            });
        }
    }
}
