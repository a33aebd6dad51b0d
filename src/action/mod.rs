//! Doing one thing to a container, once.
//!
//! The engine's call runs on a task of its own that is never dropped: on some engines a client that goes away in mid-restart
//! leaves the container stopped (moby 44365). At the deadline the *waiting* ends, is reported as such, and the domain finds
//! out by looking what the call did; it is never sent again blindly.

use crate::{
    docker::port::Engine,
    domain::{effect::ActOrder, observation::ActOutcome},
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
            tracing::warn!(replica = %order.replica, primitive = %order.primitive, answer = ?late,
                "the engine answered after the deadline, or was given up");
        }
    }
}
