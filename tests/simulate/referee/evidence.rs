//! What defib had been shown against a replica at some moment. Two ways to read it: `Most` counts all that may count, and is
//! asked before we accuse defib of having acted without grounds; `Least` counts only what must count, and is asked before we
//! accuse it of having overlooked something.

use super::story::{Container, Shown, Story};
use crate::account::{Ms, ProbeRule, Sampled, ServiceRule};
use defib::domain::observation::{ContainerState, HealthResult, HealthStatus, Phase, ProbeOutcome};

/// Which way to read what is open to reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All that may count.
    Most,
    /// Only what must count.
    Least,
}

/// What one sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Well.
    Pass,
    /// It fails in a way that a restart can cure (S11).
    Curable,
    /// It fails in another way.
    Incurable,
    /// Nothing: it could not be looked at (S5).
    Nothing,
}

/// What a sample says, by S5 and S11.
pub fn says(sampled: &Sampled) -> Says {
    if sampled.slept {
        return Says::Nothing;
    }
    match &sampled.outcome {
        ProbeOutcome::Ok { .. } => Says::Pass,
        // The resolver's failure, not the target's.
        ProbeOutcome::Timeout(Phase::Dns) => Says::Nothing,
        ProbeOutcome::Timeout(_) | ProbeOutcome::Refused | ProbeOutcome::Reset => Says::Curable,
        ProbeOutcome::Status(status) if *status >= 500 => Says::Curable,
        ProbeOutcome::Status(_)
        | ProbeOutcome::Assertion(_)
        | ProbeOutcome::Truncated
        | ProbeOutcome::TooLarge
        | ProbeOutcome::Protocol(_)
        | ProbeOutcome::Decode(_)
        | ProbeOutcome::Tls(_)
        | ProbeOutcome::Certificate(_)
        | ProbeOutcome::Redirect(_) => Says::Incurable,
        ProbeOutcome::Dns(_)
        | ProbeOutcome::Local(_)
        | ProbeOutcome::Infra(_)
        | ProbeOutcome::Gone => Says::Nothing,
    }
}

/// One evidence against one life of a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streak {
    /// When its first failure was seen.
    pub first: Ms,
    /// When it amounted to a verdict.
    pub verdict: Ms,
    /// Since when it counts as failing for a threshold by time: what defib can't know before it is told begins then.
    pub since: Ms,
    /// How many failures.
    pub count: u32,
    /// Whether a restart can cure it.
    pub curable: bool,
}

impl Streak {
    /// Whether it has reached a threshold by this moment: so many failures, or failing for so long.
    pub fn reached(&self, failures: u32, span: Option<Ms>, at: Ms) -> bool {
        self.count >= failures || span.is_some_and(|span| at >= self.since.saturating_add(span))
    }
}

