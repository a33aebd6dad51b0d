//! The sentences. Written for somebody woken by them: what is wrong, what was done and whether it helped, what to do next.
//! Plain text, short, and nothing claimed that was not seen. Text from outside stands in here as it came; renderers clean
//! it. Here is what is said of services; `host` has what is said of the host, `over` of what has ended.

pub(crate) mod host;
pub(crate) mod needed;
pub(crate) mod over;

use super::incident::Content;
use crate::domain::{
    acting::{
        attempt::{Attempt, Ending},
        gates::restarts_allowed,
        hold::Hold,
    },
    judging::{absence::Absence, trouble::Trouble, verdict::Verdict},
    moment::{Moment, Spoken},
    name::ServiceName,
    policy::ServicePolicy,
    watching::replica::Replica,
};
use needed::Needed;
use std::time::Duration;

/// A message names at most so many members; the rest is counted.
const MOST_MEMBERS: usize = 12;

/// What was done and what was found is said in full up to so many lines: three replicas, with all that is kept of each.
const MOST_LINES_TOLD: usize = 24;

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

fn attempt_line(replica: &Replica, attempt: &Attempt) -> String {
    let number = restart_number(replica, attempt);
    match attempt.outcomes.last() {
        Some(_) if attempt.is_verifying() => {
            format!("{number}: done, its recovery is awaited{}", steps_of(attempt))
        }
        Some(outcome) => format!("{number} is under way; so far: {outcome}"),
        None => format!("{number} is under way"),
    }
}

/// Which of the restarts that it may have.
fn restart_number(replica: &Replica, attempt: &Attempt) -> String {
    let spent = replica.kept.spending.spent.saturating_add(u32::from(attempt.paid.is_none()));
    format!("restart {spent} of {}", restarts_allowed(replica))
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
        _ => format!("not restarted {when}: {hold}"),
    }
}

fn next_steps(members: &[&Replica], needed: impl Fn(&str) -> Option<Needed>) -> Vec<String> {
    let Some(replica) =
        members.iter().find(|replica| replica.kept.attempt.is_none()).or(members.first())
    else {
        return Vec::new();
    };
    // A URL is no container, and of one that was never looked at the name is not known.
    let Some(inspection) = &replica.inspection else {
        return Vec::new();
    };
    let container = pasteable(&inspection.name);
    let hold = replica.hold.as_ref().filter(|_| replica.kept.attempt.is_none());
    let mut steps = vec![format!("$ docker logs --tail 50 {container}")];
    if inspection.healthcheck.is_some() {
        steps.push(format!("$ docker inspect --format '{{{{json .State.Health}}}}' {container}"));
    }
    if replica.stands_by_own_stop() {
        steps.insert(0, format!("$ docker start {container}"));
    } else if let Some(first) =
        hold.map(|hold| steps_before(hold, needed)).filter(|first| !first.is_empty())
    {
        steps.splice(0..0, first);
    } else if replica.kept.attempt.is_none() && hold != Some(&Hold::NotCurable) {
        steps.push(format!("$ docker restart {container}"));
    }
    steps
}

/// What comes before a restart by hand: a next step must not contradict the reason for which defib makes none.
fn steps_before(hold: &Hold, needed: impl Fn(&str) -> Option<Needed>) -> Vec<String> {
    match hold {
        Hold::DependencyNotHealthy(name) | Hold::DependencyUnjudged(name) => {
            let mut steps =
                vec![format!("see to `{name}` first; this is restarted when that is seen healthy")];
            steps.extend(needed(name).and_then(|needed| needed.step));
            steps
        }
        Hold::Cordoned(_) => vec![
            "to let defib act again, remove the `hold` file in its runtime directory (`defib status` names it)"
                .to_owned(),
        ],
        _ => Vec::new(),
    }
}

/// A name that is safe to paste into a shell; what is not safe is left out.
fn pasteable(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect()
}

