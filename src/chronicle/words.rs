//! The log's lines of a few decisions that have many kinds, and their levels: why nothing is done, how an attempt ended, what
//! a sink was told.

use crate::domain::{
    acting::{attempt::Ending, hold::Hold},
    message::MessageKind,
    moment::Spoken,
};
use std::time::Duration;

/// Why nothing is done. Where no restart is left a person has to act.
pub(super) fn say_held(service: &str, who: &str, hold: &Hold) {
    let word = hold.word();
    match hold {
        Hold::Dry => {
            tracing::warn!(service, hold = word, "{who} would be restarted now (dry run)")
        }
        Hold::BudgetSpent { .. } => {
            tracing::error!(service, hold = word, "{who} is given up, a person has to look: {hold}")
        }
        // Of what holds data nobody else will take care either.
        Hold::Stateful | Hold::ActionsRefused | Hold::CannotRecord => {
            tracing::error!(service, hold = word, "{who} is not restarted: {hold}")
        }
        Hold::NotRunning(_)
        | Hold::Paused
        | Hold::DockerRestartsIt
        | Hold::Settling(_)
        | Hold::InGrace
        | Hold::Never(_)
        | Hold::Cordoned(_)
        | Hold::Maintenance
        | Hold::AnotherController(_)
        | Hold::Touched(_)
        | Hold::TouchesUnseen
        | Hold::CallOpen
        | Hold::Deploying
        | Hold::InFlight(_)
        | Hold::BackingOff { .. }
        | Hold::HostBudgetSpent { .. }
        | Hold::DependencyNotHealthy(_)
        | Hold::DependencyUnjudged(_)
        | Hold::TooFewSiblings
        | Hold::Brake
        | Hold::EvidenceStale
        | Hold::Recovered
        | Hold::CouldNotLook
        | Hold::NotCurable
        | Hold::NeverPassed => {
            tracing::info!(service, hold = word, "{who} is not restarted: {hold}")
        }
    }
}

/// How an attempt ended.
pub(super) fn say_ended(service: &str, who: &str, attempt: u64, ending: &Ending) {
    match ending {
        Ending::Verified { after_ms } => {
            let after = Spoken(Duration::from_millis(*after_ms));
            tracing::info!(
                service,
                attempt,
                "{who} is healthy again, {after} after the attempt began"
            );
        }
        // What is left of the budget goes on; where nothing is, that is said as an error of its own.
        Ending::NotCured(why) => {
            tracing::warn!(service, attempt, "{who}: the attempt did not help: {why}")
        }
        Ending::Abandoned(hold) => {
            tracing::info!(service, attempt, "{who}: nothing was done after all: {hold}")
        }
        Ending::Refused(why) => {
            tracing::error!(service, attempt, "{who}: the engine refuses to act: {why}")
        }
        Ending::Interrupted => tracing::warn!(
            service,
            attempt,
            "{who}: the restart did not reach the engine, as far as can be seen; judging anew"
        ),
        Ending::Gone => tracing::info!(service, attempt, "{who} was removed meanwhile"),
        Ending::TakenOver(what) => tracing::info!(
            service,
            attempt,
            "{who}: {what} before it was seen to be well; left alone"
        ),
        Ending::NotOurs(why) => tracing::error!(service, attempt, "{who}: {why}; left alone"),
    }
}

/// What a sink has confirmed to know of an incident.
pub(super) fn told(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Opened => "that it began",
        MessageKind::Raised => "that it is more urgent now",
        MessageKind::GivenUp => "that it is given up",
        MessageKind::Grown => "that it has grown",
        MessageKind::Recovered => "of a recovery",
        MessageKind::Relapsed => "that it fails again",
        MessageKind::Reminder => "again",
        MessageKind::Resolved => "that it is over",
        MessageKind::Missed => "of what has begun and ended",
    }
}
