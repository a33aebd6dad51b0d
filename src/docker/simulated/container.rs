//! One container of the model: what the engine remembers of it, and how its process truly is. The two differ while the
//! engine is down, and a referee judges by the second.

use super::{
    health::Monitor,
    script::{ContainerScript, Trouble},
    timers::Due,
    truth::{Actor, Order, RequestId, WorldTime},
};
use crate::domain::{
    effect::Primitive,
    moment::EngineMs,
    name::{ContainerId, StartedAt},
    observation::ContainerState,
};
use std::{collections::BTreeMap, net::Ipv4Addr, sync::Arc, time::Duration};

/// What the engine writes where a container was never started.
pub(super) const NEVER: &str = "0001-01-01T00:00:00Z";

/// What the engine takes it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Created,
    Running,
    Paused,
    /// Waiting for Docker's own restart policy.
    Restarting,
    Exited,
}

impl Standing {
    pub(super) fn state(self) -> ContainerState {
        match self {
            Standing::Created => ContainerState::Created,
            Standing::Running => ContainerState::Running,
            Standing::Paused => ContainerState::Paused,
            Standing::Restarting => ContainerState::Restarting,
            Standing::Exited => ContainerState::Exited,
        }
    }

    /// A process stands behind it.
    pub(super) fn has_process(self) -> bool {
        match self {
            Standing::Running | Standing::Paused => true,
            Standing::Created | Standing::Restarting | Standing::Exited => false,
        }
    }
}

/// Docker's own restart policy at work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PolicyWork {
    /// What it waited last; zero after a life of 10 s or more, and after a start by somebody.
    pub(super) backoff: Duration,
    /// How often it started the container since somebody did.
    pub(super) restarts: u32,
    /// Somebody sent a signal: no more of its starts until somebody starts it.
    pub(super) cancelled: bool,
}

/// A request under way at one container.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) id: RequestId,
    pub(super) order: Order,
    pub(super) by: Actor,
    /// Set where it is defib's.
    pub(super) primitive: Option<Primitive>,
    pub(super) step: Step,
    /// Its caller went away, on an engine that then gives up half-way.
    pub(super) cancelled: bool,
    /// Nobody waits for its answer.
    pub(super) unheard: bool,
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The stop signal was sent; the grace runs.
    Graceful,
    /// SIGKILL was sent; the engine waits 10 s for the exit.
    Killed,
    /// Killed directly; the engine waits 2 s more.
    KilledAgain,
    /// The start is under way.
    Starting,
}

#[derive(Clone, Debug)]
pub(super) struct Container {
    pub(super) id: ContainerId,
    pub(super) script: ContainerScript,
    pub(super) labels: Arc<BTreeMap<String, String>>,
    pub(super) created: EngineMs,
    pub(super) address: Ipv4Addr,
    pub(super) standing: Standing,
    pub(super) started_at: StartedAt,
    pub(super) started: Option<EngineMs>,
    pub(super) finished: Option<EngineMs>,
    pub(super) life_began: WorldTime,
    pub(super) exit_code: i64,
    pub(super) error: String,
    pub(super) pid: Option<u32>,
    pub(super) monitor: Option<Monitor>,
    pub(super) manually_stopped: bool,
    pub(super) policy: PolicyWork,
    pub(super) requests: Vec<Request>,
    /// The parent's life whose network namespace it holds.
    pub(super) joined: Option<StartedAt>,

    // The process.
    pub(super) booted: bool,
    pub(super) trouble: Option<Trouble>,
    /// Starts since the trouble began.
    pub(super) starts_in_trouble: u32,
    /// It was told to end and will, so, because of.
    pub(super) ending: Option<(i64, Actor)>,
    /// What stands still while it is paused, and how long each has to go.
    pub(super) frozen: Vec<(Due, Duration)>,
    /// It ended while the engine was down: with this code, then.
    pub(super) ended_unseen: Option<(i64, EngineMs)>,

    // What the script arranged.
    pub(super) start_fails: Option<String>,
    pub(super) healthcheck_cannot_run: bool,
}

impl Container {
    /// Its process runs or is frozen, whatever the engine knows.
    pub(super) fn alive(&self) -> bool {
        self.standing.has_process() && self.ended_unseen.is_none()
    }
}
