//! What a sink answered, and what that means for the next attempt. One that asks to be left alone is, as a whole; one that is
//! broken is tried again ever more rarely and heals by itself. A message that is refused stays owed for a day.

use super::{
    incident::IncidentKey,
    row::{Refused, Rejected},
    sink::{Cause, Failing, Sink},
    story::known_after,
};
use crate::domain::{
    message::{Message, MessageKind},
    moment::{Moment, millis},
    name::{IncidentId, MessageId},
    observation::DeliveryOutcome,
};
use std::time::Duration;

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
        let mut maybe = false;
        let fails = |cause, why| Some(Failing::once_more(before.as_ref(), cause, why, now));
        match outcome {
            DeliveryOutcome::Delivered => {
                row.maybe_told = None;
                row.told = Some(known_after(outgoing.message.kind, outgoing.story));
                row.last = Some(outgoing.message.kind);
                row.outgoing = None;
                row.rejected = None;
                self.proven_as = Some(flight.definition);
                self.has_delivered = true;
                if is_current {
                    // Whatever it lacked when that was last looked at, it has now.
                    self.policy.lacks = None;
                }
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
                maybe = true;
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
        if maybe {
            row.may_have_arrived();
        }
        let is_done_with = row.outgoing.is_none();
        Some(Heard { key: flight.incident, incident, kind, is_done_with })
    }
}

/// After so many refusals.
fn refused_wait(times: u32) -> Duration {
    let index = usize::try_from(times.saturating_sub(1)).unwrap_or(usize::MAX);
    let [.., last] = REFUSED_RETRY;
    REFUSED_RETRY.get(index).copied().unwrap_or(last)
}

/// Full jitter over a doubling span. The jitter is a hash, so that a run can be repeated.
pub(super) fn retry_wait(attempts: u32, message: &Message) -> Duration {
    let doublings = attempts.saturating_sub(1).min(16);
    let most = FIRST_RETRY.saturating_mul(1 << doublings).min(MAX_RETRY);
    let hash = crate::domain::hash::fnv1a(&[
        message.idempotency_key().as_bytes(),
        &attempts.to_be_bytes(),
    ]);
    let least = Duration::from_millis(200);
    least + Duration::from_millis(hash % millis(most).max(1))
}
