//! What a sink that got every message would know of an incident, and what message brings it there.
//!
//! Telling is level-triggered: a sink is owed the difference between what it was told and how things stand now, whatever
//! happened in between. So a sink that was down is sent one message and not the whole past, and nothing is said twice.

use crate::domain::message::{MessageKind, Severity};
use serde::{Deserialize, Serialize};

/// How an incident stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Story {
    /// How much it disturbs.
    pub level: Severity,
    /// How far it is.
    pub stage: Stage,
    /// How many restarts had been made, and one more, when none was left; 0: that never was so. It stays what it was while it
    /// is well: who knows that no restart is left is told so again only after another one.
    #[serde(default)]
    pub given_up: u32,
    /// How often more has come to it than people were told.
    #[serde(default)]
    pub grown: u32,
    /// How many reminders are due (P3).
    pub reminders: u32,
}

/// How far an incident is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Something is wrong.
    Failing,
    /// Well again, not for long enough yet.
    Recovered,
    /// Over.
    Resolved,
}

impl Story {
    /// What a message says beyond that it goes on.
    pub(crate) fn unreminded(self) -> Self {
        Self { reminders: 0, ..self }
    }
}

/// The message that brings a sink from what it was told to how things stand; `None`: it knows all that it needs.
pub fn owed(told: Option<Story>, now: Story) -> Option<MessageKind> {
    let Some(told) = told else {
        return Some(match now.stage {
            Stage::Failing => MessageKind::Opened,
            Stage::Recovered | Stage::Resolved => MessageKind::Missed,
        });
    };
    match (told.stage, now.stage) {
        (Stage::Failing | Stage::Recovered, Stage::Failing) if now.level > told.level => {
            Some(MessageKind::Raised)
        }
        (Stage::Failing | Stage::Recovered, Stage::Failing) if now.given_up > told.given_up => {
            Some(MessageKind::GivenUp)
        }
        (Stage::Failing, Stage::Failing) if now.grown > told.grown => Some(MessageKind::Grown),
        (Stage::Failing, Stage::Failing) => {
            (now.reminders > told.reminders).then_some(MessageKind::Reminder)
        }
        (Stage::Failing, Stage::Recovered) => Some(MessageKind::Recovered),
        (Stage::Failing, Stage::Resolved) => Some(MessageKind::Resolved),
        (Stage::Recovered, Stage::Failing) => Some(MessageKind::Relapsed),
        (Stage::Recovered, Stage::Recovered) => None,
        // A notice that was answered needs no second end.
        (Stage::Recovered, Stage::Resolved) => {
            (told.level != Severity::Notice).then_some(MessageKind::Resolved)
        }
        (Stage::Resolved, Stage::Failing) => Some(MessageKind::Opened),
        (Stage::Resolved, Stage::Recovered | Stage::Resolved) => None,
    }
}

/// What a sink knows once a message arrived.
pub fn known_after(kind: MessageKind, story: Story) -> Story {
    match kind {
        MessageKind::Missed => Story { stage: Stage::Resolved, ..story },
        MessageKind::Opened
        | MessageKind::Raised
        | MessageKind::GivenUp
        | MessageKind::Grown
        | MessageKind::Recovered
        | MessageKind::Relapsed
        | MessageKind::Reminder
        | MessageKind::Resolved => story,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn story(level: Severity, stage: Stage) -> Story {
        Story { level, stage, given_up: 0, grown: 0, reminders: 0 }
    }

    fn given_up(level: Severity) -> Story {
        Story { given_up: 2, ..story(level, Stage::Failing) }
    }

    fn grown(times: u32) -> Story {
        Story { grown: times, ..story(Severity::Page, Stage::Failing) }
    }

    #[test]
    fn every_change_of_stage_is_told_once_and_a_recovered_notice_is_told_no_more() {
        use MessageKind as K;
        use Severity::{Notice, Page};
        use Stage::{Failing, Recovered, Resolved};
        for (told, now, want) in [
            (None, story(Notice, Failing), Some(K::Opened)),
            (None, story(Page, Recovered), Some(K::Missed)),
            (None, story(Page, Resolved), Some(K::Missed)),
            (Some(story(Notice, Failing)), story(Notice, Failing), None),
            (Some(story(Notice, Failing)), story(Page, Failing), Some(K::Raised)),
            (Some(story(Page, Failing)), story(Notice, Failing), None),
            (Some(story(Notice, Failing)), story(Notice, Recovered), Some(K::Recovered)),
            (Some(story(Page, Failing)), story(Page, Resolved), Some(K::Resolved)),
            (Some(story(Page, Recovered)), story(Page, Failing), Some(K::Relapsed)),
            (Some(story(Notice, Recovered)), story(Page, Failing), Some(K::Raised)),
            (Some(story(Notice, Recovered)), story(Notice, Resolved), None),
            (Some(story(Page, Recovered)), story(Page, Resolved), Some(K::Resolved)),
            (Some(story(Page, Resolved)), story(Page, Failing), Some(K::Opened)),
            (Some(story(Page, Resolved)), story(Page, Resolved), None),
            (Some(story(Page, Failing)), given_up(Page), Some(K::GivenUp)),
            (Some(story(Notice, Failing)), given_up(Page), Some(K::Raised)),
            (Some(given_up(Page)), given_up(Page), None),
            (Some(grown(0)), grown(1), Some(K::Grown)),
            (Some(grown(1)), grown(1), None),
            (Some(grown(0)), Story { stage: Recovered, ..grown(1) }, Some(K::Recovered)),
            (Some(given_up(Page)), story(Page, Failing), None),
            (Some(given_up(Page)), story(Page, Recovered), Some(K::Recovered)),
        ] {
            assert_eq!(owed(told, now), want, "{told:?} → {now:?}");
        }
    }
}
