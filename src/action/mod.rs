//! Doing one thing to a container, once.
//!
//! The engine's call runs on a task of its own that is never dropped: on some engines a client that goes away in mid-restart
//! leaves the container stopped (moby 44365). At the deadline the *waiting* ends, is reported as such, and the domain finds
//! out by looking what the call did; it is never sent again blindly.

use crate::{
    docker::port::Engine,
    domain::{effect::ActOrder, moment::Spoken, observation::ActOutcome},
};
use std::{sync::Arc, time::Duration};
use tokio::sync::oneshot;

/// A call that has not come back by then is given up for good: its connection is closed. Far beyond any stop timeout in use.
const LONGEST_CALL: Duration = Duration::from_secs(3600);

/// Carries one order out and reports how it ended, through `report`, at the order's deadline at the latest. The future goes
/// on after that, until the engine has answered.
pub async fn act(engine: Arc<dyn Engine>, order: ActOrder, report: oneshot::Sender<ActOutcome>) {
    let mut call = engine.act(order.container.clone(), order.primitive);
    match tokio::time::timeout(order.deadline, &mut call).await {
        // Nobody listens any more only where the daemon is ending.
        Ok(outcome) => drop(report.send(outcome)),
        Err(_) => {
            drop(report.send(ActOutcome::TimedOut(order.deadline)));
            let late = tokio::time::timeout(LONGEST_CALL, call).await;
            tracing::warn!(replica = %order.replica, primitive = %order.primitive, "{}", late_answer(late.ok()));
        }
    }
}

/// What came of a call that nobody waited for any more.
fn late_answer(answer: Option<ActOutcome>) -> String {
    let said = match answer {
        None => {
            let waited = Spoken(LONGEST_CALL);
            return format!(
                "the engine has not answered within {waited} after the deadline; the call is given up"
            );
        }
        Some(ActOutcome::Done) => "it is done".to_owned(),
        Some(ActOutcome::NoSuchContainer) => "there is no such container".to_owned(),
        Some(ActOutcome::Denied(why)) => format!("it is not allowed: {why}"),
        Some(ActOutcome::Failed { status, message }) => {
            format!("it failed with {status}: {message}")
        }
        Some(ActOutcome::Unreachable(why)) => format!("the connection broke: {why}"),
        Some(ActOutcome::TimedOut(within)) => format!("no answer within {}", Spoken(within)),
    };
    format!("the engine's answer came after the deadline: {said}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_is_told_in_words() {
        let failed = ActOutcome::Failed { status: 500, message: "no space".to_owned() };
        for (answer, said) in [
            (Some(ActOutcome::Done), "the engine's answer came after the deadline: it is done"),
            (
                Some(failed),
                "the engine's answer came after the deadline: it failed with 500: no space",
            ),
            (
                None,
                "the engine has not answered within 1h after the deadline; the call is given up",
            ),
        ] {
            assert_eq!(late_answer(answer), said);
        }
    }
}
