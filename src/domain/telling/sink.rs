//! One sink: whether messages arrive there, why not, and when the others hear of that (P4).
//!
//! Known from what it answers alone; nothing is sent to find out. An answer says something about the next attempt only as long
//! as something is owed: a sink that refuses needs a person, but one that was silent days ago may have been well ever since.
//! So what the others hear counts from when something is owed without a break. What it is owed is in `delivery`.

use super::{
    delivery::InFlight,
    incident::{Incident, IncidentKey},
    row::{Rejected, Row},
};
use crate::domain::{
    message::Severity,
    moment::{AwakeMs, Moment},
    name::SinkName,
    policy::SinkPolicy,
    stall::leave_out,
};
use std::{collections::BTreeMap, time::Duration};

/// So long after a sink began to refuse, others are told: its first retry has not helped then.
const TELL_OF_REFUSING_AFTER: Duration = Duration::from_secs(90);

/// So long after a sink could no longer be reached, others are told: networks and far ends restart within some minutes.
const TELL_OF_SILENCE_AFTER: Duration = Duration::from_secs(10 * 60);

/// Why the last attempt at a sink did not arrive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failing {
    /// Since when nothing has arrived.
    pub(crate) since: Moment,
    pub(crate) cause: Cause,
    pub(crate) why: String,
    /// How often it has refused.
    pub(super) times: u32,
}

/// What the log says of a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Nothing arrives there.
    Fails {
        /// Why.
        why: String,
        /// How long until the next attempt.
        again: Duration,
    },
    /// It asks to be left alone.
    Waits {
        /// With what words.
        why: String,
        /// How long until the next attempt.
        again: Duration,
    },
    /// A message has arrived there, after either.
    Works,
}

/// What kind of reason: whom it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// The far end takes nothing, or not this: somebody has to mend the sink.
    Refuses,
    /// This host lacks what it takes to send.
    Unready,
    /// No answer, or none that says what came of it.
    Silent,
    /// It asks to be left alone.
    Pauses,
}

/// That nothing arrives at a sink, as others hear of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Matter {
    /// At which sink.
    pub(crate) sink: SinkName,
    /// When it is told.
    pub(crate) due: AwakeMs,
    pub(crate) since: Moment,
    pub(crate) why: String,
    /// `None`: a message was given up.
    pub(crate) cause: Option<Cause>,
}

/// One sink.
#[derive(Clone, Debug)]
pub(crate) struct Sink {
    pub(crate) policy: SinkPolicy,
    pub(crate) rows: BTreeMap<IncidentKey, Row>,
    pub(super) in_flight: Option<InFlight>,
    pub(super) paused_until: Option<AwakeMs>,
    pub(crate) failing: Option<Failing>,
    /// Since when it is owed something without a break.
    pub(super) owing_since: Option<Moment>,
    /// Since our start.
    pub(super) has_answered: bool,
    /// With what words the log last said that nothing arrives.
    logged: Option<String>,
    /// Whether the log has said that it asks to be left alone.
    is_logged_to_wait: bool,
    /// The last attempt was confirmed.
    pub(super) has_delivered: bool,
    /// As what it was defined when it last confirmed a message. What it confirmed before its address or a secret changed
    /// says nothing about whether messages arrive now.
    pub(crate) proven_as: Option<u64>,
}

impl Failing {
    /// One more attempt did not arrive.
    pub(super) fn once_more(before: Option<&Self>, cause: Cause, why: String, now: Moment) -> Self {
        let refused = before.map_or(0, |before| before.times);
        let times = refused.saturating_add(u32::from(cause == Cause::Refuses));
        Self { since: before.map_or(now, |before| before.since), cause, why, times }
    }
}

impl Sink {
    pub(crate) fn new(policy: SinkPolicy) -> Self {
        Self {
            policy,
            rows: BTreeMap::new(),
            in_flight: None,
            paused_until: None,
            failing: None,
            owing_since: None,
            has_answered: false,
            logged: None,
            is_logged_to_wait: false,
            has_delivered: false,
            proven_as: None,
        }
    }

