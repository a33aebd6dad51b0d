//! How the scheduler is doing, for `status`: lag is what a pool that is too small looks like, skipped ticks are what targets
//! slower than their interval look like.

use crate::domain::moment::millis;
use std::{collections::VecDeque, time::Duration};

/// Lags are judged over so many of the latest runs: about one round of a large host, 8 KiB.
const RUNS: usize = 1_024;

/// One reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Targets that are probed.
    pub targets: usize,
    /// Places in the pool.
    pub pool: usize,
    /// Places that are held.
    pub in_flight: usize,
    /// Of those, by targets whose last sample did not pass; at most half the pool.
    pub in_flight_down: usize,
    /// Targets that wait for a place.
    pub queued: usize,
    /// Targets that wait until their last sample is taken.
    pub held: usize,
    /// The longest wait of the last 1,024 runs.
    pub lag_max: Duration,
    /// What 99 of 100 of them did not exceed.
    pub lag_p99: Duration,
    /// Ticks skipped since the start.
    pub skipped: u64,
    /// Nothing is probed any more: the scheduler has ended.
    pub ended: bool,
}

/// What is counted while running. Percentiles are taken when somebody asks: a turn of the scheduler must not sort.
#[derive(Debug, Default)]
pub(super) struct Gauges {
    counts: Stats,
    lags: VecDeque<u64>,
}

impl Gauges {
    /// Takes what a turn of the timetable counted: `counts` carries its own skipped ticks only.
    pub(super) fn turned(&mut self, counts: Stats, lags: &[Duration]) {
        let skipped = self.counts.skipped.saturating_add(counts.skipped);
        self.counts = Stats { skipped, ..counts };
        for lag in lags {
            if self.lags.len() == RUNS {
                self.lags.pop_front();
            }
            self.lags.push_back(millis(*lag));
        }
    }

    pub(super) fn read(&self) -> Stats {
        let mut lags: Vec<u64> = self.lags.iter().copied().collect();
        lags.sort_unstable();
        let p99 = (lags.len() * 99).div_ceil(100).saturating_sub(1);
        let at = |index: usize| Duration::from_millis(lags.get(index).copied().unwrap_or(0));
        let lag_max = at(lags.len().saturating_sub(1));
        Stats { lag_max, lag_p99: at(p99), ..self.counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_99th_of_100_is_told_apart_from_the_longest_and_old_runs_are_forgotten() {
        let mut gauges = Gauges::default();
        gauges.turned(Stats { skipped: 2, ..Stats::default() }, &[Duration::from_secs(60)]);
        let lags: Vec<Duration> = (1..=RUNS as u64).map(Duration::from_millis).collect();
        gauges.turned(Stats { skipped: 3, ..Stats::default() }, &lags);
        let stats = gauges.read();
        assert_eq!(stats.skipped, 5);
        assert_eq!(stats.lag_max, Duration::from_millis(1_024));
        assert_eq!(stats.lag_p99, Duration::from_millis(1_014));
    }
}
