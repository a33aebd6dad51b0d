//! The engine itself: containers, their lives, the event history, and requests under way.
#![allow(
    clippy::todo,
    unused_variables,
    missing_docs,
    reason = "signatures first; the bodies follow"
)]

use super::{
    script::{Behaviour, ContainerScript, Stopping, Trouble},
    truth::{Actor, Answer, Order, RequestId, Truth, WorldTime},
};
use crate::domain::{
    effect::Primitive,
    moment::EngineMs,
    name::{ContainerId, StartedAt},
    observation::{ContainerState, Inspection, Listing, ProbeOutcome},
};
use std::time::Duration;

/// Ways in which engine versions differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Engine 24.0.0–24.0.6: a caller that goes away in mid-restart leaves the container stopped (moby 44365).
    pub cancelled_restart_leaves_stopped: bool,
    /// Engine 20.10–22: no healthcheck runs after the engine came back (moby 41871).
    pub health_frozen_after_engine_restart: bool,
}

/// An engine and its containers. Every method first fires all timers up to its `now`.
pub struct World {}

impl World {
    /// An empty engine whose clock shows `epoch` at world time 0.
    pub fn new(epoch: EngineMs) -> Self {
        todo!()
    }
    pub fn with_quirks(self, quirks: Quirks) -> Self {
        todo!()
    }
    /// Everything that happened so far.
    pub fn truth(&self) -> &[Truth] {
        todo!()
    }
    pub fn advance(&mut self, now: WorldTime) {
        todo!()
    }
    pub fn next_event_at(&self) -> Option<WorldTime> {
        todo!()
    }
    pub fn engine_now(&self, now: WorldTime) -> EngineMs {
        todo!()
    }
    /// The engine's clock is set by this many milliseconds.
    pub fn step_engine_clock(&mut self, now: WorldTime, by: i64) {
        todo!()
    }
    /// The host slept until `until`: every timer is put off.
    pub fn host_slept(&mut self, from: WorldTime, until: WorldTime) {
        todo!()
    }
    pub fn engine_down(&mut self, now: WorldTime) {
        todo!()
    }
    pub fn engine_up(&mut self, now: WorldTime) {
        todo!()
    }
    pub fn engine_restart(&mut self, now: WorldTime, down_for: Duration) {
        todo!()
    }
    pub fn engine_is_up(&self) -> bool {
        todo!()
    }

    pub fn create(&mut self, now: WorldTime, script: ContainerScript) -> ContainerId {
        todo!()
    }
    /// Create and start at once.
    pub fn run(&mut self, now: WorldTime, script: ContainerScript) -> ContainerId {
        todo!()
    }
    /// A request; its answer comes by [`World::take_answer`], at once or after timers.
    pub fn request(
        &mut self,
        now: WorldTime,
        id: &ContainerId,
        order: Order,
        by: Actor,
    ) -> RequestId {
        todo!()
    }
    /// defib's request, recorded as such in the truth.
    pub fn act(&mut self, now: WorldTime, id: &ContainerId, primitive: Primitive) -> RequestId {
        todo!()
    }
    pub fn take_answer(&mut self, request: RequestId) -> Option<Answer> {
        todo!()
    }
    /// The caller went away.
    pub fn abandon(&mut self, now: WorldTime, request: RequestId) {
        todo!()
    }
    pub fn start(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    pub fn stop(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    pub fn restart(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    pub fn kill(&mut self, now: WorldTime, id: &ContainerId, signal: u32, by: Actor) {
        todo!()
    }
    pub fn pause(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    pub fn unpause(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    pub fn rename(&mut self, now: WorldTime, id: &ContainerId, name: &str, by: Actor) {
        todo!()
    }
    pub fn update(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    /// By force.
    pub fn remove(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        todo!()
    }
    /// Removes it by force and runs one of the same script in its place; `None` where it is gone.
    pub fn recreate(&mut self, now: WorldTime, id: &ContainerId, by: Actor) -> Option<ContainerId> {
        todo!()
    }

    pub fn trouble(&mut self, now: WorldTime, id: &ContainerId, trouble: Trouble) {
        todo!()
    }
    /// The same as `trouble(…, Trouble::Hangs)`.
    pub fn hang(&mut self, now: WorldTime, id: &ContainerId) {
        todo!()
    }
    pub fn heal(&mut self, now: WorldTime, id: &ContainerId) {
        todo!()
    }
    /// Its process ends by itself.
    pub fn crash(&mut self, now: WorldTime, id: &ContainerId, exit_code: i64) {
        todo!()
    }
    pub fn healthcheck_cannot_run(&mut self, now: WorldTime, id: &ContainerId, cannot: bool) {
        todo!()
    }
    pub fn set_behaviour(&mut self, now: WorldTime, id: &ContainerId, behaviour: Behaviour) {
        todo!()
    }
    pub fn set_stopping(&mut self, now: WorldTime, id: &ContainerId, stopping: Stopping) {
        todo!()
    }
    /// Every start fails with this message until set back to `None`.
    pub fn set_start_fails(&mut self, now: WorldTime, id: &ContainerId, message: Option<String>) {
        todo!()
    }

    pub fn containers(&self) -> Vec<ContainerId> {
        todo!()
    }
    pub fn find(&self, name: &str) -> Option<ContainerId> {
        todo!()
    }
    pub fn state(&self, id: &ContainerId) -> Option<ContainerState> {
        todo!()
    }
    pub fn started_at(&self, id: &ContainerId) -> Option<StartedAt> {
        todo!()
    }
    /// True where it runs, is not paused and its process is well (booted, no trouble).
    pub fn is_well(&self, id: &ContainerId) -> bool {
        todo!()
    }
    pub fn current_trouble(&self, id: &ContainerId) -> Option<Trouble> {
        todo!()
    }
    pub fn probe_outcome(&mut self, now: WorldTime, id: &ContainerId) -> ProbeOutcome {
        todo!()
    }
    pub fn list(&mut self, now: WorldTime) -> Listing {
        todo!()
    }
    pub fn list_unhealthy(&mut self, now: WorldTime) -> Vec<ContainerId> {
        todo!()
    }
    pub fn inspect(&mut self, now: WorldTime, id: &ContainerId) -> Option<Inspection> {
        todo!()
    }
}
