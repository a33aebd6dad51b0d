//! Docker's healthcheck as evidence.
//!
//! The engine's word alone does not do: it makes `unhealthy` up when monitoring stops (pause, exit: moby 46203), keeps a
//! stale status while paused, and falls back to `starting` with a streak of zero when it is itself restarted. So a failure
//! counts only where a log entry of this life, younger than the last pause, failed. What could not be executed is no
//! evidence (S5).

use super::streak::{Failure, Streak};
use crate::domain::{
    moment::{AwakeMs, EngineMs, Moment, millis},
    observation::{
        ContainerState, Health, HealthEntry, HealthResult, HealthStatus, Healthcheck, Inspection,
    },
    stall::leave_out,
};
use std::time::Duration;

/// After so many missed results a healthcheck counts as stale.
const STALE_AFTER_RUNS: u32 = 3;

/// The engine rounds and schedules loosely; a look this much after a result was due finds it.
const RESULT_SLACK: Duration = Duration::from_millis(300);

/// The engine tells its own time in whole seconds: what it says happened within the next one is not ahead of it.
const ENGINE_SLACK: Duration = Duration::from_secs(1);

/// What the healthcheck of the current instance showed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HealthEvidence {
    pub(crate) present: bool,
    pub(crate) streak: Streak,
    pub(crate) reading: Reading,
    /// The newest entry that was counted.
    last_counted: Option<EngineMs>,
    /// When the last check that passed began, or up to a second earlier: however long ago that was when it was looked at.
    pub(crate) last_pass: Option<Moment>,
    /// Since when it has stopped reporting.
    pub(crate) stale_since: Option<Moment>,
    /// A run of this streak could not be executed: the engine's own count is no count of failures then.
    saw_not_run: bool,
    /// Since when it could not be executed.
    pub(crate) could_not_run: Option<(Moment, String)>,
}

/// What the last look at it amounted to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Nothing that counts was seen of this instance yet.
    #[default]
    Nothing,
    /// Within its start period.
    Starting,
    /// Passing.
    Passing,
    /// Failing, with a fresh entry that says so.
    Failing,
    /// The engine was itself restarted and counts anew, and what it has run since fails as before. Its own word is still
    /// missing: told of, and no reason to restart (S11).
    FailingOn,
    /// It could not be executed.
    CouldNotRun,
    /// It has stopped reporting.
    Stale,
}

impl HealthEvidence {
    /// Takes in what an inspection says. `fresh_after`: entries that began before this (a pause, the start) do not count.
    pub(crate) fn observe(
        &mut self,
        inspection: &Inspection,
        fresh_after: Option<EngineMs>,
        now: Moment,
    ) {
        let (Some(check), Some(health)) = (inspection.healthcheck, &inspection.health) else {
            *self = Self::default();
            return;
        };
        self.present = true;
        if inspection.state != ContainerState::Running {
            // The engine checks only what runs: of anything else silence says nothing.
            self.stale_since = None;
            self.could_not_run = None;
            return;
        }
        let fresh = |entry: &&HealthEntry| fresh_after.is_none_or(|after| entry.start >= after);
        let last = health.log.last().filter(fresh);
        self.reading = match (&health.status, last) {
            (HealthStatus::Starting, Some(entry))
                if self.streak.failing
                    && entry.result == HealthResult::Failed
                    && health.failing_streak > 0 =>
            {
                if self.count(entry) {
                    let failures = self.streak.failures.saturating_add(1);
                    self.streak.reach(failures, failure(entry), now);
                }
                Reading::FailingOn
            }
            (HealthStatus::Starting, _) => Reading::Starting,
            (_, Some(entry)) if is_stale(entry, check, inspection.engine_now) => Reading::Stale,
            (HealthStatus::Healthy, Some(entry)) => match entry.result {
                HealthResult::Passed => {
                    if self.count(entry) {
                        self.streak.pass(1);
                        self.saw_not_run = false;
                        let ago = inspection.engine_now.since(entry.start) + ENGINE_SLACK;
                        let began = now.awake.0.saturating_sub(millis(ago));
                        self.last_pass = Some(now.back_to(AwakeMs(began)));
                    }
                    Reading::Passing
                }
                // Failures that have not reached `retries`: the engine still says healthy, and so do we. That it says so
                // again after a failing streak means that a pass came in between.
                HealthResult::Failed => {
                    if self.count(entry) && self.streak.failing {
                        self.streak.pass(1);
                    }
                    Reading::Passing
                }
                HealthResult::CouldNotRun => Reading::CouldNotRun,
            },
            (HealthStatus::Unhealthy, Some(entry)) => match entry.result {
                HealthResult::Failed if health.failing_streak > 0 => {
                    let failures = self.failures(health, fresh_after);
                    if self.count(entry) {
                        self.streak.reach(failures, failure(entry), now);
                        self.streak.failing = true;
                    }
                    Reading::Failing
                }
                HealthResult::CouldNotRun => Reading::CouldNotRun,
                HealthResult::Failed | HealthResult::Passed => Reading::Nothing,
            },
            (HealthStatus::Unknown(_), Some(_))
            | (HealthStatus::Healthy | HealthStatus::Unhealthy | HealthStatus::Unknown(_), None) => {
                Reading::Nothing
            }
        };
        self.stale_since = match (self.reading, self.stale_since) {
            (Reading::Stale, since) => since.or(Some(now)),
            (_, _) => None,
        };
        self.could_not_run = match (self.reading, self.could_not_run.take(), last) {
            (Reading::CouldNotRun, Some((since, _)), Some(entry)) => {
                Some((since, entry.output.clone()))
            }
            (Reading::CouldNotRun, None, Some(entry)) => Some((now, entry.output.clone())),
            (_, _, _) => None,
        };
    }

