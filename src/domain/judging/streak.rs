//! Consecutive failures of one evidence of one instance.
//!
//! What could not be observed is no evidence: it neither extends nor breaks a streak (S5). A new instance begins with an empty
//! one (S6).

use crate::domain::{moment::Moment, stall::leave_out};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// One evidence of one instance, as far as it was counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streak {
    /// Consecutive failures; zeroed by a pass.
    pub failures: u32,
    /// Consecutive passes; zeroed by a failure.
    pub passes: u32,
    /// Reached `fall` and not `rise` since.
    pub failing: bool,
    /// Reached `rise` and not `fall` since.
    #[serde(default)]
    pub well: bool,
    /// When the first of the consecutive failures was seen.
    pub since: Option<Moment>,
    /// What the last failure showed.
    pub shows: String,
    /// Whether a restart can cure what the last failure showed (S11).
    pub curable: bool,
}

/// What one failure showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) shows: String,
    pub(crate) curable: bool,
}

impl Streak {
    /// One more failure; failing from `fall` on.
    pub(crate) fn fail(&mut self, failure: Failure, fall: u32, now: Moment) {
        self.reach(self.failures.saturating_add(1), failure, now);
        if self.failures >= fall {
            (self.failing, self.well) = (true, false);
        }
    }

    /// The engine counted `failures` and calls it unhealthy.
    pub(crate) fn reach(&mut self, failures: u32, failure: Failure, now: Moment) {
        if self.failures == 0 {
            self.since = Some(now);
        }
        self.failures = failures.max(1);
        self.passes = 0;
        self.shows = failure.shows;
        self.curable = failure.curable;
    }

    /// Nobody looked for so long.
    pub(crate) fn leave_out(&mut self, stalled: Duration) {
        if let Some(since) = &mut self.since {
            leave_out(since, stalled);
        }
    }

    /// One more pass; well again from `rise` on.
    pub(crate) fn pass(&mut self, rise: u32) {
        self.passes = self.passes.saturating_add(1);
        self.failures = 0;
        self.since = None;
        if self.passes >= rise {
            (self.failing, self.well) = (false, true);
        }
    }
}