    /// The config was read again. Whoever mended a broken sink need not wait for its next try; one that asked to be left alone
    /// is; and one that goes elsewhere now has nothing to do with how it was before.
    pub(crate) fn adopt(&mut self, mut policy: SinkPolicy) {
        if policy.lacks.is_some() {
            // What can't be read doesn't say that it is another one now.
            policy.definition = self.policy.definition;
        }
        let is_another = self.policy.definition != policy.definition;
        self.policy = policy;
        let asked_for_it =
            self.failing.as_ref().is_some_and(|failing| failing.cause == Cause::Pauses);
        if is_another || !asked_for_it {
            self.paused_until = None;
        }
        for outgoing in self.rows.values_mut().filter_map(|row| row.outgoing.as_mut()) {
            outgoing.not_before = AwakeMs(0);
        }
        if is_another {
            self.failing = None;
            self.forget_logged();
            for row in self.rows.values_mut() {
                row.rejected = None;
                if let Some(outgoing) = &mut row.outgoing {
                    outgoing.minimal = false;
                    outgoing.refused = None;
                }
            }
        }
    }

    /// Whether it was told of this incident, or may have been.
    pub(crate) fn knows_of(&self, incident: &Incident) -> bool {
        self.rows.get(&incident.key).is_some_and(|row| {
            row.incident == Some(incident.id) && (row.told.is_some() || row.maybe_told.is_some())
        })
    }

    /// Messages that it has not confirmed.
    pub(crate) fn waiting(&self) -> usize {
        self.rows.values().filter(|row| row.outgoing.is_some()).count()
    }

    /// What it said to messages that it will never take.
    pub(crate) fn undeliverable(&self) -> impl Iterator<Item = &str> {
        self.given_up().map(|rejected| rejected.why.as_str())
    }

    fn given_up(&self) -> impl Iterator<Item = &Rejected> {
        self.rows.values().filter_map(|row| row.rejected.as_ref())
    }

    /// Whether the next message would arrive, as far as is known. That an attempt got no answer says nothing any more once
    /// nothing is owed.
    pub(crate) fn is_working(&self) -> bool {
        if self.policy.lacks.is_some() {
            return false;
        }
        match self.failing.as_ref().map(|failing| failing.cause) {
            None => true,
            Some(Cause::Refuses | Cause::Unready) => false,
            Some(Cause::Silent | Cause::Pauses) => self.waiting() == 0,
        }
    }

    /// What it is like is not known: it is owed something, and has not answered since our start.
    pub(crate) fn is_unheard(&self) -> bool {
        !self.has_answered && self.waiting() > 0
    }

    /// What the log is to say: that nothing arrives, once until the words change; that it asks to wait, once, since each such
    /// answer may name another time; and that messages arrive again, once one has.
    pub(crate) fn news(&mut self, now: AwakeMs) -> Option<News> {
        if std::mem::take(&mut self.has_delivered) {
            return self.forget_logged().then_some(News::Works);
        }
        let Failing { cause, why, .. } = self.failing.as_ref()?;
        let (cause, why) = (*cause, why.clone());
        let again = self.next_attempt(now).map_or(Duration::ZERO, |at| at.since(now));
        match cause {
            Cause::Pauses => {
                let is_said = std::mem::replace(&mut self.is_logged_to_wait, true);
                (!is_said).then_some(News::Waits { why, again })
            }
            Cause::Refuses | Cause::Unready | Cause::Silent => {
                if self.logged.as_ref() == Some(&why) {
                    return None;
                }
                self.logged = Some(why.clone());
                Some(News::Fails { why, again })
            }
        }
    }

    /// Whether the log had said that it does not work.
    fn forget_logged(&mut self) -> bool {
        let waits = std::mem::take(&mut self.is_logged_to_wait);
        self.logged.take().is_some() || waits
    }

