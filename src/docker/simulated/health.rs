//! The engine's health monitor, as Engine 20.10 has it: faults of judgement included, because the safety rules exist for
//! them. Stopping the monitor (pause, exit) makes up an `unhealthy` without an event or a failure behind it (moby 46203);
//! a start zeroes the streak and keeps the log; a passing check after a pause is told as a change to `healthy` although
//! nobody was told of the other.

use super::{
    script::Trouble,
    timers::{Due, Slot},
    truth::{Happened, WorldTime},
    world::World,
};
use crate::domain::{
    moment::{EngineMs, Spoken},
    observation::{EventAction, Health, HealthEntry, HealthResult, HealthStatus, Healthcheck},
};
use std::time::Duration;

/// The engine keeps this many results.
const LOGGED: usize = 5;

/// The monitor of one container.
#[derive(Clone, Debug)]
pub(super) struct Monitor {
    pub(super) status: HealthStatus,
    pub(super) failing_streak: u32,
    pub(super) log: Vec<LoggedCheck>,
    /// Checks are made.
    pub(super) open: bool,
    /// The check under way.
    pub(super) under_way: Option<Check>,
}

/// One logged result, with the exit code that the wire tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedCheck {
    pub(super) entry: HealthEntry,
    pub(super) exit_code: i64,
}

/// A check under way, its outcome fixed when it began.
#[derive(Clone, Debug)]
pub(super) struct Check {
    began: WorldTime,
    start: EngineMs,
    exit_code: i64,
    result: HealthResult,
    output: String,
}

impl Monitor {
    fn starting() -> Self {
        Self {
            status: HealthStatus::Starting,
            failing_streak: 0,
            log: Vec::new(),
            open: false,
            under_way: None,
        }
    }

    pub(super) fn shown(&self) -> Health {
        Health {
            status: self.status.clone(),
            failing_streak: self.failing_streak,
            log: self.log.iter().map(|logged| logged.entry.clone()).collect(),
        }
    }

    /// Takes in a result; true where the status changed.
    fn take(&mut self, logged: LoggedCheck, in_start_period: bool, retries: u32) -> bool {
        let before = self.status.clone();
        let passed = logged.entry.result == HealthResult::Passed;
        if self.log.len() == LOGGED {
            self.log.remove(0);
        }
        self.log.push(logged);
        if passed {
            self.failing_streak = 0;
            self.status = HealthStatus::Healthy;
        } else if !(in_start_period && self.status == HealthStatus::Starting) {
            self.failing_streak += 1;
            if self.failing_streak >= retries {
                self.status = HealthStatus::Unhealthy;
            }
        }
        self.status != before
    }
}

impl World {
    /// At a start, and for what runs when the engine comes back: `starting`, streak 0, the log kept.
    pub(super) fn begin_monitoring(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        if container.script.healthcheck.is_none() {
            return;
        }
        let monitor = container.monitor.get_or_insert_with(Monitor::starting);
        monitor.failing_streak = 0;
        self.turn(slot, at, HealthStatus::Starting, false);
        self.open_monitor(slot, at);
    }

    /// Checks are made from now on, the first after one interval.
    pub(super) fn open_monitor(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let (Some(healthcheck), Some(monitor)) =
            (container.script.healthcheck, container.monitor.as_mut())
        else {
            return;
        };
        if !monitor.open {
            monitor.open = true;
            self.timers.set(slot, Due::CheckBegins, at + healthcheck.interval);
        }
    }

    /// Pause, exit: the check under way is forgotten and an `unhealthy` is made up, with no event.
    pub(super) fn close_monitor(&mut self, slot: Slot, at: WorldTime) {
        if self.stop_checks(slot) {
            self.turn(slot, at, HealthStatus::Unhealthy, true);
        }
    }

    /// No more checks; the status stays. True where there were any.
    pub(super) fn stop_checks(&mut self, slot: Slot) -> bool {
        self.timers.cancel(slot, Due::CheckBegins);
        self.timers.cancel(slot, Due::CheckEnds);
        let Some(container) = self.containers.get_mut(&slot) else { return false };
        let Some(monitor) = container.monitor.as_mut() else { return false };
        monitor.under_way = None;
        std::mem::replace(&mut monitor.open, false)
    }

    pub(super) fn check_begins(&mut self, slot: Slot, at: WorldTime) {
        let start = self.engine_now(at);
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let (Some(healthcheck), Some(monitor)) =
            (container.script.healthcheck, container.monitor.as_mut())
        else {
            return;
        };
        let takes = container.script.healthcheck_takes;
        let failing = !container.booted
            || match container.trouble {
                None | Some(Trouble::OnlyProbes) => false,
                Some(
                    Trouble::Hangs
                    | Trouble::Answers(_)
                    | Trouble::Refuses
                    | Trouble::Resets
                    | Trouble::OnlyHealthcheck,
                ) => true,
            };
        let hangs = container.trouble == Some(Trouble::Hangs) && container.booted;
        let (lasts, exit_code, result, output): (Duration, i64, HealthResult, String) = if container
            .healthcheck_cannot_run
        {
            let output = "OCI runtime exec failed: exec failed: unable to start container process: \
                              exec: \"/bin/check\": stat /bin/check: no such file or directory: unknown";
            (takes, -1, HealthResult::CouldNotRun, output.to_owned())
        } else if hangs || takes >= healthcheck.timeout {
            (healthcheck.timeout, -1, HealthResult::Failed, timeout_text(&healthcheck))
        } else if failing {
            (takes, 1, HealthResult::Failed, "no answer\n".to_owned())
        } else {
            (takes, 0, HealthResult::Passed, "ok\n".to_owned())
        };
        monitor.under_way = Some(Check { began: at, start, exit_code, result, output });
        self.timers.set(slot, Due::CheckEnds, at + lasts);
        self.tell_exec_began(slot, at);
    }

    pub(super) fn check_ends(&mut self, slot: Slot, at: WorldTime) {
        let end = self.engine_now(at);
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let life_began = container.life_began;
        let id = container.id.clone();
        let (Some(healthcheck), Some(monitor)) =
            (container.script.healthcheck, container.monitor.as_mut())
        else {
            return;
        };
        let Some(check) = monitor.under_way.take() else { return };
        let in_start_period = check.began.since(life_began) < healthcheck.start_period;
        let entry =
            HealthEntry { start: check.start, end, result: check.result, output: check.output };
        let logged = LoggedCheck { entry, exit_code: check.exit_code };
        let turned = monitor.take(logged, in_start_period, healthcheck.retries);
        let (status, failing_streak) = (monitor.status.clone(), monitor.failing_streak);
        self.timers.set(slot, Due::CheckBegins, at + healthcheck.interval);
        self.tell_exec_died(slot, at, check.exit_code);
        self.happen(
            at,
            Happened::HealthChecked { container: id.clone(), result: check.result, failing_streak },
        );
        if turned {
            self.happen(
                at,
                Happened::HealthTurned { container: id, status: status.clone(), made_up: false },
            );
            self.tell(slot, at, EventAction::HealthChanged(status));
        }
    }

    /// A status without an event.
    fn turn(&mut self, slot: Slot, at: WorldTime, status: HealthStatus, made_up: bool) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let Some(monitor) = container.monitor.as_mut() else { return };
        if monitor.status != status {
            monitor.status = status.clone();
            let container = container.id.clone();
            self.happen(at, Happened::HealthTurned { container, status, made_up });
        }
    }
}

fn timeout_text(healthcheck: &Healthcheck) -> String {
    format!("Health check exceeded timeout ({})", Spoken(healthcheck.timeout))
}
