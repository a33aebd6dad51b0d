//! Everything that is seen or reported back, "could not look" included. Adapters make these; they decide nothing.
//!
//! All of it can be written to the journal and read back, so that a run can be replayed. Times that the engine stamped are
//! [`super::moment::EngineMs`]; when defib saw it is the [`super::moment::Moment`] beside the observation.

mod container;
mod event;
mod outcome;
mod sample;

use super::{
    name::{AttemptId, ContainerId, LookId, MessageId, Seq, SinkName},
    policy::Policy,
};
pub use container::{
    ContainerState, Health, HealthEntry, HealthResult, HealthStatus, Healthcheck, Inspection,
    Listed, Listing, LookFailure, RestartPolicy,
};
pub use event::{EngineEvent, EventAction};
pub use outcome::{ActOutcome, DeliveryOutcome};
pub use sample::{Phase, Phases, ProbeOutcome, Sample, Target};
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

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
    /// The event stream is open (again). What happened lately while it was closed follows; for the rest the list is asked for.
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
    /// No probe runs any more, for this reason, until defib is started again.
    ProberEnded(String),
    /// defib was told to end. Comes again as long as something that it has begun is not ended: that is looked at once more.
    Ending,
    /// A deadline of the domain has passed.
    Woke,
}
