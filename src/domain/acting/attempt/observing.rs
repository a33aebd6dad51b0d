//! What a look says after a rung: whether it did what it should, and what the next rung is.

use super::{
    Attempt, Ending, LOOK_AGAIN_AFTER, Output, Phase, Report, Rung, START_FOLLOWS_WITHIN,
    instance_of, is_unanswered, word, words,
};
use crate::domain::{
    moment::{Moment, Spoken},
    name::Seq,
    observation::{ActOutcome, ContainerState, Inspection},
};
use std::time::Duration;

/// A life that is shorter has ended at once: it came to no more than its start.
const AT_ONCE: Duration = Duration::from_secs(3);

impl Attempt {
    /// It was looked at after a rung.
    pub(super) fn seen_after(
        &mut self,
        rung: Rung,
        report: &Report,
        inspection: &Inspection,
        now: Moment,
        seq: Seq,
    ) -> Vec<Output> {
        let final_look = self.deadline() <= now.awake + LOOK_AGAIN_AFTER;
        let seen = instance_of(inspection);
        match &inspection.state {
            ContainerState::Running if seen != self.instance => {
                self.outcomes.push(format!("{}: done", word(rung)));
                let within = self.verify_within;
                self.enter(Phase::Verifying { instance: seen, within }, now);
                vec![Output::Record]
            }
            // By now a stop that arrived would have been sent, and have ended it.
            ContainerState::Running
                if final_look
                    && !has_arrived(report)
                    && self.stop_sent.is_none()
                    && self.outcomes.is_empty() =>
            {
                self.end(Ending::Interrupted)
            }
            ContainerState::Running if final_look => match (rung, self.may_kill, self.resumed) {
                (Rung::Restart, _, Some(_)) if self.stop_sent.is_none() => {
                    self.end(Ending::Interrupted)
                }
                // The engine says that it did it, and it did not: what is wrong there no kill makes right.
                (Rung::Restart, ..) if *report == Report::Answered(ActOutcome::Done) => {
                    self.end(Ending::NotCured(
                        "the engine says that it is done, and the same life goes on".to_owned(),
                    ))
                }
                (Rung::Restart, ..) if self.stop_sent.is_none() => {
                    self.end(Ending::NotCured(format!(
                        "the engine was not seen to stop it ({}), so it is not killed",
                        words(report)
                    )))
                }
                (Rung::Restart, true, _) => {
                    self.outcomes
                        .push(format!("restart: the stop did not end it ({})", words(report)));
                    self.renew_intent(inspection);
                    self.enter(Phase::Intent { rung: Rung::Kill, seq }, now);
                    vec![Output::Record]
                }
                (Rung::Restart, false, _) => self.end(Ending::NotCured(format!(
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
                let answered = !is_unanswered(report);
                let engine_is_done = answered || stood_for >= START_FOLLOWS_WITHIN;
                self.is_proven |= answered || self.stop_sent.is_some();
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
            // It was started, and that life has ended: nobody's stop of the one that was judged.
            ContainerState::Exited | ContainerState::Dead
                if inspection.started_at != self.instance.started_at =>
            {
                self.end(Ending::NotCured(how_it_ended(inspection)))
            }
            ContainerState::Exited | ContainerState::Created | ContainerState::Dead => {
                self.end(Ending::NotOurs("stopped; can't prove that defib did it".to_owned()))
            }
            ContainerState::Removing => self.end(Ending::Gone),
            ContainerState::Paused => self.end(Ending::TakenOver("somebody paused it".to_owned())),
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
}

/// How the life after the one that was judged ended.
fn how_it_ended(inspection: &Inspection) -> String {
    let ran_for = inspection
        .started
        .zip(inspection.finished)
        .map(|(started, finished)| finished.since(started))
        .filter(|span| *span >= AT_ONCE);
    let after =
        ran_for.map_or("at once".to_owned(), |span| format!("after {}", Spoken::rounded(span)));
    let code = inspection.exit_code.map_or(String::new(), |code| format!(", exit code {code}"));
    format!("the new life ended {after}{code}")
}

/// Whether it is known, or has to be taken, that a call reached the engine.
fn has_arrived(report: &Report) -> bool {
    match report {
        Report::Answered(ActOutcome::Unreachable(_) | ActOutcome::Denied(_)) => false,
        Report::NoAnswer
        | Report::Answered(
            ActOutcome::Done
            | ActOutcome::NoSuchContainer
            | ActOutcome::Failed { .. }
            | ActOutcome::TimedOut(_),
        ) => true,
    }
}