    /// Nobody looked for so long. How old its results are is on the engine's clock and stays true.
    pub(crate) fn leave_out(&mut self, stalled: Duration) {
        self.streak.leave_out(stalled);
        let could_not_run = self.could_not_run.as_mut().map(|(since, _)| since);
        for since in self.stale_since.as_mut().into_iter().chain(could_not_run) {
            leave_out(since, stalled);
        }
    }

    /// How many failures there are in a row. The engine's own count is taken where every result that is known failed; where
    /// one could not be executed, only the failures that were seen count (S5).
    fn failures(&mut self, health: &Health, fresh_after: Option<EngineMs>) -> u32 {
        let fresh = |entry: &&HealthEntry| fresh_after.is_none_or(|after| entry.start >= after);
        let trailing = || {
            // The engine keeps the results of lives before this one, and does not count them: nor are they counted here.
            let of_streak = usize::try_from(health.failing_streak).unwrap_or(usize::MAX);
            let entries = health.log.iter().rev().take(of_streak).filter(fresh);
            entries.take_while(|entry| entry.result != HealthResult::Passed)
        };
        self.saw_not_run |= trailing().any(|entry| entry.result == HealthResult::CouldNotRun);
        let new = trailing()
            .take_while(|entry| self.last_counted != Some(entry.start))
            .filter(|entry| entry.result == HealthResult::Failed)
            .count();
        let seen = self.streak.failures.saturating_add(u32::try_from(new).unwrap_or(u32::MAX));
        if self.saw_not_run { seen } else { seen.max(health.failing_streak) }
    }

    /// Whether this entry is new.
    fn count(&mut self, entry: &HealthEntry) -> bool {
        let new = self.last_counted != Some(entry.start);
        if new {
            self.last_counted = Some(entry.start);
        }
        new
    }
}

/// Whether the engine's clock has come to this by the time of a look. What it says happened later was written before that
/// clock was set back, as after a boot with a wrong one: compared with anything written since it says nothing.
pub(crate) fn is_past(at: EngineMs, inspection: &Inspection) -> bool {
    at <= inspection.engine_now + ENGINE_SLACK
}

/// When the next result is due, from the engine's `now` on.
pub(crate) fn next_result_in(inspection: &Inspection) -> Option<Duration> {
    let check = inspection.healthcheck?;
    let last = inspection.health.as_ref().and_then(|health| health.log.last());
    let due = match last {
        Some(entry) => {
            let took =
                Duration::from_millis(u64::try_from(entry.end.0 - entry.start.0).unwrap_or(0));
            entry.end + check.interval + took + RESULT_SLACK
        }
        None => inspection.started? + check.interval + RESULT_SLACK,
    };
    if inspection.engine_now.since(due) > check.interval + check.timeout {
        // It has stopped reporting: as often as it should report is often enough.
        return Some(check.interval.max(Duration::from_secs(1)));
    }
    let wait = Duration::from_millis(u64::try_from(due.0 - inspection.engine_now.0).unwrap_or(0));
    // Overdue results come any moment; asking more than once a second tells nobody anything sooner.
    Some(
        wait.max(Duration::from_secs(1))
            .min(check.interval + check.timeout + Duration::from_secs(1)),
    )
}

/// What of a healthcheck has begun to fail without being a failure yet, in words: below its `retries`, or within its start
/// period. For people to see; nothing is decided by it. While it is so it is looked at with each result that is due.
pub(crate) fn begins_to_fail(
    inspection: &Inspection,
    fresh_after: Option<EngineMs>,
) -> Option<String> {
    let (check, health) = (inspection.healthcheck?, inspection.health.as_ref()?);
    let last = health.log.last()?;
    let is_fresh = fresh_after.is_none_or(|after| last.start >= after)
        && !is_stale(last, check, inspection.engine_now);
    if !is_fresh || last.result != HealthResult::Failed {
        return None;
    }
    let shows = failure(last).shows;
    match (&health.status, health.failing_streak) {
        (HealthStatus::Starting, 0) => Some(format!("failing in its start period: {shows}")),
        (HealthStatus::Starting | HealthStatus::Healthy, failures @ 1..) => {
            Some(format!("{failures} of {} failures: {shows}", check.retries))
        }
        (HealthStatus::Healthy, 0) | (HealthStatus::Unhealthy | HealthStatus::Unknown(_), _) => {
            None
        }
    }
}

fn failure(entry: &HealthEntry) -> Failure {
    let output = entry.output.trim();
    let shows = if output.is_empty() {
        "Docker's healthcheck fails and prints nothing".to_owned()
    } else {
        format!("Docker's healthcheck fails: {output}")
    };
    Failure { shows, curable: true }
}

fn is_stale(entry: &HealthEntry, check: Healthcheck, engine_now: EngineMs) -> bool {
    let patience =
        (check.interval + check.timeout).saturating_mul(STALE_AFTER_RUNS) + Duration::from_secs(5);
    millis(engine_now.since(entry.end)) > millis(patience)
}
