//! What a message tells people to paste is about what ails: it names no container that is well by all that was seen of it,
//! and none that was removed. Whoever follows it at night would end what works, or get an error for an answer.
//!
//! Judged at the moment when the message was decided, by what defib had been shown. What has only just become so may not be
//! thought through yet, nor what nobody could look at meanwhile.

use super::{
    Violation,
    evidence::{Says, says},
    story::{Container, Lived, Send, Span, Story},
};
use crate::account::{Clockface, Ms, ServiceRule};
use defib::domain::observation::{ContainerState, HealthResult, HealthStatus};
use std::collections::BTreeSet;

/// From what was shown to a message that knows it: the turns and looks in between.
const KNOWN_FOR_MS: Ms = 5_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut judged = BTreeSet::new();
    for send in &story.sends {
        let at = story.decided(send);
        for step in &send.message.next_steps {
            let Some(replica) = named(step).filter(|_| judged.insert((at, step))) else { continue };
            let since = removed_since(story, replica, at)
                .map(|since| ("was removed", since))
                .or_else(|| well_since(story, replica, at).map(|since| ("is well since", since)));
            if let Some((how, since)) = since {
                found.push(Violation { rule: "TELL", at, what: told(send, step, how, since) });
            }
        }
    }
    found
}

fn told(send: &Send<'_>, step: &str, how: &str, since: Ms) -> String {
    format!("{}: `{step}`, and that {how} {}", send.message.headline, Clockface(since))
}

/// The container that a line to paste names.
fn named(step: &str) -> Option<&str> {
    step.strip_prefix("$ docker ")?.split_whitespace().last()
}

/// Since when nothing is left of a replica, where defib had been told so.
fn removed_since(story: &Story<'_>, replica: &str, at: Ms) -> Option<Ms> {
    let containers = made_by(story, replica, at);
    let gone: Option<Vec<Ms>> = containers.iter().map(|container| container.destroyed).collect();
    let since = gone?.into_iter().max()?;
    is_known(story, since, at).then_some(since)
}

/// Since when every evidence of what runs has shown it to be well, as often as it takes.
fn well_since(story: &Story<'_>, replica: &str, at: Ms) -> Option<Ms> {
    let service = story.rules.service_of(replica)?;
    let containers = made_by(story, replica, at);
    let mut running = containers.iter().filter(|container| container.lived_at(at).is_some());
    // Of two that run it is not said which one is meant.
    let (container, None) = (running.next()?, running.next()) else { return None };
    let lived = container.lived_at(at)?;
    let since = passing_since(container, service, lived, at)?;
    // It may have got well by itself in the middle of a restart, whose call then still runs.
    let is_acted_on = story.acts.iter().any(|act| {
        let lately = at.saturating_sub(service.longest_attempt())..=at;
        act.replica == replica && lately.contains(&act.at) && act.at > lived.span.from
    });
    (!container.paused_at(at) && !is_acted_on && is_known(story, since, at)).then_some(since)
}

/// When the last of its evidences had passed often enough, none of them having done anything else since.
fn passing_since(
    container: &Container<'_>,
    service: &ServiceRule,
    lived: &Lived<'_>,
    at: Ms,
) -> Option<Ms> {
    let thawed = container.pauses.iter().map(|pause| pause.to).filter(|to| *to <= at).max();
    let from = thawed.unwrap_or(0);
    let mut since = Vec::new();
    for probe in &service.probes {
        let samples = container.samples_of(&probe.name, lived.instance, at);
        let samples: Vec<_> = samples.filter(|shown| shown.at >= from).collect();
        let passes = samples.iter().rev().take_while(|shown| says(shown.what) == Says::Pass);
        let passes: Vec<Ms> = passes.map(|shown| shown.at).collect();
        let rise = usize::try_from(probe.rise).ok()?;
        since.push(*passes.get(passes.len().checked_sub(rise)?)?);
    }
    if service.healthcheck.is_some() {
        let checks = container.checks.iter().filter(|check| check.1 == lived.instance);
        let checks: Vec<_> = checks.filter(|check| (from..=at).contains(&check.0)).collect();
        let passes = checks.iter().rev().take_while(|check| check.2 == HealthResult::Passed);
        let passed = passes.last()?.0;
        let looks = container.inspected.iter().filter(|shown| (passed..=at).contains(&shown.at));
        let looks: Vec<_> = looks.filter(|shown| shown.what.instance == lived.instance).collect();
        let shows = |health: &Option<(HealthStatus, u32)>| {
            matches!(health, Some((HealthStatus::Healthy, _)))
        };
        let well = looks.iter().rev().take_while(|shown| {
            shown.what.state == ContainerState::Running && shows(&shown.what.health)
        });
        since.push(well.last()?.at);
    }
    since.into_iter().max()
}

/// The containers of a replica that were made by a moment.
fn made_by<'s, 'a>(story: &'s Story<'a>, replica: &str, at: Ms) -> Vec<&'s Container<'a>> {
    let mut containers = story.containers_of(replica);
    containers.retain(|container| container.created <= at);
    containers
}

/// Whether what has been so since a moment was known, and thought through, at a later one.
fn is_known(story: &Story<'_>, since: Ms, at: Ms) -> bool {
    let span = Span { from: since, to: at };
    since.saturating_add(KNOWN_FOR_MS) <= at
        && story.unhindered(span)
        && !story.no_events.iter().any(|none| none.meets(span))
        && !story.sleeps.iter().any(|sleep| span.holds(sleep.0))
}
