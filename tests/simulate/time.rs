//! The run's clocks. Tokio's paused time is the awake clock of one life of defib; a run joins several lives, sleeps of the
//! host, boots, and whatever somebody does to the wall clock.

use crate::account::Ms;
use defib::{
    clock::Clock,
    domain::moment::{AwakeMs, BootId, BootMs, Moment, WallMs},
    tasks::Pending,
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// The host had been up for so long when the run began.
const UPTIME_MS: Ms = 3_600_000;

/// 2026-11-01 00:00 UTC.
pub const WALL_MS: i64 = 1_793_491_200_000;

/// The run's time.
pub struct Time {
    dials: Mutex<Dials>,
}

#[derive(Default)]
struct Dials {
    /// The run's time when the present life of defib began, or now where none lives.
    base: Ms,
    /// Tokio's time then.
    began: Option<Instant>,
    /// How long the host has slept.
    slept: Ms,
    /// By how much somebody has set the wall clock.
    stepped: i64,
    /// The host's last boot: awake and elapsed time.
    booted: Option<(Ms, Ms)>,
    boots: u32,
}

impl Time {
    /// A run begins.
    pub fn begin() -> Arc<Self> {
        Arc::new(Self { dials: Mutex::default() })
    }

    fn dials(&self) -> MutexGuard<'_, Dials> {
        self.dials.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The run's time, which stops while the host sleeps.
    pub fn now(&self) -> Ms {
        self.dials().now()
    }

    /// The run's time, the host's sleep included.
    pub fn elapsed(&self) -> Ms {
        let dials = self.dials();
        dials.now() + dials.slept
    }

    /// A life of defib begins, on a runtime whose time stands still by itself.
    pub fn life_begins(&self) {
        self.dials().began = Some(tokio_now());
    }

    /// It ends, within that runtime.
    pub fn life_ends(&self) {
        let mut dials = self.dials();
        dials.base = dials.now();
        dials.began = None;
    }

    /// While nobody lives, time goes on to this moment.
    pub fn pass_until(&self, at: Ms) {
        let mut dials = self.dials();
        dials.base = dials.base.max(at);
    }

    /// The host has slept for so long.
    pub fn sleep(&self, span: Ms) {
        self.dials().slept += span;
    }

    /// Somebody sets the wall clock.
    pub fn step_wall(&self, by: i64) {
        self.dials().stepped += by;
    }

    /// The host boots.
    pub fn boot(&self) {
        let mut dials = self.dials();
        dials.booted = Some((dials.now(), dials.now() + dials.slept));
        dials.boots += 1;
    }
}

impl Dials {
    fn now(&self) -> Ms {
        self.began.map_or(self.base, |began| {
            let lived = tokio_now().saturating_duration_since(began);
            self.base + u64::try_from(lived.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

#[expect(clippy::disallowed_methods, reason = "the simulation owns the time: this is its clock")]
fn tokio_now() -> Instant {
    Instant::now()
}

/// The host's clocks, as defib reads them.
pub struct HostView(pub Arc<Time>);

/// True elapsed time, by which the world goes: no boot zeroes it.
pub struct WorldView(pub Arc<Time>);

impl Clock for HostView {
    fn now(&self) -> Moment {
        let dials = self.0.dials();
        let now = dials.now();
        let elapsed = now + dials.slept;
        let (awake, boot) = match dials.booted {
            Some((awake, elapsed_then)) => (now - awake, elapsed - elapsed_then),
            None => (now + UPTIME_MS, elapsed + UPTIME_MS),
        };
        let wall = WALL_MS + i64::try_from(elapsed).unwrap_or(i64::MAX) + dials.stepped;
        Moment { awake: AwakeMs(awake), boot: BootMs(boot), wall: WallMs(wall) }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from(format!("boot-{}", self.0.dials().boots)))
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        let wait = until.since(self.now().awake);
        Box::pin(tokio::time::sleep(wait))
    }
}

impl Clock for WorldView {
    fn now(&self) -> Moment {
        let elapsed = self.0.elapsed();
        Moment {
            awake: AwakeMs(self.0.now()),
            boot: BootMs(elapsed),
            wall: WallMs(WALL_MS + i64::try_from(elapsed).unwrap_or(i64::MAX)),
        }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from("world"))
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        let wait = until.since(AwakeMs(self.0.now()));
        Box::pin(tokio::time::sleep(wait))
    }
}

/// Waits until this moment of the run.
pub async fn wait_until(time: &Time, at: Ms) {
    let now = time.now();
    tokio::time::sleep(Duration::from_millis(at.saturating_sub(now))).await;
}
