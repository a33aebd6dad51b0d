//! One trouble of one service, or of the host, as people hear of it: from open to resolved.
//!
//! Its owner says each time it thinks what the matter looks like now (a `Picture`, or none); the incident turns that into
//! a story that only moves on: a level is never lowered, and what is open is reminded of (P3).

use super::story::{Stage, Story};
use crate::domain::{
    message::{IncidentKind, Severity},
    moment::{AwakeMs, Moment},
    name::{IncidentId, ServiceName},
};
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Which incident: at most one of a kind is open for a service, and for the host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IncidentKey {
    /// Which service; `None`: the host.
    pub service: Option<ServiceName>,
    /// What kind.
    pub kind: IncidentKind,
}

impl fmt::Display for IncidentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.service {
            Some(service) => write!(f, "{service}/{}", self.kind.word()),
            None => write!(f, "-/{}", self.kind.word()),
        }
    }
}

/// What the matter looks like now, by whoever it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Picture {
    pub(crate) since: Moment,
    /// `None`: not worth telling yet. An incident that is open stays as it is.
    pub(crate) level: Option<Severity>,
    /// All is well again, not for long enough yet.
    pub(crate) recovered: bool,
    /// How many restarts were made, and one more, where none is left for something of it that is not well; else 0.
    pub(crate) given_up: u32,
    /// How often more has come to it than people were told.
    pub(crate) grown: u32,
    /// It is seen to fail now; not merely not seen to be well.
    pub(crate) failing: bool,
    pub(crate) content: Content,
}

impl Picture {
    /// Of what fails and has neither recovered nor been given up, as most matters do.
    pub(crate) fn failing(since: Moment, level: Option<Severity>, content: Content) -> Self {
        Self { since, level, recovered: false, given_up: 0, grown: 0, failing: true, content }
    }
}

/// What a message says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// What is wrong, in one line.
    pub headline: String,
    /// What each member shows.
    pub members: Vec<String>,
    /// What was done and whether it helped, or why nothing was done.
    pub done: Vec<String>,
    /// What was found.
    pub findings: Vec<String>,
    /// What to do next.
    pub next_steps: Vec<String>,
    /// A page to read.
    pub runbook: Option<String>,
    /// A line to read.
    pub note: Option<String>,
}

/// One incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incident {
    /// Its number.
    pub id: IncidentId,
    /// Which it is.
    pub key: IncidentKey,
    /// When what it is about began.
    pub since: Moment,
    /// When it ended, or recovered.
    pub ended: Option<Moment>,
    /// How it stands.
    pub story: Story,
    /// When the last reminder was due; when it was opened, before the first.
    pub reminded: Moment,
    /// Reminders of before it was over for a while, if it was.
    #[serde(default)]
    pub reminders_before: u32,
    /// It was seen to be well when it was last looked at.
    #[serde(default)]
    pub seen_well: bool,
    /// What to say of it.
    pub content: Content,
}

