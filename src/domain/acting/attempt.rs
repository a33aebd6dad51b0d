//! One try to heal a replica, from spending to its end.
//!
//! Nothing is done whose record is not on disk first, and nothing is assumed: after every rung the container is looked at.
//! A call that did not answer is never sent again; what it did is found out. Every phase has a deadline, so an attempt
//! always ends, and its end says what is true: cured, not cured, or given up before anything was done.
//!
//! The table in `docs/STATES.md` is this file's `match`, cell by cell.

use crate::domain::{
    durability::COMMIT_WITHIN,
    effect::Primitive,
    moment::{AwakeMs, EngineMs, Moment, Spoken},
    name::{AttemptId, ContainerId, Instance, Seq, StartedAt},
    observation::{ActOutcome, ContainerState, Inspection},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

use super::{budget::Spending, hold::Hold};

/// Reading from outside why it fails may take at most so long: a person would wait no longer either.
pub const EVIDENCE_WITHIN: Duration = Duration::from_secs(3);

/// An answer may come so much later than its deadline before it is given up.
pub const ANSWER_SLACK: Duration = Duration::from_secs(1);

/// Looking right before acting may take so long.
pub const INSPECT_WITHIN: Duration = Duration::from_secs(6);

/// The engine needs up to 12 s beyond a container's stop timeout to kill it directly (moby 41352), and some to start it.
pub const BEYOND_STOP: Duration = Duration::from_secs(22);

/// Beyond its stop timeout a container that the engine was told to stop has ended after this, or never does.
pub const STOPPED_WITHIN: Duration = Duration::from_secs(14);

/// Without a stop timeout of its own a container is given this by the engine.
pub const ENGINE_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// After a rung the container is looked at this often …
pub const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// … for this long, before what is seen is taken as final.
pub const OBSERVE_WITHIN: Duration = Duration::from_secs(10);

/// The engine starts what it restarts right after it stopped; what stands still for longer it will not start.
pub const START_FOLLOWS_WITHIN: Duration = Duration::from_secs(4);

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
    /// What had been spent before, to be given back where nothing is done.
    pub spent_before: Spending,
    /// Whether it may be killed (S12).
    pub may_kill: bool,
    /// When it was picked up after a restart of ours, if it was: what the rung did is not known then.
    pub resumed: Option<Moment>,
    /// What each rung came to, in words.
    pub outcomes: Vec<String>,
    /// What was found from outside.
    pub findings: Vec<String>,
}

/// What an attempt is given on its way.
pub(crate) struct Limits {
    pub(crate) stop_timeout: Option<Duration>,
    pub(crate) may_kill: bool,
    pub(crate) spent_before: Spending,
    /// Where it begins on what an earlier attempt left standing.
    pub(crate) own_stop: Option<OwnStop>,
}

/// How far an attempt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Spending is recorded in this batch; nothing else was done.
    Spent {
        /// Which batch.
        seq: Seq,
    },
    /// Why it fails is being read from outside.
    Evidence,
    /// It is being looked at, right before acting.
    Inspecting,
    /// What is to be done is recorded in this batch. On disk this also stands for "being done": which of both a crash
    /// interrupted can't be told, so it is treated as done until a look says otherwise.
    Intent {
        /// What.
        rung: Rung,
        /// Which batch.
        seq: Seq,
    },
    /// The engine is at it.
    Acting {
        /// What.
        rung: Rung,
    },
    /// What it did is being looked at.
    Observing {
        /// What.
        rung: Rung,
        /// What the engine said of it.
        report: Report,
    },
    /// It runs again; whether it is well is awaited.
    Verifying {
        /// The new instance.
        instance: Instance,
        /// How long that may take.
        within: Duration,
    },
}

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rung {
    /// Stop and start, by the engine.
    Restart,
    /// Kill what did not stop.
    Kill,
    /// Start what defib itself stopped.
    Start,
}

/// What the engine said of a rung.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Report {
    /// It answered so.
    Answered(ActOutcome),
    /// Nothing, within the deadline or before a restart of ours.
    NoAnswer,
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
    Unseen(String),
    /// It is not there any more.
    Gone,
    /// A rung's answer came.
    Acted(ActOutcome),
    /// The replica is healthy in this instance.
    Healthy(&'a Instance),
    /// The phase's deadline has passed.
    TooLate,
    /// Time passed, or something else changed.
    Nothing,
}

