//! One try to heal a replica, from the look at why it fails to its end.
//!
//! Looking costs nothing, so nothing is paid before the gates were asked with what was just seen; then what is spent and what
//! is intended are one record, and nothing is done before that is on disk: a crash before it forgets an attempt that did
//! nothing, a crash after it finds it paid for. Nothing is assumed: after every rung the container is looked at.
//! A call that is still open is not sent again while whoever holds it may carry it out; what it did is found out. Every phase
//! has a deadline, so an attempt always ends, and its end says what is true: cured, not cured, or given up before anything was
//! done.
//!
//! Here is what an attempt is; `phase` says how far one can be, `deadlines` when its phases end, `machine` is the table,
//! `observing` what a look after a rung says, `proof` what can be proven of a stop.

mod deadlines;
mod machine;
mod observing;
mod phase;
mod proof;
mod words;

pub use deadlines::{
    ANSWER_SLACK, BEYOND_STOP, CURE_WITHIN, ENGINE_STOP_TIMEOUT, EVIDENCE_WITHIN, INSPECT_WITHIN,
    LOOK_AGAIN_AFTER, OBSERVE_WITHIN, START_FOLLOWS_WITHIN, STOPPED_WITHIN,
};
pub use phase::{Phase, Report, Rung};
pub use words::word;

use super::{budget::Spending, hold::Hold, own_stop::OwnStop};
use crate::domain::{
    effect::Primitive,
    moment::{AwakeMs, EngineMs, Moment},
    name::{AttemptId, ContainerId, Instance, Seq},
    observation::{ActOutcome, Inspection},
};
use phase::{is_open, is_unanswered};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use words::words;

/// One try to heal a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Its number.
    pub id: AttemptId,
    /// Which instance was judged.
    pub instance: Instance,
    /// When it began.
    pub began: Moment,
    /// How far it is.
    pub phase: Phase,
    /// When that phase began.
    pub phase_since: Moment,
    /// The container's own stop timeout.
    pub stop_timeout: Duration,
    /// The engine's clock at the look before the first rung, and before the latest: between the first and what the latest
    /// may take lies S1's window.
    pub intent_at: Option<(EngineMs, EngineMs)>,
    /// What was paid for it, once it was: given back where nothing is done.
    pub paid: Option<Paid>,
    /// Whether it may be killed (S12).
    pub may_kill: bool,
    /// How long the new life is given to be well, by the policy that it began with.
    #[serde(default)]
    pub verify_within: Duration,
    /// When an event said that the engine has sent the stop. An answer says less: a proxy gives one where the engine was
    /// never asked, and what was not told to stop must not be killed for not stopping.
    #[serde(default)]
    pub stop_sent: Option<AwakeMs>,
    /// When its restart was called for, by our clock and, as far as the last look says, by the engine's.
    #[serde(default)]
    pub called: Option<(AwakeMs, EngineMs)>,
    /// That the container stands still is its own doing: the engine said so, or was seen to send the stop.
    #[serde(default)]
    pub is_proven: bool,
    /// A call of it was not answered in time, and is still open: whoever holds it may carry it out yet.
    #[serde(default)]
    pub left_open: bool,
    /// When it was picked up after a restart of ours, if it was: what the rung did is not known then.
    pub resumed: Option<Moment>,
    /// What each rung came to, in words.
    pub outcomes: Vec<String>,
    /// What was found from outside.
    pub findings: Vec<String>,
}

/// A restart that was paid for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paid {
    /// When.
    pub at: Moment,
    /// What the replica had spent before.
    pub before: Spending,
}

/// What an attempt is given on its way.
pub(crate) struct Limits {
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) may_kill: bool,
    pub(crate) verify_within: Duration,
    /// Where it begins on what an earlier attempt left standing.
    pub(crate) own_stop: Option<OwnStop>,
}

