//! P8: fewer running than should for 60 s is told, whatever the cause; and what runs is not called down.
//!
//! Judged replica by replica: each is missing for its own reason, and one that has finished its work, or was stopped by
//! somebody, excuses no other.

use super::{
    Violation,
    hearing::JOINS_WITHIN_MS,
    story::{Container, Send, Span, Story},
    told::{Standing, asked_at, brake_is_open, names},
};
use crate::account::{Ms, ServiceRule, Who};
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    observation::{ContainerState, EventAction},
};
use std::collections::BTreeMap;

/// Fewer running for so long is `down`.
const DOWN_AFTER_MS: Ms = 60_000;

/// Stopped by somebody else is a ticket after so long.
const BY_HAND_AFTER_MS: Ms = 600_000;

/// Noticing (an event, or the next list), a commit, an attempt at delivery.
const SLACK_MS: Ms = 45_000;

/// A stop may take its timeout, and the engine some 20 s beyond.
const BEYOND_STOP_MS: Ms = 25_000;

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
        for replica in &service.replicas {
            for absence in absences(story, service, replica) {
                for (span, after) in absence.owed(service) {
                    for gap in gaps.iter().filter(|gap| gap.meets(span)) {
                        let both = Span { from: gap.from.max(span.from), to: gap.to.min(span.to) };
                        owed(story, service, replica, both, after, &mut found);
                    }
                }
            }
        }
        early(story, service, &gaps, &mut found);
        over_too_soon(story, service, &mut found);
    }
    // Of two that are missing the word is one.
    found.dedup();
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

/// One replica did not run.
struct Absence {
    span: Span,
    /// It had done its work.
    finished: bool,
    /// From when on that is somebody's own doing.
    theirs: Option<Ms>,
}

impl Absence {
    /// What is to be told of it, and how long after.
    fn owed(&self, service: &ServiceRule) -> Vec<(Span, Ms)> {
        if self.finished {
            return Vec::new();
        }
        let Span { from, to } = self.span;
        let theirs = self.theirs.unwrap_or(to);
        let mut owed = vec![(Span { from, to: theirs }, DOWN_AFTER_MS)];
        // What is not in the config may be stopped for as long as anybody likes.
        if service.listed {
            owed.push((Span { from: theirs, to }, BY_HAND_AFTER_MS));
        }
        owed.retain(|(span, _)| span.from < span.to);
        owed
    }

    /// Whether it was missed at this moment: neither finished nor anybody's own doing.
    fn is_missed_at(&self, at: Ms) -> bool {
        self.span.holds(at) && !self.finished && self.theirs.is_none_or(|theirs| theirs > at)
    }
}

