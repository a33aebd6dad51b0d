//! That a person hears of it: what each sink was told, what it is owed, and when the next attempt is. How the sink itself is,
//! is in `sink`.
//!
//! One row for each (sink, incident), in the same transaction as the incident (P1). A message keeps its ID, and so its
//! idempotency key, over all attempts. One message is under way per sink, so that a slow sink delays only itself (P4) and
//! order is kept. A sink that asks to be left alone is, as a whole; one that is broken is tried again ever more rarely and
//! heals by itself. A message that is refused stays owed for a day. Before every attempt the question is asked anew what the
//! sink is owed: what is no longer true is not sent.

use super::{
    incident::{Incident, IncidentKey, Loudness},
    sink::{Cause, Failing, Sink},
    story::{Story, known_after, owed},
};
use crate::domain::{
    durability::{COMMIT_WITHIN, Fate},
    message::{IncidentKind, Message, MessageKind},
    moment::{AwakeMs, Moment, millis},
    name::{IncidentId, MessageId, Seq},
    observation::DeliveryOutcome,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, time::Duration};

/// The first wait after an attempt of which nothing is known.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Never wait longer than this between two attempts.
const MAX_RETRY: Duration = Duration::from_secs(5 * 60);

/// A sink may ask to be left alone for at most so long. A wrong clock at the far end must not silence pages for a day.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(3600);

/// Where it asks to be left alone and does not say for how long.
const DEFAULT_PAUSE: Duration = Duration::from_secs(30);

/// What refuses (wrong key, gone channel) is tried again after these waits, and then after the last of them each time. One
/// refusal may be a hiccup of the far end, and a page waits behind it; one that lasts needs a person.
const REFUSED_RETRY: [Duration; 4] = [
    Duration::from_secs(60),
    Duration::from_secs(5 * 60),
    Duration::from_secs(15 * 60),
    Duration::from_secs(3600),
];

/// What this host lacks for sending (a secret's file that comes late) is looked at again this often: it disturbs nobody.
const UNREADY_RETRY: Duration = Duration::from_secs(60);

/// A message that is refused even when reduced to what matters stays owed for so long. By then the first daily reminder
/// takes its place, where the incident is still open.
const REFUSED_FOR: Duration = Duration::from_secs(24 * 3600);

/// An answer may come so much later than the attempt's deadline before it counts as unknown.
const ANSWER_SLACK: Duration = Duration::from_secs(2);

/// How much of an incident's story a sink was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Of which incident; a later one of the same key is told anew.
    pub incident: Option<IncidentId>,
    /// What it confirmed.
    pub told: Option<Story>,
    /// How loud it had been when this sink was last told that it recovered, if it was.
    #[serde(default)]
    pub answered: Option<Loudness>,
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
    /// How loud it was then, at its worst.
    pub loudness: Loudness,
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

/// An attempt that has not been answered.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    incident: IncidentKey,
    message: MessageId,
    attempt: u32,
    until: AwakeMs,
    /// As what the sink was defined when it left.
    definition: u64,
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

