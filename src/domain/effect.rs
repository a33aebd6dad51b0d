//! What the domain asks the world to do. Data, carried out by adapters that decide nothing and answer each with one
//! [`super::observation::Observation`].
//!
//! By the time an effect leaves the domain it may leave: what has to wait for a commit (rungs, messages) waits inside the
//! machine that owns it, as a state with a deadline. So whoever carries effects out needs to know nothing of durability.

use super::{
    message::Message,
    name::{AttemptId, ContainerId, Instance, LookId, ReplicaName, Seq, ServiceName, SinkName},
    observation::Target,
    policy::ProbePolicy,
    record::Record,
};
use serde::{Deserialize, Serialize};
use std::{net::IpAddr, time::Duration};

/// All that one turn of the loop wants: first the records go to the store, then the effects to the world.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    /// The last batch in here; [`Seq`] 0 where nothing was ever recorded.
    pub seq: Seq,
    /// In order; to be written in one transaction.
    pub records: Vec<Record>,
    /// In order; to be carried out at once.
    pub effects: Vec<Effect>,
}

impl Batch {
    /// Takes `later` in behind what is here, so that one transaction holds both.
    pub fn append(&mut self, later: Batch) {
        self.seq = self.seq.max(later.seq);
        self.records.extend(later.records);
        self.effects.extend(later.effects);
    }
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Effect {
    /// Ask the engine.
    Look(Look),
    /// Begin, change or end the probing of a target.
    Probe(ProbeOrder),
    /// Read from outside why it fails, for at most this long.
    GatherEvidence {
        /// For which attempt.
        attempt: AttemptId,
        /// Of which instance.
        instance: Instance,
        /// Its first process, where known.
        pid: Option<u32>,
        /// At most so long; an answer that takes longer is not waited for, and none of it is told.
        deadline: Duration,
    },
    /// Do one thing to a container.
    Act(ActOrder),
    /// Make one attempt to deliver a message.
    Send(Box<SendOrder>),
}

/// A question to the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Look {
    /// Every container.
    List,
    /// Only those that the engine calls unhealthy.
    ListUnhealthy,
    /// One container, whole.
    Inspect {
        /// To be repeated in the answer.
        look: LookId,
        /// Which.
        container: ContainerId,
    },
}

/// What the prober is to do about one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbeOrder {
    /// Probe it from now on, in place of what was ordered for the same target before. Where the question is the same as before,
    /// only pace and thresholds change: the phase stays, and so does a sample in flight.
    Watch(Box<Watch>),
    /// Probe no more. A sample in flight ends at once as `gone`.
    Drop(Target),
}

/// All that probing a target needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    /// Which.
    pub target: Target,
    /// For people and for the sample.
    pub service: ServiceName,
    /// In which life; `None` for a URL.
    pub instance: Option<Instance>,
    /// The container's address, where the probe needs one.
    pub address: Option<IpAddr>,
    /// What to do and how to judge one sample.
    pub probe: ProbePolicy,
}

/// One thing to do to a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActOrder {
    /// To be repeated in the answer.
    pub attempt: AttemptId,
    /// For people and logs.
    pub replica: ReplicaName,
    /// Which container. IDs only: a name may be somebody else's by now.
    pub container: ContainerId,
    /// What.
    pub primitive: Primitive,
    /// When to stop waiting for the answer. The call itself goes on.
    pub deadline: Duration,
}

/// What can be done to a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Primitive {
    /// Stop with its own stop timeout, then start. The span is that timeout, for engines that have to be told.
    Restart {
        /// The container's own stop timeout.
        stop_timeout: Duration,
    },
    /// SIGKILL.
    Kill,
    /// Start what defib itself stopped (S1).
    Start,
}

/// One attempt at delivering one message to one sink.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendOrder {
    /// Where to.
    pub sink: SinkName,
    /// What.
    pub message: Message,
    /// Which attempt, counted from 1. The idempotency key is the message's and stays the same.
    pub attempt: u32,
    /// Hard total for the attempt.
    pub deadline: Duration,
    /// False where it could not be recorded and is sent from memory all the same.
    pub durable: bool,
    /// How long ago it was decided: what it says is as of then.
    pub late: Duration,
}

/// Its word, for transcripts and texts.
impl std::fmt::Display for Primitive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Primitive::Restart { .. } => "restart",
            Primitive::Kill => "kill",
            Primitive::Start => "start",
        })
    }
}
