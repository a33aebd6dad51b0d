//! When each phase of an attempt ends at the latest, and why so late: an attempt always ends, and never while the engine may
//! rightly still be at work.

use super::{Attempt, Phase, Report, Rung};
use crate::domain::{durability::COMMIT_WITHIN, moment::AwakeMs, observation::ActOutcome};
use std::time::Duration;

/// Reading from outside why it fails may take at most so long: a person would wait no longer either.
pub const EVIDENCE_WITHIN: Duration = Duration::from_secs(3);

/// An answer may come so much later than its deadline before it is given up.
pub const ANSWER_SLACK: Duration = Duration::from_secs(1);

/// Looking right before acting may take so long.
pub const INSPECT_WITHIN: Duration = Duration::from_secs(6);

/// The engine needs up to 12 s beyond a container's stop timeout to kill it directly (moby 41352), and some to start it.
pub const BEYOND_STOP: Duration = Duration::from_secs(22);

/// Beyond its stop timeout a container that the engine was told to stop has ended after this, or never does.
pub const STOPPED_WITHIN: Duration = Duration::from_secs(14);

/// Without a stop timeout of its own a container is given this by the engine.
pub const ENGINE_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// After a rung the container is looked at this often …
pub const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// … for this long, before what is seen is taken as final.
pub const OBSERVE_WITHIN: Duration = Duration::from_secs(10);

/// The engine may be at one rung for so long before people hear that it is no cure yet.
pub const CURE_WITHIN: Duration = Duration::from_secs(120);

/// The engine starts what it restarts right after it stopped; what stands still for longer it will not start.
pub const START_FOLLOWS_WITHIN: Duration = Duration::from_secs(4);

impl Attempt {
    /// Until when it counts as a cure that is under way (P9): a stop that takes for ever is none.
    pub(crate) fn is_cure_until(&self) -> AwakeMs {
        if self.is_touching() {
            self.deadline().min(self.phase_since.awake + CURE_WITHIN)
        } else {
            self.deadline()
        }
    }

    /// When the phase is over at the latest.
    pub(crate) fn deadline(&self) -> AwakeMs {
        let within = match &self.phase {
            Phase::Intent { .. } => COMMIT_WITHIN,
            Phase::Evidence => EVIDENCE_WITHIN + ANSWER_SLACK,
            Phase::Inspecting => INSPECT_WITHIN + ANSWER_SLACK,
            Phase::Acting { rung } => self.act_within(*rung) + ANSWER_SLACK,
            Phase::Observing { report, rung } => {
                // Where nobody knows whether the call arrived, the engine may still be at the stop; and where it began with
                // that late, the container still has the time that it is given.
                let takes = self.stop_timeout + STOPPED_WITHIN;
                let stopped_by = self.phase_since.awake + takes;
                let begun = self.stop_sent.filter(|_| *rung == Rung::Restart);
                let given = begun.map_or(AwakeMs(0), |at| at + takes);
                let within = match (self.resumed, report) {
                    (Some(resumed), _) => stopped_by.max(resumed.awake + OBSERVE_WITHIN),
                    (None, Report::Answered(ActOutcome::Unreachable(_))) => stopped_by,
                    (
                        None,
                        Report::NoAnswer
                        | Report::Answered(
                            ActOutcome::Done
                            | ActOutcome::Denied(_)
                            | ActOutcome::NoSuchContainer
                            | ActOutcome::Failed { .. }
                            | ActOutcome::TimedOut(_),
                        ),
                    ) => self.phase_since.awake + OBSERVE_WITHIN,
                };
                return within.max(given);
            }
            Phase::Verifying { within, .. } => *within,
        };
        self.phase_since.awake + within
    }

    pub(super) fn act_within(&self, rung: Rung) -> Duration {
        match rung {
            Rung::Restart => self.stop_timeout + BEYOND_STOP,
            Rung::Kill | Rung::Start => BEYOND_STOP,
        }
    }
}
