//! What the engine tells by itself.

use super::HealthStatus;
use crate::domain::{moment::EngineMs, name::ContainerId};
use serde::{Deserialize, Serialize};

/// Something that the engine said happened to a container. A hint: it may take trust away, only looking gives it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineEvent {
    /// To which container.
    pub container: ContainerId,
    /// Its name by the event, where given.
    pub name: Option<String>,
    /// What.
    pub action: EventAction,
    /// When, by the engine.
    pub at: EngineMs,
}

/// What happened to a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventAction {
    /// Made.
    Created,
    /// Its process was started.
    Started,
    /// Its process ended.
    Died {
        /// With this exit code, where said.
        exit_code: Option<i64>,
    },
    /// A stop by somebody was carried out.
    Stopped,
    /// A restart by somebody was carried out.
    Restarted,
    /// A signal was sent.
    Killed {
        /// Its number; `None` where it could not be read.
        signal: Option<u32>,
    },
    /// Frozen.
    Paused,
    /// Thawed.
    Unpaused,
    /// Its limits or policy were changed.
    Updated,
    /// Given another name.
    Renamed,
    /// Removed.
    Destroyed,
    /// The kernel ended a process of it for want of memory.
    OutOfMemory,
    /// Its health changed (Docker), or was checked (Podman).
    HealthChanged(HealthStatus),
}
