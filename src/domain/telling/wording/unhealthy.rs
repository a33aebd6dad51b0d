//! What is said of a service that fails: what each of its replicas shows, what was done, and how it ended.

use super::{lines, needed::Needed, of_all, restart::attempt_line, steps::next_steps};
use crate::domain::{
    acting::{
        gates::{restarts_allowed, restarts_made},
        hold::Hold,
    },
    judging::{trouble::Trouble, verdict::Verdict},
    moment::{Moment, Spoken},
    name::ServiceName,
    policy::ServicePolicy,
    telling::incident::Content,
    watching::replica::Replica,
};

/// `is_to_come`: whether a replica is restarted once it has failed for long enough. `needed`: how a service stands that it needs.
pub(crate) fn unhealthy(
    policy: &ServicePolicy,
    members: &[&Replica],
    is_to_come: impl Fn(&Replica) -> bool,
    needed: impl Fn(&str) -> Option<Needed>,
    recovered: bool,
    now: Moment,
) -> Content {
    let name = &policy.name;
    let worst = members.iter().max_by_key(|replica| urgency(replica));
    let troubles = members.iter().filter_map(|replica| replica.kept.trouble.as_ref());
    let failures = troubles.map(Trouble::failures).max().unwrap_or(0);
    let what = if recovered {
        recovery(name, members)
    } else {
        match worst.map(|replica| state_of(replica)) {
            Some(State::Awaited) => format!("{name} was restarted, its recovery is awaited"),
            Some(State::InHand) => format!("{name} is unhealthy and is being restarted"),
            Some(State::GivenUp) if not_cured(members) == 0 => {
                format!("{name} is unhealthy and has no restart left")
            }
            Some(State::GivenUp) if carried_out(members) == 0 => {
                format!("{name} is unhealthy and could not be restarted")
            }
            Some(State::GivenUp) => format!("{name} is unhealthy and restarts do not help"),
            Some(State::StandsStill) => format!("{name} stands still after a restart that failed"),
            Some(State::Failing) | None => format!("{name} is unhealthy ({failures} failures)"),
        }
    };
    let mut done: Vec<Vec<String>> = Vec::new();
    let mut findings: Vec<Vec<String>> = Vec::new();
    let several = members.len() > 1;
    for replica in members {
        let prefix = if several { format!("{}: ", replica.kept.name) } else { String::new() };
        let Some(trouble) = &replica.kept.trouble else {
            continue;
        };
        let mut lines: Vec<String> =
            trouble.done.iter().map(|line| format!("{prefix}{line}")).collect();
        if let Some(attempt) = &replica.kept.attempt {
            lines.push(format!("{prefix}{}", attempt_line(replica, attempt)));
        } else if let Some(hold) =
            replica.hold.as_ref().filter(|_| replica.verdict == Verdict::Unhealthy)
        {
            lines.push(format!("{prefix}{}", held(replica, hold, &needed)));
        } else if is_to_come(replica) {
            lines.push(format!(
                "{prefix}not restarted yet: that is due after {}",
                policy.restart_after
            ));
        }
        done.push(lines);
        findings.push(trouble.findings.iter().map(|line| format!("{prefix}{line}")).collect());
    }
    Content {
        headline: what,
        members: lines(members, |replica| member_line(replica, now)),
        done: of_all(done, <[String]>::last),
        findings: of_all(findings, <[String]>::first),
        next_steps: if recovered { Vec::new() } else { next_steps(members, &needed) },
        runbook: policy.runbook.clone(),
        note: policy.note.clone(),
    }
}

/// That all of them are well again, and whether a restart was seen to help.
fn recovery(name: &ServiceName, members: &[&Replica]) -> String {
    let restarted = || {
        let troubles = members
            .iter()
            .filter_map(|replica| replica.kept.trouble.as_ref().map(|trouble| (replica, trouble)));
        troubles.filter(|(_, trouble)| trouble.attempts > 0)
    };
    let attempts: u32 = restarted().map(|(_, trouble)| trouble.attempts).sum();
    // In another life than the one that was seen to be well, somebody else was at it.
    let helped = restarted().all(|(replica, trouble)| {
        trouble.helped.is_some() && trouble.helped.as_ref() == replica.lifecycle.running()
    });
    match (attempts, helped) {
        (0, _) => format!("{name} is healthy again, without help from defib"),
        (1, true) => format!("{name} is healthy again after a restart"),
        (_, true) if not_cured(members) > 0 && members.len() == 1 => {
            format!("{name} is healthy again: the last of {attempts} restarts helped")
        }
        (_, true) => format!("{name} is healthy again after {attempts} restarts"),
        (1, false) => format!("{name} is healthy again; its restart was not seen to help"),
        (_, false) if not_cured(members) >= attempts => {
            format!("{name} is healthy again; none of {attempts} restarts was seen to help")
        }
        (_, false) => {
            format!("{name} is healthy again; not all of {attempts} restarts were seen to help")
        }
    }
}