/// What happens to an attempt.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input<'a> {
    /// Its record is on disk. `hold`: what the gates say at this moment.
    Durable { hold: Option<Hold> },
    /// Its record is not on disk and will not be, or not in time.
    NotDurable,
    /// Evidence came.
    Evidence(Vec<String>),
    /// It was looked at. `hold`: what the gates say to what was seen.
    Seen { inspection: &'a Inspection, hold: Option<Hold> },
    /// It could not be looked at.
    Unseen,
    /// It is not there any more.
    Gone,
    /// A rung's answer came.
    Acted(ActOutcome),
    /// The replica is healthy in this instance.
    Healthy(&'a Instance),
    /// Somebody else stopped or froze it.
    TakenOver(&'static str),
    /// The phase's deadline has passed.
    TooLate,
    /// Time passed, or something else changed.
    Nothing,
}

/// What an attempt wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    Inspect,
    /// Pay for it, in the batch of the record that follows.
    Pay,
    /// Record the phase that was entered, and ask about its batch.
    Record,
    Act {
        container: ContainerId,
        primitive: Primitive,
        deadline: Duration,
    },
    End(Ending),
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// Healthy again, so long after the attempt began.
    Verified {
        /// Milliseconds.
        after_ms: u64,
    },
    /// Something was done, and it is not well.
    NotCured(String),
    /// Nothing was done, and nothing was spent.
    Abandoned(Hold),
    /// The call did not reach the engine, or a restart of ours came between the intent and the act: no stop was seen to be
    /// sent, and the same life goes on. Nothing was done, as far as can be seen. It stays spent.
    Interrupted,
    /// Nothing was done: the engine refuses (403).
    Refused(String),
    /// It is not there any more.
    Gone,
    /// Somebody else stopped or froze it, or the host booted, before it could be seen to be well: theirs now.
    TakenOver(String),
    /// It stands still after our stop, or may: whose stop it was can't be proven (S1).
    NotOurs(String),
}

impl Attempt {
    /// Begins with reading why it fails.
    pub(crate) fn begin(id: AttemptId, instance: Instance, now: Moment, limits: Limits) -> Self {
        Self {
            id,
            instance,
            began: now,
            phase: Phase::Evidence,
            phase_since: now,
            stop_timeout: limits.stop_timeout.unwrap_or(ENGINE_STOP_TIMEOUT),
            intent_at: limits.own_stop.map(|own| (own.first, own.latest)),
            paid: None,
            may_kill: limits.may_kill,
            verify_within: limits.verify_within,
            stop_sent: None,
            called: None,
            is_proven: false,
            left_open: false,
            resumed: None,
            outcomes: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Picked up after a restart of ours: what was intended may have been done. The host's boot ended whatever ran: what runs
    /// since, it started.
    pub(crate) fn resume(&mut self, same_boot: bool, now: Moment) -> Vec<Output> {
        self.resumed = Some(now);
        match &self.phase {
            Phase::Evidence | Phase::Inspecting => {
                vec![Output::End(Ending::Abandoned(Hold::Settling(super::hold::Settle::OwnStart)))]
            }
            Phase::Intent { .. }
            | Phase::Acting { .. }
            | Phase::Observing { .. }
            | Phase::Verifying { .. }
                if !same_boot =>
            {
                self.end(Ending::TakenOver("the host booted".to_owned()))
            }
            Phase::Intent { rung, .. } | Phase::Acting { rung } | Phase::Observing { rung, .. } => {
                // The phase goes on since the intent: from then on the engine may have been at it.
                self.phase = Phase::Observing { rung: *rung, report: Report::NoAnswer };
                vec![Output::Inspect]
            }
            Phase::Verifying { .. } => Vec::new(),
        }
    }

    /// The engine is doing something on our behalf, or may be.
    pub(crate) fn is_touching(&self) -> bool {
        match self.phase {
            Phase::Acting { .. } | Phase::Observing { .. } => true,
            Phase::Evidence
            | Phase::Inspecting
            | Phase::Intent { .. }
            | Phase::Verifying { .. } => false,
        }
    }

    /// Whether it has looked and nothing more: a crash may forget it.
    pub(crate) fn only_looked(&self) -> bool {
        match self.phase {
            Phase::Evidence | Phase::Inspecting => true,
            Phase::Intent { .. }
            | Phase::Acting { .. }
            | Phase::Observing { .. }
            | Phase::Verifying { .. } => false,
        }
    }

    /// Whether all is done, and only its recovery is awaited.
    pub(crate) fn is_verifying(&self) -> bool {
        match self.phase {
            Phase::Verifying { .. } => true,
            Phase::Evidence
            | Phase::Inspecting
            | Phase::Intent { .. }
            | Phase::Acting { .. }
            | Phase::Observing { .. } => false,
        }
    }

    /// Whether something may have been done to the container already.
    pub(crate) fn has_acted(&self) -> bool {
        !self.outcomes.is_empty() || self.is_touching()
    }

    /// Whether what is intended is the start of what this attempt itself stopped.
    pub(crate) fn pairs_with_own_stop(&self) -> bool {
        match &self.phase {
            Phase::Intent { rung: Rung::Start, .. } => !self.outcomes.is_empty(),
            Phase::Intent { rung: Rung::Restart | Rung::Kill, .. }
            | Phase::Evidence
            | Phase::Inspecting
            | Phase::Acting { .. }
            | Phase::Observing { .. }
            | Phase::Verifying { .. } => false,
        }
    }

    /// Which batch is waited for.
    pub(crate) fn waits_for(&self) -> Option<Seq> {
        match self.phase {
            Phase::Intent { seq, .. } => Some(seq),
            Phase::Evidence
            | Phase::Inspecting
            | Phase::Acting { .. }
            | Phase::Observing { .. }
            | Phase::Verifying { .. } => None,
        }
    }

    fn enter(&mut self, phase: Phase, now: Moment) {
        self.left_open = match &phase {
            Phase::Observing { report, .. } => self.left_open || is_open(report),
            // It was carried out: this life came of it.
            Phase::Verifying { .. } => false,
            Phase::Evidence | Phase::Inspecting | Phase::Intent { .. } | Phase::Acting { .. } => {
                self.left_open
            }
        };
        self.phase = phase;
        self.phase_since = now;
    }

    /// Nothing more is done. Where nothing was done yet, nothing was spent either.
    fn abandon(&mut self, hold: Hold) -> Vec<Output> {
        if self.pairs_with_own_stop() && !self.is_proven {
            return self.end(match hold {
                Hold::Touched(what) => Ending::TakenOver(what),
                // An order to hold, and a stop of which nobody can say whose it was: left alone (S1, S7).
                hold => Ending::NotOurs(format!(
                    "stopped; can't prove that defib did it, and it is held back: {hold}"
                )),
            });
        }
        if self.outcomes.is_empty() {
            vec![Output::End(Ending::Abandoned(hold))]
        } else {
            self.end(Ending::NotCured(format!("not carried on: {hold}")))
        }
    }

    fn end(&self, ending: Ending) -> Vec<Output> {
        vec![Output::End(ending)]
    }
}

fn instance_of(inspection: &Inspection) -> Instance {
    Instance { container: inspection.id.clone(), started_at: inspection.started_at.clone() }
}
