//! S5, S6, S11 and the settle of S12: a restart needs enough failures, of this very life, that were seen and not imagined,
//! and that a restart can cure.

use super::{
    Violation,
    evidence::{Reading, Says, Streak, says},
    story::{Act, Container, Story},
};
use crate::account::{Ms, ServiceRule};
use defib::domain::observation::HealthResult;

/// From the last look at the evidence to the call lie at most an inspect and a commit.
const DECIDED_BEFORE_MS: Ms = 3_000;

/// Timers round.
const ROUNDING_MS: Ms = 50;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    story.acts.iter().filter(|act| act.restarts()).filter_map(|act| grounds(story, act)).collect()
}

fn grounds(story: &Story<'_>, act: &Act<'_>) -> Option<Violation> {
    let container = story.containers.get(act.container)?;
    let instance = instance_judged(container, act)?;
    let broken = |rule, what: String| {
        Some(Violation { rule, at: act.at, what: format!("{}: {what}", act.told()) })
    };

    let streaks = streaks_against(story, container, act.service, instance, act.at);
    let enough: Vec<&(String, Streak, bool)> = streaks
        .iter()
        .filter(|(_, streak, passed)| {
            reached(act.service, streak, act.at) && streak.curable && *passed
        })
        .collect();
    if !enough.is_empty() {
        // The verdict is the replica's: what a restart does not cure counts for it too.
        let verdict = streaks.iter().map(|(_, streak, _)| streak.verdict).min().unwrap_or(act.at);
        if act.at + ROUNDING_MS < verdict + act.service.settle {
            return broken("S12", format!("{} ms after its verdict", act.at - verdict));
        }
        return None;
    }
    if let Some((evidence, streak, passed)) =
        streaks.iter().max_by_key(|(_, streak, _)| streak.count)
    {
        if reached(act.service, streak, act.at) {
            let why =
                if *passed { "no restart cures what it shows" } else { "it has never passed" };
            return broken("S11", format!("{evidence}: {why}"));
        }
        return broken(
            "S6",
            format!(
                "{evidence} failed {} times in this life, {} are needed",
                streak.count, act.service.restart_after
            ),
        );
    }
    if only_could_not_look(container, instance, act.at) {
        broken("S5", "it could not be looked at, and nothing more".to_owned())
    } else {
        broken("S6", format!("nothing counts against this life ({instance})"))
    }
}

/// Which life an act was meant for: the one that was looked at last.
pub fn instance_judged<'s>(container: &'s Container<'_>, act: &'s Act<'_>) -> Option<&'s str> {
    let inspected = container.inspected.iter().rev();
    let looked = inspected.filter(|shown| shown.at <= act.at && shown.life == act.life);
    let mut instances = looked.map(|shown| shown.what.instance.as_str());
    instances.next().or(act.received.map(|received| received.2))
}

fn reached(service: &ServiceRule, streak: &Streak, at: Ms) -> bool {
    streak.reached(service.restart_after, service.restart_after_ms, at + ROUNDING_MS)
}

/// All streaks against a life: which evidence, how much, and whether that evidence had ever passed.
pub fn streaks_against(
    story: &Story<'_>,
    container: &Container<'_>,
    service: &ServiceRule,
    instance: &str,
    at: Ms,
) -> Vec<(String, Streak, bool)> {
    let mut streaks = Vec::new();
    // Evidence may have turned for the better in the last moments, too late to be heard.
    for until in [at, at.saturating_sub(DECIDED_BEFORE_MS)] {
        for probe in &service.probes {
            let passed = story.ever_passed(service, &probe.name, at);
            let streak = container.probe_streak(service, probe, instance, until, Reading::Most);
            streaks.extend(streak.map(|streak| (format!("probe {}", probe.name), streak, passed)));
        }
        if service.healthcheck.is_some() {
            let streak = container.health_streak(instance, until, Reading::Most);
            streaks.extend(streak.map(|streak| ("healthcheck".to_owned(), streak, true)));
        }
    }
    streaks
}

fn only_could_not_look(container: &Container<'_>, instance: &str, at: Ms) -> bool {
    let checks = container
        .checks
        .iter()
        .any(|check| check.0 <= at && check.1 == instance && check.2 == HealthResult::CouldNotRun);
    let samples = container.samples.iter().any(|shown| {
        shown.at <= at && shown.what.instance == instance && says(shown.what) == Says::Nothing
    });
    checks || samples
}
