//! S9: causes first. What depends on another service is restarted only after that was shown to be well, later than what
//! speaks against the dependent now began to: a dependency that fell after it passed last is the likelier cause.
//!
//! The streak counts, not the trouble: a trouble goes on over restarts and lives, and what was well at its beginning may long
//! have fallen. Read as early as it may have begun, and a dependency as well as soon as any of its replicas may be.

use super::{
    Violation,
    evidence::{Reading, Says, says},
    proof,
    story::{Act, Container, Send, Shown, Story},
    told::{Standing, asked_at},
};
use crate::account::{Clockface, Ms, ProbeRule, Sampled, ServiceRule};
use defib::domain::{
    message::{IncidentKind, Severity},
    observation::HealthResult,
};
use std::collections::BTreeMap;

/// What was decided before a verdict came may still be on its way: a commit, an inspect.
const KNOWN_FOR_MS: Ms = 3_000;

/// What could not be looked at so shortly before may not have been looked at again.
const SEEN_BEFORE_MS: Ms = 60_000;

/// When what stood for a dependent is over, that is told of by itself: see `hearing`.
const HANDED_OVER_MS: Ms = 60_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for act in story.acts.iter().filter(|act| act.restarts()) {
        let Some(since) = failing_since(story, act) else { continue };
        for needed in needs(story, act.service) {
            // An attempt in flight keeps the policy that it began with; what is gone from the config is needed by nobody.
            if story.is_removed(needed, act.at) {
                continue;
            }
            let seen = needed.replicas.iter().any(|replica| {
                shown_well(story, replica, since, act.at) && !fails(story, needed, replica, act.at)
            });
            if !seen {
                found.push(Violation {
                    rule: "S9",
                    at: act.at,
                    what: format!(
                        "{}: it fails since {}, and {} was not seen well after that",
                        act.told(),
                        Clockface(since),
                        needed.name
                    ),
                });
            }
        }
    }
    found
}

/// Whether all that a service needs was shown well in this time, and everything that it is judged by could be looked at: else
/// it may be held back, rightly.
pub fn are_well(story: &Story<'_>, service: &ServiceRule, from: Ms, to: Ms) -> bool {
    let lately = from.saturating_sub(SEEN_BEFORE_MS)..=to;
    let looked_at = |replica: &str| {
        story.containers_of(replica).iter().all(|container| {
            let unseen = |shown: &Shown<&Sampled>| {
                lately.contains(&shown.at) && says(shown.what) == Says::Nothing
            };
            let not_run = |check: &(Ms, &str, HealthResult)| {
                lately.contains(&check.0) && check.2 == HealthResult::CouldNotRun
            };
            !container.samples.iter().any(unseen) && !container.checks.iter().any(not_run)
        })
    };
    needs(story, service).all(|needed| {
        let mut replicas = needed.replicas.iter();
        replicas.any(|replica| shown_well(story, replica, from, to) && looked_at(replica))
    })
}

/// What a service says that it needs.
fn needs<'s>(
    story: &'s Story<'_>,
    service: &'s ServiceRule,
) -> impl Iterator<Item = &'s ServiceRule> {
    let named = |other: &&ServiceRule| service.depends_on.contains(&other.name);
    story.rules.services.iter().filter(named)
}

/// Since when something has been speaking against the life that is restarted; `None` where nothing does, which is no matter of
/// causes.
fn failing_since(story: &Story<'_>, act: &Act<'_>) -> Option<Ms> {
    let container = story.containers.get(act.container)?;
    let instance = proof::instance_judged(container, act)?;
    let streaks = proof::streaks_against(story, container, act.service, instance, act.at);
    streaks.iter().map(|(_, streak, _)| streak.first).min()
}

/// Whether anything showed this replica to be well between two moments, the last one included.
fn shown_well(story: &Story<'_>, replica: &str, from: Ms, to: Ms) -> bool {
    let lately = from..=to;
    story.containers_of(replica).iter().any(|container| {
        let sampled = container
            .samples
            .iter()
            .any(|shown| lately.contains(&shown.at) && says(shown.what) == Says::Pass);
        let checked = container
            .checks
            .iter()
            .any(|check| lately.contains(&check.0) && check.2 == HealthResult::Passed);
        // That it was looked at since says nothing of since when it has been well.
        sampled || checked
    })
}

/// Whether a replica surely fails, and this life of defib had seen that it does.
fn fails(story: &Story<'_>, service: &ServiceRule, replica: &str, at: Ms) -> bool {
    let born = story.life_at(at).map_or(Ms::MAX, |life| life.from);
    let fails = |container: &&Container<'_>| {
        let Some(lived) = container.lived_at(at) else { return false };
        // What has never passed makes no trouble (S11).
        let passed = |probe: &&ProbeRule| story.passed_in_life(replica, &probe.name, at);
        let probes = service.probes.iter().filter(passed).filter_map(|probe| {
            container.probe_streak(service, probe, lived.instance, at, Reading::Least)
        });
        let health = container.health_streak(lived.instance, at, Reading::Least);
        probes
            .chain(health)
            .any(|streak| streak.first >= born && streak.verdict.saturating_add(KNOWN_FOR_MS) < at)
    };
    story.containers_of(replica).iter().any(fails)
}

/// Whether the trouble of what a service needs, directly or by others, stands for its own in this sink, or did until a moment
/// ago: while it is told of as loudly, the dependent is not told of by itself. `paging`: as a page.
pub fn stands_for(
    story: &Story<'_>,
    service: &ServiceRule,
    sink: &str,
    by: Ms,
    paging: bool,
) -> bool {
    let mut needed: Vec<&ServiceRule> = needs(story, service).collect();
    let mut next = 0;
    while let Some(one) = needed.get(next).copied() {
        next += 1;
        needed.extend(needs(story, one).filter(|other| other.name != service.name));
        if next > story.rules.services.len() {
            break;
        }
    }
    needed.iter().any(|needed| {
        let from = by.saturating_sub(HANDED_OVER_MS);
        let arrivals = story.sends.iter().filter(|send| send.sink == sink);
        let lately = arrivals.filter_map(|send| send.landed).filter(|at| (from..=by).contains(at));
        let asked: Vec<Ms> = lately.chain([from]).chain(asked_at(story, sink, by)).collect();
        asked.iter().any(|at| is_told_of(story, needed, sink, *at, paging))
    })
}

/// Whether a sink has been told, by this moment, that a service fails or is down, and not that this is over.
fn is_told_of(story: &Story<'_>, service: &ServiceRule, sink: &str, by: Ms, paging: bool) -> bool {
    let mut standing: BTreeMap<&str, Standing> = BTreeMap::new();
    let about = |send: &&Send<'_>| {
        send.sink == sink
            && send.landed.is_some_and(|at| at <= by)
            && matches!(send.message.incident_kind, IncidentKind::Unhealthy | IncidentKind::Down)
            && send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
    };
    for send in story.sends.iter().filter(about) {
        let known = standing.entry(&send.message.key).or_insert(Standing::Closed);
        *known = known.after(send.message);
    }
    standing.values().any(|standing| match standing {
        Standing::Closed => false,
        Standing::Open(level) | Standing::Recovered(level) => !paging || *level == Severity::Page,
    })
}
