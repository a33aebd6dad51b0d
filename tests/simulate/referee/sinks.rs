//! P4: where nothing arrives at a sink, the others are told; and of none that works. Judged from what each sink answered.

use super::{
    Violation,
    story::{Send, Span, Story},
    told::Standing,
};
use crate::account::{Clockface, Ms};
use defib::domain::{
    message::{IncidentKind, MessageKind},
    observation::DeliveryOutcome,
};
use std::collections::BTreeMap;

/// What refuses is told of after so long.
const REFUSING_MS: Ms = 90_000;

/// What can't be reached is.
const SILENT_MS: Ms = 600_000;

/// From then to its arrival at another: a turn of the loop, a commit that does not come (2 s), what stands before it in line.
const TOLD_WITHIN_MS: Ms = 30_000;

/// Clocks that are read one after the other.
const EARLY_MS: Ms = 1_000;

/// See `hearing`.
const BACKED_OFF_MS: Ms = 330_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for sink in &story.rules.sinks {
        for spell in spells(story, sink) {
            for other in story.rules.sinks.iter().filter(|other| *other != sink) {
                must_be_told(story, sink, &spell, other, &mut found);
            }
        }
    }
    must_fail(story, &mut found);
    found
}

/// A time in which a sink took nothing, in one life of defib.
struct Spell<'s> {
    /// From the first answer that is no hiccup, to the beginning of the last attempt at what it has been owed all the while.
    owed: Span,
    /// What it answered, and when.
    answers: Vec<(Ms, &'s DeliveryOutcome)>,
}

fn spells<'s>(story: &'s Story<'_>, sink: &str) -> Vec<Spell<'s>> {
    let sends: Vec<&Send<'s>> = story.sends.iter().filter(|send| send.sink == sink).collect();
    let ended = |send: &&Send<'_>| {
        !send.answered.is_some_and(|(_, outcome)| *outcome != DeliveryOutcome::Delivered)
    };
    let mut spells = Vec::new();
    for of_life in sends.chunk_by(|a, b| a.life == b.life) {
        // The attempt that ends it shows that something was owed until then.
        for attempts in of_life.split_inclusive(ended) {
            spells.extend(spell(attempts));
        }
    }
    spells
}

fn spell<'s>(attempts: &[&Send<'s>]) -> Option<Spell<'s>> {
    let mut tried: BTreeMap<u64, Span> = BTreeMap::new();
    let mut began = None;
    let mut answers = Vec::new();
    for send in attempts {
        let known = tried.contains_key(&send.message.id.0);
        let span = tried.entry(send.message.id.0).or_insert(Span { from: send.at, to: send.at });
        span.to = send.at;
        let Some((at, outcome)) = send.answered else { continue };
        // A message that is refused once is tried again at once, reduced to what matters.
        let hiccup = matches!(outcome, DeliveryOutcome::Rejected(_)) && !known;
        if began.is_none() && !hiccup {
            began = Some((at, *span));
        }
        answers.push((at, outcome));
    }
    let (from, first) = began?;
    let mut to = tried.values().find(|span| span.from == first.from)?.to;
    // What was owed when the last attempt at it began, and was tried later, was owed in between.
    while let Some(next) = tried.values().find(|span| span.from <= to && span.to > to) {
        to = next.to;
    }
    Some(Spell { owed: Span { from, to }, answers })
}

fn must_be_told(
    story: &Story<'_>,
    sink: &str,
    spell: &Spell<'_>,
    other: &str,
    found: &mut Vec<Violation>,
) {
    let from = spell.owed.from;
    let soon = from + REFUSING_MS + TOLD_WITHIN_MS;
    let refuses = |answer: &&(Ms, &DeliveryOutcome)| match answer.1 {
        DeliveryOutcome::Rejected(_) | DeliveryOutcome::Broken(_) | DeliveryOutcome::NotSent(_) => {
            true
        }
        DeliveryOutcome::Delivered
        | DeliveryOutcome::Unknown(_)
        | DeliveryOutcome::Paused { .. } => false,
    };
    let only_refuses =
        spell.answers.iter().filter(|answer| answer.0 <= soon).all(|answer| refuses(&answer));
    let by = if only_refuses { soon } else { from + SILENT_MS + TOLD_WITHIN_MS };
    let works = story.sink_fine(other, Span { from: from.saturating_sub(BACKED_OFF_MS), to: by });
    if by < spell.owed.to && works && !is_told(story, other, by) {
        found.push(Violation {
            rule: "P4",
            at: by,
            what: format!(
                "nothing arrives at {sink} since {} and {other} is not told",
                Clockface(from)
            ),
        });
    }
}

fn is_told(story: &Story<'_>, sink: &str, by: Ms) -> bool {
    let about = story.sends.iter().filter(|send| {
        send.sink == sink
            && send.message.incident_kind == IncidentKind::SinkFailing
            && send.landed.is_some_and(|at| at <= by)
    });
    let standing = about.fold(Standing::Closed, |known, send| known.after(send.message));
    standing != Standing::Closed
}

/// When others are told that nothing arrives, nothing does.
fn must_fail(story: &Story<'_>, found: &mut Vec<Violation>) {
    for (index, send) in story.sends.iter().enumerate() {
        // Whoever hears of it later hears of what is still so, for however long.
        let is_told = |earlier: &Send<'_>| earlier.message.incident == send.message.incident;
        let after = if story.sends[..index].iter().any(is_told) { 0 } else { REFUSING_MS };
        let opens = send.message.incident_kind == IncidentKind::SinkFailing
            && send.message.kind == MessageKind::Opened;
        let decided = story.decided(send);
        if opens && !story.rules.sinks.iter().any(|sink| fails(story, sink, decided, after)) {
            found.push(Violation {
                rule: "P4",
                at: send.at,
                what: format!("{} is told that a sink fails, and none does", send.sink),
            });
        }
    }
}

/// Whether this sink had taken nothing for long enough at this moment, or not a message that it refuses.
fn fails(story: &Story<'_>, sink: &str, at: Ms, after: Ms) -> bool {
    let answers: Vec<(Ms, &Send<'_>, &DeliveryOutcome)> = story
        .sends
        .iter()
        .filter(|send| send.sink == sink)
        .filter_map(|send| send.answered.map(|(when, outcome)| (when, send, outcome)))
        .filter(|(when, _, outcome)| {
            // What arrived after all counts from when that was known.
            let early = if **outcome == DeliveryOutcome::Delivered { 0 } else { EARLY_MS };
            *when <= at + early
        })
        .collect();
    let long_ago = |when: Ms| when + after <= at + EARLY_MS;
    let failed = answers
        .rsplit(|(.., outcome)| **outcome == DeliveryOutcome::Delivered)
        .next()
        .unwrap_or_default();
    // What can't be reached is tried again soon enough to know it.
    let lately = failed.last().is_some_and(|(when, _, outcome)| {
        !matches!(outcome, DeliveryOutcome::Unknown(_)) || when + BACKED_OFF_MS >= at
    });
    let refused = answers.iter().any(|(when, refused, outcome)| {
        matches!(outcome, DeliveryOutcome::Rejected(_))
            && long_ago(*when)
            && !answers.iter().any(|(_, send, outcome)| {
                send.message.id == refused.message.id && **outcome == DeliveryOutcome::Delivered
            })
    });
    refused || (lately && failed.first().is_some_and(|(when, ..)| long_ago(*when)))
}
