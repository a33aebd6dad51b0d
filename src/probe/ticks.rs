//! When a target is to be probed: a fixed rate, at a phase of its own.
//!
//! A target's ticks stand on a grid of `every`, shifted by a hash of its name and the run's seed, so that ten thousand
//! targets that begin together spread over the whole interval and stay spread. Each tick strays by up to 5 % of the interval, so that
//! a probe never keeps in step with something else that is periodic (a garbage collection, a cron job) and sees only that.
//! The grid itself never strays: late ticks do not push later ones, and over an hour the rate is exact.
//!
//! Hashes and not random numbers: the same names and seed give the same ticks, run for run.

use crate::domain::{
    moment::{AwakeMs, millis},
    observation::Target,
};
use std::time::Duration;

/// A target that is probed rarely gets its first sample within this time all the same: a watchdog that was just started, or
/// that has just restarted something, should not need minutes to see.
const FIRST_WITHIN_MS: u64 = 5_000;

/// One target's grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticks {
    hash: u64,
    every_ms: u64,
}

impl Ticks {
    pub(super) fn of(seed: u64, target: &Target, every: Duration) -> Self {
        let hash = fnv(fnv(seed ^ FNV_BASIS, target.replica.as_str()), target.probe.as_str());
        Self { hash: mixed(hash), every_ms: millis(every).max(1) }
    }

    /// The same phase at another pace.
    pub(super) fn paced(self, every: Duration) -> Self {
        Self { every_ms: millis(every).max(1), ..self }
    }

    /// The first tick of a target that begins at `now`.
    pub(super) fn first(self, now: AwakeMs) -> AwakeMs {
        if self.every_ms <= FIRST_WITHIN_MS {
            self.after(now, now).1
        } else {
            now + Duration::from_millis(share(mixed(!self.hash), FIRST_WITHIN_MS))
        }
    }

    /// The tick that follows the one at `last`, seen from `now`, and how many were missed between them. Not nearer to `last`
    /// than half an interval, which matters only after the first tick and after a change of pace.
    pub(super) fn next(self, last: AwakeMs, now: AwakeMs) -> (AwakeMs, u64) {
        let earliest = AwakeMs(last.0.saturating_add(self.every_ms / 2));
        let (expected, _) = self.after(last, earliest);
        let (next, at) = self.after(now.max(last), earliest);
        (at, next.saturating_sub(expected))
    }

    /// The first tick later than `now` and not earlier than `earliest`, with its number on the grid.
    fn after(self, now: AwakeMs, earliest: AwakeMs) -> (u64, AwakeMs) {
        let mut number = (now.max(earliest).0 / self.every_ms).saturating_sub(2);
        loop {
            let at = self.at(number);
            if at > now && at >= earliest {
                return (number, at);
            }
            number += 1;
        }
    }

    fn at(self, number: u64) -> AwakeMs {
        let phase = share(self.hash, self.every_ms);
        let stray = share(mixed(self.hash ^ number), self.every_ms / 10);
        let base = number.saturating_mul(self.every_ms).saturating_add(phase);
        AwakeMs(base.saturating_add(stray).saturating_sub(self.every_ms / 20))
    }
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a, with a byte between two texts that stands in neither.
fn fnv(mut hash: u64, text: &str) -> u64 {
    for byte in text.bytes().chain([0xff]) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// FNV leaves names that differ in their last character close to each other; this spreads them (MurmurHash3's finaliser).
fn mixed(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// The share of `whole` that a hash stands for.
fn share(hash: u64, whole: u64) -> u64 {
    u64::try_from((u128::from(hash) * u128::from(whole)) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::name::{ProbeName, ReplicaName};

    fn ticks(name: &str, every: Duration) -> Ticks {
        let target = Target { replica: ReplicaName::new(name), probe: ProbeName::new("http") };
        Ticks::of(7, &target, every)
    }

    const EVERY: Duration = Duration::from_secs(10);

    #[test]
    fn the_rate_is_fixed_and_each_tick_strays_by_at_most_a_twentieth() {
        let ticks = ticks("shop/web/1", EVERY);
        let start = AwakeMs(123_456);
        let mut last = ticks.next(start, start).0;
        let anchor = last;
        for count in 1..=360_u64 {
            let (next, missed) = ticks.next(last, last);
            assert_eq!(missed, 0);
            let gap = next.since(last).as_millis();
            assert!((9_000..=11_000).contains(&gap), "{gap}");
            let ideal = i128::from(anchor.0) + i128::from(count) * 10_000;
            assert!((i128::from(next.0) - ideal).abs() <= 1_000, "no drift");
            last = next;
        }
    }

    #[test]
    fn missed_ticks_are_counted_and_not_replayed() {
        let ticks = ticks("shop/web/1", EVERY);
        let last = ticks.next(AwakeMs(500_000), AwakeMs(500_000)).0;
        let late = last + Duration::from_secs(35);
        let (next, missed) = ticks.next(last, late);
        assert!(next > late && next.since(late) <= Duration::from_secs(11));
        assert!((3..=4).contains(&missed), "{missed}");
    }

    #[test]
    fn phases_spread_evenly_also_over_names_that_differ_in_one_digit() {
        let mut tenths = [0_u32; 10];
        for n in 0..1_000 {
            let ticks = ticks(&format!("shop/web/{n}"), EVERY);
            let at = ticks.first(AwakeMs(1_000_000)).since(AwakeMs(1_000_000)).as_millis();
            assert!(at <= 5_000, "a rare target begins soon");
            let at = ticks.next(AwakeMs(1_000_000), AwakeMs(1_000_000)).0.0 % 10_000;
            tenths[usize::try_from(at / 1_000).unwrap()] += 1;
        }
        assert!(tenths.iter().all(|&count| (60..=140).contains(&count)), "{tenths:?}");
    }

    #[test]
    fn a_change_of_pace_keeps_the_phase_and_half_an_interval() {
        let slow = ticks("shop/web/1", EVERY);
        let fast = slow.paced(Duration::from_secs(1));
        let last = slow.next(AwakeMs(500_000), AwakeMs(500_000)).0;
        let gap = fast.next(last, last).0.since(last);
        assert!(
            gap >= Duration::from_millis(500) && gap <= Duration::from_millis(1_600),
            "{gap:?}"
        );
        assert_eq!(fast.paced(EVERY), slow);
    }

    #[test]
    fn an_interval_of_nothing_still_ends() {
        let ticks = ticks("x", Duration::ZERO);
        assert!(ticks.next(AwakeMs(5), AwakeMs(5)).0 > AwakeMs(5));
    }
}
