//! That a person hears of it: what each sink is owed, and what is sent next.
//!
//! A message keeps its ID, and so its idempotency key, over all attempts. One message is under way per sink, so that a slow
//! sink delays only itself (P4) and order is kept. Before every attempt the question is asked anew what the sink is owed: what
//! is no longer true is not sent.

use super::{
    answer::retry_wait,
    incident::{Incident, IncidentKey},
    row::{Outgoing, Row},
    sink::{Cause, Failing, Sink},
    story::owed,
};
use crate::domain::{
    durability::{COMMIT_WITHIN, Fate},
    message::{IncidentKind, Message, MessageKind},
    moment::{AwakeMs, Moment},
    name::{MessageId, Seq},
};
use std::{collections::BTreeMap, time::Duration};

/// An answer may come so much later than the attempt's deadline before it counts as unknown.
const ANSWER_SLACK: Duration = Duration::from_secs(2);

/// An attempt that has not been answered.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) incident: IncidentKey,
    pub(super) message: MessageId,
    pub(super) attempt: u32,
    pub(super) until: AwakeMs,
    /// As what the sink was defined when it left.
    pub(super) definition: u64,
}

/// What a sink does next.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// Record this row: it has a new message, or its message is done with.
    Record(IncidentKey),
    /// Send.
    Send { message: Box<Message>, attempt: u32, deadline: Duration, durable: bool, late: Duration },
    /// Wait for the store.
    WaitForCommit,
}

impl Sink {
    /// Whether the sink is owed anything of this incident, now or by a message under way.
    pub(crate) fn is_settled(&self, incident: &Incident) -> bool {
        match self.rows.get(&incident.key) {
            None => self.owed(&Row::default(), incident).is_none(),
            Some(row) => row.outgoing.is_none() && self.owed(row, incident).is_none(),
        }
    }

    fn owed(&self, row: &Row, incident: &Incident) -> Option<MessageKind> {
        let is_new = row.told.is_none() && row.outgoing.is_none() && row.rejected.is_none();
        let unwanted = match incident.key.kind {
            // That a sink fails is for every other one, whatever it takes: the message that is missing there may be missing
            // everywhere (P4). One that fails itself, or never heard of it, need not hear of it later.
            IncidentKind::SinkFailing => {
                let may_fail = !self.is_working() || self.is_unheard();
                is_new && may_fail
            }
            IncidentKind::Unhealthy
            | IncidentKind::Down
            | IncidentKind::StoppedByHand
            | IncidentKind::CannotEvaluate
            | IncidentKind::NeverPassed
            | IncidentKind::Chronic
            | IncidentKind::Brake
            | IncidentKind::EngineUnreachable
            | IncidentKind::ActionsRefused
            | IncidentKind::StoreFailing
            | IncidentKind::Ambiguous
            | IncidentKind::MemoryLost => row.told.is_none() && !self.takes(incident.story.level),
        };
        if unwanted
            || row.rejected.as_ref().is_some_and(|rejected| rejected.story == incident.story)
        {
            return None;
        }
        match row.told {
            // What was well before there was anything to tell here was never for this sink.
            None if incident.is_well() => (!is_new).then_some(MessageKind::Missed),
            // It recovered, that did not hold, and nothing but that was said here since: the next recovery is told when it
            // has held.
            told => match owed(told, incident.story) {
                Some(MessageKind::Recovered) => {
                    let is_news = row.last != Some(MessageKind::Relapsed);
                    is_news.then_some(MessageKind::Recovered)
                }
                Some(kind) => Some(kind),
                None => row.owed_for_doubt(incident.story),
            },
        }
    }

