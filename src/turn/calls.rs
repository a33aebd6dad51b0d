//! One call to the outside and the observation that it comes to, which there always is: in time, late, or lost with its task.
//!
//! Each deadline here is a net under one that the other side keeps itself (L2). Decides nothing, and repeats nothing.

use crate::{
    docker::port::{Engine, INSPECT_WITHIN, LIST_WITHIN, with_net},
    domain::{
        effect::{Look, SendOrder},
        moment::Spoken,
        name::{AttemptId, Instance},
        observation::{DeliveryOutcome, LookFailure, Observation},
    },
    evidence::port::EvidenceReader,
    notify::port::Sink,
};
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// A sink may take so much longer than its deadline before it is cut off.
const SINK_SLACK: Duration = Duration::from_millis(500);

/// One attempt at a delivery, within its deadline.
pub(super) async fn hand_over(sink: Option<Arc<dyn Sink>>, order: Arc<SendOrder>) -> Observation {
    let outcome = match sink {
        None => DeliveryOutcome::NotSent("no such sink".to_owned()),
        Some(sink) => {
            let within = order.deadline + SINK_SLACK;
            let delivered = sink.deliver(Arc::clone(&order));
            tokio::time::timeout(within, delivered).await.unwrap_or_else(|_| {
                DeliveryOutcome::Unknown(format!("no answer within {}", Spoken(order.deadline)))
            })
        }
    };
    answer_to(&order, outcome)
}

/// How an attempt at a delivery ended.
pub(super) fn answer_to(order: &SendOrder, outcome: DeliveryOutcome) -> Observation {
    let (sink, message, attempt) = (order.sink.clone(), order.message.id, order.attempt);
    Observation::Answered { sink, message, attempt, outcome }
}

/// What was found in time. The reader answers once: of a reading that takes longer, nothing is told.
pub(super) async fn gather(
    evidence: Arc<dyn EvidenceReader>,
    attempt: AttemptId,
    instance: Instance,
    pid: Option<u32>,
    deadline: Duration,
) -> Observation {
    let gathered = tokio::time::timeout(deadline, evidence.gather(instance, pid)).await;
    let findings = gathered.unwrap_or_else(|_| {
        vec![format!("the evidence could not be read within {}", Spoken(deadline))]
    });
    Observation::EvidenceGathered { attempt, findings }
}

/// One question, and its answer.
pub(super) async fn ask(engine: Arc<dyn Engine>, look: Look) -> Observation {
    match look {
        Look::List => match with_net(LIST_WITHIN, engine.list()).await {
            Ok(listing) => Observation::Listed(listing),
            Err(failure) => Observation::ListFailed { full: true, failure },
        },
        Look::ListUnhealthy => match with_net(LIST_WITHIN, engine.list_unhealthy()).await {
            Ok(containers) => Observation::UnhealthyListed(containers),
            Err(failure) => Observation::ListFailed { full: false, failure },
        },
        Look::Inspect { look, container } => {
            let answer = with_net(INSPECT_WITHIN, engine.inspect(container.clone())).await;
            Observation::Inspected { look, container, answer }
        }
    }
}

/// What a question comes to whose task ended without an answer.
pub(super) fn unanswered(look: Look) -> Observation {
    let failure = LookFailure::Local("the task that asked has ended".to_owned());
    match look {
        Look::List => Observation::ListFailed { full: true, failure },
        Look::ListUnhealthy => Observation::ListFailed { full: false, failure },
        Look::Inspect { look, container } => {
            Observation::Inspected { look, container, answer: Err(failure) }
        }
    }
}

/// Hands an answer to the loop, or `if_lost` where none comes any more. Where the loop has ended, nobody needs it.
pub(super) async fn hand_on<E>(
    answer: impl Future<Output = Result<Observation, E>>,
    if_lost: Observation,
    lane: mpsc::Sender<Observation>,
) {
    if lane.send(answer.await.unwrap_or(if_lost)).await.is_err() {
        tracing::debug!("an answer came after the end");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::name::{ContainerId, StartedAt},
        tasks::Pending,
    };

    /// Takes so long over what it finds.
    struct Slow(Duration);

    impl EvidenceReader for Slow {
        fn gather(&self, _: Instance, _: Option<u32>) -> Pending<'_, Vec<String>> {
            Box::pin(async {
                tokio::time::sleep(self.0).await;
                vec!["found".to_owned()]
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn evidence_that_takes_too_long_is_said_to_be_unread_and_nothing_more() {
        let second = Duration::from_secs(1);
        let gathered = async |takes| {
            let instance = Instance {
                container: ContainerId::new("c1"),
                started_at: StartedAt::new("2026-11-29T10:00:00Z"),
            };
            let reader = Arc::new(Slow(takes));
            match gather(reader, AttemptId(1), instance, Some(1), 3 * second).await {
                Observation::EvidenceGathered { findings, .. } => findings,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(gathered(2 * second).await, ["found"]);
        assert_eq!(gathered(4 * second).await, ["the evidence could not be read within 3s"]);
    }
}
