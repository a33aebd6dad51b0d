//! P1 and the first half of P3: what arrives twice arrives under the same key and for a reason; nothing ends that was not
//! told of.

use super::{
    Violation,
    story::{Send, Span, Story},
    told::Standing,
};
use crate::account::Ms;
use defib::domain::{message::MessageKind, observation::DeliveryOutcome};
use std::collections::BTreeMap;

/// The first reminder comes after an hour; clocks may be set and hosts may sleep, the hour stays.
const FIRST_REMINDER_MS: Ms = 3_600_000;

/// The second one when it is open for four.
const SECOND_REMINDER_MS: Ms = 4 * 3_600_000;

/// From its hour to its arrival: a turn of the loop, a commit, an attempt.
const REMINDED_WITHIN_MS: Ms = 60_000;

/// See `hearing`.
const BACKED_OFF_MS: Ms = 330_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for sink in &story.rules.sinks {
        let sends: Vec<&Send<'_>> = story.sends.iter().filter(|send| send.sink == sink).collect();
        repeats(story, &sends, &mut found);
        keys(&sends, &mut found);
        opens(story, &sends, &mut found);
        ends(story, &sends, &mut found);
        reminders(story, &sends, &mut found);
    }
    reminded(story, &mut found);
    found
}

/// Whether this attempt may have arrived, as far as defib could know.
fn may_have_landed(send: &Send<'_>) -> bool {
    match send.answered {
        None => true,
        Some((_, DeliveryOutcome::Delivered | DeliveryOutcome::Unknown(_))) => true,
        Some((
            _,
            DeliveryOutcome::Paused { .. }
            | DeliveryOutcome::Rejected(_)
            | DeliveryOutcome::Broken(_)
            | DeliveryOutcome::NotSent(_),
        )) => send.landed.is_some(),
    }
}

/// Whether defib was told that it arrived, and had every chance to keep that.
fn surely_known(story: &Story<'_>, send: &Send<'_>, until: &Send<'_>) -> bool {
    let Some((told, DeliveryOutcome::Delivered)) = send.answered else { return false };
    if send.life == until.life {
        return told < until.at;
    }
    // After a crash it is known only if something handed over later than the answer became safe before the crash.
    let crash = story.life_at(told).map_or(told, |life| life.to);
    let handed_over = story
        .submits
        .iter()
        .filter(|submit| submit.0 > told && submit.0 < crash)
        .map(|submit| submit.1);
    let trouble = story.store_bad.iter().any(|bad| bad.from < crash && bad.to + 60_000 > told);
    !trouble
        && handed_over.min().is_some_and(|seq| {
            story.commits.iter().any(|commit| commit.0 < crash && commit.1 >= seq)
        })
}

fn repeats(story: &Story<'_>, sends: &[&Send<'_>], found: &mut Vec<Violation>) {
    let mut by_key: BTreeMap<String, Vec<&Send<'_>>> = BTreeMap::new();
    for send in sends {
        by_key.entry(send.message.idempotency_key()).or_default().push(send);
    }
    for (key, attempts) in by_key {
        for (index, send) in attempts.iter().enumerate() {
            for earlier in &attempts[..index] {
                if surely_known(story, earlier, send) {
                    found.push(Violation {
                        rule: "P1",
                        at: send.at,
                        what: format!("{} gets {key} again, which it had confirmed", send.sink),
                    });
                }
                let waited = earlier.answered.is_none_or(|answer| answer.0 > send.at);
                if earlier.life == send.life && waited {
                    found.push(Violation {
                        rule: "P1",
                        at: send.at,
                        what: format!("{} gets {key} again before it answered", send.sink),
                    });
                }
                if earlier.message.kind != send.message.kind {
                    found.push(Violation {
                        rule: "P1",
                        at: send.at,
                        what: format!("{key} says two different things in {}", send.sink),
                    });
                }
            }
        }
    }
}

/// A message keeps its key over all attempts, also over a crash: by it alone a receiver knows what it has already. What was
/// decided at one moment of one incident is one message.
fn keys(sends: &[&Send<'_>], found: &mut Vec<Violation>) {
    for (index, send) in sends.iter().enumerate() {
        let same = |earlier: &&&Send<'_>| {
            earlier.message.incident == send.message.incident
                && earlier.message.kind == send.message.kind
                && earlier.message.decided == send.message.decided
                && earlier.message.id != send.message.id
        };
        if let Some(earlier) = sends[..index].iter().find(same) {
            found.push(Violation {
                rule: "P1",
                at: send.at,
                what: format!(
                    "{} gets {} under another key than before, {}",
                    send.sink,
                    send.message.idempotency_key(),
                    earlier.message.idempotency_key()
                ),
            });
        }
    }
}