    /// Brings every row up to what its incident's story is, and sends what is next. `compose` makes a message.
    pub(crate) fn think(
        &mut self,
        incidents: &BTreeMap<IncidentKey, Incident>,
        now: Moment,
        seq: Seq,
        fate: impl Fn(Seq) -> Fate,
        mut compose: impl FnMut(&Incident, MessageKind) -> Message,
    ) -> Vec<Next> {
        let mut next = Vec::new();
        if self.in_flight.as_ref().is_some_and(|flight| flight.until <= now.awake) {
            self.give_up_waiting(now, &mut next);
        }
        let busy_with = self.in_flight.as_ref().map(|flight| flight.incident.clone());
        for (key, incident) in incidents {
            if busy_with.as_ref() == Some(key) {
                continue;
            }
            let empty = Row::default();
            let row = self
                .rows
                .get(key)
                .filter(|row| row.incident == Some(incident.id))
                .unwrap_or(&empty);
            let kind = self.owed(row, incident);
            let stale = match (&row.outgoing, kind) {
                (Some(outgoing), Some(kind)) => {
                    outgoing.message.kind != kind
                        || outgoing.story.unreminded() != incident.story.unreminded()
                }
                (None, None) => false,
                (Some(_), None) | (None, Some(_)) => true,
            };
            if !stale {
                // Who hears that it goes on need not be reminded of it right after.
                let waits = self.rows.get_mut(key).and_then(|row| row.outgoing.as_mut());
                if let Some(outgoing) = waits {
                    outgoing.story.reminders = incident.story.reminders;
                }
                continue;
            }
            let row = self.rows.entry(key.clone()).or_default();
            if row.incident != Some(incident.id) {
                *row = Row::default();
            }
            // The pace of retries is the sink's; a refusal was of the one message.
            let paced = row.outgoing.as_ref().filter(|outgoing| outgoing.refused.is_none());
            let not_before = paced.map_or(AwakeMs(0), |outgoing| outgoing.not_before);
            row.incident = Some(incident.id);
            row.outgoing = kind.map(|kind| Outgoing {
                message: compose(incident, kind),
                story: incident.story,
                attempts: 0,
                decided: now,
                seq,
                minimal: false,
                refused: None,
                not_before,
            });
            next.push(Next::Record(key.clone()));
        }
        self.note_owing(now);
        self.send_next(now, fate, &mut next);
        next
    }

    fn send_next(&mut self, now: Moment, fate: impl Fn(Seq) -> Fate, next: &mut Vec<Next>) {
        let paused = self.paused_until.is_some_and(|until| until > now.awake);
        if self.in_flight.is_some() || paused {
            return;
        }
        let ready = self
            .rows
            .iter_mut()
            .filter_map(|(key, row)| row.outgoing.as_mut().map(|outgoing| (key, outgoing)))
            .filter(|(_, outgoing)| outgoing.not_before <= now.awake)
            .min_by_key(|(_, outgoing)| outgoing.message.id);
        let Some((key, outgoing)) = ready else {
            return;
        };
        let late = now.awake.since(outgoing.decided.awake) >= COMMIT_WITHIN;
        let durable = match fate(outgoing.seq) {
            Fate::Durable => true,
            // Messages fail open: better twice than never.
            Fate::Lost => false,
            Fate::Waiting if late => false,
            Fate::Waiting => {
                next.push(Next::WaitForCommit);
                return;
            }
        };
        outgoing.attempts = outgoing.attempts.saturating_add(1);
        let deadline = self.policy.deadline;
        self.in_flight = Some(InFlight {
            incident: key.clone(),
            message: outgoing.message.id,
            attempt: outgoing.attempts,
            until: now.awake + deadline + ANSWER_SLACK,
            definition: self.policy.definition,
        });
        let message =
            if outgoing.minimal { minimal(&outgoing.message) } else { outgoing.message.clone() };
        next.push(Next::Send {
            message: Box::new(message),
            attempt: outgoing.attempts,
            deadline,
            durable,
            late: now.awake.since(outgoing.decided.awake),
        });
    }

    /// The sink's adapter broke its promise to answer within the deadline.
    fn give_up_waiting(&mut self, now: Moment, next: &mut Vec<Next>) {
        let Some(flight) = self.in_flight.take() else {
            return;
        };
        // That it says nothing is known of it now.
        self.has_answered |= flight.definition == self.policy.definition;
        let row = self.rows.get_mut(&flight.incident);
        if let Some(outgoing) = row.and_then(|row| {
            row.may_have_arrived();
            row.outgoing.as_mut()
        }) {
            outgoing.not_before = now.awake + retry_wait(outgoing.attempts, &outgoing.message);
            let why = "it did not answer in time".to_owned();
            self.failing = Some(Failing::once_more(self.failing.as_ref(), Cause::Silent, why, now));
            next.push(Next::Record(flight.incident));
        }
    }

    /// When to think again at the latest.
    pub(crate) fn next_deadline(&self, now: AwakeMs) -> Option<AwakeMs> {
        if let Some(flight) = &self.in_flight {
            return Some(flight.until);
        }
        let outgoing = self.rows.values().filter_map(|row| row.outgoing.as_ref());
        let ready = outgoing
            .map(|outgoing| {
                let for_commit = outgoing.decided.awake + COMMIT_WITHIN;
                if outgoing.not_before > now { outgoing.not_before } else { for_commit }
            })
            .min()?;
        Some(self.paused_until.filter(|until| *until > now).map_or(ready, |until| until.max(ready)))
    }
}

/// Only what matters, for a sink that does not take the whole.
fn minimal(message: &Message) -> Message {
    let cut = |text: &str| text.chars().filter(char::is_ascii).take(300).collect::<String>();
    Message {
        headline: cut(&message.headline),
        members: Vec::new(),
        done: Vec::new(),
        findings: Vec::new(),
        next_steps: Vec::new(),
        runbook: None,
        note: None,
        ..message.clone()
    }
}