pub(crate) fn down(
    policy: &ServicePolicy,
    count: &Absence,
    wanted: Option<u32>,
    members: &[&Replica],
) -> Content {
    let name = &policy.name;
    let missing =
        u32::try_from(count.missing.len()).unwrap_or(u32::MAX).saturating_add(count.never_seen);
    let wanted = wanted.unwrap_or(count.running + missing);
    let mut lines_of: Vec<String> = members
        .iter()
        .filter(|replica| count.missing.contains(&replica.kept.name))
        .take(MOST_MEMBERS)
        .map(|replica| format!("{}: {}", replica.kept.name, replica.lifecycle))
        .collect();
    if count.never_seen > 0 {
        lines_of.push(format!("{} never seen on this host", count.never_seen));
    }
    let missing = || members.iter().filter(|replica| count.missing.contains(&replica.kept.name));
    let next_steps = missing()
        .find_map(|replica| replica.inspection.as_ref())
        .map(|inspection| pasteable(&inspection.name))
        .map(|container| {
            vec![
                format!("$ docker logs --tail 50 {container}"),
                format!("$ docker start {container}"),
            ]
        })
        .unwrap_or_default();
    let ours = missing().any(|replica| replica.stands_by_own_stop());
    // Where something of ours is on record, a stop of ours may have ended it, and the proof of that be lost (S1).
    let maybe_ours = || {
        missing().any(|replica| {
            let kept = &replica.kept;
            let attempted = kept.trouble.as_ref().is_some_and(|trouble| trouble.attempts > 0);
            kept.own_stop.is_some() || kept.attempt.is_some() || attempted
        })
    };
    let done = if ours {
        "stopped by defib and not started again; that is tried within its budget"
    } else if maybe_ours() {
        "not started: defib has restarted it in this trouble, and can't prove that it stopped it itself"
    } else {
        "not started: defib starts only what it stopped itself"
    };
    Content {
        headline: format!("{name} is down: {} of {wanted} run", count.running),
        members: lines_of,
        done: vec![done.to_owned()],
        findings: Vec::new(),
        next_steps,
        runbook: policy.runbook.clone(),
        note: policy.note.clone(),
    }
}

pub(crate) fn by_hand(members: &[&Replica]) -> Content {
    let first = members.first().map(|replica| replica.kept.name.to_string()).unwrap_or_default();
    let more = members.len().saturating_sub(1);
    let who = if more == 0 { first } else { format!("{first} and {more} more") };
    Content {
        headline: format!(
            "{who}: stopped, paused, removed or renamed by somebody else, and left so"
        ),
        members: lines(members, |replica| format!("{}: {}", replica.kept.name, replica.lifecycle)),
        done: vec!["left alone: what somebody stopped or paused is theirs to start".to_owned()],
        ..Content::default()
    }
}

pub(crate) fn cannot_evaluate(name: &ServiceName, lines: Vec<String>) -> Content {
    Content {
        headline: format!("{name} can't be evaluated"),
        members: bounded(lines),
        done: vec!["nothing: what could not be looked at is no evidence against it".to_owned()],
        ..Content::default()
    }
}

pub(crate) fn never_passed(policy: &ServicePolicy, lines: Vec<String>) -> Content {
    Content {
        headline: format!("{}: a probe has never passed since it was defined", policy.name),
        members: bounded(lines),
        done: vec!["not restarted: a probe that has never passed may itself be wrong".to_owned()],
        next_steps: vec!["check the probe's port, path and expected status in the config; if they are right, the service has not worked since".to_owned()],
        runbook: policy.runbook.clone(),
        note: policy.note.clone(),
        ..Content::default()
    }
}

pub(crate) fn chronic(name: &ServiceName, members: &[&Replica]) -> Content {
    let count = members.first().map_or(0, |replica| replica.kept.spending.recent.len());
    Content {
        headline: format!(
            "{name}: restarted at least {count} times within a day; restarts are no cure"
        ),
        members: lines(members, |replica| {
            format!(
                "{}: at least {} restarts",
                replica.kept.name,
                replica.kept.spending.recent.len()
            )
        }),
        ..Content::default()
    }
}

