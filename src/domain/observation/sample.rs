//! What one probe of one target came to.

use crate::domain::name::{Instance, ProbeName, ReplicaName, ServiceName};
use serde::{Deserialize, Serialize};
use std::time::Duration;

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