/// The waits for the first reminders, so that they come after 1 h, 4 h and a day; daily from then on (P3).
const WAITS: [Duration; 3] =
    [Duration::from_secs(3600), Duration::from_secs(3 * 3600), Duration::from_secs(20 * 3600)];
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Incident {
    /// Opens, of what is not well.
    pub(crate) fn open(
        id: IncidentId,
        key: IncidentKey,
        picture: Picture,
        level: Severity,
        now: Moment,
    ) -> Self {
        Self {
            id,
            key,
            since: picture.since,
            ended: None,
            story: Story {
                level,
                stage: Stage::Failing,
                given_up: picture.given_up,
                grown: picture.grown,
                reminders: 0,
            },
            reminded: now,
            reminders_before: 0,
            seen_well: false,
            content: picture.content,
        }
    }

    /// Moves on to what the matter looks like now.
    pub(crate) fn follow(&mut self, picture: Picture, now: Moment) {
        if let (Stage::Resolved, Some(level), true) =
            (self.story.stage, picture.level, picture.failing && !picture.recovered)
        {
            // It was over, and a sink does not know that yet: for all the others this is a new one. That sink knows of it, and is
            // reminded of it like them, so the count of reminders goes on.
            let reminders = self.story.reminders;
            *self = Self::open(self.id, self.key.clone(), picture, level, now);
            (self.story.reminders, self.reminders_before) = (reminders, reminders);
            return;
        }
        if let Some(level) = picture.level.filter(|_| !picture.recovered) {
            self.story.level = self.story.level.max(level);
        }
        self.seen_well = picture.recovered;
        self.story.given_up = self.story.given_up.max(picture.given_up);
        self.story.grown = self.story.grown.max(picture.grown);
        match (self.story.stage, picture.recovered) {
            (Stage::Failing, true) => {
                self.story.stage = Stage::Recovered;
                self.ended = Some(now);
            }
            (Stage::Recovered, false) if picture.failing && picture.level.is_some() => {
                self.story.stage = Stage::Failing;
                self.ended = None;
            }
            (Stage::Failing, false) | (Stage::Recovered | Stage::Resolved, _) => {}
        }
        // What was told to be well again, and is neither seen to be well nor to fail now, is as it was told.
        if picture.recovered || self.story.stage != Stage::Recovered {
            self.content = picture.content;
        }
    }

    /// Whether it is well again or over, whatever was told of that.
    pub(crate) fn is_well(&self) -> bool {
        self.ended.is_some()
    }

    /// What it was about is over. `headline`: how to say so, where it was not seen to be well to the end.
    pub(crate) fn resolve(&mut self, headline: String, now: Moment) {
        self.story.stage = Stage::Resolved;
        self.content.next_steps.clear();
        if self.ended.is_none() || !self.seen_well {
            self.content.headline = headline;
            if self.key.kind == IncidentKind::Unhealthy {
                // How each of it stood when it was last told of may not be how it stands now.
                self.content.members.clear();
            }
        }
        self.ended = self.ended.or(Some(now));
    }

    /// Counts the reminders that are due by now, and says when the next one is. Counted from the last one, so that a boot of
    /// the host, which begins the awake clock anew, makes them late and not rare.
    pub(crate) fn remind(&mut self, now: AwakeMs) -> Option<AwakeMs> {
        match self.story.stage {
            Stage::Failing => loop {
                let due = self.story.reminders.saturating_sub(self.reminders_before);
                let index = usize::try_from(due).unwrap_or(usize::MAX);
                let next = self.reminded.awake + WAITS.get(index).copied().unwrap_or(DAY);
                if next > now {
                    return Some(next);
                }
                self.reminded.awake = next;
                self.story.reminders = self.story.reminders.saturating_add(1);
            },
            Stage::Recovered | Stage::Resolved => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{
        message::MessageKind, moment::BootId, record::OnBoot, telling::story::owed,
    };

    fn at(awake_s: u64) -> Moment {
        Moment { awake: AwakeMs(awake_s * 1000), ..Moment::default() }
    }

    #[test]
    fn what_begins_anew_is_reminded_of_from_then_on_also_where_nobody_heard_that_it_was_over() {
        let key = IncidentKey { service: None, kind: IncidentKind::Brake };
        let picture = || Picture::failing(at(0), Some(Severity::Page), Content::default());
        let mut incident = Incident::open(IncidentId(1), key, picture(), Severity::Page, at(0));
        incident.remind(AwakeMs(5 * 3_600_000));
        let told = incident.story;
        assert_eq!(told.reminders, 2);
        incident.resolve(String::new(), at(6 * 3600));
        incident.follow(picture(), at(7 * 3600));
        incident.remind(AwakeMs(7 * 3_600_000 + 3_599_000));
        assert_eq!(owed(Some(told), incident.story), None);
        incident.remind(AwakeMs(8 * 3_600_000));
        assert_eq!(owed(Some(told), incident.story), Some(MessageKind::Reminder));
    }

    #[test]
    fn reminders_come_after_an_hour_four_hours_and_daily_and_go_on_after_a_boot() {
        let key = IncidentKey { service: None, kind: IncidentKind::Brake };
        let picture = Picture::failing(at(0), Some(Severity::Page), Content::default());
        let mut incident = Incident::open(IncidentId(1), key, picture, Severity::Page, at(0));
        let hours = |incident: &mut Incident, n: u64| {
            incident.remind(AwakeMs(n * 3_600_000));
            incident.story.reminders
        };
        let counted: Vec<u32> =
            [0, 1, 3, 4, 23, 24, 47, 48].map(|n| hours(&mut incident, n)).into();
        assert_eq!(counted, [0, 1, 1, 2, 2, 3, 3, 4]);
        let kept = OnBoot { boot_id: BootId("before".into()), kept: incident };
        let mut incident = kept.into_kept(&BootId("after".into()), at(60));
        assert_eq!(hours(&mut incident, 23), 4);
        assert_eq!(hours(&mut incident, 24), 5);
    }
}
