//! The simulated engine, with an ear at its port.

use crate::{
    account::{Fact, Seen},
    recorder::Recorder,
};
use defib::{
    docker::{
        port::{Engine, EventStream},
        simulated::engine::SimulatedEngine,
    },
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{ActOutcome, EngineEvent, Inspection, Listing, LookFailure},
    },
    tasks::Pending,
};
use std::sync::Arc;

/// The simulated engine, overheard.
pub struct HeardEngine {
    /// What answers.
    pub engine: SimulatedEngine,
    /// What is written down.
    pub recorder: Arc<Recorder>,
}

impl Engine for HeardEngine {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        Box::pin(async move {
            let answer = self.engine.list().await;
            self.recorder.note(Fact::Listed { failure: answer.as_ref().err().cloned() });
            answer
        })
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        self.engine.list_unhealthy()
    }

    fn inspect(&self, id: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        Box::pin(async move {
            let container = short(&id);
            let answer = self.engine.inspect(id).await;
            self.recorder.note(match &answer {
                Ok(inspection) => Fact::Inspected {
                    container,
                    seen: Seen {
                        state: inspection.state.clone(),
                        instance: inspection.started_at.to_string(),
                        health: inspection
                            .health
                            .as_ref()
                            .map(|health| (health.status.clone(), health.failing_streak)),
                    },
                },
                Err(failure) => Fact::InspectFailed { container, failure: failure.clone() },
            });
            answer
        })
    }

    fn act(&self, id: ContainerId, primitive: Primitive) -> Pending<'_, ActOutcome> {
        Box::pin(async move {
            let call = self.recorder.next_call();
            self.recorder.note(Fact::ActCalled { call, container: short(&id), primitive });
            let outcome = self.engine.act(id, primitive).await;
            self.recorder.note(Fact::ActAnswered { call, outcome: outcome.clone() });
            outcome
        })
    }

    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        Box::pin(async move {
            let opened = self.engine.events(since).await;
            self.recorder.note(Fact::EventStream { open: opened.is_ok() });
            let stream = opened?;
            let heard = HeardEvents { stream, recorder: Arc::clone(&self.recorder) };
            Ok(Box::new(heard) as Box<dyn EventStream>)
        })
    }
}

struct HeardEvents {
    stream: Box<dyn EventStream>,
    recorder: Arc<Recorder>,
}

impl EventStream for HeardEvents {
    fn opened_at(&self) -> Option<EngineMs> {
        self.stream.opened_at()
    }

    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>> {
        Box::pin(async move {
            let event = self.stream.next().await;
            self.recorder.note(match &event {
                Ok(event) => Fact::EventTold {
                    container: short(&event.container),
                    action: event.action.clone(),
                },
                Err(_) => Fact::EventStream { open: false },
            });
            event
        })
    }
}

/// Enough of an ID to tell the containers of a run apart.
pub fn short(id: &ContainerId) -> String {
    id.as_str().chars().take(12).collect()
}
