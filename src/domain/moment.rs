//! Three clocks, kept apart by type.
//!
//! How watched things behave (grace, backoff, failing-for) counts *awake* time, which stops while the host is suspended:
//! a laptop lid closed for a night is not a night of failing. Budgets and `--for` count *boot* time, which does not stop.
//! `until 14:00` and maintenance count *wall* time. The engine's clock may differ from all three, so its timestamps have a
//! type of their own and are only ever compared with each other. This file refuses to convert between clocks, except in
//! [`Stamp::boot_on`], which is conservative on purpose.

use serde::{Deserialize, Serialize};
use std::{fmt, ops::Add, sync::Arc, time::Duration};

macro_rules! clock {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl $name {
            /// Time since `earlier`; zero where `earlier` lies in the future.
            pub fn since(self, earlier: Self) -> Duration {
                Duration::from_millis(self.0.saturating_sub(earlier.0))
            }
        }

        impl Add<Duration> for $name {
            type Output = Self;
            fn add(self, span: Duration) -> Self {
                Self(self.0.saturating_add(millis(span)))
            }
        }
    };
}

clock! {
    /// Milliseconds on a clock that stops while the host is suspended (CLOCK_MONOTONIC).
    AwakeMs
}
clock! {
    /// Milliseconds since the host booted, suspension included (CLOCK_BOOTTIME).
    BootMs
}

/// Milliseconds since the Unix epoch on the host's clock, which people and NTP may set.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct WallMs(pub i64);

/// Milliseconds since the Unix epoch on the engine's clock. Compared only with other `EngineMs`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EngineMs(pub i64);

impl EngineMs {
    /// Time since `earlier`; zero where `earlier` lies in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl Add<Duration> for EngineMs {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(span.as_millis()).unwrap_or(i64::MAX)))
    }
}

/// One reading of all three clocks. Every observation comes with one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// Stops while the host is suspended.
    pub awake: AwakeMs,
    /// Since the host booted.
    pub boot: BootMs,
    /// What a person's watch says.
    pub wall: WallMs,
}

impl Moment {
    /// The moment at which the awake clock said this, as far as the other clocks ran with it.
    pub fn back_to(self, awake: AwakeMs) -> Self {
        let ago = millis(self.awake.since(awake));
        Self {
            awake,
            boot: BootMs(self.boot.0.saturating_sub(ago)),
            wall: WallMs(self.wall.0.saturating_sub(i64::try_from(ago).unwrap_or(i64::MAX))),
        }
    }
}

/// Which boot of the host a [`BootMs`] belongs to (`/proc/sys/kernel/random/boot_id`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootId(pub Arc<str>);

/// A moment that survives our own restart and the host's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// The boot that `moment` was read in.
    pub boot_id: BootId,
    /// The three clocks.
    pub moment: Moment,
}

impl Stamp {
    /// The stamp's boot time as seen from `now`. A stamp of another boot counts as this boot's first millisecond: the
    /// latest it can have been, so that no step of the wall clock refills a budget. One from the future (damage, or a
    /// clock that lies) counts as now.
    pub fn boot_on(&self, boot_id: &BootId, now: Moment) -> BootMs {
        if &self.boot_id == boot_id { self.moment.boot.min(now.boot) } else { BootMs(0) }
    }

    /// The stamp's awake time as seen from `now`, by the same reasoning.
    pub fn awake_on(&self, boot_id: &BootId, now: Moment) -> AwakeMs {
        if &self.boot_id == boot_id { self.moment.awake.min(now.awake) } else { AwakeMs(0) }
    }
}

/// Whole milliseconds of a span, saturating.
pub fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// A span as people say it: `850ms`, `12s`, `4m 10s`, `3h 5m`, `12d 4h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spoken(pub Duration);

impl Spoken {
    /// The same in whole seconds: milliseconds say nothing to a person once a second has passed.
    pub fn rounded(span: Duration) -> Self {
        Self(if span < Duration::from_secs(1) { span } else { Duration::from_secs(span.as_secs()) })
    }
}

impl fmt::Display for Spoken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = millis(self.0);
        let seconds = ms / 1000;
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        let pair =
            |f: &mut fmt::Formatter<'_>, big: u64, unit: &str, small: u64, small_unit: &str| {
                if small == 0 {
                    write!(f, "{big}{unit}")
                } else {
                    write!(f, "{big}{unit} {small}{small_unit}")
                }
            };
        match (days, hours, minutes, seconds) {
            (0, 0, 0, 0) => write!(f, "{ms}ms"),
            (0, 0, 0, _) => write!(f, "{seconds}s"),
            (0, 0, ..) => pair(f, minutes, "m", seconds % 60, "s"),
            (0, ..) => pair(f, hours, "h", minutes, "m"),
            (..) => pair(f, days, "d", hours, "h"),
        }
    }
}
