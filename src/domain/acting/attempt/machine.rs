//! The table of an attempt, cell by cell: what each phase makes of each input. `docs/STATES.md` is asked of this file.

use super::{Attempt, Ending, Input, Output, Phase, Report, Rung, instance_of, word, words};
use crate::domain::{
    acting::hold::Hold,
    effect::Primitive,
    moment::{Moment, Spoken, millis},
    name::Seq,
    observation::{ActOutcome, ContainerState},
};

impl Attempt {
    /// Takes the next step. `seq` is the batch that a record made now belongs to.
    pub(crate) fn step(&mut self, input: Input<'_>, now: Moment, seq: Seq) -> Vec<Output> {
        match (self.phase.clone(), input) {
            (Phase::Intent { .. }, Input::Durable { hold: Some(hold) }) => self.abandon(hold),
            // What defib itself stopped is started again, recorded or not: the intent of the stop is on disk, and proves it.
            (Phase::Intent { rung: Rung::Start, .. }, Input::NotDurable | Input::TooLate)
                if self.pairs_with_own_stop() =>
            {
                self.act(Rung::Start, now)
            }
            (Phase::Intent { .. }, Input::NotDurable | Input::TooLate) => {
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
                vec![Output::Pay, Output::Record]
            }
            (Phase::Inspecting, Input::Unseen | Input::TooLate) => self.abandon(Hold::CouldNotLook),
            (Phase::Intent { rung, .. }, Input::Durable { hold: None }) => self.act(rung, now),
            (Phase::Acting { rung }, Input::Acted(outcome)) => self.acted(rung, outcome, now),
            (Phase::Acting { rung }, Input::TooLate) => {
                self.enter(Phase::Observing { rung, report: Report::NoAnswer }, now);
                vec![Output::Inspect]
            }
            (Phase::Observing { rung, report }, Input::Seen { inspection, .. }) => {
                self.seen_after(rung, &report, inspection, now, seq)
            }
            (Phase::Observing { .. }, Input::Unseen) => vec![Output::Inspect],
            (Phase::Observing { rung, report }, Input::TooLate) => {
                let what =
                    format!("what the {} did could not be seen: {}", word(rung), words(&report));
                self.end(Ending::NotCured(what))
            }
            (Phase::Verifying { instance, .. }, Input::Healthy(healthy))
                if instance == *healthy =>
            {
                let after_ms = millis(now.awake.since(self.began.awake));
                self.end(Ending::Verified { after_ms })
            }
            (Phase::Verifying { within, .. }, Input::Seen { inspection, .. }) => {
                // Docker's own policy, or somebody, started it once more: that life is the one to be well.
                if inspection.state == ContainerState::Running {
                    self.phase = Phase::Verifying { instance: instance_of(inspection), within };
                }
                Vec::new()
            }
            (Phase::Verifying { .. }, Input::TakenOver(what)) => {
                self.end(Ending::TakenOver(what.to_owned()))
            }
            (Phase::Verifying { within, .. }, Input::TooLate) => self
                .end(Ending::NotCured(format!("not healthy within {} after it", Spoken(within)))),
            (_, Input::Gone) => self.end(Ending::Gone),
            // What does not concern a phase leaves it as it is: late answers of an earlier phase, evidence that comes after
            // its deadline, and the passing of time.
            (
                Phase::Evidence,
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Seen { .. }
                | Input::Unseen
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::TakenOver(_)
                | Input::Nothing,
            )
            | (
                Phase::Inspecting,
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::TakenOver(_)
                | Input::Nothing,
            )
            | (
                Phase::Intent { .. },
                Input::Evidence(_)
                | Input::Seen { .. }
                | Input::Unseen
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::TakenOver(_)
                | Input::Nothing,
            )
            | (
                Phase::Acting { .. },
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Seen { .. }
                | Input::Unseen
                | Input::Healthy(_)
                | Input::TakenOver(_)
                | Input::Nothing,
            )
            | (
                Phase::Observing { .. },
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::TakenOver(_)
                | Input::Nothing,
            )
            | (
                Phase::Verifying { .. },
                Input::Durable { .. }
                | Input::NotDurable
                | Input::Evidence(_)
                | Input::Unseen
                | Input::Acted(_)
                | Input::Healthy(_)
                | Input::Nothing,
            ) => Vec::new(),
        }
    }

    /// The rung begins.
    fn act(&mut self, rung: Rung, now: Moment) -> Vec<Output> {
        if rung == Rung::Restart {
            let since_look = now.awake.since(self.phase_since.awake);
            self.called = self.intent_at.map(|(_, looked)| (now.awake, looked + since_look));
        }
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
            ActOutcome::Denied(why) if self.outcomes.is_empty() => self.end(Ending::Refused(why)),
            // A rung before this one did something, and what it left is ours.
            ActOutcome::Denied(why) => {
                self.end(Ending::NotCured(format!("the engine refuses the {}: {why}", word(rung))))
            }
            // A proxy says so too of what it does not show: whether it is gone is seen by looking.
            ActOutcome::NoSuchContainer
            | ActOutcome::Done
            | ActOutcome::Failed { .. }
            | ActOutcome::TimedOut(_)
            | ActOutcome::Unreachable(_) => {
                self.enter(Phase::Observing { rung, report: Report::Answered(outcome) }, now);
                vec![Output::Inspect]
            }
        }
    }
}