impl Container<'_> {
    /// The streak of one probe against one life, as seen up to a moment; `None` where it does not amount to a verdict.
    pub fn probe_streak(
        &self,
        service: &ServiceRule,
        probe: &ProbeRule,
        instance: &str,
        until: Ms,
        reading: Reading,
    ) -> Option<Streak> {
        let started = self.instance(instance)?.span.from;
        // When a life began is known to defib a little later than to us, and by the engine's clock in whole seconds.
        let counts_from = match reading {
            Reading::Most => started + service.start_grace.saturating_sub(1_000),
            Reading::Least => started + service.start_grace + 2_000,
        };
        let mut streak: Option<Streak> = None;
        let mut passes = 0;
        let stale_before = self.stale_before(until, reading);
        let samples = self.samples_of(&probe.name, instance, until);
        for shown in samples.filter(|shown| shown.at >= stale_before) {
            match says(shown.what) {
                Says::Nothing => {}
                Says::Pass => {
                    passes += 1;
                    let failing = streak.is_some_and(|streak| streak.count >= probe.fall);
                    // Before the verdict one pass breaks a streak, after it takes `rise`.
                    if !failing || passes >= probe.rise || reading == Reading::Least {
                        streak = None;
                    }
                }
                failure @ (Says::Curable | Says::Incurable) => {
                    passes = 0;
                    if shown.at < counts_from {
                        continue;
                    }
                    let curable = failure == Says::Curable;
                    let streak = streak.get_or_insert(Streak {
                        first: shown.at,
                        verdict: Ms::MAX,
                        since: shown.at,
                        count: 0,
                        curable: reading == Reading::Least,
                    });
                    streak.count += 1;
                    streak.curable = match reading {
                        Reading::Most => streak.curable || curable,
                        Reading::Least => streak.curable && curable,
                    };
                    if streak.count == probe.fall {
                        streak.verdict = shown.at;
                    }
                }
            }
        }
        streak.filter(|streak| streak.count >= probe.fall)
    }

    /// What was shown before a container was frozen says nothing once it was: its streaks begin anew (the engine's own state
    /// of its health stays what it was, and is stale).
    fn stale_before(&self, until: Ms, reading: Reading) -> Ms {
        let frozen = self.pauses.iter().filter(|pause| pause.from <= until).map(|pause| pause.to);
        match reading {
            Reading::Most => 0,
            Reading::Least => frozen.max().unwrap_or(0),
        }
    }

    /// The streak of Docker's healthcheck against one life up to a moment, counting real failures only (S5).
    pub fn health_streak(&self, instance: &str, until: Ms, reading: Reading) -> Option<Streak> {
        let mut streak: Option<Streak> = None;
        let stale_before = self.stale_before(until, reading);
        let checks = self.checks.iter().filter(|check| check.1 == instance && check.0 <= until);
        for (at, _, result) in checks.filter(|check| check.0 >= stale_before) {
            match result {
                HealthResult::Passed => streak = None,
                // Of what failed before it the engine may have forgotten all.
                HealthResult::CouldNotRun if reading == Reading::Least => streak = None,
                HealthResult::CouldNotRun => {}
                HealthResult::Failed => {
                    let streak = streak.get_or_insert(Streak {
                        first: *at,
                        verdict: Ms::MAX,
                        since: *at,
                        count: 0,
                        curable: true,
                    });
                    streak.count += 1;
                }
            }
        }
        let mut streak = streak?;
        // The engine counts a check that could not be run as well.
        if reading == Reading::Least && streak.count < self.retries {
            return None;
        }
        let unhealthy = |shown: &&Shown<&crate::account::Seen>| {
            shown.what.instance == instance
                && shown.at >= streak.first
                && shown.at <= until
                // The engine makes `unhealthy` up where a container is stopped or frozen.
                && shown.what.state == ContainerState::Running
                && matches!(shown.what.health, Some((HealthStatus::Unhealthy, _)))
        };
        // Without an inspect that says so, defib cannot know it.
        let told = self.inspected.iter().find(unhealthy);
        match reading {
            Reading::Most => {
                streak.verdict = told.map_or(streak.first, |shown| shown.at);
                Some(streak)
            }
            Reading::Least => {
                streak.verdict = told?.at;
                streak.since = streak.verdict;
                Some(streak)
            }
        }
    }

    /// Whether this probe of this container had passed before.
    pub fn passed_before(&self, probe: &str, at: Ms) -> bool {
        self.samples.iter().any(|shown| {
            shown.at < at && shown.what.probe == probe && says(shown.what) == Says::Pass
        })
    }

    /// The samples of one probe of one life up to a moment.
    pub fn samples_of(
        &self,
        probe: &str,
        instance: &str,
        until: Ms,
    ) -> impl Iterator<Item = &Shown<&Sampled>> {
        self.samples.iter().filter(move |shown| {
            shown.at <= until && shown.what.probe == probe && shown.what.instance == instance
        })
    }
}

impl Story<'_> {
    /// Whether this probe had ever passed, for any replica of its service (S11).
    pub fn ever_passed(&self, service: &ServiceRule, probe: &str, until: Ms) -> bool {
        self.containers
            .values()
            .filter(|container| service.replicas.iter().any(|name| name == container.replica))
            .flat_map(|container| &container.samples)
            .any(|shown| {
                shown.at <= until
                    && shown.what.probe == probe
                    && matches!(shown.what.outcome, ProbeOutcome::Ok { .. })
            })
    }

    /// Whether this probe of this replica had surely passed before, as far as the life of defib at that moment knows.
    pub fn passed_in_life(&self, replica: &str, probe: &str, at: Ms) -> bool {
        self.containers_of(replica).iter().flat_map(|container| &container.samples).any(|shown| {
            shown.at < at
                && shown.what.probe == probe
                && says(shown.what) == Says::Pass
                && self.life_at(at).is_some_and(|life| life.holds(shown.at))
        })
    }

    /// Whether defib saw this replica pass between two moments, by any evidence.
    pub fn shown_well(&self, replica: &str, from: Ms, to: Ms) -> Option<Ms> {
        self.containers_of(replica)
            .iter()
            .flat_map(|container| {
                let samples = container
                    .samples
                    .iter()
                    .filter(|shown| says(shown.what) == Says::Pass)
                    .map(|shown| shown.at);
                let inspected = container
                    .inspected
                    .iter()
                    .filter(|shown| matches!(shown.what.health, Some((HealthStatus::Healthy, _))))
                    .map(|shown| shown.at);
                samples.chain(inspected).collect::<Vec<_>>()
            })
            .filter(|at| (from..to).contains(at))
            .min()
    }
}