    /// What others hear of it, and when; `None`: there is nothing to tell.
    pub(crate) fn tell_of(&self) -> Option<Matter> {
        let sink = self.policy.name.clone();
        let waiting = self.waiting();
        let owes = if waiting == 1 {
            "1 message waits".to_owned()
        } else {
            format!("{waiting} messages wait")
        };
        if let (Some(failing), Some(owing_since)) = (&self.failing, self.owing_since) {
            // How it was while nothing was owed says nothing of what waits now: that has its own time to arrive.
            let since = [failing.since, owing_since].into_iter().max_by_key(|since| since.awake)?;
            let after = match failing.cause {
                Cause::Refuses | Cause::Unready => TELL_OF_REFUSING_AFTER,
                Cause::Silent | Cause::Pauses => TELL_OF_SILENCE_AFTER,
            };
            let (due, why) = (since.awake + after, format!("{}; {owes}", failing.why));
            return Some(Matter { sink, due, since, why, cause: Some(failing.cause) });
        }
        let refused = |row: &Row| {
            row.outgoing
                .as_ref()
                .and_then(|outgoing| outgoing.refused.as_ref())
                .map(|refused| refused.since)
        };
        if let Some(since) = self.rows.values().filter_map(refused).min_by_key(|since| since.awake)
        {
            let due = since.awake + TELL_OF_REFUSING_AFTER;
            let why = "it refuses a message that it is owed".to_owned();
            return Some(Matter { sink, due, since, why, cause: Some(Cause::Refuses) });
        }
        let rejected = self.given_up().min_by_key(|rejected| rejected.since.awake)?;
        let (since, why) = (rejected.since, &rejected.why);
        let why = format!("it was not told, and will not be: {why}");
        let due = since.awake + TELL_OF_REFUSING_AFTER;
        Some(Matter { sink, due, since, why, cause: None })
    }

    /// When the next attempt is, where one is owed; a moment that has passed: it is under way.
    pub(crate) fn next_attempt(&self, now: AwakeMs) -> Option<AwakeMs> {
        if self.in_flight.is_some() {
            return Some(now);
        }
        let outgoing = self.rows.values().filter_map(|row| row.outgoing.as_ref());
        let ready = outgoing.map(|outgoing| outgoing.not_before).min()?;
        Some(self.paused_until.map_or(ready, |until| until.max(ready)).max(now))
    }

    /// Whether it has confirmed a message since it was defined as it is now.
    pub(crate) fn is_proven(&self) -> bool {
        self.proven_as == Some(self.policy.definition)
    }

    /// Whether anybody is woken by it.
    pub(crate) fn takes_pages(&self) -> bool {
        self.takes(Severity::Page)
    }

    pub(super) fn takes(&self, level: Severity) -> bool {
        self.policy.severities.is_empty() || self.policy.severities.contains(&level)
    }

    /// Nothing was tried for so long.
    pub(in crate::domain) fn leave_out(&mut self, stalled: Duration) {
        let refused =
            self.rows.values_mut().filter_map(|row| row.outgoing.as_mut()?.refused.as_mut());
        let refused = refused.map(|refused| &mut refused.since);
        let failing = self.failing.iter_mut().map(|failing| &mut failing.since);
        let moments = refused.chain(failing).chain(&mut self.owing_since);
        moments.for_each(|since| leave_out(since, stalled));
    }

    /// Whoever was silent, or asked to be left alone, when it was last owed something may have been well for days since.
    pub(super) fn note_owing(&mut self, now: Moment) {
        if self.waiting() == 0 {
            self.owing_since = None;
        } else if self.owing_since.is_none() {
            self.owing_since = Some(now);
            let rests = self.paused_until.is_some_and(|until| until > now.awake);
            self.failing.take_if(|failing| match failing.cause {
                Cause::Silent | Cause::Pauses => !rests,
                Cause::Refuses | Cause::Unready => false,
            });
            if self.failing.is_none() {
                self.forget_logged();
            }
        }
    }
}
