//! The story as it happens, in plain words: a line for each thing that somebody who has never seen defib has to know.
//!
//! What comes as text from the engine or from defib is shown as it is, cut and on one line. What only defib's authors care
//! for (rows, phases, numbers of attempts) is left out.

use super::{
    happening::Happening,
    receiver::Told,
    role::{BUDGET, Role, STOP_TIMEOUT},
    voice::{Tone, Voice},
};
use crate::{
    domain::{
        acting::{
            attempt::{Ending, Rung},
            hold::{Hold, Settle},
        },
        message::{MessageKind, Severity},
        name::StartedAt,
        observation::{EventAction, HealthResult, HealthStatus, Inspection},
        record::Decision,
    },
    notify::text::{cut, one_line},
};
use std::collections::{BTreeMap, BTreeSet};

/// SIGKILL.
pub(super) const KILL: u32 = 9;

/// A line of a screen, beside time and name.
const LINE: usize = 100;

/// What was said already.
#[derive(Default)]
pub struct Story {
    /// The lives whose first failed check was told.
    failing: BTreeMap<Role, BTreeSet<StartedAt>>,
    restarts: BTreeMap<Role, u32>,
    settling: BTreeSet<Role>,
}

impl Story {
    /// Tells what happened, if it is worth telling.
    pub fn tell(&mut self, happening: &Happening, voice: &mut Voice) {
        match happening {
            Happening::Looked(role, inspection) => self.looked(*role, inspection, voice),
            Happening::Engine(role, action) => engine(*role, action, voice),
            Happening::Decided(role, decision) => self.decided(*role, decision, voice),
            Happening::Told(told) => message(told, voice),
        }
    }

    /// The first failed check of a life.
    fn looked(&mut self, role: Role, inspection: &Inspection, voice: &mut Voice) {
        let Some(health) = &inspection.health else { return };
        let Some(last) = health.log.last() else { return };
        // The log outlives a restart: what began before this life is not about it.
        let of_this_life = inspection.started.is_some_and(|started| last.start >= started);
        if last.result != HealthResult::Failed || !of_this_life {
            return;
        }
        let told = self.failing.entry(role).or_default();
        if told.insert(inspection.started_at.clone()) {
            let text = match told.len() {
                1 => format!("stops answering; its healthcheck says: {}", short(&last.output)),
                _ => "does not answer in its new life either".to_owned(),
            };
            voice.of(role, Tone::Bad, &text);
        }
    }

    fn decided(&mut self, role: Role, decision: &Decision, voice: &mut Voice) {
        match decision {
            Decision::Held(Hold::Settling(Settle::Verdict)) => {
                if self.settling.insert(role) {
                    let text = "defib waits 3 s before it acts, in case much more fails: then the cause would be elsewhere";
                    voice.of(role, Tone::Quiet, text);
                }
            }
            // Told by the next restart.
            Decision::Held(Hold::BackingOff { .. } | Hold::Settling(_) | Hold::Recovered) => {}
            Decision::Held(hold @ Hold::BudgetSpent { .. }) => {
                voice.of(
                    role,
                    Tone::Bad,
                    &format!("defib leaves it alone from now on, since {hold}"),
                );
            }
            Decision::Held(hold) => {
                voice.of(role, Tone::Bad, &format!("defib does not restart it: {hold}"));
            }
            Decision::Acting(_, Rung::Restart) => {
                let restarts = self.restarts.entry(role).or_default();
                *restarts += 1;
                let text = format!("defib restarts it ({restarts} of at most {BUDGET})");
                voice.of(role, Tone::Plain, &text);
            }
            Decision::Acting(_, Rung::Kill) => voice.of(role, Tone::Plain, "defib kills it"),
            Decision::Acting(_, Rung::Start) => voice.of(role, Tone::Plain, "defib starts it"),
            Decision::Ended(_, ending) => ended(role, ending, voice),
            Decision::Undeliverable(_, _, why) => {
                voice.of(role, Tone::Bad, &format!("a message can't be delivered: {}", short(why)));
            }
            // Seen by the healthcheck's line, by the message itself, or of no interest here.
            Decision::TroubleBegan { .. }
            | Decision::Recovered
            | Decision::TroubleOver
            | Decision::FailsAgain { .. }
            | Decision::StandsStill { .. }
            | Decision::RunsAgain
            | Decision::Spent(_)
            | Decision::Resumed(_)
            | Decision::BrakeEngaged
            | Decision::TrialChosen
            | Decision::BrakeReleased(_)
            | Decision::Opened(..)
            | Decision::Raised(..)
            | Decision::Resolved(_)
            | Decision::Told(..)
            | Decision::SinkFails(..)
            | Decision::SinkWaits(..)
            | Decision::SinkWorks(_)
            | Decision::Unmatched(_) => {}
        }
    }
}