/// What an attempt wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    GatherEvidence,
    Inspect,
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
    /// A restart of ours came between the intent and the act: nothing was done, as far as can be seen. It stays spent.
    Interrupted,
    /// Nothing was done: the engine refuses (403).
    Refused(String),
    /// It is not there any more.
    Gone,
    /// It stands still after our stop, or may: whose stop it was can't be proven (S1).
    NotOurs(String),
}

impl Attempt {
    /// Begins with spending, recorded in `seq`.
    pub(crate) fn begin(
        id: AttemptId,
        instance: Instance,
        now: Moment,
        seq: Seq,
        limits: Limits,
    ) -> Self {
        Self {
            id,
            instance,
            began: now,
            phase: Phase::Spent { seq },
            phase_since: now,
            stop_timeout: limits.stop_timeout.unwrap_or(ENGINE_STOP_TIMEOUT),
            intent_at: limits.own_stop.map(|own| (own.first, own.latest)),
            spent_before: limits.spent_before,
            may_kill: limits.may_kill,
            resumed: None,
            outcomes: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// Picked up after a restart of ours. What was not recorded as intended was not done; what was, may have been.
    pub(crate) fn resume(&mut self, now: Moment) -> Vec<Output> {
        self.resumed = Some(now);
        match &self.phase {
            Phase::Spent { .. } | Phase::Evidence | Phase::Inspecting => {
                vec![Output::End(Ending::Abandoned(Hold::Settling(super::hold::Settle::OwnStart)))]
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
            Phase::Spent { .. }
            | Phase::Evidence
            | Phase::Inspecting
            | Phase::Intent { .. }
            | Phase::Verifying { .. } => false,
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
            | Phase::Spent { .. }
            | Phase::Evidence
            | Phase::Inspecting
            | Phase::Acting { .. }
            | Phase::Observing { .. }
            | Phase::Verifying { .. } => false,
        }
    }

    /// When the phase is over at the latest.
    pub(crate) fn deadline(&self) -> AwakeMs {
        let within = match &self.phase {
            Phase::Spent { .. } | Phase::Intent { .. } => COMMIT_WITHIN,
            Phase::Evidence => EVIDENCE_WITHIN + ANSWER_SLACK,
            Phase::Inspecting => INSPECT_WITHIN + ANSWER_SLACK,
            Phase::Acting { rung } => self.act_within(*rung) + ANSWER_SLACK,
            Phase::Observing { report, .. } => {
                // Where nobody knows whether the call arrived, the engine may still be at the stop.
                let stopped_by = self.phase_since.awake + self.stop_timeout + STOPPED_WITHIN;
                return match (self.resumed, report) {
                    (Some(resumed), _) => stopped_by.max(resumed.awake + OBSERVE_WITHIN),
                    (None, Report::Answered(ActOutcome::Unreachable(_))) => stopped_by,
                    (
                        None,
                        Report::NoAnswer
                        | Report::Answered(
                            ActOutcome::Done
                            | ActOutcome::Denied(_)
                            | ActOutcome::NoSuchContainer
                            | ActOutcome::Failed { .. }
                            | ActOutcome::TimedOut(_),
                        ),
                    ) => self.phase_since.awake + OBSERVE_WITHIN,
                };
            }
            Phase::Verifying { within, .. } => *within,
        };
        self.phase_since.awake + within
    }

    /// Which batch is waited for.
    pub(crate) fn waits_for(&self) -> Option<Seq> {
        match self.phase {
            Phase::Spent { seq } | Phase::Intent { seq, .. } => Some(seq),
            Phase::Evidence
            | Phase::Inspecting
            | Phase::Acting { .. }
            | Phase::Observing { .. }
            | Phase::Verifying { .. } => None,
        }
    }

    /// Takes the next step. `seq` is the batch that a record made now belongs to.
    pub(crate) fn step(
        &mut self,
        input: Input<'_>,
        now: Moment,
        seq: Seq,
        verify_within: Duration,
    ) -> Vec<Output> {
        match (self.phase.clone(), input) {
            (Phase::Spent { .. }, Input::Durable { hold: None }) => {
                self.enter(Phase::Evidence, now);
                vec![Output::GatherEvidence]
            }
            (Phase::Spent { .. } | Phase::Intent { .. }, Input::Durable { hold: Some(hold) }) => {
                self.abandon(hold)
            }
            // What defib itself stopped is started again, recorded or not: the intent of the stop is on disk, and proves it.
            (Phase::Intent { rung: Rung::Start, .. }, Input::NotDurable | Input::TooLate)
                if self.pairs_with_own_stop() =>
            {
                self.act(Rung::Start, now)
            }
            (Phase::Spent { .. } | Phase::Intent { .. }, Input::NotDurable | Input::TooLate) => {
                self.abandon(Hold::CannotRecord)
            }
            (Phase::Evidence, Input::Evidence(findings)) => {
                self.findings = findings;
                self.enter(Phase::Inspecting, now);
                vec![Output::Inspect]
            }
            (Phase::Evidence, Input::TooLate) => {
                self.findings = vec!["the evidence did not come in time".to_owned()];
                self.enter(Phase::Inspecting, now);
                vec![Output::Inspect]
            }
            (Phase::Inspecting, Input::Seen { hold: Some(hold), .. }) => self.abandon(hold),
            (Phase::Inspecting, Input::Seen { inspection, hold: None }) => {
                let first = self.intent_at.map_or(inspection.engine_now, |(first, _)| first);
                self.intent_at = Some((first, inspection.engine_now));
                let rung = if inspection.state == ContainerState::Running {
                    Rung::Restart
                } else {
                    Rung::Start
                };
                self.enter(Phase::Intent { rung, seq }, now);
                vec![Output::Record]
            }
            (Phase::Inspecting, Input::Unseen(_) | Input::TooLate) => {
                self.abandon(Hold::CouldNotLook)
            }
            (Phase::Intent { rung, .. }, Input::Durable { hold: None }) => self.act(rung, now),
            (Phase::Acting { rung }, Input::Acted(outcome)) => self.acted(rung, outcome, now),
            (Phase::Acting { rung }, Input::TooLate) => {
                self.enter(Phase::Observing { rung, report: Report::NoAnswer }, now);
                vec![Output::Inspect]
            }
            (Phase::Observing { rung, report }, Input::Seen { inspection, .. }) => {
                self.seen_after(rung, &report, inspection, now, seq, verify_within)
            }
            (Phase::Observing { .. }, Input::Unseen(_)) => vec![Output::Inspect],
            (Phase::Observing { rung, report }, Input::TooLate) => {
                let what =
                    format!("what the {} did could not be seen: {}", word(rung), words(&report));
                self.end(Ending::NotCured(what))
            }
            (Phase::Verifying { instance, .. }, Input::Healthy(healthy))
                if instance == *healthy =>
            {
                let after_ms = crate::domain::moment::millis(now.awake.since(self.began.awake));
                self.end(Ending::Verified { after_ms })
            }
            (Phase::Verifying { within, .. }, Input::Seen { inspection, .. }) => {
                // Docker's own policy, or somebody, started it once more: that life is the one to be well.
                if inspection.state == ContainerState::Running {
                    self.phase = Phase::Verifying { instance: instance_of(inspection), within };
                }
                Vec::new()
            }
            (Phase::Verifying { within, .. }, Input::TooLate) => self
                .end(Ending::NotCured(format!("not healthy within {} after it", Spoken(within)))),
            (_, Input::Gone) => self.end(Ending::Gone),
            // What does not concern a phase leaves it as it is: late answers of an earlier phase, evidence that comes after
            // its deadline, and the passing of time.
            (
                Phase::Spent { .. },
                Input::Evidence(_)
                | Input::Seen { .. }
                | Input::Unseen(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            )
            | (
                Phase::Evidence,
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Seen { .. }
                | Input::Unseen(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            )
            | (
                Phase::Inspecting,
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            )
            | (
                Phase::Intent { .. },
                Input::Evidence(_)
                | Input::Seen { .. }
                | Input::Unseen(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            )
            | (
                Phase::Acting { .. },
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Seen { .. }
                | Input::Unseen(_)
                | Input::Healthy(_)
                | Input::Nothing,
            )
            | (
                Phase::Observing { .. },
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            )
            | (
                Phase::Verifying { .. },
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Unseen(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            ) => Vec::new(),
        }
    }

    /// The rung begins.
    fn act(&mut self, rung: Rung, now: Moment) -> Vec<Output> {
        self.enter(Phase::Acting { rung }, now);
        let primitive = match rung {
            Rung::Restart => Primitive::Restart { stop_timeout: self.stop_timeout },
            Rung::Kill => Primitive::Kill,
            Rung::Start => Primitive::Start,
        };
        let container = self.instance.container.clone();
        vec![Output::Act { container, primitive, deadline: self.act_within(rung) }]
    }

    /// A rung's answer came.
    fn acted(&mut self, rung: Rung, outcome: ActOutcome, now: Moment) -> Vec<Output> {
        match outcome {
            ActOutcome::Denied(why) => self.end(Ending::Refused(why)),
            ActOutcome::NoSuchContainer => self.end(Ending::Gone),
            ActOutcome::Done
            | ActOutcome::Failed { .. }
            | ActOutcome::TimedOut(_)
            | ActOutcome::Unreachable(_) => {
                self.enter(Phase::Observing { rung, report: Report::Answered(outcome) }, now);
                vec![Output::Inspect]
            }
        }
    }

    /// It was looked at after a rung.
    fn seen_after(
        &mut self,
        rung: Rung,
        report: &Report,
        inspection: &Inspection,
        now: Moment,
        seq: Seq,
        verify_within: Duration,
    ) -> Vec<Output> {
        let final_look = self.deadline() <= now.awake + LOOK_AGAIN_AFTER;
        let seen = instance_of(inspection);
        match &inspection.state {
            ContainerState::Running if seen != self.instance => {
                self.outcomes.push(format!("{}: done", word(rung)));
                self.enter(Phase::Verifying { instance: seen, within: verify_within }, now);
                vec![Output::Record]
            }
            // By now a stop that arrived would have ended it.
            ContainerState::Running if final_look && !has_arrived(report) => {
                self.end(Ending::Interrupted)
            }
            ContainerState::Running if final_look => match (rung, self.may_kill, self.resumed) {
                (Rung::Restart, _, Some(_)) => self.end(Ending::Interrupted),
                // The engine says that it did it, and it did not: what is wrong there no kill makes right.
                (Rung::Restart, _, None) if *report == Report::Answered(ActOutcome::Done) => self
                    .end(Ending::NotCured(
                        "the engine says that it is done, and the same life goes on".to_owned(),
                    )),
                (Rung::Restart, true, None) => {
                    self.outcomes
                        .push(format!("restart: the stop did not end it ({})", words(report)));
                    self.renew_intent(inspection);
                    self.enter(Phase::Intent { rung: Rung::Kill, seq }, now);
                    vec![Output::Record]
                }
                (Rung::Restart, false, None) => self.end(Ending::NotCured(format!(
                    "the stop did not end it ({}); it is not killed",
                    words(report)
                ))),
                (Rung::Kill | Rung::Start, _, _) => self.end(Ending::NotCured(format!(
                    "the {} did not end it ({})",
                    word(rung),
                    words(report)
                ))),
            },
            ContainerState::Exited | ContainerState::Created | ContainerState::Dead
                if self.is_ours(inspection) =>
            {
                let again = match rung {
                    Rung::Restart | Rung::Kill => true,
                    // A start that was refused is not repeated within one attempt.
                    Rung::Start => self.resumed.is_some() && *report == Report::NoAnswer,
                };
                // While the engine may still be at it, its own start is awaited: that follows the stop at once.
                let stood_for = inspection
                    .finished
                    .map_or(Duration::ZERO, |at| inspection.engine_now.since(at));
                let answered = match report {
                    Report::NoAnswer
                    | Report::Answered(ActOutcome::TimedOut(_) | ActOutcome::Unreachable(_)) => {
                        false
                    }
                    Report::Answered(
                        ActOutcome::Done
                        | ActOutcome::Denied(_)
                        | ActOutcome::NoSuchContainer
                        | ActOutcome::Failed { .. },
                    ) => true,
                };
                let engine_is_done = answered || stood_for >= START_FOLLOWS_WITHIN;
                if again && (engine_is_done || final_look) {
                    self.outcomes.push(format!(
                        "{}: stopped, not started ({})",
                        word(rung),
                        words(report)
                    ));
                    self.resumed = None;
                    self.renew_intent(inspection);
                    self.enter(Phase::Intent { rung: Rung::Start, seq }, now);
                    vec![Output::Record]
                } else if again || !final_look {
                    vec![Output::Inspect]
                } else {
                    self.end(Ending::NotCured(format!(
                        "stopped and could not be started ({})",
                        words(report)
                    )))
                }
            }
            ContainerState::Exited | ContainerState::Created | ContainerState::Dead => {
                self.end(Ending::NotOurs("stopped; can't prove that defib did it".to_owned()))
            }
            ContainerState::Removing => self.end(Ending::Gone),
            ContainerState::Paused => {
                self.end(Ending::NotCured("somebody paused it meanwhile".to_owned()))
            }
            ContainerState::Running | ContainerState::Restarting | ContainerState::Unknown(_) => {
                if final_look {
                    self.end(Ending::NotCured(format!(
                        "still not running after the {}",
                        word(rung)
                    )))
                } else {
                    vec![Output::Inspect]
                }
            }
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
        Some(OwnStop { first, latest, stop_timeout: self.stop_timeout, started_at })
    }

    /// One more rung is intended, at the time of this look.
    fn renew_intent(&mut self, inspection: &Inspection) {
        self.intent_at = self.intent_at.map(|(first, _)| (first, inspection.engine_now));
    }

    fn act_within(&self, rung: Rung) -> Duration {
        match rung {
            Rung::Restart => self.stop_timeout + BEYOND_STOP,
            Rung::Kill | Rung::Start => BEYOND_STOP,
        }
    }

    fn enter(&mut self, phase: Phase, now: Moment) {
        self.phase = phase;
        self.phase_since = now;
    }

    /// Nothing more is done. Where nothing was done yet, nothing was spent either.
    fn abandon(&mut self, hold: Hold) -> Vec<Output> {
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

/// Whether it is known, or has to be taken, that a call reached the engine.
fn has_arrived(report: &Report) -> bool {
    match report {
        Report::Answered(
            ActOutcome::Unreachable(_) | ActOutcome::Denied(_) | ActOutcome::NoSuchContainer,
        ) => false,
        Report::NoAnswer
        | Report::Answered(
            ActOutcome::Done | ActOutcome::Failed { .. } | ActOutcome::TimedOut(_),
        ) => true,
    }
}

/// A stop of ours, by which it can be told later whether something stands still because of it (S1).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnStop {
    /// The engine's clock at the look before the first rung.
    pub first: EngineMs,
    /// The engine's clock at the look before the latest rung.
    pub latest: EngineMs,
    /// The container's stop timeout then.
    pub stop_timeout: Duration,
    /// The life that was to be stopped.
    pub started_at: StartedAt,
}

impl OwnStop {
    /// Whether it explains that the container stands still: it is that life that ended, and within the window from the look
    /// before the first rung until the engine must have been done with the latest.
    pub(crate) fn explains(&self, inspection: &Inspection) -> bool {
        let until = self.latest + self.stop_timeout + BEYOND_STOP + COMMIT_WITHIN;
        // The intent's time is in whole seconds, rounded down, so an end in the same second is not before it.
        inspection.started_at == self.started_at
            && inspection
                .finished
                .is_some_and(|finished| self.first <= finished && finished <= until)
    }
}

fn instance_of(inspection: &Inspection) -> Instance {
    Instance { container: inspection.id.clone(), started_at: inspection.started_at.clone() }
}

/// The word for a rung in texts.
pub fn word(rung: Rung) -> &'static str {
    match rung {
        Rung::Restart => "restart",
        Rung::Kill => "kill",
        Rung::Start => "start",
    }
}

/// What the engine said, in words.
fn words(report: &Report) -> String {
    match report {
        Report::NoAnswer => "no answer from the engine".to_owned(),
        Report::Answered(outcome) => match outcome {
            ActOutcome::Done => "the engine says that it is done".to_owned(),
            ActOutcome::Denied(why) => format!("the engine refuses: {why}"),
            ActOutcome::NoSuchContainer => "no such container".to_owned(),
            ActOutcome::Failed { status, message } => {
                format!("the engine answered {status}: {message}")
            }
            ActOutcome::TimedOut(within) => {
                format!("no answer from the engine within {}", Spoken(*within))
            }
            ActOutcome::Unreachable(why) => format!("the engine could not be reached: {why}"),
        },
    }
}
