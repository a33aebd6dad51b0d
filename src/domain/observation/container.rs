//! What the engine says of containers: the list, one container looked at, and why neither could be had.

use crate::domain::{
    moment::{EngineMs, Spoken},
    name::{ContainerId, StartedAt},
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, net::IpAddr, time::Duration};

/// The full list of containers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// Every container that could be decoded, in the engine's order.
    pub containers: Vec<Listed>,
    /// How many entries could not be decoded at all (no ID).
    pub undecodable: u32,
}

/// One row of the list: a hint. Judgement rests on [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// The engine's ID.
    pub id: ContainerId,
    /// Its name without the leading slash; the ID's first 12 digits where it has none.
    pub name: String,
    /// The image as it was asked for.
    pub image: String,
    /// Its state by the list.
    pub state: ContainerState,
    /// Labels.
    pub labels: BTreeMap<String, String>,
}

/// The engine's word for a container's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerState {
    /// Made, never started.
    Created,
    /// Its process runs.
    Running,
    /// Frozen by somebody.
    Paused,
    /// Waiting for Docker's own restart policy.
    Restarting,
    /// Being removed.
    Removing,
    /// Its process ended. Podman's `stopped` and `stopping` come as this.
    Exited,
    /// The engine failed to remove it.
    Dead,
    /// A word nobody knew when this was written. Costs this one container, never the list.
    Unknown(String),
}

/// What the engine says of one container, in our own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inspection {
    /// The engine's ID.
    pub id: ContainerId,
    /// Its name without the leading slash.
    pub name: String,
    /// The image as it was asked for.
    pub image: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Its state.
    pub state: ContainerState,
    /// Which life this is.
    pub started_at: StartedAt,
    /// The same as a time, where it could be read.
    pub started: Option<EngineMs>,
    /// When the last life ended, where one did.
    pub finished: Option<EngineMs>,
    /// The exit code of the last life.
    pub exit_code: Option<i64>,
    /// The engine's clock when it answered (its `Date` header, whole seconds; never later than the true time).
    pub engine_now: EngineMs,
    /// What the healthcheck said; `None` where there is none, which is "not evaluated" and never "healthy".
    pub health: Option<Health>,
    /// The healthcheck as configured; `None` where there is none or it is disabled.
    pub healthcheck: Option<Healthcheck>,
    /// Docker's own restart policy.
    pub restart_policy: RestartPolicy,
    /// `--rm`: removed by the engine as soon as it stops.
    pub auto_remove: bool,
    /// The container's own stop timeout; `None` where none is set (the engine takes 10 s).
    pub stop_timeout: Option<Duration>,
    /// The signal by which it is stopped, where it has one of its own (else SIGTERM).
    #[serde(default)]
    pub stop_signal: Option<u32>,
    /// Its addresses, by the name of the network, in the order of the names.
    pub addresses: Vec<(String, IpAddr)>,
    /// The container whose network namespace it shares.
    pub network_parent: Option<ContainerId>,
    /// Process ID of its first process on the host; `None` where it does not run.
    pub pid: Option<u32>,
}

/// What a healthcheck said so far.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// The engine's judgement.
    pub status: HealthStatus,
    /// The engine's count of consecutive failures.
    pub failing_streak: u32,
    /// The latest results, oldest first, at most five.
    pub log: Vec<HealthEntry>,
}

/// The engine's judgement of a container's health.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HealthStatus {
    /// Within its start period, or not evaluated yet.
    Starting,
    /// Passing.
    Healthy,
    /// Failing. Made up by the engine when monitoring stops (pause, exit: moby 46203).
    Unhealthy,
    /// No status, or a word nobody knew.
    Unknown(String),
}

/// One result of a healthcheck.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthEntry {
    /// When it began.
    pub start: EngineMs,
    /// When it ended.
    pub end: EngineMs,
    /// What it was.
    pub result: HealthResult,
    /// What it printed, cut and sanitised.
    pub output: String,
}

/// What one run of a healthcheck showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HealthResult {
    /// Exit code 0.
    Passed,
    /// Any exit code that the check itself gave, and a check that ran into its own timeout.
    Failed,
    /// It could not be executed (an exec or runtime error, or no such command): no evidence against the container (S5).
    CouldNotRun,
}

/// How a healthcheck is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Healthcheck {
    /// Between two runs.
    pub interval: Duration,
    /// For one run.
    pub timeout: Duration,
    /// In which failures do not count.
    pub start_period: Duration,
    /// How many failures make it unhealthy.
    pub retries: u32,
}

/// Docker's own restart policy of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartPolicy {
    /// Never restarted by Docker.
    No,
    /// Whenever it exits.
    Always,
    /// Whenever it exits, unless somebody stopped it.
    UnlessStopped,
    /// When it exits with a code other than 0.
    OnFailure {
        /// At most so often; 0 is without limit.
        max_retries: u32,
    },
}

/// Why the engine could not be asked. Never a judgement of the container (S5).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LookFailure {
    /// Nobody answers at the engine's address.
    Unreachable(String),
    /// It did not answer within the call's deadline.
    TimedOut(Duration),
    /// Not allowed: the socket's rights, or a proxy's 403.
    Denied(String),
    /// No such container (404).
    NoSuchContainer,
    /// It answered with an error.
    Engine {
        /// The HTTP status.
        status: u16,
        /// The engine's message, cut.
        message: String,
    },
    /// Its answer could not be understood.
    Garbled(String),
    /// Our own doing: no descriptors, no memory.
    Local(String),
}

impl fmt::Display for LookFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LookFailure::Unreachable(why)
            | LookFailure::Denied(why)
            | LookFailure::Garbled(why)
            | LookFailure::Local(why) => f.write_str(why),
            LookFailure::TimedOut(within) => {
                write!(f, "the engine gives no answer within {}", Spoken(*within))
            }
            LookFailure::NoSuchContainer => f.write_str("no such container"),
            LookFailure::Engine { status, message } => {
                write!(f, "the engine answers {status}: {message}")
            }
        }
    }
}
