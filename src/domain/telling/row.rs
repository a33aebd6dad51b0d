//! What one sink was told of one incident, and what it is owed of it: one row, in the same transaction as the incident (P1).

use super::story::{Story, known_after, owed};
use crate::domain::{
    message::{Message, MessageKind},
    moment::{AwakeMs, Moment},
    name::{IncidentId, Seq},
};
use serde::{Deserialize, Serialize};

/// How much of an incident's story a sink was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Of which incident; a later one of the same key is told anew.
    pub incident: Option<IncidentId>,
    /// What it confirmed.
    pub told: Option<Story>,
    /// Of which kind that was.
    #[serde(default)]
    pub last: Option<MessageKind>,
    /// What it may have been told since: a message of which nothing is known may have arrived.
    #[serde(default)]
    pub maybe_told: Option<Story>,
    /// What is to be told next.
    pub outgoing: Option<Outgoing>,
    /// What the sink will never take, in any form.
    pub rejected: Option<Rejected>,
}

/// A message that the sink has not confirmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outgoing {
    /// What.
    pub message: Message,
    /// The story that it tells.
    pub story: Story,
    /// Attempts that were begun.
    pub attempts: u32,
    /// When it was decided.
    pub decided: Moment,
    /// The batch that it was recorded in.
    pub seq: Seq,
    /// The sink has just refused the whole of it: only what matters is sent.
    pub minimal: bool,
    /// It refused that too.
    #[serde(default)]
    pub refused: Option<Refused>,
    /// Not before this. A restart of ours begins anew at once.
    #[serde(skip)]
    pub(crate) not_before: AwakeMs,
}

/// That a message is refused in any form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Since when.
    pub since: Moment,
    /// How often.
    pub times: u32,
}

/// That a message was given up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// The story that it told.
    pub story: Story,
    /// Since when it was refused.
    pub since: Moment,
    /// What the sink said to it.
    pub why: String,
}

impl Row {
    /// Nobody knows whether the message that is owed has arrived. One that is owed for a doubt leaves that as it is.
    pub(super) fn may_have_arrived(&mut self) {
        let Some(outgoing) = &self.outgoing else { return };
        let for_doubt = self.maybe_told.is_some()
            && owed(self.told, outgoing.story) != Some(outgoing.message.kind);
        if !for_doubt {
            self.maybe_told = Some(known_after(outgoing.message.kind, outgoing.story));
        }
    }

    /// The message that is owed where what the sink may believe, by one that may have arrived, is not how things are.
    pub(super) fn owed_for_doubt(&self, now: Story) -> Option<MessageKind> {
        owed(Some(self.maybe_told?), now).filter(|kind| match kind {
            MessageKind::Recovered | MessageKind::Resolved | MessageKind::Relapsed => true,
            MessageKind::Opened
            | MessageKind::Raised
            | MessageKind::GivenUp
            | MessageKind::Grown
            | MessageKind::Reminder
            | MessageKind::Missed => false,
        })
    }
}
