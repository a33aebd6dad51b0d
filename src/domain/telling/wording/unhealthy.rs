//! What is said of a service that fails: what each of its replicas shows, what was done, and how it ended.

use super::{counted, lines, needed::Needed, of_all, restart::attempt_line, steps::next_steps};
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

/// What the rest of the host, and what people ordered, mean for a replica.
pub(crate) struct Outlook<'a> {
    /// Whether only more failures, or a little time, are missing for a restart.
    pub(crate) is_to_come: &'a dyn Fn(&Replica) -> bool,
    /// The order by which it is not restarted, whatever else (S7): without one it may be promised.
    pub(crate) order: &'a dyn Fn(&Replica) -> Option<Hold>,
    /// How a service stands that it needs.
    pub(crate) needed: &'a dyn Fn(&str) -> Option<Needed>,
}

pub(crate) fn unhealthy(
    policy: &ServicePolicy,
    members: &[&Replica],
    outlook: &Outlook<'_>,
    recovered: bool,
    now: Moment,
) -> Content {
    let name = &policy.name;
    // What is well again is neither what the headline is about nor what anything is to be done to.
    let ill: Vec<&Replica> =
        members.iter().filter(|replica| !is_well_again(replica)).copied().collect();
    // The first by name of those that matter most.
    let worst = ill.iter().rev().max_by_key(|replica| urgency(replica));
    let troubles = ill.iter().filter_map(|replica| replica.kept.trouble.as_ref());
    let failures = counted(troubles.map(Trouble::failures).max().unwrap_or(0), "failure");
    let what = if recovered {
        recovery(name, members)
    } else {
        match worst.map(|replica| state_of(replica)) {
            Some(State::Awaited) => format!("{name} was restarted, its recovery is awaited"),
            Some(State::InHand) => format!("{name} is unhealthy and is being restarted"),
            Some(State::GivenUp) if not_cured(&ill) == 0 => {
                format!("{name} is unhealthy and has no restart left")
            }
            Some(State::GivenUp) if carried_out(&ill) == 0 => {
                format!("{name} is unhealthy and could not be restarted")
            }
            Some(State::GivenUp) => format!("{name} is unhealthy and restarts do not help"),
            Some(State::StandsStill) => format!("{name} stands still after a restart that failed"),
            Some(State::Failing | State::Unclear) | None => {
                format!("{name} is unhealthy ({failures})")
            }
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
            lines.push(format!("{prefix}{}", held(replica, hold, outlook)));
        } else if (outlook.is_to_come)(replica) {
            let after = policy.restart_after;
            lines.push(match (outlook.order)(replica) {
                None => format!("{prefix}not restarted yet: that is due after {after}"),
                Some(Hold::Dry) => {
                    format!("{prefix}not restarted: it would be after {after} (dry run)")
                }
                Some(order) => format!("{prefix}not restarted now: {order}"),
            });
        }
        done.push(lines);
        findings.push(trouble.findings.iter().map(|line| format!("{prefix}{line}")).collect());
    }
    Content {
        headline: what,
        members: lines(members, |replica| member_line(replica, now)),
        done: of_all(done, <[String]>::last),
        findings: of_all(findings, <[String]>::first),
        next_steps: worst.map(|replica| next_steps(replica, outlook)).unwrap_or_default(),
        runbook: policy.runbook.clone(),
        note: policy.note.clone(),
    }
}

/// It is healthy, though its trouble is not over yet, and nothing is being done to it.
pub(crate) fn is_well_again(replica: &Replica) -> bool {
    replica.verdict == Verdict::Healthy && replica.kept.attempt.is_none()
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
    /// It is not seen to fail just now: it begins anew, stands still by no act of ours, or can't be seen.
    Unclear,
}

fn state_of(replica: &Replica) -> State {
    if let Some(attempt) = &replica.kept.attempt {
        if attempt.is_verifying() { State::Awaited } else { State::InHand }
    } else if replica.stands_by_own_stop() {
        State::StandsStill
    } else if replica.is_given_up() {
        State::GivenUp
    } else if replica.verdict == Verdict::Unhealthy {
        State::Failing
    } else {
        State::Unclear
    }
}

fn urgency(replica: &Replica) -> u8 {
    match state_of(replica) {
        State::Unclear => 0,
        State::Awaited => 1,
        State::InHand => 2,
        State::Failing => 3,
        State::GivenUp => 4,
        State::StandsStill => 5,
    }
}

fn member_line(replica: &Replica, now: Moment) -> String {
    let name = &replica.kept.name;
    let Some(trouble) = &replica.kept.trouble else {
        return format!("{name}: {}", replica.verdict);
    };
    let failures = counted(trouble.failures(), "failure");
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
            "{name}: healthy again; had failed {}, most recently: {}",
            counted(trouble.failures(), "time"),
            trouble.shows
        ),
        Verdict::Unhealthy if has_relapsed => format!(
            "{name} (unhealthy again{}; {failures} in all{}): {}",
            span("for", trouble.onset),
            span("since it first failed,", trouble.since),
            trouble.shows
        ),
        Verdict::Unhealthy => format!(
            "{name} (unhealthy{}, {failures}): {}",
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
                "{name} ({}{}, {failures}): {}",
                replica.verdict,
                span("in trouble for", trouble.since),
                trouble.shows
            )
        }
    }
}

/// Why it is not restarted, or that it would be.
fn held(replica: &Replica, hold: &Hold, outlook: &Outlook<'_>) -> String {
    let when = if passes(hold) { "yet" } else { "now" };
    let why = match hold {
        Hold::Dry => return hold.to_string(),
        Hold::DependencyNotHealthy(name) => match (outlook.needed)(name) {
            Some(needed) => format!("{hold}: {}", needed.stands),
            None => hold.to_string(),
        },
        Hold::Stateful if !replica.listed => {
            "it holds data, and the config does not list it".to_owned()
        }
        Hold::Stateful => "it holds data, and had its one restart".to_owned(),
        Hold::BackingOff { .. } => {
            let (next, of) = (restarts_made(replica).saturating_add(1), restarts_allowed(replica));
            format!("{hold}; the next is restart {next} of {of}")
        }
        Hold::NotRunning(_)
        | Hold::Paused
        | Hold::DockerRestartsIt
        | Hold::Settling(_)
        | Hold::InGrace
        | Hold::Never(_)
        | Hold::Cordoned(_)
        | Hold::Maintenance
        | Hold::AnotherController(_)
        | Hold::Touched(_)
        | Hold::TouchesUnseen
        | Hold::Deploying
        | Hold::CallOpen
        | Hold::InFlight(_)
        | Hold::BudgetSpent { .. }
        | Hold::HostBudgetSpent { .. }
        | Hold::DependencyUnjudged(_)
        | Hold::TooFewSiblings
        | Hold::Brake
        | Hold::EvidenceStale
        | Hold::Recovered
        | Hold::CouldNotLook
        | Hold::NotCurable
        | Hold::NeverPassed
        | Hold::ActionsRefused
        | Hold::CannotRecord => hold.to_string(),
    };
    format!("not restarted {when}: {why}")
}