/// Whether somebody sent it a signal that ends most so shortly before that its end may be what that came to: the engine takes it
/// for that too, and does not start it again.
fn signalled(containers: &[&Container<'_>], ended: Ms, stop_timeout: Ms) -> bool {
    let shortly = ended.saturating_sub(stop_timeout + BEYOND_STOP_MS)..=ended;
    let mut stops = containers.iter().flat_map(|container| &container.stops);
    if stops.any(|(at, by)| *by == Who::Defib && shortly.contains(at)) {
        // What was told of may be defib's own.
        return false;
    }
    containers.iter().flat_map(|container| &container.events).any(|shown| {
        let ends = matches!(shown.what, EventAction::Killed { signal: Some(2 | 9 | 15) });
        ends && shortly.contains(&shown.at)
    })
}

/// Each time that a replica did not run, after it had.
fn absences(story: &Story<'_>, service: &ServiceRule, replica: &str) -> Vec<Absence> {
    let containers = story.containers_of(replica);
    let lives = || containers.iter().flat_map(|container| &container.instances);
    let by_somebody = |from: Ms, to: Ms| {
        let within = Span { from, to };
        let stops = containers.iter().flat_map(|container| &container.stops);
        let stops = stops.filter(|stop| stop.1 == Who::Somebody).map(|stop| stop.0);
        let removed = containers.iter().filter(|one| one.destroyed_by == Some(Who::Somebody));
        let removed = removed.filter_map(|container| container.destroyed);
        stops.chain(removed).filter(|at| within.holds(*at)).min()
    };
    lives()
        .filter_map(|lived| {
            let (by, exit_code) = lived.ended?;
            let from = lived.span.to;
            let goes_on = lives().any(|other| other.span.holds(from));
            let to = lives().map(|other| other.span.from).filter(|at| *at > from).min();
            let to = to.unwrap_or(story.end);
            let is_theirs =
                by == Who::Somebody || signalled(&containers, from, service.stop_timeout);
            let theirs = if is_theirs { Some(from) } else { by_somebody(from, to) };
            let finished = by == Who::Itself && exit_code == 0;
            (!goes_on && from < to).then_some(Absence { span: Span { from, to }, finished, theirs })
        })
        .collect()
}

fn owed(
    story: &Story<'_>,
    service: &ServiceRule,
    replica: &str,
    absent: Span,
    after: Ms,
    found: &mut Vec<Violation>,
) {
    if !seen_running(story, replica, absent.from) {
        return;
    }
    // What happened while defib was down it counts from its start.
    let Some(life) =
        story.lives.iter().rev().find(|life| life.from <= absent.to && life.to > absent.from)
    else {
        return;
    };
    let settling = story
        .boots
        .iter()
        .rev()
        .find(|boot| **boot <= absent.from)
        .map_or(0, |boot| boot + story.rules.host_boot);
    // Whose doing it is a life that could record nothing took with it: until a later one is shown that too.
    let forgotten = story.life_at(absent.from).is_none_or(|told| {
        told != *life
            && story.store_bad.iter().any(|bad| bad.meets(Span { from: absent.from, to: told.to }))
    });
    let containers = story.containers_of(replica);
    let removed = containers.iter().filter_map(|container| container.destroyed);
    let shown_later = removed.filter(|at| forgotten && absent.holds(*at)).max().unwrap_or(0);
    let begins = absent.from.max(life.from + story.rules.own_start.max(15_000)).max(settling);
    let begins = begins.max(shown_later);
    let by = begins + after + SLACK_MS + story.rules.list_every;
    let window = Span { from: begins.saturating_sub(10_000).max(life.from), to: by };
    let slept = story.sleeps.iter().any(|sleep| window.holds(sleep.0));
    if by > absent.to || slept || story.is_removed(service, by) || !story.unhindered(window) {
        return;
    }
    for sink in &story.rules.sinks {
        let joining = if brake_is_open(story, sink, by) { JOINS_WITHIN_MS } else { 0 };
        let by = by + joining;
        if by > absent.to || !story.unhindered(Span { to: by, ..window }) {
            continue;
        }
        let fine =
            story.sink_fine(sink, Span { from: begins.saturating_sub(BACKED_OFF_MS), to: by });
        let mut asked = asked_at(story, sink, by).into_iter();
        let told = |at| standing(story, service, sink, at).is_some();
        if fine && is_for(story, service, sink, by) && !asked.any(told) {
            found.push(Violation {
                rule: "P8",
                at: by,
                what: format!(
                    "fewer of {} run than should since {} and {sink} is not told",
                    service.name,
                    crate::account::Clockface(absent.from)
                ),
            });
        }
    }
}

/// What defib never saw running it can't miss.
fn seen_running(story: &Story<'_>, replica: &str, before: Ms) -> bool {
    story.containers_of(replica).iter().flat_map(|container| &container.instances).any(|lived| {
        let to = lived.span.to.min(before + 1);
        let met = Span { from: lived.span.from + 30_000, to };
        lived.span.from < before && story.lives.iter().any(|life| life.meets(met))
    })
}

/// Whether it would be told to this sink: what is a notice to the others is nothing to one that takes none.
fn is_for(story: &Story<'_>, service: &ServiceRule, sink: &str, by: Ms) -> bool {
    let heard = |other: &String| standing(story, service, other, by);
    story.rules.takes(sink, Severity::Notice)
        || story.rules.sinks.iter().filter_map(heard).any(|level| story.rules.takes(sink, level))
}

/// How loudly this sink has been told. Any open word on this service will do, and one of the host that names it, or says that
/// nothing can be seen: a missing replica may be told of in an incident that is open.
fn standing(story: &Story<'_>, service: &ServiceRule, sink: &str, by: Ms) -> Option<Severity> {
    let mut standing: BTreeMap<&str, Standing> = BTreeMap::new();
    for send in &story.sends {
        let landed = send.sink == sink && send.landed.is_some_and(|at| at <= by);
        let about = match (&send.message.service, send.message.incident_kind) {
            (Some(name), _) => name.as_str() == service.name,
            (None, IncidentKind::Brake) => names(send.message, &service.name),
            (None, IncidentKind::EngineUnreachable) => true,
            (None, _) => false,
        };
        if landed && about {
            let known = standing.entry(&send.message.key).or_insert(Standing::Closed);
            *known = known.after(send.message);
        }
    }
    let open = standing.values().filter_map(|standing| match standing {
        Standing::Closed => None,
        Standing::Open(level) | Standing::Recovered(level) => Some(*level),
    });
    open.max()
}

/// What runs for a moment between two ends is not back: a crash loop is one gap. Nor is what nobody was shown to be back.
fn joined(story: &Story<'_>, service: &ServiceRule, gaps: &[Span], until: Ms) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for gap in gaps {
        let to = shown_back(story, service, gap.to).unwrap_or(until).max(gap.to);
        match joined.last_mut() {
            Some(last) if gap.from.saturating_sub(last.to) < BACK_AFTER_MS => {
                last.to = last.to.max(to);
            }
            _ => joined.push(Span { from: gap.from, to }),
        }
    }
    joined
}

