//! One neutral message. Every sink renders it by a pure function of its own; what it says is decided here, in the domain.
//!
//! The text fields hold text from outside (names, healthcheck output). They are plain text: a renderer escapes them, cuts
//! them on character boundaries and marks the cut.

use super::{
    moment::WallMs,
    name::{HostName, IncidentId, MessageId, ServiceName},
};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much somebody is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Something was, or is being, handled.
    Notice,
    /// Somebody must act some day.
    Ticket,
    /// Somebody must act now.
    Page,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Notice => "notice",
            Severity::Ticket => "ticket",
            Severity::Page => "page",
        })
    }
}

/// What kind of trouble an incident is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// Replicas of a service are unhealthy.
    Unhealthy,
    /// Fewer replicas run than should (P8).
    Down,
    /// Somebody else stopped or removed a replica and left it so (P8).
    StoppedByHand,
    /// A replica or its probes can't be evaluated (S5).
    CannotEvaluate,
    /// A probe has never passed since it was defined (S11).
    NeverPassed,
    /// Restarted so often within a day that it is no cure (S4).
    Chronic,
    /// Config or labels do not say which: two services match a container, or two containers are one replica.
    Ambiguous,
    /// Host: much fails at once, nothing is restarted (S8).
    Brake,
    /// Host: the engine does not answer.
    EngineUnreachable,
    /// Host: the engine refuses actions.
    ActionsRefused,
    /// Host: what is done can't be recorded.
    StoreFailing,
    /// Host: what was kept was damaged, and defib began without it.
    MemoryLost,
    /// Host: messages do not arrive at a sink (P4).
    SinkFailing,
}

impl IncidentKind {
    /// The word used in keys, on the wire and in the docs.
    pub fn word(self) -> &'static str {
        match self {
            IncidentKind::Unhealthy => "unhealthy",
            IncidentKind::Down => "down",
            IncidentKind::StoppedByHand => "stopped_by_hand",
            IncidentKind::CannotEvaluate => "cannot_evaluate",
            IncidentKind::NeverPassed => "never_passed",
            IncidentKind::Chronic => "chronic",
            IncidentKind::Ambiguous => "ambiguous",
            IncidentKind::Brake => "brake",
            IncidentKind::EngineUnreachable => "engine_unreachable",
            IncidentKind::ActionsRefused => "actions_refused",
            IncidentKind::StoreFailing => "store_failing",
            IncidentKind::MemoryLost => "memory_lost",
            IncidentKind::SinkFailing => "sink_failing",
        }
    }
}

/// What a message says about its incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// It began.
    Opened,
    /// It disturbs more than it did: it was a notice and is now a page.
    Raised,
    /// No restart is left, and it is not well: defib will not try again by itself.
    GivenUp,
    /// Still open, and more has come to it than was told.
    Grown,
    /// Well again; watched until it has stayed so.
    Recovered,
    /// It was told to be well again, and it is not.
    Relapsed,
    /// Still open: a reminder (P3).
    Reminder,
    /// Over.
    Resolved,
    /// It began and ended while the sink could not be reached. Says so once, with the original times.
    Missed,
}

/// What somebody reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The message's own ID: with the incident's, the idempotency key, the same in every attempt.
    pub id: MessageId,
    /// The incident it is about.
    pub incident: IncidentId,
    /// The incident's stable key: fleet/host/service/kind.
    pub key: String,
    /// What it says about the incident.
    pub kind: MessageKind,
    /// How much it disturbs.
    pub severity: Severity,
    /// What kind of incident.
    pub incident_kind: IncidentKind,
    /// The fleet's name.
    pub fleet: String,
    /// Which host tells this.
    pub host: HostName,
    /// Which service; `None` for a host incident.
    pub service: Option<ServiceName>,
    /// What is wrong, in one line of plain text.
    pub headline: String,
    /// When the incident's trouble began, for local time and UTC.
    pub since: WallMs,
    /// When it ended, where it has.
    pub until: Option<WallMs>,
    /// When this message was decided.
    pub decided: WallMs,
    /// What each member (replica) shows, one line each.
    pub members: Vec<String>,
    /// What defib did and whether it helped, or why it did nothing, one line each.
    pub done: Vec<String>,
    /// What was found, one line each.
    pub findings: Vec<String>,
    /// What to do next, each a line of text; those that start with `$ ` are to be pasted.
    pub next_steps: Vec<String>,
    /// The service's runbook.
    pub runbook: Option<String>,
    /// The service's note.
    pub note: Option<String>,
}

impl Message {
    /// The idempotency key: the same for every attempt at this message, different for every other message.
    pub fn idempotency_key(&self) -> String {
        format!("{}-{}-{}", self.host, self.incident, self.id)
    }
}