/// Of what a sink has answered.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heard {
    pub(crate) key: IncidentKey,
    pub(crate) incident: IncidentId,
    pub(crate) kind: MessageKind,
    /// It is told, or given up.
    pub(crate) is_done_with: bool,
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
            // It recovered once, that did not hold, and nothing was said here since that asks for more than this: the next
            // recovery is told when it has held.
            told => owed(told, incident.story).filter(|kind| {
                *kind != MessageKind::Recovered || row.answered < Some(incident.loudness())
            }),
        }
    }

    /// An attempt's outcome. `None` where it answers nothing that is under way.
    pub(crate) fn answered(
        &mut self,
        message: MessageId,
        attempt: u32,
        outcome: DeliveryOutcome,
        now: Moment,
    ) -> Option<Heard> {
        let matches = self
            .in_flight
            .as_ref()
            .is_some_and(|flight| flight.message == message && flight.attempt == attempt);
        if !matches {
            return None;
        }
        let flight = self.in_flight.take()?;
        let row = self.rows.get_mut(&flight.incident)?;
        let outgoing = row.outgoing.as_mut().filter(|outgoing| outgoing.message.id == message)?;
        let (incident, kind) = (outgoing.message.incident, outgoing.message.kind);
        let is_current = flight.definition == self.policy.definition;
        let had_answered = self.has_answered;
        self.has_answered |= is_current;
        let before = self.failing.take();
        let fails = |cause, why| Some(Failing::once_more(before.as_ref(), cause, why, now));
        match outcome {
            DeliveryOutcome::Delivered => {
                row.told = Some(known_after(outgoing.message.kind, outgoing.story));
                match outgoing.message.kind {
                    MessageKind::Recovered => row.answered = Some(outgoing.loudness),
                    MessageKind::Opened => row.answered = None,
                    MessageKind::Raised
                    | MessageKind::GivenUp
                    | MessageKind::Grown
                    | MessageKind::Relapsed
                    | MessageKind::Reminder
                    | MessageKind::Resolved
                    | MessageKind::Missed => {}
                }
                row.outgoing = None;
                row.rejected = None;
                self.proven_as = Some(flight.definition);
                self.has_delivered = true;
            }
            // It went where the sink no longer goes: the next attempt is made at once.
            DeliveryOutcome::Unknown(_)
            | DeliveryOutcome::Paused { .. }
            | DeliveryOutcome::Rejected(_)
            | DeliveryOutcome::Broken(_)
            | DeliveryOutcome::NotSent(_)
                if !is_current =>
            {
                self.failing = before;
            }
            DeliveryOutcome::Unknown(why) => {
                outgoing.not_before = now.awake + retry_wait(outgoing.attempts, &outgoing.message);
                self.failing = fails(Cause::Silent, why);
            }
            DeliveryOutcome::Paused { wait, reason } => {
                // Being asked to wait costs no attempt.
                outgoing.attempts = outgoing.attempts.saturating_sub(1);
                self.paused_until =
                    Some(now.awake + wait.unwrap_or(DEFAULT_PAUSE).min(LONGEST_PAUSE));
                self.failing = fails(Cause::Pauses, reason);
            }
            DeliveryOutcome::Rejected(_) if !outgoing.minimal => {
                outgoing.minimal = true;
                self.failing = before;
                // How the sink is, its answer to what matters says.
                self.has_answered = had_answered;
            }
            DeliveryOutcome::Rejected(why) => {
                // The next attempt is of the whole message again: the far end may have been mended.
                outgoing.minimal = false;
                let refused = outgoing.refused.get_or_insert(Refused { since: now, times: 0 });
                refused.times = refused.times.saturating_add(1);
                if now.awake.since(refused.since.awake) >= REFUSED_FOR {
                    let (story, since) = (outgoing.story, refused.since);
                    row.rejected = Some(Rejected { story, since, why: why.clone() });
                    row.outgoing = None;
                } else {
                    outgoing.not_before = now.awake + refused_wait(refused.times);
                }
                self.failing = fails(Cause::Refuses, why);
            }
            DeliveryOutcome::Broken(why) => {
                self.failing = fails(Cause::Refuses, why);
                let times = self.failing.as_ref().map_or(1, |failing| failing.times);
                self.paused_until = Some(now.awake + refused_wait(times));
            }
            DeliveryOutcome::NotSent(why) => {
                self.failing = fails(Cause::Unready, why);
                self.paused_until = Some(now.awake + UNREADY_RETRY);
            }
        }
        let is_done_with = row.outgoing.is_none();
        Some(Heard { key: flight.incident, incident, kind, is_done_with })
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
                loudness: incident.loudness(),
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
        if let Some(outgoing) =
            self.rows.get_mut(&flight.incident).and_then(|row| row.outgoing.as_mut())
        {
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

/// After so many refusals.
fn refused_wait(times: u32) -> Duration {
    let index = usize::try_from(times.saturating_sub(1)).unwrap_or(usize::MAX);
    let [.., last] = REFUSED_RETRY;
    REFUSED_RETRY.get(index).copied().unwrap_or(last)
}

/// Full jitter over a doubling span. The jitter is a hash, so that a run can be repeated.
fn retry_wait(attempts: u32, message: &Message) -> Duration {
    let doublings = attempts.saturating_sub(1).min(16);
    let most = FIRST_RETRY.saturating_mul(1 << doublings).min(MAX_RETRY);
    let hash = crate::domain::hash::fnv1a(&[
        message.idempotency_key().as_bytes(),
        &attempts.to_be_bytes(),
    ]);
    let least = Duration::from_millis(200);
    least + Duration::from_millis(hash % millis(most).max(1))
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
