//! What stands still because of us, and the proof of it (S1).

use super::attempt::BEYOND_STOP;
use crate::domain::{
    durability::COMMIT_WITHIN, moment::EngineMs, name::StartedAt, observation::Inspection,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A stop of ours, by which it can be told later whether something stands still because of it (S1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnStop {
    /// The engine's clock at the look before the first rung.
    pub first: EngineMs,
    /// The engine's clock at the look before the latest rung.
    pub latest: EngineMs,
    /// The container's stop timeout then.
    pub stop_timeout: Duration,
    /// The life that was to be stopped.
    pub started_at: StartedAt,
    /// The host has booted since: it ended whatever ran, so nothing proves any more that this stop did.
    #[serde(default)]
    pub is_void: bool,
}

impl OwnStop {
    /// Whether it explains that the container stands still: it is that life that ended, and within the window from the look
    /// before the first rung until the engine must have been done with the latest.
    pub(crate) fn explains(&self, inspection: &Inspection) -> bool {
        let until = self.latest + self.stop_timeout + BEYOND_STOP + COMMIT_WITHIN;
        // The intent's time is in whole seconds, rounded down, so an end in the same second is not before it.
        !self.is_void
            && inspection.started_at == self.started_at
            && inspection
                .finished
                .is_some_and(|finished| self.first <= finished && finished <= until)
    }
}
