//! S3 and S4: one action at a time, few at once, and never more than the budget.

use super::{
    Violation,
    evidence::{Says, says},
    story::{Act, Span, Story},
};
use crate::account::{Clockface, Condition, Entry, Fact, Ms};
use defib::domain::{effect::Primitive, observation::ActOutcome};

/// A call is given up on no earlier than the stop, the kill after it (12 s) and the start may take.
const CALL_MS: Ms = 12_000;

/// What is open may reach the engine so much later still: a proxy that held it for longer has hung up itself.
const OPEN_MS: Ms = 300_000;

/// What was seen so shortly before may be so still.
const STILL_SO_MS: Ms = 60_000;

/// A spell of failing that is shorter may fall between two samples, so that defib never saw the health interrupted.
const FORGIVEN_MS: Ms = 60_000;

/// Clocks, ticks and queues on the way from being well to its being seen.
const SLACK_MS: Ms = 5_000;

/// From the look that an act rests on to the act lies a commit (2 s at most, else it is given up), and a queue. Other looks may
/// come meanwhile, so not the last one counts, but the first one so near.
const LOOKED_BEFORE_MS: Ms = 3_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    one_in_flight(story, &mut found);
    none_while_one_is_open(story, &mut found);
    few_at_once(story, &mut found);
    enough_stay(story, &mut found);
    within_the_budget(story, &mut found);
    within_the_host_budget(story, &mut found);
    durable_before_the_act(story, &mut found);
    found
}

/// Until when this call was surely in flight.
fn in_flight_until(story: &Story<'_>, act: &Act<'_>) -> Ms {
    let deadline = act.at + act.service.stop_timeout + CALL_MS;
    let answered = act.answered.map_or(Ms::MAX, |answer| answer.0);
    let life = story.life_at(act.at).map_or(act.at, |life| life.to);
    deadline.min(answered).min(life)
}

fn one_in_flight(story: &Story<'_>, found: &mut Vec<Violation>) {
    for (index, act) in story.acts.iter().enumerate() {
        let earlier = story.acts[..index].iter().filter(|other| {
            other.replica == act.replica
                && other.life == act.life
                && act.at < in_flight_until(story, other)
        });
        for other in earlier {
            found.push(Violation {
                rule: "S3",
                at: act.at,
                what: format!("{} while a {} was in flight", act.told(), other.primitive),
            });
        }
    }
}

/// A call that is still open may be carried out still, however long ago defib has stopped waiting for it: the same life is not
/// told to restart once more meanwhile.
fn none_while_one_is_open(story: &Story<'_>, found: &mut Vec<Violation>) {
    for (index, act) in story.acts.iter().enumerate().filter(|(_, act)| act.restarts()) {
        let Some(container) = story.containers.get(act.container) else { continue };
        let life_of = |at: Ms| container.lived_at(at).map(|lived| lived.instance);
        let open = story.acts[..index].iter().find(|other| {
            other.restarts()
                && other.container == act.container
                && other.life == act.life
                && other.answered.is_none_or(|(at, _)| at > act.at)
                && act.at < other.at + OPEN_MS
                && life_of(other.at).is_some()
                && life_of(other.at) == life_of(act.at)
        });
        if let Some(other) = open {
            found.push(Violation {
                rule: "S3",
                at: act.at,
                what: format!("{}: the one of {} is still open", act.told(), Clockface(other.at)),
            });
        }
    }
}

/// Whether `other` was surely acting or unverified when `at` came.
fn unverified(story: &Story<'_>, other: &Act<'_>, at: Ms) -> bool {
    if at < in_flight_until(story, other) {
        return true;
    }
    // What the engine could not do is over; what it did is to be verified.
    let Some((answered, ActOutcome::Done)) = other.answered else { return false };
    let Some(container) = story.containers.get(other.container) else { return false };
    // Anything that somebody else did to it meanwhile may have ended the attempt.
    let meddled = container.destroyed.is_some_and(|gone| gone <= at)
        || container.stops.iter().any(|stop| stop.0 > answered && stop.0 <= at)
        || container.pauses.iter().any(|pause| pause.from <= at && pause.to >= answered)
        || !container.lived_at(answered).is_some_and(|lived| lived.span.holds(at));
    let was_well = story
        .well(other.replica, 0)
        .iter()
        .any(|well| well.meets(Span { from: answered.saturating_sub(1_000), to: at + 1 }));
    // How it would answer is looked at now and then only: what defib was shown may tell sooner.
    let shown_well = story.shown_well(other.replica, answered, at + 1).is_some();
    !meddled
        && !was_well
        && !shown_well
        && story.condition(other.replica, at) == Condition::Failing
        && at < answered + other.service.recover_within.saturating_sub(SLACK_MS)
}

fn few_at_once(story: &Story<'_>, found: &mut Vec<Violation>) {
    for (index, act) in story.acts.iter().enumerate().filter(|(_, act)| act.restarts()) {
        let mut others: Vec<&Act<'_>> = Vec::new();
        for other in story.acts[..index].iter().rev() {
            if other.life == act.life
                && other.restarts()
                && other.replica != act.replica
                && !others.iter().any(|known| known.replica == other.replica)
                && unverified(story, other, act.at)
            {
                others.push(other);
            }
        }
        let siblings = others.iter().filter(|other| other.service.name == act.service.name).count();
        if siblings >= act.service.max_acting {
            found.push(Violation {
                rule: "S3",
                at: act.at,
                what: format!(
                    "{}: {siblings} of {} acting or unverified, max_acting is {}",
                    act.told(),
                    act.service.name,
                    act.service.max_acting
                ),
            });
        }
        if others.len() >= story.rules.max_concurrent {
            found.push(Violation {
                rule: "S3",
                at: act.at,
                what: format!(
                    "{}: {} acting or unverified on the host, max_concurrent is {}",
                    act.told(),
                    others.len(),
                    story.rules.max_concurrent
                ),
            });
        }
    }
}

