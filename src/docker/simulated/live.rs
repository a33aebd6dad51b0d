//! A world that runs on a clock. The world is lazy: its timers fire when somebody looks, each at its own due time, so the
//! truth is exact however seldom that is; whoever waits for something sleeps until the world's next timer or until a
//! script changes it. No task of its own, so that nothing has to be stopped.

use super::{truth::WorldTime, world::World};
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

    /// Looks at the world or changes it, after all its timers up to now have fired, and wakes whoever waits for it.
    pub fn with<R>(&self, work: impl FnOnce(&mut World, WorldTime) -> R) -> R {
        let now = self.now();
        let result = {
            let mut world = self.world.lock().unwrap_or_else(PoisonError::into_inner);
            world.advance(now);
            work(&mut world, now)
        };
        self.changed.notify_waiters();
        result
    }
}
