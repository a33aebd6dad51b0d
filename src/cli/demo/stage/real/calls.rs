//! One call of the demo's to the engine, and why it came to nothing: in one line, redacted, as all text from outside.

use crate::{
    cli::demo::stage::StageProblem,
    docker::port::within,
    notify::text::{cut, one_line},
    redact,
};
use bollard::errors::Error as BollardError;
use std::{future::Future, time::Duration};

/// So much of what the engine says is shown, in characters.
const LONGEST_CAUSE: usize = 500;

pub(super) fn status(error: &BollardError) -> Option<u16> {
    match error {
        BollardError::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

/// A call that came to nothing.
pub(super) struct Failed {
    problem: StageProblem,
    /// The engine says so. Where it said nothing it may still do what was asked.
    pub(super) is_answer: bool,
}

impl From<Failed> for StageProblem {
    fn from(failed: Failed) -> Self {
        failed.problem
    }
}

pub(super) async fn call<T>(
    deadline: Duration,
    doing: &str,
    work: impl Future<Output = Result<T, BollardError>>,
) -> Result<T, Failed> {
    within(deadline, work)
        .await
        .map_err(|late| Failed {
            problem: StageProblem { doing: doing.to_owned(), cause: late.to_string() },
            is_answer: false,
        })?
        .map_err(|error| Failed {
            problem: problem(doing, &error),
            is_answer: matches!(
                error,
                BollardError::DockerResponseServerError { .. }
                    | BollardError::DockerStreamError { .. }
            ),
        })
}

pub(super) fn problem(doing: &str, error: &BollardError) -> StageProblem {
    let cause = match error {
        BollardError::DockerResponseServerError { status_code, message } => {
            format!("the engine answers {status_code}: {message}")
        }
        other => other.to_string(),
    };
    let cause = cut(&one_line(&redact::text(&cause)), LONGEST_CAUSE, |_| 1).into_owned();
    StageProblem { doing: doing.to_owned(), cause }
}