pub(crate) fn ambiguous(members: &[&Replica]) -> Content {
    let contested = |replica: &&Replica| !replica.rivals.is_empty();
    let rivals = |replica: &Replica| {
        let rivals = replica.rivals.iter().map(|rival| format!("`{rival}`"));
        let own = format!("`{}`", replica.policy.name);
        [own].into_iter().chain(rivals).collect::<Vec<_>>().join(" and ")
    };
    let container = |replica: &Replica| {
        replica.inspection.as_ref().map_or(String::new(), |known| known.name.clone())
    };
    let lines = members.iter().flat_map(|replica| {
        let by_config = contested(replica)
            .then(|| format!("{}: matched by {}", replica.kept.name, rivals(replica)));
        let doubles = replica.doubles.values().map(|double| {
            format!(
                "{}: by its labels this is `{}`, which is watched, and `{}`, which is not",
                replica.kept.name,
                container(replica),
                double.name
            )
        });
        by_config.into_iter().chain(doubles).collect::<Vec<_>>()
    });
    let members_of = bounded(lines.collect());
    let (headline, done, next) = match members.iter().find(|replica| contested(replica)) {
        Some(replica) => (
            format!("{} is matched by {}", replica.kept.name, rivals(replica)),
            "watched as the first of them, and not restarted: which one speaks for it can't be told",
            "narrow the `containers` of one of these services, so that each container has one",
        ),
        None => (
            format!(
                "{} runs twice by its labels, and only one of them is watched",
                members.first().map(|replica| replica.kept.name.to_string()).unwrap_or_default()
            ),
            "the younger one is watched and may be restarted; the other is left alone",
            "remove the container that should not be there, or its labels `com.docker.compose.…`",
        ),
    };
    Content {
        headline,
        members: members_of,
        done: vec![done.to_owned()],
        next_steps: vec![next.to_owned()],
        ..Content::default()
    }
}

impl Replica {
    /// Notes in its trouble what an attempt came to.
    pub(crate) fn done_line(&mut self, attempt: &Attempt, ending: &Ending) {
        let allowed = restarts_allowed(self);
        let spent = self.kept.spending.spent;
        let Some(trouble) = &mut self.kept.trouble else {
            return;
        };
        if matches!(ending, Ending::Abandoned(_)) {
            // Nothing was done, and what was found may be of another life.
            return;
        }
        if !attempt.findings.is_empty() {
            trouble.findings.clone_from(&attempt.findings);
        }
        let number = format!("restart {spent} of {allowed}");
        let steps = steps_of(attempt);
        let line = match ending {
            Ending::Verified { after_ms } => {
                let after = Spoken::rounded(Duration::from_millis(*after_ms));
                format!("{number}: healthy again {after} after it was begun{steps}")
            }
            Ending::NotCured(why) => format!("{number}: did not help: {why}{steps}"),
            Ending::TakenOver(who) => format!("{number}: {who} before it was seen to be well"),
            Ending::NotOurs(why) => format!("{number}: {why}; left alone"),
            Ending::Refused(why) => format!("not restarted: the engine refuses: {why}"),
            Ending::Gone if attempt.paid.is_none() => return,
            Ending::Gone => format!("{number}: it was removed meanwhile"),
            Ending::Interrupted => {
                format!("{number}: it did not reach the engine, as far as can be seen")
            }
            Ending::Abandoned(_) => return,
        };
        trouble.note(line);
    }
}

/// How it went, where it took more than the restart: nobody may learn of a kill only from the log.
fn steps_of(attempt: &Attempt) -> String {
    match attempt.outcomes.len() {
        0 | 1 => String::new(),
        _ => format!(" ({})", attempt.outcomes.join("; ")),
    }
}

fn lines(members: &[&Replica], line: impl Fn(&Replica) -> String) -> Vec<String> {
    bounded(members.iter().map(|replica| line(replica)).collect())
}

/// The lines of all members; where these are too many, of each the one that says most, before any member is left out.
fn of_all(of_members: Vec<Vec<String>>, one: fn(&[String]) -> Option<&String>) -> Vec<String> {
    if of_members.iter().map(Vec::len).sum::<usize>() <= MOST_LINES_TOLD {
        return of_members.into_iter().flatten().collect();
    }
    bounded(of_members.iter().filter_map(|lines| one(lines)).cloned().collect())
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_MEMBERS);
    if more > 0 {
        lines.truncate(MOST_MEMBERS);
        lines.push(format!("… and {more} more"));
    }
    lines
}