/// `min_healthy`: what still passes something is not restarted while fewer of its siblings are well than have to stay so.
fn enough_stay(story: &Story<'_>, found: &mut Vec<Violation>) {
    for act in story.acts.iter().filter(|act| act.restarts() && act.service.min_healthy > 0) {
        let Some(container) = story.containers.get(act.container) else { continue };
        let Some(lived) = container.lived_at(act.at) else { continue };
        let passes = act.service.probes.iter().any(|probe| {
            let last = container.samples_of(&probe.name, lived.instance, act.at).last();
            last.is_some_and(|shown| {
                says(shown.what) == Says::Pass && shown.at + STILL_SO_MS >= act.at
            })
        });
        let lately = Span { from: act.at.saturating_sub(STILL_SO_MS), to: act.at + 1 };
        let may_be_well = |replica: &&String| {
            let was_well = story.well(replica, 0).iter().any(|well| well.meets(lately));
            was_well || story.shown_well(replica, lately.from, lately.to).is_some()
        };
        let siblings = act.service.replicas.iter().filter(|name| *name != act.replica);
        let left = siblings.filter(may_be_well).count();
        if passes && left < act.service.min_healthy {
            found.push(Violation {
                rule: "S3",
                at: act.at,
                what: format!(
                    "{} while it passes something, and {left} of its siblings are well: {} have to be",
                    act.told(),
                    act.service.min_healthy
                ),
            });
        }
    }
}

fn within_the_budget(story: &Story<'_>, found: &mut Vec<Violation>) {
    for service in &story.rules.services {
        for replica in &service.replicas {
            let (restarts, refill) = service.budget;
            // One trouble's restarts in which no refill can have come.
            let mut spent: Vec<Ms> = Vec::new();
            for act in story.acts.iter().filter(|act| act.spends() && act.replica == replica) {
                if let Some(&last) = spent.last() {
                    let between = Span { from: last, to: act.at };
                    let well = story.longest_well(replica, between, FORGIVEN_MS);
                    // It counts as well until its failing amounts to a verdict.
                    if well + service.slowest_verdict() + SLACK_MS >= refill {
                        spent.clear();
                    }
                }
                spent.push(act.at);
                if spent.len() > restarts {
                    found.push(Violation {
                        rule: "S4",
                        at: act.at,
                        what: format!(
                            "{} is restart {} of a trouble whose budget is {restarts}",
                            act.told(),
                            spent.len()
                        ),
                    });
                }
            }
        }
    }
}

fn within_the_host_budget(story: &Story<'_>, found: &mut Vec<Violation>) {
    let (restarts, within) = story.rules.host_budget;
    let times: Vec<&Act<'_>> = story.acts.iter().filter(|act| act.spends()).collect();
    for (index, act) in times.iter().enumerate() {
        let recent = times[..=index]
            .iter()
            .filter(|other| act.elapsed - other.elapsed + SLACK_MS < within)
            .count();
        if recent > restarts {
            found.push(Violation {
                rule: "S4",
                at: act.at,
                what: format!("{} is restart {recent} within the host's {within} ms", act.told()),
            });
        }
    }
}

/// What an act rests on is recorded between the look right before it and the act: a batch that was handed over after the look
/// is safe before the act. A batch of before that look says nothing of this restart, however late it became safe.
fn durable_before_the_act(story: &Story<'_>, found: &mut Vec<Violation>) {
    for (place, entry) in story.entries.iter().enumerate() {
        let Fact::ActCalled { container, primitive: Primitive::Restart { .. }, .. } = &entry.fact
        else {
            continue;
        };
        if !recorded_since_its_look(&story.entries[..place], entry, container) {
            found.push(Violation {
                rule: "S4",
                at: entry.at,
                what: format!("restart of {container}, and nothing had been recorded for it"),
            });
        }
    }
}

/// By the order in which it was overheard: much of it may happen within one millisecond.
fn recorded_since_its_look(before: &[Entry], act: &Entry, container: &str) -> bool {
    let is_look = |entry: &Entry| {
        entry.life == act.life
            && matches!(&entry.fact, Fact::Inspected { container: other, .. } if other == container)
    };
    let near = |entry: &Entry| is_look(entry) && entry.at + LOOKED_BEFORE_MS >= act.at;
    // An act that rests on no look so near is judged by another rule.
    let look = before.iter().position(near).or_else(|| before.iter().rposition(is_look));
    let since_look = before.iter().skip(look.unwrap_or(0));
    let mut first_submitted = None;
    for entry in since_look {
        match entry.fact {
            Fact::Submitted { seq, .. } => {
                first_submitted.get_or_insert(seq);
            }
            Fact::Committed { seq } if first_submitted.is_some_and(|first| first <= seq) => {
                return true;
            }
            _ => {}
        }
    }
    false
}
