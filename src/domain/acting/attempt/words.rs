//! The words for rungs and for what the engine said of them.

use super::{Report, Rung};
use crate::domain::{moment::Spoken, observation::ActOutcome};

/// The word for a rung in texts.
pub fn word(rung: Rung) -> &'static str {
    match rung {
        Rung::Restart => "restart",
        Rung::Kill => "kill",
        Rung::Start => "start",
    }
}

/// What the engine said, in words.
pub(super) fn words(report: &Report) -> String {
    match report {
        Report::NoAnswer => "no answer from the engine".to_owned(),
        Report::Answered(outcome) => match outcome {
            ActOutcome::Done => "the engine says that it is done".to_owned(),
            ActOutcome::Denied(why) => format!("the engine refuses: {why}"),
            ActOutcome::NoSuchContainer => "no such container".to_owned(),
            ActOutcome::Failed { status, message } => {
                format!("the engine answered {status}: {message}")
            }
            ActOutcome::TimedOut(within) => {
                format!("no answer from the engine within {}", Spoken(*within))
            }
            ActOutcome::Unreachable(why) => format!("the engine could not be reached: {why}"),
        },
    }
}
