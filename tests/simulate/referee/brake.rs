//! S8: when much fails at once, at most one trial in five minutes.
//!
//! Whether much fails is read from what defib had been shown, and only from what must count; so whatever is restarted while
//! it does was restarted knowingly.

use super::{
    Violation,
    evidence::Reading,
    story::{Act, Span, Story},
};
use crate::account::{Condition, Ms, ServiceRule};
use defib::domain::message::{IncidentKind, MessageKind};

/// What was decided before the verdicts came may still be on its way: a commit, an inspect.
const KNOWN_FOR_MS: Ms = 3_000;

/// Failing that began longer ago is not "at once".
const ONSET_MS: Ms = 600_000;

/// The first wait after a trial.
const NEXT_TRIAL_MS: Ms = 300_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let Some((services, percent)) = story.rules.brake else { return Vec::new() };
    let mut found = Vec::new();
    let mut trial: Option<&Act<'_>> = None;
    let mut released: Option<Ms> = None;
    for act in story.acts.iter().filter(|act| act.restarts()) {
        let failing: Vec<&str> = story
            .rules
            .services
            .iter()
            .filter(|service| !story.is_removed(service, act.at))
            .filter(|service| fails_since_lately(story, service, act))
            .map(|service| service.name.as_str())
            .collect();
        let watched = story
            .rules
            .services
            .iter()
            .filter(|service| service.healthcheck.is_some() || !service.probes.is_empty())
            .count();
        if failing.len() < services || failing.len() * 100 < percent * watched {
            continue;
        }
        // A trial that helped releases the brake for what it had held.
        let released_lately = released.is_some_and(|at| act.elapsed - at < ONSET_MS);
        if released_lately || a_told_trial_helped(story, act) {
            continue;
        }
        if let Some(last) = trial {
            let apart = act.elapsed - last.elapsed;
            let recovered = story
                .well(last.replica, 0)
                .iter()
                .any(|well| well.meets(Span { from: last.at, to: act.at + 1 }));
            if recovered {
                released = Some(act.elapsed);
            } else if last.life == act.life && apart + 1_000 < NEXT_TRIAL_MS {
                found.push(Violation {
                    rule: "S8",
                    at: act.at,
                    what: format!(
                        "{} while {} fail, {apart} ms after the restart of {}",
                        act.told(),
                        failing.join(", "),
                        last.replica
                    ),
                });
            }
        }
        trial = Some(act);
    }
    found
}

/// Whether the brake, as people were told of it, ended lately after a trial that helped: one that was made before enough of
/// what failed was sure to be known.
fn a_told_trial_helped(story: &Story<'_>, act: &Act<'_>) -> bool {
    let told = |kind: MessageKind| {
        let about = story.sends.iter().filter(move |send| {
            send.message.incident_kind == IncidentKind::Brake && send.message.kind == kind
        });
        about.map(|send| story.decided(send)).filter(|at| *at <= act.at)
    };
    let Some(ended) = told(MessageKind::Resolved).max() else { return false };
    let Some(began) = told(MessageKind::Opened).filter(|at| *at < ended).max() else {
        return false;
    };
    let helped = story.acts.iter().filter(|trial| trial.restarts()).any(|trial| {
        let since = Span { from: trial.at, to: ended + 1 };
        (began..ended).contains(&trial.at)
            && story.well(trial.replica, 0).iter().any(|well| well.meets(since))
    });
    helped && act.at < ended + ONSET_MS
}

fn fails_since_lately(story: &Story<'_>, service: &ServiceRule, act: &Act<'_>) -> bool {
    service.replicas.iter().any(|replica| {
        let failing = story.containers_of(replica).iter().any(|container| {
            let Some(lived) = container.lived_at(act.at) else { return false };
            if container.paused_at(act.at) {
                return false;
            }
            // What never worked did not begin to fail now.
            let worked =
                service.probes.iter().filter(|probe| container.passed_before(&probe.name, act.at));
            let probes = worked.filter_map(|probe| {
                container.probe_streak(service, probe, lived.instance, act.at, Reading::Least)
            });
            let health = container.health_streak(lived.instance, act.at, Reading::Least);
            // Only what this life of defib saw by itself is sure to be known to it.
            let born = story.life_at(act.at).map_or(Ms::MAX, |life| life.from);
            probes.chain(health).any(|streak| {
                streak.first >= born && streak.verdict.saturating_add(KNOWN_FOR_MS) < act.at
            })
        });
        failing && began_lately(story, service, replica, act)
    })
}

/// Whether its whole trouble, earlier lives included, began within the last ten minutes.
fn began_lately(story: &Story<'_>, service: &ServiceRule, replica: &str, act: &Act<'_>) -> bool {
    let mut began = act.at;
    for container in story.containers_of(replica) {
        for (at, condition) in &container.conditions {
            let bad = *condition == Condition::Failing || *condition == Condition::Wrong;
            if bad && *at < began {
                let between = Span { from: *at, to: act.at };
                // A trouble is over only after it was well for long enough, seen late.
                if story.longest_well(replica, between, 0) < service.stable_for + 15_000 {
                    began = *at;
                }
            }
        }
    }
    story.elapsed(Span { from: began, to: act.at }) + 5_000 < ONSET_MS
}