/// Restarts that did not help.
fn not_cured(members: &[&Replica]) -> u32 {
    let troubles = members.iter().filter_map(|replica| replica.kept.trouble.as_ref());
    troubles.map(|trouble| trouble.not_cured).sum()
}

/// How many of those were carried out.
fn carried_out(members: &[&Replica]) -> u32 {
    let troubles = members.iter().filter_map(|replica| replica.kept.trouble.as_ref());
    troubles.map(|trouble| trouble.carried_out).sum()
}

/// Whether a hold ends with time alone.
fn passes(hold: &Hold) -> bool {
    hold.is_brief() || matches!(hold, Hold::Settling(_) | Hold::InGrace | Hold::BackingOff { .. })
}

/// What a replica's trouble is at.
enum State {
    Awaited,
    InHand,
    GivenUp,
    StandsStill,
    Failing,
}

fn state_of(replica: &Replica) -> State {
    if let Some(attempt) = &replica.kept.attempt {
        if attempt.is_verifying() { State::Awaited } else { State::InHand }
    } else if replica.stands_by_own_stop() {
        State::StandsStill
    } else if replica.is_given_up() {
        State::GivenUp
    } else {
        State::Failing
    }
}

fn urgency(replica: &Replica) -> u8 {
    match state_of(replica) {
        State::Awaited => 0,
        State::InHand => 1,
        State::Failing => 2,
        State::GivenUp => 3,
        State::StandsStill => 4,
    }
}

fn member_line(replica: &Replica, now: Moment) -> String {
    let name = &replica.kept.name;
    let Some(trouble) = &replica.kept.trouble else {
        return format!("{name}: {}", replica.verdict);
    };
    let failures = trouble.failures();
    // What was met so has failed for longer than that, nobody knows for how long.
    let span = |word: &str, since: Moment| {
        let span = now.awake.since(since.awake);
        if span.as_secs() == 0 {
            String::new()
        } else {
            format!(", {word} {}", Spoken::rounded(span))
        }
    };
    let has_relapsed = trouble.onset.awake > trouble.since.awake;
    match replica.verdict {
        Verdict::Healthy => format!(
            "{name}: healthy again; had failed {} times, most recently: {}",
            failures, trouble.shows
        ),
        Verdict::Unhealthy if has_relapsed => format!(
            "{name} (unhealthy again{}; {failures} failures in all{}): {}",
            span("for", trouble.onset),
            span("since it first failed,", trouble.since),
            trouble.shows
        ),
        Verdict::Unhealthy => format!(
            "{name} (unhealthy{}, {failures} failures): {}",
            span("for", trouble.since),
            trouble.shows
        ),
        Verdict::Unknown
        | Verdict::Starting
        | Verdict::Degraded
        | Verdict::Stopped
        | Verdict::Paused
        | Verdict::Restarting
        | Verdict::Gone => {
            format!(
                "{name} ({}{}, {failures} failures): {}",
                replica.verdict,
                span("in trouble for", trouble.since),
                trouble.shows
            )
        }
    }
}

/// Why it is not restarted, or that it would be.
fn held(replica: &Replica, hold: &Hold, needed: impl Fn(&str) -> Option<Needed>) -> String {
    let when = if passes(hold) { "yet" } else { "now" };
    match hold {
        Hold::Dry => hold.to_string(),
        Hold::DependencyNotHealthy(name) => match needed(name) {
            Some(needed) => format!("not restarted {when}: {hold}: it is {}", needed.stands),
            None => format!("not restarted {when}: {hold}"),
        },
        Hold::Stateful if !replica.listed => {
            format!("not restarted {when}: it holds data, and the config does not list it")
        }
        Hold::Stateful => format!("not restarted {when}: it holds data, and had its one restart"),
        Hold::BackingOff { .. } => {
            let (next, of) = (restarts_made(replica).saturating_add(1), restarts_allowed(replica));
            format!("not restarted {when}: {hold}; the next is restart {next} of {of}")
        }
        _ => format!("not restarted {when}: {hold}"),
    }
}
