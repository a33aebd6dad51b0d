//! The world behind the typed port.
#![allow(
    clippy::todo,
    unused_variables,
    missing_docs,
    dead_code,
    reason = "signatures first; the bodies follow"
)]

use super::{faults::Faults, live::LiveWorld};
use crate::{
    docker::port::{Engine, EventStream, Pending},
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{ActOutcome, Inspection, Listing, LookFailure},
    },
};
use std::{sync::Arc, time::Duration};

/// A simulated engine. Several may stand on one world (a daemon that crashed and its successor).
pub struct SimulatedEngine {
    world: Arc<LiveWorld>,
    faults: Arc<Faults>,
    latency: Duration,
}

impl SimulatedEngine {
    /// Answers after 2 ms.
    pub fn new(world: Arc<LiveWorld>, faults: Arc<Faults>) -> Self {
        Self { world, faults, latency: Duration::from_millis(2) }
    }
    /// Answers after `latency`.
    #[must_use]
    pub fn with_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }
}

impl Engine for SimulatedEngine {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        todo!()
    }
    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        todo!()
    }
    fn inspect(&self, container: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        todo!()
    }
    fn act(&self, container: ContainerId, primitive: Primitive) -> Pending<'_, ActOutcome> {
        todo!()
    }
    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        todo!()
    }
}
