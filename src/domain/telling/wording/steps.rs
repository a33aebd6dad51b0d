//! What to do next, each a line to paste or to follow; never against the reason for which defib does nothing itself.

use super::needed::Needed;
use crate::domain::{acting::hold::Hold, watching::replica::Replica};

pub(super) fn next_steps(
    members: &[&Replica],
    needed: impl Fn(&str) -> Option<Needed>,
) -> Vec<String> {
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
pub(super) fn pasteable(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect()
}