fn engine(role: Role, action: &EventAction, voice: &mut Voice) {
    match action {
        EventAction::HealthChanged(HealthStatus::Unhealthy) => {
            voice.of(role, Tone::Bad, "Docker calls it unhealthy, and does nothing about it");
        }
        EventAction::Killed { signal: Some(KILL) } => {
            let seconds = STOP_TIMEOUT.as_secs();
            let text = format!("ignored SIGTERM for {seconds} s: Docker kills it");
            voice.of(role, Tone::Plain, &text);
        }
        EventAction::Destroyed => voice.of(role, Tone::Bad, "somebody removed it: not this demo"),
        EventAction::Paused => voice.of(role, Tone::Bad, "somebody paused it: not this demo"),
        EventAction::OutOfMemory => {
            voice.of(role, Tone::Bad, "the host is out of memory and killed what runs in it");
        }
        EventAction::HealthChanged(_)
        | EventAction::Killed { .. }
        | EventAction::Created
        | EventAction::Started
        | EventAction::Died { .. }
        | EventAction::Stopped
        | EventAction::Restarted
        | EventAction::Unpaused
        | EventAction::Updated
        | EventAction::Renamed => {}
    }
}

fn ended(role: Role, ending: &Ending, voice: &mut Voice) {
    match ending {
        Ending::Verified { .. } => {
            voice.of(role, Tone::Good, "healthy again: defib has seen its healthcheck pass");
        }
        Ending::NotCured(why) => {
            voice.of(role, Tone::Bad, &format!("the restart did not help: {}", short(why)));
        }
        Ending::Abandoned(hold) => {
            voice.of(role, Tone::Plain, &format!("defib does nothing after all: {hold}"));
        }
        Ending::Refused(why) => {
            voice.of(role, Tone::Bad, &format!("the engine refuses: {}", short(why)));
        }
        Ending::TakenOver(what) => voice.of(role, Tone::Bad, &short(what)),
        Ending::NotOurs(why) => voice.of(role, Tone::Bad, &short(why)),
        Ending::Gone => voice.of(role, Tone::Bad, "somebody removed it"),
        Ending::Interrupted => voice.of(role, Tone::Bad, "the restart was interrupted"),
    }
}

/// A message, as its receiver shows it.
fn message(told: &Told, voice: &mut Voice) {
    let (badge, tone) = match (told.kind, told.severity) {
        (MessageKind::Recovered | MessageKind::Resolved, _) => ("RECOVERED", Tone::Good),
        (MessageKind::Missed, _) => ("MISSED", Tone::Quiet),
        (MessageKind::Grown, _) => ("MORE", Tone::Bad),
        (MessageKind::GivenUp, _) => ("GIVEN UP", Tone::Bad),
        (MessageKind::Reminder, _) => ("STILL OPEN", Tone::Bad),
        (MessageKind::Opened | MessageKind::Raised | MessageKind::Relapsed, level) => match level {
            Severity::Page => ("PAGE", Tone::Bad),
            Severity::Ticket => ("TICKET", Tone::Plain),
            Severity::Notice => ("NOTICE", Tone::Plain),
        },
    };
    let headline = format!("--> {badge}: {}", short(&told.headline));
    match told
        .service
        .as_deref()
        .and_then(|service| Role::ALL.into_iter().find(|role| role.name() == service))
    {
        Some(role) => voice.of(role, tone, &headline),
        None => voice.at(tone, &headline),
    }
    // What somebody has to act on is shown whole; of the rest, whether it helped.
    let lines: Vec<&String> = match (told.severity, told.kind) {
        (Severity::Page | Severity::Ticket, _) => {
            told.done.iter().chain(&told.findings).chain(&told.next_steps).collect()
        }
        (Severity::Notice, MessageKind::Opened | MessageKind::Raised) => Vec::new(),
        (Severity::Notice, _) => told.done.iter().collect(),
    };
    for line in lines {
        voice.line(tone, &format!("{:23}{}", "", short(line)));
    }
}

fn short(text: &str) -> String {
    cut(one_line(text).trim(), LINE, |_| 1).into_owned()
}
