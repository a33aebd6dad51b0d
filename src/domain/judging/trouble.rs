//! A replica's bad time: from its first failure that reached `fall`, across instances, until healthy for `stable_for`.
//!
//! A streak ends with its instance; what people are told and what may be spent does not (S6). So failures are counted on
//! here over all instances, each evidence by itself: "5 failures" is never a sum over evidences.

use crate::domain::{moment::Moment, name::Instance};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A message lists at most so many things that were done; the first and the latest matter.
pub const MOST_LINES: usize = 6;

/// A replica's bad time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// When the first failure of the first streak was seen.
    pub since: Moment,
    /// When it began to fail this time: a relapse within the trouble is an onset of its own (S8).
    pub onset: Moment,
    /// Failures by evidence (`healthcheck`, or a probe's name).
    pub counted: BTreeMap<String, Counted>,
    /// What the last failure showed.
    pub shows: String,
    /// Restarts that were begun in it.
    pub attempts: u32,
    /// Restarts in it that did not cure.
    pub not_cured: u32,
    /// How many of those were carried out, as far as was seen.
    #[serde(default)]
    pub carried_out: u32,
    /// The life that was seen to be well after a restart of it.
    #[serde(default)]
    pub helped: Option<Instance>,
    /// What was done in it and whether it helped, oldest first, at most [`MOST_LINES`].
    pub done: Vec<String>,
    /// What was found when it was last looked into.
    pub findings: Vec<String>,
}

/// Failures of one evidence within one trouble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// In streaks that are over.
    pub before: u32,
    /// In the streak of this instance.
    pub here: u32,
    /// Which instance the streak is of; `None` for a URL.
    pub instance: Option<Instance>,
}

impl Trouble {
    /// Begins.
    pub(crate) fn begin(since: Moment, shows: String) -> Self {
        Self {
            since,
            onset: since,
            counted: BTreeMap::new(),
            shows,
            attempts: 0,
            not_cured: 0,
            carried_out: 0,
            helped: None,
            done: Vec::new(),
            findings: Vec::new(),
        }
    }

    /// The streak of `evidence` stands at `failures` now. Counting the same streak twice, after a restart of ours say,
    /// changes nothing.
    pub(crate) fn count(&mut self, evidence: &str, instance: Option<&Instance>, failures: u32) {
        if failures == 0 {
            return;
        }
        let counted = self.counted.entry(evidence.to_owned()).or_insert_with(|| Counted {
            before: 0,
            here: 0,
            instance: instance.cloned(),
        });
        if counted.instance.as_ref() != instance || failures < counted.here {
            counted.before = counted.before.saturating_add(counted.here);
            counted.instance = instance.cloned();
        }
        counted.here = failures;
    }

    /// The streak of `evidence` was seen to end: failures from now on are of another one.
    pub(crate) fn streak_ended(&mut self, evidence: &str) {
        if let Some(counted) = self.counted.get_mut(evidence) {
            counted.before = counted.before.saturating_add(counted.here);
            counted.here = 0;
        }
    }

    /// The most failures that any one evidence has in this trouble.
    pub fn failures(&self) -> u32 {
        self.counted
            .values()
            .map(|counted| counted.before.saturating_add(counted.here))
            .max()
            .unwrap_or(0)
    }

    /// One more thing was done.
    pub(crate) fn note(&mut self, line: String) {
        if self.done.len() >= MOST_LINES {
            self.done.remove(1);
        }
        self.done.push(line);
    }
}