/// When defib was shown that what began to run at this moment does.
fn shown_back(story: &Story<'_>, service: &ServiceRule, back: Ms) -> Option<Ms> {
    let of_service = |container: &&Container<'_>| {
        service.replicas.iter().any(|name| name == container.replica)
            && container.instances.iter().any(|lived| lived.span.from == back)
    };
    story
        .containers
        .values()
        .filter(of_service)
        .flat_map(|container| {
            let inspected = container.inspected.iter();
            let inspected = inspected.filter(|shown| shown.what.state == ContainerState::Running);
            let events = container.events.iter();
            let events = events.filter(|shown| *shown.what == EventAction::Started);
            inspected.map(|shown| shown.at).chain(events.map(|shown| shown.at))
        })
        .filter(|at| *at >= back)
        .min()
}

fn about_down<'s>(
    story: &'s Story<'_>,
    service: &'s ServiceRule,
    kind: MessageKind,
) -> impl Iterator<Item = &'s Send<'s>> {
    story.sends.iter().filter(move |send| {
        send.message.kind == kind
            && send.message.incident_kind == IncidentKind::Down
            && send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
    })
}

fn early(story: &Story<'_>, service: &ServiceRule, gaps: &[Span], found: &mut Vec<Violation>) {
    // A life that ended just as the next one began is a gap of no length; it counts where that next one ends at once.
    let ends = service.replicas.iter().flat_map(|replica| {
        let containers = story.containers_of(replica);
        let lives: Vec<Span> = containers
            .iter()
            .flat_map(|container| &container.instances)
            .map(|lived| lived.span)
            .collect();
        let replaced = |end: &Ms| lives.iter().any(|life| life.from == *end);
        let ends: Vec<Ms> = lives.iter().map(|life| life.to).filter(replaced).collect();
        ends.into_iter().map(|end| Span { from: end, to: end })
    });
    let mut gaps: Vec<Span> = gaps.iter().copied().chain(ends).collect();
    gaps.sort_by_key(|gap| (gap.from, gap.to));
    for send in about_down(story, service, MessageKind::Opened) {
        let long_enough = joined(story, service, &gaps, send.at).iter().any(|gap| {
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

/// "Down" is not over while one that defib was shown to stand still is missed.
fn over_too_soon(story: &Story<'_>, service: &ServiceRule, found: &mut Vec<Violation>) {
    // Of what is not in the config nobody knows how much of it should run.
    if !service.listed || service.wanted.is_none() {
        return;
    }
    for send in about_down(story, service, MessageKind::Resolved) {
        let decided = story.decided(send);
        if story.is_removed(service, decided) {
            continue;
        }
        let missed = service.replicas.iter().find(|replica| {
            absences(story, service, replica).iter().any(|absence| {
                let known = Span { from: absence.span.from, to: decided + 1 };
                let shown = story.containers_of(replica).iter().any(|container| {
                    container.inspected.iter().any(|shown| {
                        known.holds(shown.at) && shown.what.state != ContainerState::Running
                    })
                });
                absence.is_missed_at(decided) && absence.span.from + EARLY_MS < decided && shown
            })
        });
        if let Some(missed) = missed {
            found.push(Violation {
                rule: "P8",
                at: send.at,
                what: format!(
                    "{} is told that {} is not down any more, and {missed} is missing",
                    send.sink, service.name
                ),
            });
        }
    }
}
