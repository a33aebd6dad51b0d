//! What things are called. Each kind of name is a type of its own, so that a replica's name cannot stand where a
//! container's ID is meant. Cheap to clone. Text from outside is taken as it comes: cleaning it is the renderer's work.

use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Takes the name as it is.
            pub fn new(name: impl Into<Arc<str>>) -> Self {
                Self(name.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// What the config names and people page about.
    ServiceName
}
name! {
    /// One container of a service by its stable name across re-creation: `project/service/number` for Compose, else the
    /// container's name.
    ReplicaName
}
name! {
    /// The engine's ID of a container, 64 hex digits on Docker.
    ContainerId
}
name! {
    /// When a container was started, as the engine wrote it. Identity: compared for equality, never subtracted.
    StartedAt
}
name! {
    /// A probe's name, unique within its service.
    ProbeName
}
name! {
    /// Where messages go, as the config names it.
    SinkName
}
name! {
    /// This host, as people know it.
    HostName
}

/// One life of a replica.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Instance {
    /// Which container.
    pub container: ContainerId,
    /// Which of its lives.
    pub started_at: StartedAt,
}

/// A number that grows with every use. What is recorded under it (attempts, incidents, messages) goes on over our restarts, as
/// long as the record is there; a look's begins anew with each start.
macro_rules! serial {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

serial! {
    /// One attempt to heal a replica.
    AttemptId
}
serial! {
    /// One incident. Its stable key is [`super::telling::IncidentKey`].
    IncidentId
}
serial! {
    /// One message to one sink; with the incident it makes the idempotency key.
    MessageId
}
serial! {
    /// One question to the engine.
    LookId
}
serial! {
    /// A batch's place in the order of all batches of one store.
    Seq
}
