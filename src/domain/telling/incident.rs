//! One trouble of one service, or of the host, as people hear of it: from open to resolved.
//!
//! Its owner says each time it thinks what the matter looks like now (a `Picture`, or none); the incident turns that into
//! a story that only moves on: a level is never lowered, a recovery that did not hold is not told a second time, and what
//! is open is reminded of (P3).

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
    /// No restart is left for something of it that is not well.
    pub(crate) given_up: bool,
    /// It is seen to fail now; not merely not seen to be well.
    pub(crate) failing: bool,
    pub(crate) content: Content,
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
    /// When it was opened.
    pub opened: Moment,
    /// When it ended, or recovered.
    pub ended: Option<Moment>,
    /// How it stands.
    pub story: Story,
    /// How often it failed again after it had recovered.
    pub relapses: u32,
    /// What to say of it.
    pub content: Content,
}

/// Until each of the first reminders; daily from then on (P3).
const REMINDERS: [Duration; 2] = [Duration::from_secs(3600), Duration::from_secs(4 * 3600)];
const DAY: Duration = Duration::from_secs(24 * 3600);

impl Incident {
    /// Opens.
    pub(crate) fn open(
        id: IncidentId,
        key: IncidentKey,
        picture: Picture,
        level: Severity,
        now: Moment,
    ) -> Self {
        let stage = if picture.recovered { Stage::Recovered } else { Stage::Failing };
        Self {
            id,
            key,
            since: picture.since,
            opened: now,
            ended: picture.recovered.then_some(now),
            story: Story { level, stage, given_up: picture.given_up, reminders: 0 },
            relapses: 0,
            content: picture.content,
        }
    }

    /// Moves on to what the matter looks like now.
    pub(crate) fn follow(&mut self, picture: Picture, now: Moment) {
        if let Some(level) = picture.level {
            self.story.level = self.story.level.max(level);
        }
        self.story.given_up = picture.given_up;
        match (self.story.stage, picture.recovered) {
            (Stage::Failing, true) if self.relapses == 0 => {
                self.story.stage = Stage::Recovered;
                self.ended = Some(now);
            }
            // It recovered once and that did not hold: the next recovery is told when it has held.
            (Stage::Failing, true) => self.ended = self.ended.or(Some(now)),
            (Stage::Recovered | Stage::Resolved, false)
                if picture.failing && picture.level.is_some() =>
            {
                self.story.stage = Stage::Failing;
                self.relapses = self.relapses.saturating_add(1);
                self.ended = None;
            }
            (Stage::Failing, false) => self.ended = None,
            (Stage::Recovered | Stage::Resolved, _) => {}
        }
        self.content = picture.content;
    }

    /// What it was about is over.
    pub(crate) fn resolve(&mut self, now: Moment) {
        self.story.stage = Stage::Resolved;
        if self.ended.is_none() {
            self.content.headline = format!("over: {}", self.content.headline);
        }
        self.ended = self.ended.or(Some(now));
    }

    /// Counts the reminders that are due by now, and says when the next one is.
    pub(crate) fn remind(&mut self, now: AwakeMs) -> Option<AwakeMs> {
        match self.story.stage {
            Stage::Failing => {
                let open_for = now.since(self.opened.awake);
                let early = REMINDERS.iter().filter(|after| open_for >= **after).count();
                let days = open_for.as_secs() / DAY.as_secs();
                let due = u32::try_from(early)
                    .unwrap_or(0)
                    .saturating_add(u32::try_from(days).unwrap_or(u32::MAX));
                self.story.reminders = self.story.reminders.max(due);
                let next_early = REMINDERS.get(early).copied();
                let next_daily = DAY.saturating_mul(u32::try_from(days + 1).unwrap_or(u32::MAX));
                Some(self.opened.awake + next_early.unwrap_or(next_daily))
            }
            Stage::Recovered | Stage::Resolved => None,
        }
    }
}
