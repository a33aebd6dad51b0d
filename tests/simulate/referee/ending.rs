//! The second half of P3: every open that arrived ends in a resolve once the trouble is over, and no trouble is called over
//! that goes on.

use super::{
    Violation,
    evidence::{Reading, Says, says},
    story::{Lived, Send, Span, Story},
    told::Standing,
};
use crate::account::{Ms, ServiceRule};
use defib::domain::{
    message::{IncidentKind, MessageKind},
    observation::HealthResult,
};
use std::collections::BTreeMap;

/// From having been well for `stable_for` to the sink's answer: seeing it, `rise`, coalescing, a commit, an attempt.
const ENDED_WITHIN_MS: Ms = 120_000;

/// Before the first list, and the looks that follow it, nothing can be known to have changed.
const JUST_STARTED_MS: Ms = 2_000;

/// See `hearing`.
const BACKED_OFF_MS: Ms = 330_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in &story.rules.services {
        for sink in &story.rules.sinks {
            must_end(story, service, sink, &mut found);
        }
        must_not_end(story, service, &mut found);
        ended_by_ourselves(story, service, &mut found);
        begun_without_config(story, service, &mut found);
    }
    found
}

/// S6: a restart or a reload of ours resolves nothing. What is called over right after it must have changed since it was told
/// of. Judged by when it was decided: what is owed since before our start, to a sink that did not take it then, is sent
/// after it.
fn ended_by_ourselves(story: &Story<'_>, service: &ServiceRule, found: &mut Vec<Violation>) {
    let starts = story.lives.iter().skip(1).map(|life| (life.from, "defib was restarted"));
    let reloads = story.reloads.iter().map(|at| (*at, "the config was read again"));
    let ourselves: Vec<(Ms, &str)> = starts.chain(reloads).collect();
    for (index, send) in story.sends.iter().enumerate() {
        let ends = matches!(
            send.message.kind,
            MessageKind::Resolved | MessageKind::Recovered | MessageKind::Missed
        );
        let ours = send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name);
        let decided = story.decided(send);
        let just = Span { from: decided.saturating_sub(JUST_STARTED_MS), to: decided + 1 };
        let Some((born, what)) = ourselves.iter().rev().find(|(at, _)| just.holds(*at)).copied()
        else {
            continue;
        };
        if !ends || !ours || story.is_removed(service, decided) {
            continue;
        }
        let begun = story.sends[..index].iter().find(|earlier| {
            earlier.sink == send.sink && earlier.message.incident == send.message.incident
        });
        let since = match begun {
            Some(begun) if begun.at < born => begun.at.saturating_sub(1_000),
            // Opened and taken back by the same start of ours: then all was as before.
            Some(_) => born.saturating_sub(30_000),
            // It missed all of it, however long ago that was.
            None => {
                let since = story.when(send.message.since.0, send.elapsed).unwrap_or(born);
                since.saturating_sub(1_000).min(born.saturating_sub(30_000))
            }
        };
        if !changed(story, service, Span { from: since, to: decided + 1 }) {
            found.push(Violation {
                rule: "S6",
                at: send.at,
                what: format!(
                    "{} is told {:?} of {}, and nothing has changed but that {what}",
                    send.sink, send.message.kind, send.message.key
                ),
            });
        }
    }
}

/// Whether anything about a service changed in truth, or was shown differently, meanwhile. How a container would answer is
/// looked at now and then only: what it went through tells of a change before that does.
fn changed(story: &Story<'_>, service: &ServiceRule, within: Span) -> bool {
    let replica_changed = service.replicas.iter().any(|replica| {
        story.containers_of(replica).iter().any(|container| {
            let of_checks = |check: &(Ms, &str, HealthResult)| {
                within.holds(check.0) && check.2 != HealthResult::Failed
            };
            let of_lives =
                |lived: &Lived<'_>| within.holds(lived.span.from) || within.holds(lived.span.to);
            within.holds(container.created)
                || container.destroyed.is_some_and(|at| within.holds(at))
                || container.instances.iter().any(of_lives)
                || container.conditions.iter().any(|turned| within.holds(turned.0))
                || container.pauses.iter().any(|pause| pause.meets(within))
                || container.checks.iter().any(of_checks)
                || container.samples.iter().any(|shown| {
                    within.holds(shown.at) && matches!(says(shown.what), Says::Pass | Says::Nothing)
                })
        })
    });
    replica_changed || story.engine_bad.iter().any(|bad| bad.meets(within))
}

fn about<'s>(story: &'s Story<'_>, service: &'s ServiceRule) -> impl Iterator<Item = &'s Send<'s>> {
    story.sends.iter().filter(move |send| {
        matches!(send.message.incident_kind, IncidentKind::Unhealthy | IncidentKind::Down)
            && send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
    })
}

/// What a removed service may still be told of: that what was under way when it was removed did not help.
fn begun_without_config(story: &Story<'_>, service: &ServiceRule, found: &mut Vec<Violation>) {
    let Some(removed) = story.removed.get(service.name.as_str()) else { return };
    for send in story.sends.iter() {
        let begins = matches!(
            send.message.kind,
            MessageKind::Opened
                | MessageKind::Raised
                | MessageKind::Relapsed
                | MessageKind::Reminder
        );
        let ours = send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name);
        if begins && ours && story.decided(send) > removed + service.longest_attempt() {
            found.push(Violation {
                rule: "P3",
                at: send.at,
                what: format!(
                    "{} is told {:?} of {}, which is no longer configured",
                    send.sink, send.message.kind, send.message.key
                ),
            });
        }
    }
}

