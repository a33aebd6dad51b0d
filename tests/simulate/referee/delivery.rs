//! P1 and the first half of P3: what arrives twice arrives under the same key and for a reason; nothing ends that was not
//! told of.

use super::{
    Violation,
    story::{Send, Story},
    told::Standing,
};
use crate::account::Ms;
use defib::domain::{message::MessageKind, observation::DeliveryOutcome};
use std::collections::BTreeMap;

/// The first reminder comes after an hour; clocks may be set and hosts may sleep, the hour stays.
const FIRST_REMINDER_MS: Ms = 3_600_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for sink in &story.rules.sinks {
        let sends: Vec<&Send<'_>> = story.sends.iter().filter(|send| send.sink == sink).collect();
        repeats(story, &sends, &mut found);
        keys(&sends, &mut found);
        opens(story, &sends, &mut found);
        ends(story, &sends, &mut found);
        reminders(&sends, &mut found);
    }
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
            | DeliveryOutcome::Broken(_),
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
            | MessageKind::Reminder => {}
        }
    }
}

fn reminders(sends: &[&Send<'_>], found: &mut Vec<Violation>) {
    for (index, send) in sends.iter().enumerate() {
        if send.message.kind != MessageKind::Reminder {
            continue;
        }
        let same = |earlier: &&&Send<'_>| earlier.message.incident == send.message.incident;
        let earlier = || sends[..index].iter().filter(same);
        let opened = earlier().find(|earlier| earlier.landed.is_some());
        // Who was told that it is well must hear that it is not.
        let relapsed = earlier().any(|earlier| earlier.message.kind == MessageKind::Recovered);
        if let Some(opened) = opened
            && !relapsed
            && send.elapsed - opened.elapsed + 60_000 < FIRST_REMINDER_MS
        {
            found.push(Violation {
                rule: "P3",
                at: send.at,
                what: format!(
                    "{} is reminded of {} after {} ms",
                    send.sink,
                    send.message.key,
                    send.elapsed - opened.elapsed
                ),
            });
        }
    }
}
