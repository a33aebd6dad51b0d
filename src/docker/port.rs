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
use std::time::Duration;

/// A list ends within so long: one that takes longer tells nothing that is still true, and 10,000 containers take 0.75 s.
pub const LIST_WITHIN: Duration = Duration::from_secs(10);

/// An inspection ends within so long: the engine answers within milliseconds, or hangs on the container's lock.
pub const INSPECT_WITHIN: Duration = Duration::from_secs(5);

/// The event stream is open within so long: that is one request.
pub const OPEN_EVENTS_WITHIN: Duration = Duration::from_secs(10);

/// An act ends within so long beyond the container's own stop timeout: a kill takes 12 s, a start may wait for volumes and
/// networks, and the engine's slowest honest answers come within two minutes.
pub const ACT_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A container engine.
///
/// Looks end within a deadline of the implementation's own (L2), which is [`LIST_WITHIN`] for `list` and `list_unhealthy`,
/// [`INSPECT_WITHIN`] for `inspect` and [`OPEN_EVENTS_WITHIN`] for `events`, and may be dropped. `act`
/// must not be: dropped in mid-restart it leaves the container stopped on some engines (moby 44365). Its caller stops *waiting*
/// at a deadline of its own and keeps the future running, which ends by itself: when the engine has answered, or where that
/// has lost the call, [`ACT_PATIENCE`] after the container's stop timeout.
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
    /// When it was opened, by the engine's clock: by up to a second too early, and never too late. `None` where the engine does
    /// not say. A stream opened again from then on has missed nothing.
    fn opened_at(&self) -> Option<EngineMs>;

    /// The next event; an error ends the stream for good. May be dropped between events without losing one.
    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>>;
}

/// What the work comes to, or that it did not in time.
pub async fn within<T>(
    deadline: Duration,
    work: impl Future<Output = T>,
) -> Result<T, LookFailure> {
    tokio::time::timeout(deadline, work).await.map_err(|_| LookFailure::TimedOut(deadline))
}

/// A look that is to end within `promised` by itself, with a net under it for an implementation that does not (L2). The net
/// hangs half as deep again: of two equal deadlines either may fire first, and only the look's own says what was waited for.
pub async fn with_net<T>(
    promised: Duration,
    look: impl Future<Output = Result<T, LookFailure>>,
) -> Result<T, LookFailure> {
    within(promised * 3 / 2, look).await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;

    #[tokio::test(start_paused = true)]
    async fn a_look_ends_by_its_own_deadline_and_by_the_net_only_where_it_keeps_none() {
        let kept = with_net(LIST_WITHIN, async { within(LIST_WITHIN, pending::<()>()).await });
        assert_eq!(kept.await, Err(LookFailure::TimedOut(LIST_WITHIN)));
        let not_kept = with_net(LIST_WITHIN, pending::<Result<(), _>>());
        assert_eq!(not_kept.await, Err(LookFailure::TimedOut(Duration::from_secs(15))));
    }
}
