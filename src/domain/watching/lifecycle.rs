//! What state a replica is in.
//!
//! Events may only take trust away: a `die` ends an instance at once, while a `start` only asks for a look. Only an
//! inspection gives trust. So an event that comes late, twice or not at all can delay a judgement and never make a wrong
//! one.

use crate::domain::{
    moment::{AwakeMs, EngineMs},
    name::Instance,
    observation::{ContainerState, EventAction, Inspection},
};
use std::fmt;

/// What state a replica is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Lifecycle {
    /// Known by name; what it does now was not looked at yet, or is being looked at again.
    Unseen,
    /// Its process runs.
    Running {
        /// Which life.
        instance: Instance,
        /// When that life began, on our awake clock.
        since: AwakeMs,
    },
    /// Frozen by somebody.
    Paused {
        /// Which life.
        instance: Instance,
    },
    /// Waiting for Docker's own restart policy.
    Restarting,
    /// Made and never started.
    Created,
    /// Its process ended.
    Stopped(Stop),
    /// Removed.
    Gone,
    /// No container at all: a service that is a URL.
    Remote,
    /// The engine's word for it is not known.
    Odd(String),
}

/// How a replica came to stand still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// When, by the engine.
    pub finished: Option<EngineMs>,
}

impl Lifecycle {
    /// What an inspection says it is.
    pub(crate) fn of(inspection: &Inspection, now: AwakeMs) -> Self {
        let instance = Instance {
            container: inspection.id.clone(),
            started_at: inspection.started_at.clone(),
        };
        match &inspection.state {
            ContainerState::Running => {
                // Its age is taken on the engine's clock and carried over to ours (never the other way round).
                let age = inspection.started.map(|started| inspection.engine_now.since(started));
                let age_ms = age.map_or(0, crate::domain::moment::millis);
                Self::Running { instance, since: AwakeMs(now.0.saturating_sub(age_ms)) }
            }
            ContainerState::Paused => Self::Paused { instance },
            ContainerState::Restarting => Self::Restarting,
            ContainerState::Created => Self::Created,
            ContainerState::Exited | ContainerState::Dead => Self::Stopped(Stop {
                exit_code: inspection.exit_code,
                finished: inspection.finished,
            }),
            ContainerState::Removing => Self::Gone,
            ContainerState::Unknown(word) => Self::Odd(word.clone()),
        }
    }

    /// What is left of it after an event, until the look that the event asks for.
    pub(crate) fn after(self, action: &EventAction) -> Self {
        match (self, action) {
            (Self::Remote, _) => Self::Remote,
            (_, EventAction::Destroyed) => Self::Gone,
            (Self::Running { instance, .. }, EventAction::Paused) => Self::Paused { instance },
            (
                Self::Running { .. } | Self::Paused { .. },
                EventAction::Died { .. }
                | EventAction::Stopped
                | EventAction::Restarted
                | EventAction::Started,
            ) => Self::Unseen,
            (Self::Paused { .. }, EventAction::Unpaused) => Self::Unseen,
            (
                unchanged @ (Self::Unseen
                | Self::Running { .. }
                | Self::Paused { .. }
                | Self::Restarting
                | Self::Created
                | Self::Stopped(_)
                | Self::Gone
                | Self::Odd(_)),
                EventAction::Created
                | EventAction::Started
                | EventAction::Died { .. }
                | EventAction::Stopped
                | EventAction::Restarted
                | EventAction::Killed { .. }
                | EventAction::Paused
                | EventAction::Unpaused
                | EventAction::Updated
                | EventAction::Renamed
                | EventAction::OutOfMemory
                | EventAction::HealthChanged(_),
            ) => unchanged,
        }
    }

    /// Whether it is there, and no process of it is.
    pub(crate) fn stands_still(&self) -> bool {
        match self {
            Self::Created | Self::Stopped(_) => true,
            Self::Unseen
            | Self::Running { .. }
            | Self::Paused { .. }
            | Self::Restarting
            | Self::Gone
            | Self::Remote
            | Self::Odd(_) => false,
        }
    }

    /// The life that runs now, if one does.
    pub fn running(&self) -> Option<&Instance> {
        match self {
            Self::Running { instance, .. } => Some(instance),
            Self::Unseen
            | Self::Paused { .. }
            | Self::Restarting
            | Self::Created
            | Self::Stopped(_)
            | Self::Gone
            | Self::Remote
            | Self::Odd(_) => None,
        }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen => f.write_str("not looked at yet"),
            Self::Running { .. } => f.write_str("running"),
            Self::Paused { .. } => f.write_str("paused"),
            Self::Restarting => f.write_str("waiting for Docker's own restart"),
            Self::Created => f.write_str("created, never started"),
            Self::Stopped(Stop { exit_code: Some(code), .. }) => {
                write!(f, "stopped, exit code {code}")
            }
            Self::Stopped(Stop { exit_code: None, .. }) => f.write_str("stopped"),
            Self::Gone => f.write_str("removed"),
            Self::Remote => f.write_str("not a container"),
            Self::Odd(word) => write!(f, "in a state nobody knows: `{word}`"),
        }
    }
}
