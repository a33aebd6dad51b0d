//! What truly happened in a simulated world, in order.
//!
//! A referee judges a run by this log alone, beside what the daemon told: it sees what the daemon could not (who stopped
//! a container, whether the process was well) and never what the daemon thought. The log is as long as the run.

use crate::domain::{
    effect::Primitive,
    moment::millis,
    name::{ContainerId, StartedAt},
    observation::{ContainerState, HealthResult, HealthStatus},
};
use std::{collections::BTreeMap, fmt, ops::Add, time::Duration};

use super::script::Trouble;

/// Milliseconds since the world began: true elapsed time, whatever clocks show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorldTime(pub u64);

impl WorldTime {
    /// Time since `earlier`; zero where `earlier` lies in the future.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for WorldTime {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(millis(span)))
    }
}

impl fmt::Display for WorldTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// Who did it. Engine events carry no actor; only the truth does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Actor {
    /// A call of ours, through the port or the socket.
    Defib,
    /// Somebody with a shell, a deploy, another tool.
    Somebody,
    /// Docker's own restart policy, `--rm`, or its coming back.
    DockerPolicy,
    /// The container's own process.
    Itself,
}

/// One request to the engine to change something, from its arrival to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Start it; nothing where it runs.
    Start,
    /// Stop it: its stop signal, then SIGKILL after `timeout` (the container's own, else 10 s, where `None`).
    Stop {
        /// In place of the container's own.
        timeout: Option<Duration>,
    },
    /// Stop it if it runs, then start it. Starts a stopped one and thaws a paused one, as the engine does.
    Restart {
        /// In place of the container's own.
        timeout: Option<Duration>,
    },
    /// Send a signal.
    Kill {
        /// Its number.
        signal: u32,
    },
    /// Freeze it.
    Pause,
    /// Thaw it.
    Unpause,
    /// Remove it, by force where it runs.
    Remove {
        /// Kill it first where it runs.
        force: bool,
    },
    /// Give it another name.
    Rename(String),
    /// Change its limits; nothing that the model knows of.
    Update,
}

/// How the engine answered a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Carried out (204).
    Done,
    /// Was so already (304, which clients take as success).
    NotModified,
    /// No such container (404).
    NoSuchContainer,
    /// Not in this state (409).
    Conflict(String),
    /// Not allowed, by somebody in between (403).
    Denied(String),
    /// Anything else that went wrong after the container was found (500).
    Failed(String),
    /// The engine went away before it answered.
    Lost,
}

/// Something that truly happened, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    /// When, in true elapsed time.
    pub at: WorldTime,
    /// What.
    pub what: Happened,
}

/// Something that truly happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A container was made.
    Created {
        /// Its ID, new for every container, also of the same name.
        container: ContainerId,
        /// Its name.
        name: String,
        /// Its labels.
        labels: BTreeMap<String, String>,
    },
    /// Its process was started.
    Started {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
        /// The life that began.
        started_at: StartedAt,
    },
    /// A start was tried and failed; it stays down.
    StartFailed {
        /// Which container.
        container: ContainerId,
        /// By whom it was tried.
        by: Actor,
        /// The engine's message.
        message: String,
    },
    /// Its process ended.
    Died {
        /// Which container.
        container: ContainerId,
        /// Who made it end.
        by: Actor,
        /// 137 by SIGKILL, 143 by SIGTERM, else its own.
        exit_code: i64,
        /// The life that ended.
        started_at: StartedAt,
    },
    /// Somebody asked it to stop, alone or as the first half of a restart.
    Stopping {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// A stop was carried out.
    Stopped {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// A restart was carried out, its start included.
    Restarted {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// A signal was sent to it.
    Signalled {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
        /// Its number.
        signal: u32,
    },
    /// Frozen.
    Paused {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// Thawed.
    Unpaused {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// Given another name.
    Renamed {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
        /// The new name.
        name: String,
    },
    /// Its limits were changed.
    Updated {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// Removed.
    Destroyed {
        /// Which container.
        container: ContainerId,
        /// By whom.
        by: Actor,
    },
    /// Its healthcheck ran.
    HealthChecked {
        /// Which container.
        container: ContainerId,
        /// What it showed.
        result: HealthResult,
        /// The engine's streak after it.
        failing_streak: u32,
    },
    /// The engine changed its judgement, made-up ones (on pause and exit) included.
    HealthTurned {
        /// Which container.
        container: ContainerId,
        /// The new status.
        status: HealthStatus,
        /// True where no healthcheck stands behind it.
        made_up: bool,
    },
    /// Its process began to misbehave, or another misbehaviour took its place.
    Troubled {
        /// Which container.
        container: ContainerId,
        /// How.
        trouble: Trouble,
    },
    /// Its process is well again, by itself or by a start.
    Recovered {
        /// Which container.
        container: ContainerId,
    },
    /// A call of defib's reached the engine; this is what it met, before it took effect.
    ActionReceived {
        /// Which request; its end carries the same.
        request: RequestId,
        /// Which container.
        container: ContainerId,
        /// What was asked.
        primitive: Primitive,
        /// In which state it was.
        found: ContainerState,
        /// In which life.
        instance: StartedAt,
    },
    /// A call of defib's did not reach a container, or was refused before any effect.
    ActionRefused {
        /// Which container it named.
        container: ContainerId,
        /// What was asked.
        primitive: Primitive,
        /// Why.
        answer: Answer,
    },
    /// A call of defib's ended in the engine, heard by anybody or not.
    ActionEnded {
        /// Which request.
        request: RequestId,
        /// Which container.
        container: ContainerId,
        /// How.
        answer: Answer,
    },
    /// The caller of this request went away in the middle of it, on an engine that then gives up half-way.
    ActionCancelled {
        /// Which request.
        request: RequestId,
        /// Which container.
        container: ContainerId,
    },
    /// The engine stopped answering; containers run on.
    EngineWentDown,
    /// The engine is back: streaks zeroed, events forgotten.
    EngineCameUp,
    /// The host slept; nothing in it moved.
    HostSlept {
        /// For how long.
        span: Duration,
    },
}

impl Truth {
    /// The container that it is about, where it is about one.
    pub fn container(&self) -> Option<&ContainerId> {
        match &self.what {
            Happened::Created { container, .. }
            | Happened::Started { container, .. }
            | Happened::StartFailed { container, .. }
            | Happened::Died { container, .. }
            | Happened::Stopping { container, .. }
            | Happened::Stopped { container, .. }
            | Happened::Restarted { container, .. }
            | Happened::Signalled { container, .. }
            | Happened::Paused { container, .. }
            | Happened::Unpaused { container, .. }
            | Happened::Renamed { container, .. }
            | Happened::Updated { container, .. }
            | Happened::Destroyed { container, .. }
            | Happened::HealthChecked { container, .. }
            | Happened::HealthTurned { container, .. }
            | Happened::Troubled { container, .. }
            | Happened::Recovered { container }
            | Happened::ActionReceived { container, .. }
            | Happened::ActionRefused { container, .. }
            | Happened::ActionEnded { container, .. }
            | Happened::ActionCancelled { container, .. } => Some(container),
            Happened::EngineWentDown | Happened::EngineCameUp | Happened::HostSlept { .. } => None,
        }
    }
}
