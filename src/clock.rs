//! The only place that reads a clock for what is decided, told or recorded.
//!
//! Three others read one, none of them for that: a probe measures its own course on the runtime's clock, on which its deadline
//! runs (`instant()` of `probe/http.rs`); each line of the log carries its own time (`cli/log`); and whatever waits with a
//! deadline has the runtime's timer. `clippy.toml` bans the rest.

use crate::{
    domain::moment::{AwakeMs, BootId, BootMs, Moment, WallMs},
    tasks::Pending,
};
use rustix::time::{ClockId, clock_gettime};
use std::{sync::Arc, time::Duration};

/// Reads the three clocks and waits.
pub trait Clock: Send + Sync + 'static {
    /// All three, now.
    fn now(&self) -> Moment;

    /// Which boot of the host this is.
    fn boot_id(&self) -> BootId;

    /// Waits until the awake clock shows `until`. May return late, never early.
    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()>;
}

/// The host's own clocks.
pub struct HostClock {
    boot_id: BootId,
}

impl HostClock {
    /// Reads the host's boot ID. Where it cannot be read, every start of ours counts as a boot of its own: budgets then
    /// refill later than they might, never earlier.
    pub fn new() -> Self {
        let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").map_or_else(
            |_| format!("unknown-{}", read(ClockId::Realtime)),
            |id| id.trim().to_owned(),
        );
        Self { boot_id: BootId(Arc::from(boot_id)) }
    }
}

impl Default for HostClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for HostClock {
    fn now(&self) -> Moment {
        Moment {
            awake: AwakeMs(read(ClockId::Monotonic).unsigned_abs()),
            boot: BootMs(read(ClockId::Boottime).unsigned_abs()),
            wall: WallMs(read(ClockId::Realtime)),
        }
    }

    fn boot_id(&self) -> BootId {
        self.boot_id.clone()
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        let wait = until.since(self.now().awake);
        // The timer counts whole milliseconds from a rounded-down reading: one more, so that it is never early.
        Box::pin(tokio::time::sleep(wait + Duration::from_millis(u64::from(!wait.is_zero()))))
    }
}

fn read(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1000).saturating_add(time.tv_nsec / 1_000_000)
}

/// The clocks of a paused runtime, for tests: all go by the runtime's.
#[cfg(test)]
pub(crate) mod paused {
    use super::Clock;
    use crate::{
        domain::moment::{AwakeMs, BootId, BootMs, Moment, WallMs, millis},
        tasks::Pending,
    };
    use std::sync::Arc;
    use tokio::time::{Instant, sleep};

    pub(crate) struct PausedClock {
        began: Instant,
        begins_at: u64,
    }

    impl PausedClock {
        /// Shows `begins_at` milliseconds now.
        pub(crate) fn at(begins_at: u64) -> Self {
            Self { began: now(), begins_at }
        }
    }

    /// The paused runtime's time.
    #[expect(clippy::disallowed_methods, reason = "the paused runtime's clock is the test's clock")]
    pub(crate) fn now() -> Instant {
        Instant::now()
    }

    impl Clock for PausedClock {
        fn now(&self) -> Moment {
            let elapsed = self.begins_at + millis(now() - self.began);
            Moment { awake: AwakeMs(elapsed), boot: BootMs(elapsed), wall: WallMs(0) }
        }

        fn boot_id(&self) -> BootId {
            BootId(Arc::from("paused"))
        }

        fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
            Box::pin(sleep(until.since(self.now().awake)))
        }
    }
}