/// One trouble is told of once: no second open under the same key without an end between.
fn opens(story: &Story<'_>, sends: &[&Send<'_>], found: &mut Vec<Violation>) {
    let mut standing: BTreeMap<&str, (Standing, &Send<'_>)> = BTreeMap::new();
    for &send in sends {
        let key = send.message.key.as_str();
        let (before, last) = standing.get(key).copied().unwrap_or((Standing::Closed, send));
        if send.message.kind == MessageKind::Opened && before != Standing::Closed {
            let same = last.message.idempotency_key() == send.message.idempotency_key();
            if !same && last.durable && surely_known(story, last, send) {
                found.push(Violation {
                    rule: "P1",
                    at: send.at,
                    what: format!(
                        "{} is told of {key} again, which is still open there",
                        send.sink
                    ),
                });
            }
        }
        let after = before.after(send.message);
        // An end may have arrived although nobody knows; a beginning counts only where it did.
        if send.landed.is_some() || after == Standing::Closed {
            standing.insert(key, (after, send));
        }
    }
}

fn ends(story: &Story<'_>, sends: &[&Send<'_>], found: &mut Vec<Violation>) {
    for (index, send) in sends.iter().enumerate() {
        let told = |wanted: &dyn Fn(&Send<'_>) -> bool| {
            sends[..index].iter().any(|earlier| {
                earlier.message.incident == send.message.incident
                    && matches!(
                        earlier.message.kind,
                        MessageKind::Opened
                            | MessageKind::Raised
                            | MessageKind::GivenUp
                            | MessageKind::Grown
                            | MessageKind::Relapsed
                            | MessageKind::Reminder
                    )
                    && wanted(earlier)
            })
        };
        match send.message.kind {
            MessageKind::Recovered | MessageKind::Resolved => {
                if !told(&may_have_landed) {
                    found.push(Violation {
                        rule: "P3",
                        at: send.at,
                        what: format!(
                            "{} is told {:?} of {} and had never been told of it",
                            send.sink, send.message.kind, send.message.key
                        ),
                    });
                }
            }
            MessageKind::Missed => {
                if told(&|earlier| earlier.durable && surely_known(story, earlier, send)) {
                    found.push(Violation {
                        rule: "P3",
                        at: send.at,
                        what: format!("{} did not miss {}", send.sink, send.message.key),
                    });
                }
            }
            MessageKind::Opened
            | MessageKind::Raised
            | MessageKind::GivenUp
            | MessageKind::Grown
            | MessageKind::Relapsed
            | MessageKind::Reminder => {}
        }
    }
}

/// When an incident was first told of, to anybody: sinks that hear of it later are reminded with the others.
fn begun<'s>(story: &'s Story<'_>, send: &Send<'_>) -> Option<&'s Send<'s>> {
    story.sends.iter().find(|first| first.message.incident == send.message.incident)
}

fn reminders(story: &Story<'_>, sends: &[&Send<'_>], found: &mut Vec<Violation>) {
    for (index, send) in sends.iter().enumerate() {
        if send.message.kind != MessageKind::Reminder {
            continue;
        }
        let same = |earlier: &&&Send<'_>| earlier.message.incident == send.message.incident;
        let earlier = || sends[..index].iter().filter(same);
        let key = send.message.idempotency_key();
        let again = earlier().any(|earlier| {
            earlier.message.kind == MessageKind::Reminder
                && earlier.message.idempotency_key() != key
                && earlier.answered.is_some_and(|answer| answer.1 == &DeliveryOutcome::Delivered)
                && surely_known(story, earlier, send)
        });
        let after = if again { SECOND_REMINDER_MS } else { FIRST_REMINDER_MS };
        let Some(begun) = begun(story, send) else { continue };
        if send.elapsed - begun.elapsed + 60_000 < after {
            found.push(Violation {
                rule: "P3",
                at: send.at,
                what: format!(
                    "{} is reminded of {} after {} ms{}",
                    send.sink,
                    send.message.key,
                    send.elapsed - begun.elapsed,
                    if again { ", again" } else { "" }
                ),
            });
        }
    }
}

/// What is still open after an hour that the host was awake is said again. Owed where nobody was told anything else since,
/// defib lived and the sink worked when it was due, and everything could be recorded until then.
fn reminded(story: &Story<'_>, found: &mut Vec<Violation>) {
    for (index, first) in story.sends.iter().enumerate() {
        let incident = first.message.incident;
        let is_first =
            story.sends[..index].iter().all(|earlier| earlier.message.incident != incident);
        if !is_first || first.message.kind != MessageKind::Opened {
            continue;
        }
        let due = story.decided(first) + FIRST_REMINDER_MS;
        let by = due + REMINDED_WITHIN_MS;
        let lived = story.life_at(due.saturating_sub(1_000)).is_some_and(|life| life.to >= by);
        let disturbed = story.boots.iter().any(|boot| *boot > first.at && *boot <= by)
            || story.store_bad.iter().any(|bad| bad.from < by);
        if by > story.end || !lived || disturbed {
            continue;
        }
        for sink in &story.rules.sinks {
            let window = Span { from: due.saturating_sub(BACKED_OFF_MS), to: by };
            let sends: Vec<&Send<'_>> = story
                .sends
                .iter()
                .filter(|send| send.sink == sink && send.message.incident == incident)
                .collect();
            let told = sends.iter().any(|send| send.landed.is_some_and(|at| at < window.from));
            let over = story.sends.iter().any(|send| {
                send.message.incident == incident
                    && matches!(
                        send.message.kind,
                        MessageKind::Recovered | MessageKind::Resolved | MessageKind::Missed
                    )
                    && story.decided(send) <= by
            });
            let reminded = sends.iter().any(|send| {
                send.message.kind == MessageKind::Reminder
                    && send.landed.is_some_and(|at| at <= by && at + 1_000 >= due)
            });
            if told && !over && !reminded && story.sink_fine(sink, window) {
                found.push(Violation {
                    rule: "P3",
                    at: by,
                    what: format!(
                        "{sink} is not reminded of {}, which is open for an hour",
                        first.message.key
                    ),
                });
            }
        }
    }
}
