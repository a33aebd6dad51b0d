//! Everything that is seen or reported back, "could not look" included. Adapters make these; they decide nothing.
//!
//! All of it can be written to the journal and read back, so that a run can be replayed. Times that the engine stamped are
//! [`EngineMs`]; when defib saw it is the [`super::moment::Moment`] beside the observation.

use super::{
    moment::{EngineMs, Spoken},
    name::{
        AttemptId, ContainerId, Instance, LookId, MessageId, ProbeName, ReplicaName, Seq,
        ServiceName, SinkName, StartedAt,
    },
    policy::Policy,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc, time::Duration};

/// Something seen or reported back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Observation {
    /// The config was read: at the start, and at each reload.
    PolicyLoaded(Arc<Policy>),
    /// The answer to [`super::effect::Look::List`].
    Listed(Listing),
    /// The answer to [`super::effect::Look::ListUnhealthy`]: containers that the engine calls unhealthy now.
    UnhealthyListed(Vec<ContainerId>),
    /// A list could not be had.
    ListFailed {
        /// The full list, or that of the unhealthy ones.
        full: bool,
        /// Why.
        failure: LookFailure,
    },
    /// The answer to [`super::effect::Look::Inspect`].
    Inspected {
        /// Which question this answers.
        look: LookId,
        /// About which container.
        container: ContainerId,
        /// What the engine said, or why it could not be asked.
        answer: Result<Box<Inspection>, LookFailure>,
    },
    /// The engine said that something happened.
    Event(EngineEvent),
    /// The event stream is open (again). What happened while it was closed is unknown: the list is asked for.
    EventsOpened,
    /// The event stream was lost, or events were dropped.
    EventsLost(LookFailure),
    /// A probe ran, or could not.
    Sampled(Sample),
    /// The evidence that was asked for, or as much of it as could be had in its time.
    EvidenceGathered {
        /// For which attempt.
        attempt: AttemptId,
        /// What was found, each a sentence that claims no more than was seen.
        findings: Vec<String>,
    },
    /// An action's primitive ended.
    Acted {
        /// For which attempt.
        attempt: AttemptId,
        /// How it ended.
        outcome: ActOutcome,
    },
    /// All batches up to this one are on disk.
    Committed(Seq),
    /// Batches after the last committed one, up to this one, could not be written and are lost.
    Refused {
        /// The last of the lost batches.
        seq: Seq,
        /// Why, for people.
        reason: String,
    },
    /// A sink made one attempt to deliver a message.
    Answered {
        /// Which sink.
        sink: SinkName,
        /// Which message.
        message: MessageId,
        /// Which attempt at it, counted from 1.
        attempt: u32,
        /// What came of it.
        outcome: DeliveryOutcome,
    },
    /// The host was suspended, or the process was stopped, for this long. Samples in flight are no evidence.
    HostResumed(Duration),
    /// The wall clock was set by this many milliseconds.
    ClockStepped(i64),
    /// At its start defib found that what it had kept was damaged, in whole or in part, and begins without it.
    MemoryLost(String),
    /// Whether the `hold` file exists in the runtime directory.
    HoldFile(bool),
    /// A deadline of the domain has passed.
    Woke,
}

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

/// What is probed: one probe of one replica, or of a service's URL.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Target {
    /// The replica, or the stand-in for a service that is a URL alone.
    pub replica: ReplicaName,
    /// Which of its probes.
    pub probe: ProbeName,
}

/// One result of one probe.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// What was probed.
    pub target: Target,
    /// For which service, for people.
    pub service: ServiceName,
    /// In which life; `None` for a URL.
    pub instance: Option<Instance>,
    /// What it showed.
    pub outcome: ProbeOutcome,
    /// How long each phase took.
    pub phases: Phases,
    /// Which address answered or was tried, `address:port`.
    pub address: Option<String>,
    /// How long the sample waited in the queue before its deadline began to run.
    pub lag: Duration,
    /// Ticks that were skipped since the last sample, because one was still in flight or the lane was full.
    pub skipped: u32,
}

/// How long the phases of a sample took; `None` where a phase was not reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Name resolution.
    pub dns: Option<Duration>,
    /// TCP connect.
    pub connect: Option<Duration>,
    /// TLS handshake.
    pub tls: Option<Duration>,
    /// From the request's last byte to the answer's first.
    pub first_byte: Option<Duration>,
    /// The rest of the answer's head.
    pub headers: Option<Duration>,
    /// The answer's body.
    pub body: Option<Duration>,
    /// All of it, by the same clock.
    pub total: Duration,
}

/// In which phase a deadline passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Phase {
    /// Name resolution.
    Dns,
    /// TCP connect.
    Connect,
    /// TLS handshake.
    Tls,
    /// Waiting for the answer's first byte.
    FirstByte,
    /// Within the answer's head.
    Headers,
    /// Within the answer's body.
    Body,
}

/// The exact class of a sample. `docs/PROBES.md` says what each proves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProbeOutcome {
    /// All assertions held.
    Ok {
        /// The HTTP status, where there is one.
        status: Option<u16>,
    },
    /// A status that was not wanted.
    Status(u16),
    /// An assertion about headers, body or number did not hold.
    Assertion(String),
    /// The deadline passed in this phase.
    Timeout(Phase),
    /// Nobody listens.
    Refused,
    /// The connection was reset.
    Reset,
    /// It ended before the answer was whole.
    Truncated,
    /// The body is larger than the cap.
    TooLarge,
    /// Not the protocol that was spoken.
    Protocol(String),
    /// The body could not be decoded.
    Decode(String),
    /// The TLS handshake failed.
    Tls(String),
    /// The certificate is not accepted.
    Certificate(String),
    /// A redirect that was not followed to its end.
    Redirect(String),
    /// No evidence: the resolver's failure.
    Dns(String),
    /// No evidence: our own sockets, descriptors, ports, or we slept.
    Local(String),
    /// No evidence: what runs the probe could not be started.
    Infra(String),
    /// No evidence: the instance ended meanwhile.
    Gone,
}

/// How one primitive of an action ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActOutcome {
    /// The engine says that it is done.
    Done,
    /// The engine refused: the set-up does not allow it (403).
    Denied(String),
    /// No such container.
    NoSuchContainer,
    /// The engine answered with an error. What state it left is found out by inspecting.
    Failed {
        /// The HTTP status.
        status: u16,
        /// The engine's message, cut.
        message: String,
    },
    /// No answer within the deadline. The call may still be at work: it is never sent again blindly.
    TimedOut(Duration),
    /// The engine could not be reached, or the connection broke on the way; it may have arrived or not.
    Unreachable(String),
}

/// What came of one attempt at delivery (`docs/PAGING.md`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryOutcome {
    /// The sink confirmed it.
    Delivered,
    /// It may or may not have arrived: network, timeout, 408, 425, 5xx. The same key again.
    Unknown(String),
    /// The sink wants to be left alone for so long (429, or 503 with `Retry-After`); `None` where it did not say.
    Paused {
        /// For how long.
        wait: Option<Duration>,
        /// What it said.
        reason: String,
    },
    /// This message is not taken (400, 413).
    Rejected(String),
    /// The sink itself is broken (401, 403, 404, 410, 3xx).
    Broken(String),
    /// Nothing was sent: this host lacks what it takes (a secret that can't be read or used).
    NotSent(String),
}
