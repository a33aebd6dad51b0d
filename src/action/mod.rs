//! Doing one thing to a container, once.
//!
//! The engine's call runs on a task of its own that is never dropped: on some engines a client that goes away in mid-restart
//! leaves the container stopped (moby 44365). At the deadline the *waiting* ends, is reported as such, and the domain finds
//! out by looking what the call did; it is never sent again blindly.

use crate::{
    docker::port::Engine,
    domain::{effect::ActOrder, moment::Spoken, observation::ActOutcome},
};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Carries one order out and reports how it ended, through `report`, at the order's deadline at the latest. The future goes
/// on after that, until the call has ended (`Engine::act`).
pub async fn act(engine: Arc<dyn Engine>, order: ActOrder, report: oneshot::Sender<ActOutcome>) {
    let mut call = engine.act(order.container.clone(), order.primitive);
    match tokio::time::timeout(order.deadline, &mut call).await {
        // Nobody listens any more only where the daemon is ending.
        Ok(outcome) => drop(report.send(outcome)),
        Err(_) => {
            drop(report.send(ActOutcome::TimedOut(order.deadline)));
            // It ends by itself: the port says when.
            let late = call.await;
            tracing::warn!(replica = %order.replica, primitive = %order.primitive, "{}", late_answer(late));
        }
    }
}

/// What came of a call that nobody waited for any more.
fn late_answer(answer: ActOutcome) -> String {
    let said = match answer {
        ActOutcome::TimedOut(within) => {
            return format!(
                "the engine has not answered within {}; the call is given up",
                Spoken(within)
            );
        }
        ActOutcome::Done => "it is done".to_owned(),
        ActOutcome::NoSuchContainer => "there is no such container".to_owned(),
        ActOutcome::Denied(why) => format!("it is not allowed: {why}"),
        ActOutcome::Failed { status, message } => format!("it failed with {status}: {message}"),
        ActOutcome::Unreachable(why) => format!("the connection broke: {why}"),
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
            (ActOutcome::Done, "the engine's answer came after the deadline: it is done"),
            (failed, "the engine's answer came after the deadline: it failed with 500: no space"),
            (
                ActOutcome::TimedOut(std::time::Duration::from_secs(900)),
                "the engine has not answered within 15m; the call is given up",
            ),
        ] {
            assert_eq!(late_answer(answer), said);
        }
    }
}
