//! A world that runs on a clock. The world is lazy: its timers fire when somebody looks, each at its own due time, so the
//! truth is exact however seldom that is; whoever waits for something sleeps until the world's next timer or until a
//! script changes it. No task of its own, so that nothing has to be stopped.

use super::{
    truth::{RequestId, WorldTime},
    world::World,
};
use crate::{clock::Clock, domain::moment::BootMs};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// A world on a clock. Shared between the engine's stand-in, the prober's, the script and the referee.
pub struct LiveWorld {
    world: Mutex<World>,
    changed: Notify,
    clock: Arc<dyn Clock>,
    began: BootMs,
}

impl LiveWorld {
    /// The world begins now. It goes by the boot clock, which is true elapsed time.
    pub fn begin(world: World, clock: Arc<dyn Clock>) -> Arc<Self> {
        let began = clock.now().boot;
        Arc::new(Self { world: Mutex::new(world), changed: Notify::new(), clock, began })
    }

    /// The world's time.
    pub fn now(&self) -> WorldTime {
        WorldTime(self.clock.now().boot.0.saturating_sub(self.began.0))
    }

    /// Looks at the world or changes it, after all its timers up to now have fired. Whoever waits for the world is woken
    /// where anything changed.
    pub fn with<R>(&self, work: impl FnOnce(&mut World, WorldTime) -> R) -> R {
        let now = self.now();
        let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
        let before = world.revision();
        world.advance(now);
        let due = world.next_event_at();
        let result = work(&mut world, now);
        // A new, earlier timer is a change too: who sleeps until the old one would miss it.
        let changed = world.revision() != before || world.next_event_at() != due;
        drop(world);
        if changed {
            self.changed.notify_waiters();
        }
        result
    }

    /// Waits until `check` finds what it looks for. Asked again after each change, each timer of the world, and at the
    /// time that `check` asks for.
    pub async fn find<T>(
        &self,
        mut check: impl FnMut(&mut World, WorldTime) -> Result<T, Option<WorldTime>>,
    ) -> T {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Enabled before looking: a change between the look and the wait is not missed.
            changed.as_mut().enable();
            let (found, due) = self.with(|world, now| (check(world, now), world.next_event_at()));
            let again_at = match found {
                Ok(found) => return found,
                Err(wanted) => wanted.into_iter().chain(due).min(),
            };
            match again_at {
                Some(at) => tokio::select! {
                    biased;
                    () = &mut changed => {}
                    () = self.sleep_until(at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// Waits until the world's time is `until`, by the awake clock; while the host sleeps, nobody waits.
    pub async fn sleep_until(&self, until: WorldTime) {
        loop {
            let wait = until.since(self.now());
            if wait.is_zero() {
                return;
            }
            self.clock.sleep_until(self.clock.now().awake + wait).await;
        }
    }
}

/// Whoever waits for the answer to a request. Dropped before it came, the world is told that nobody listens any more.
pub(super) struct Caller<'a> {
    world: &'a LiveWorld,
    request: Option<RequestId>,
}

impl<'a> Caller<'a> {
    pub(super) fn of(world: &'a LiveWorld, request: RequestId) -> Self {
        Self { world, request: Some(request) }
    }

    /// The answer came.
    pub(super) fn heard(mut self) {
        self.request = None;
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        if let Some(request) = self.request {
            self.world.with(|world, now| world.abandon(now, request));
        }
    }
}
