//! What must outlive us. A state record replaces the last one of the same key; a history record is appended.

use super::{
    message::Message,
    moment::Stamp,
    name::{IncidentId, ReplicaName, SinkName},
};
use serde::{Deserialize, Serialize};

/// One thing to keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// State: one delivery, until the sink confirmed it.
    Delivery(DeliveryRecord),
    /// A state record is no longer needed.
    Forgotten(RecordKey),
    /// History: what was decided and why.
    Decided(DecisionRecord),
}

/// Where a state record is kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RecordKey {
    /// What kind of thing: a short word.
    pub kind: String,
    /// Which of them.
    pub id: String,
}

/// One message that a sink has not confirmed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliveryRecord {
    /// Where to.
    pub sink: SinkName,
    /// About which incident.
    pub incident: IncidentId,
    /// What.
    pub message: Option<Message>,
}

/// What was decided and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DecisionRecord {
    /// When.
    pub at: Stamp,
    /// About which replica, where about one.
    pub replica: Option<ReplicaName>,
    /// What, in the words of the docs.
    pub decision: String,
    /// Why.
    pub reason: String,
}

/// Where a record goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shelf {
    /// Replaces what is there under this key.
    State(RecordKey),
    /// Removes what is there under this key.
    Removed(RecordKey),
    /// Appended to the history.
    History,
}

impl Record {
    /// Where it goes. The store needs to know nothing else about a record.
    pub fn shelf(&self) -> Shelf {
        match self {
            Record::Delivery(delivery) => Shelf::State(RecordKey {
                kind: "delivery".to_owned(),
                id: format!("{}/{}", delivery.sink, delivery.incident),
            }),
            Record::Forgotten(key) => Shelf::Removed(key.clone()),
            Record::Decided(_) => Shelf::History,
        }
    }
}
