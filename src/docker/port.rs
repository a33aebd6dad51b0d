//! What defib asks of a container engine, and nothing more: two lists, one look, one stream, three acts.
//!
//! Three things stand behind this port: the real engine ([`super::adapter`]), a world model for simulation
//! ([`super::simulated`]), and that same model behind HTTP. One contract suite (`tests/contract`) holds them to the same
//! behaviour. Implementations translate and decide nothing: no retries, no interpretation beyond the types.

use crate::{
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{ActOutcome, EngineEvent, Inspection, Listing, LookFailure},
    },
    tasks::Pending,
};

/// A container engine.
///
/// Looks (`list`, `list_unhealthy`, `inspect`, `events`) end within a deadline of the implementation's own (L2) and may be
/// dropped. `act` has none: the caller stops *waiting* but must keep the future running, because dropping it in mid-restart
/// leaves the container stopped on some engines (moby 44365).
pub trait Engine: Send + Sync + 'static {
    /// Every container, stopped ones included.
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>>;

    /// The IDs of the containers that the engine calls unhealthy now.
    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>>;

    /// One container.
    fn inspect(&self, container: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>>;

    /// One primitive on one container.
    fn act(&self, container: ContainerId, primitive: Primitive) -> Pending<'_, ActOutcome>;

    /// The stream of container events from `since` on (by the engine's clock), or from now. Healthcheck execs are filtered
    /// out. The same event may come twice after a reconnect.
    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>>;
}

/// Events as they come.
pub trait EventStream: Send {
    /// The next event; an error ends the stream for good. May be dropped between events without losing one.
    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>>;
}
