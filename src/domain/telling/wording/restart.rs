//! What is said of one restart: which of how many it is, and what it came to.

use crate::domain::{
    acting::{
        attempt::{Attempt, Ending},
        gates::restarts_allowed,
    },
    moment::Spoken,
    watching::replica::Replica,
};
use std::time::Duration;

pub(super) fn attempt_line(replica: &Replica, attempt: &Attempt) -> String {
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
pub(super) fn restart_number(replica: &Replica, attempt: &Attempt) -> String {
    let spent = replica.kept.spending.spent.saturating_add(u32::from(attempt.paid.is_none()));
    format!("restart {spent} of {}", restarts_allowed(replica))
}

/// What a restart came to, of a replica whose trouble is to say it; `None`: nothing was done that people would ask for.
pub(crate) fn ended_line(replica: &Replica, attempt: &Attempt, ending: &Ending) -> Option<String> {
    let spent = replica.kept.spending.spent;
    let number = format!("restart {spent} of {}", restarts_allowed(replica));
    let steps = steps_of(attempt);
    Some(match ending {
        Ending::Verified { after_ms } => {
            let after = Spoken::rounded(Duration::from_millis(*after_ms));
            format!("{number}: healthy again {after} after it was begun{steps}")
        }
        Ending::NotCured(why) => format!("{number}: did not help: {why}{steps}"),
        Ending::TakenOver(who) => format!("{number}: {who} before it was seen to be well"),
        Ending::NotOurs(why) => format!("{number}: {why}; left alone"),
        Ending::Refused(why) => format!("not restarted: the engine refuses: {why}"),
        Ending::Gone if attempt.paid.is_none() => return None,
        Ending::Gone => format!("{number}: it was removed meanwhile"),
        Ending::Interrupted => {
            format!("{number}: it did not reach the engine, as far as can be seen")
        }
        Ending::Abandoned(_) => return None,
    })
}

/// How it went, where it took more than the restart: nobody may learn of a kill only from the log.
pub(super) fn steps_of(attempt: &Attempt) -> String {
    match attempt.outcomes.len() {
        0 | 1 => String::new(),
        _ => format!(" ({})", attempt.outcomes.join("; ")),
    }
}
