//! What an attempt can prove, and what it must leave open: whose stop it was, and whether a call of it may still arrive (S1).

use super::{Attempt, Phase, phase::is_unanswered};
use crate::domain::acting::own_stop::OwnStop;
use crate::domain::{
    moment::{AwakeMs, EngineMs},
    observation::Inspection,
};
use std::time::Duration;

/// The events of one act carry times that lie so far apart, and the engine's clock is read in whole seconds.
const OWN_EVENTS_SPREAD: Duration = Duration::from_secs(1);

/// What the engine did before it answered it tells by its stream this much later at most; what it tells of later has its time.
const TOLD_AFTER_ANSWER: Duration = Duration::from_millis(500);

/// An engine sends the stop of a restart so soon after it was called for one.
const OWN_STOP_WITHIN: Duration = Duration::from_secs(3);

impl Attempt {
    /// Whether its stop may have reached the container: by an event, by what was seen, or because nobody answered.
    pub(crate) fn may_have_stopped(&self) -> bool {
        self.stop_sent.is_some() || !self.outcomes.is_empty() || self.may_still_act()
    }

    /// Whether a call of it may still arrive at the engine, or be at work there, now that it ends.
    pub(crate) fn may_still_act(&self) -> bool {
        match &self.phase {
            Phase::Observing { report, .. } => is_unanswered(report),
            // Where it ends while it acts, the engine has answered.
            Phase::Acting { .. }
            | Phase::Evidence
            | Phase::Inspecting
            | Phase::Intent { .. }
            | Phase::Verifying { .. } => false,
        }
    }

    /// S1: it stands still because of our own stop, if the life that was judged ended within the intent's window by the
    /// engine's clock.
    pub(crate) fn is_ours(&self, inspection: &Inspection) -> bool {
        self.own_stop().is_some_and(|own| own.explains(inspection))
    }

    /// Our own stop, where one was intended.
    pub(crate) fn own_stop(&self) -> Option<OwnStop> {
        let (first, latest) = self.intent_at?;
        let started_at = self.instance.started_at.clone();
        let stop_timeout = self.stop_timeout;
        Some(OwnStop { first, latest, stop_timeout, started_at, is_void: false })
    }

    /// The host has booted: of what was called for and sent nothing is at work any more.
    pub(crate) fn forget_what_reached_it(&mut self) {
        self.intent_at = None;
        self.stop_sent = None;
        self.left_open = false;
        self.called = None;
    }

    /// Whether a stop of that moment, which is told of now, may be its own. An engine that gets a call to restart sends the
    /// stop at once, and before it answers; what is sent after its answer, or much later to a call that nobody has answered,
    /// somebody else has sent.
    pub(crate) fn may_be_own_stop(&self, at: EngineMs, now: AwakeMs) -> bool {
        let answered = match &self.phase {
            Phase::Observing { report, .. } if !is_unanswered(report) => {
                Some(self.phase_since.awake)
            }
            Phase::Observing { .. }
            | Phase::Evidence
            | Phase::Inspecting
            | Phase::Intent { .. }
            | Phase::Acting { .. }
            | Phase::Verifying { .. } => None,
        };
        self.stop_sent.is_some()
            || self.called.is_some_and(|(called, by_engine)| {
                let (told_by, sent_within) = match answered {
                    Some(answered) => (answered + TOLD_AFTER_ANSWER, answered.since(called)),
                    None => (called + OWN_STOP_WITHIN, OWN_STOP_WITHIN),
                };
                now <= told_by || at <= by_engine + sent_within + OWN_EVENTS_SPREAD
            })
    }

    /// From when to when, by the engine's clock, it acted on the container, as far as this latest look says.
    pub(crate) fn own_acts(&self, seen: Option<&Inspection>) -> Option<(EngineMs, EngineMs)> {
        let (first, _) = self.intent_at.filter(|_| self.may_have_stopped())?;
        let seen = seen?;
        // Its last act is the start of the life that followed; until that is seen it may be at it.
        let is_another_life = seen.started_at != self.instance.started_at;
        let last = seen.started.filter(|_| is_another_life).unwrap_or(seen.engine_now);
        Some((first, last + OWN_EVENTS_SPREAD))
    }

    /// One more rung is intended, at the time of this look.
    pub(super) fn renew_intent(&mut self, inspection: &Inspection) {
        self.intent_at = self.intent_at.map(|(first, _)| (first, inspection.engine_now));
    }
}