fn must_end(story: &Story<'_>, service: &ServiceRule, sink: &str, found: &mut Vec<Violation>) {
    let removed = story.removed.get(service.name.as_str()).copied();
    let mut standing: BTreeMap<&str, Standing> = BTreeMap::new();
    // What is no longer configured is over, whatever it was.
    let told = story.sends.iter().filter(|send| {
        send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
            && (removed.is_some()
                || matches!(
                    send.message.incident_kind,
                    IncidentKind::Unhealthy | IncidentKind::Down
                ))
    });
    let told = told.filter(|send| send.sink == sink && send.landed.is_some());
    for send in told.filter(|send| is_kept(story, send)) {
        let known = standing.entry(&send.message.key).or_insert(Standing::Closed);
        *known = known.after(send.message);
    }
    let Some(key) = standing.iter().find(|known| *known.1 != Standing::Closed).map(|known| known.0)
    else {
        return;
    };
    let (over_since, needed) = match removed {
        Some(removed) => (Some(removed), service.longest_attempt() + ENDED_WITHIN_MS),
        None => (
            all_well_since(story, service),
            service.stable_for + service.slowest_verdict() + ENDED_WITHIN_MS,
        ),
    };
    let Some(over_since) = over_since else { return };
    let life = story.life_at(story.end.saturating_sub(1)).map_or(story.end, |life| life.from);
    let owed_from = over_since.max(life);
    let owed = owed_from + needed <= story.end
        && story.unhindered(Span { from: owed_from, to: story.end })
        && story.sink_fine(
            sink,
            Span { from: owed_from.min(story.end.saturating_sub(BACKED_OFF_MS)), to: story.end },
        );
    if owed {
        found.push(Violation {
            rule: "P3",
            at: story.end,
            what: format!("{sink} never hears that {key} is over"),
        });
    }
}

/// Whether that this was told survived. What was sent from memory, and by a life that ended before it could record anything
/// again, nobody knows of any more.
fn is_kept(story: &Story<'_>, send: &Send<'_>) -> bool {
    let life = story.life_at(send.at).unwrap_or(Span { from: send.at, to: send.at });
    let rest = Span { from: send.at + 1, to: life.to };
    let handed_over =
        story.submits.iter().filter(|submit| rest.holds(submit.0)).map(|submit| submit.1);
    let safe =
        |first: u64| story.commits.iter().any(|commit| rest.holds(commit.0) && commit.1 >= first);
    send.durable || life.to == story.end || handed_over.min().is_some_and(safe)
}

/// Since when all replicas of a service have been well without a break, by the truth at the run's end. A new life has to show
/// by itself that it is well.
fn all_well_since(story: &Story<'_>, service: &ServiceRule) -> Option<Ms> {
    let mut since = 0;
    for replica in &service.replicas {
        let last = story.well(replica, 0).last().copied()?;
        if last.to < story.end {
            return None;
        }
        let containers = story.containers_of(replica);
        let lives = containers.iter().flat_map(|container| &container.instances);
        let begun = lives.map(|lived| lived.span.from).max().unwrap_or(0);
        since = since.max(last.from).max(begun);
    }
    Some(since)
}

/// "Well again" and "over" are lies where a replica failed all the while.
fn must_not_end(story: &Story<'_>, service: &ServiceRule, found: &mut Vec<Violation>) {
    let mut judged: Vec<String> = Vec::new();
    for send in about(story, service) {
        let spell = match send.message.kind {
            MessageKind::Recovered => 0,
            MessageKind::Resolved => service.stable_for.saturating_sub(5_000),
            MessageKind::Opened
            | MessageKind::Raised
            | MessageKind::GivenUp
            | MessageKind::Grown
            | MessageKind::Relapsed
            | MessageKind::Reminder
            | MessageKind::Missed => continue,
        };
        // A later attempt, or one that waited for its sink, says what was so when it was decided.
        let key = send.message.idempotency_key();
        let first = !judged.contains(&key);
        judged.push(key);
        if !first
            || send.message.incident_kind != IncidentKind::Unhealthy
            || story.is_removed(service, story.decided(send))
        {
            continue;
        }
        let waited = !story.sink_fine(
            send.sink,
            Span { from: send.at.saturating_sub(BACKED_OFF_MS), to: send.at + 1 },
        );
        if waited {
            continue;
        }
        for replica in &service.replicas {
            if failed_throughout(story, service, replica, send, spell) {
                found.push(Violation {
                    rule: "P3",
                    at: send.at,
                    what: format!(
                        "{} is told {:?} of {} while {replica} fails",
                        send.sink, send.message.kind, send.message.key
                    ),
                });
            }
        }
    }
}

fn failed_throughout(
    story: &Story<'_>,
    service: &ServiceRule,
    replica: &str,
    send: &Send<'_>,
    spell: Ms,
) -> bool {
    // 5 s before: the message was decided a little earlier than it was sent.
    let until = send.at.saturating_sub(5_000);
    let from = send.at.saturating_sub(spell + 5_000);
    story.containers_of(replica).iter().any(|container| {
        let Some(lived) = container.lived_at(send.at) else { return false };
        // What has never passed makes no trouble, and is told of by itself (S11).
        let probes = service
            .probes
            .iter()
            .filter(|probe| story.passed_in_life(replica, &probe.name, from))
            .filter_map(|probe| {
                container.probe_streak(service, probe, lived.instance, send.at, Reading::Least)
            });
        let health = container.health_streak(lived.instance, send.at, Reading::Least);
        let born = story.life_at(send.at).map_or(Ms::MAX, |life| life.from);
        let shown = probes
            .chain(health)
            .any(|streak| streak.first >= born && streak.verdict <= from.min(until));
        shown && !container.paused_at(send.at)
    })
}
