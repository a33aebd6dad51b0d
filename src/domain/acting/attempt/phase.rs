//! How far an attempt is, and at which step of the ladder.

use crate::domain::{
    name::{Instance, Seq},
    observation::ActOutcome,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How far an attempt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Why it fails is being read from outside. Neither this phase nor the next is on disk: nothing was done or spent.
    Evidence,
    /// It is being looked at, right before acting.
    Inspecting,
    /// What is to be done is recorded in this batch, with what it costs. On disk this also stands for "being done": which of
    /// both a crash interrupted can't be told, so it is treated as done until a look says otherwise.
    Intent {
        /// What.
        rung: Rung,
        /// Which batch.
        seq: Seq,
    },
    /// The engine is at it.
    Acting {
        /// What.
        rung: Rung,
    },
    /// What it did is being looked at.
    Observing {
        /// What.
        rung: Rung,
        /// What the engine said of it.
        report: Report,
    },
    /// It runs again; whether it is well is awaited.
    Verifying {
        /// The new instance.
        instance: Instance,
        /// How long that may take.
        within: Duration,
    },
}

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Stop and start, by the engine.
    Restart,
    /// Kill what did not stop.
    Kill,
    /// Start what defib itself stopped.
    Start,
}

/// What the engine said of a rung.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// It answered so.
    Answered(ActOutcome),
    /// Nothing, within the deadline or before a restart of ours.
    NoAnswer,
}

/// Whether nobody knows what became of a call.
pub(super) fn is_unanswered(report: &Report) -> bool {
    match report {
        Report::NoAnswer
        | Report::Answered(ActOutcome::TimedOut(_) | ActOutcome::Unreachable(_)) => true,
        Report::Answered(
            ActOutcome::Done
            | ActOutcome::Denied(_)
            | ActOutcome::NoSuchContainer
            | ActOutcome::Failed { .. },
        ) => false,
    }
}

/// Whether the call was sent and nobody has hung up: only our waiting for it has ended.
pub(super) fn is_open(report: &Report) -> bool {
    match report {
        Report::NoAnswer | Report::Answered(ActOutcome::TimedOut(_)) => true,
        Report::Answered(
            ActOutcome::Done
            | ActOutcome::Denied(_)
            | ActOutcome::NoSuchContainer
            | ActOutcome::Failed { .. }
            | ActOutcome::Unreachable(_),
        ) => false,
    }
}
