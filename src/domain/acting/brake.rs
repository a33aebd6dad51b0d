//! The host-wide hold: when much fails at once the cause is elsewhere, and restarting it all only adds load (S8).
//!
//! While it is on, nothing is restarted but one trial at a time: a failing replica that nothing else holds back, so that all
//! it needs is well, and never one that holds data. It is released when a trial recovers, when what made it is long over, or
//! when the config switches it off.

use crate::domain::{
    moment::{AwakeMs, Moment},
    name::{ReplicaName, ServiceName},
    policy::BrakePolicy,
};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// Only what began to fail within this long counts as "at once".
pub const ONSET_WITHIN: Duration = Duration::from_secs(10 * 60);

/// Until the first trial: long enough for a blip to pass by itself.
pub const FIRST_TRIAL_AFTER: Duration = Duration::from_secs(60);

/// Until the next trial after each that failed; the last one holds from then on.
pub const NEXT_TRIAL_AFTER: [Duration; 3] =
    [Duration::from_secs(5 * 60), Duration::from_secs(10 * 60), Duration::from_secs(20 * 60)];

/// A person hears of it so long after it is on: what fails at once is seen to within seconds, and one word names it all.
pub const GATHERED_FOR: Duration = Duration::from_secs(10);

/// What joins is told of so long after the first of it: what joins bit by bit is one message and not twenty, and is told of
/// hardly later than it would be without the brake.
pub const JOINED_TOLD_AFTER: Duration = Duration::from_secs(60);

/// The failures must have been too few for this long before the brake goes by itself.
pub const OVER_FOR: Duration = Duration::from_secs(5 * 60);

/// The host-wide hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Brake {
    /// Restarts are free to go.
    #[default]
    Released,
    /// Nothing is restarted but trials.
    Engaged(Box<Engaged>),
}

/// A brake that is on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engaged {
    /// Since when.
    pub since: Moment,
    /// When the last trial was chosen or ended, or the brake went on.
    pub last: Moment,
    /// How many trials were chosen.
    pub trials: u32,
    /// Which replica may be restarted all the same.
    pub trial: Option<ReplicaName>,
    /// Since when the failures have been too few.
    pub over_since: Option<Moment>,
    /// Which services people were told of: one that joins them later must not go unsaid.
    #[serde(default)]
    pub told: BTreeSet<ServiceName>,
    /// Which have joined since.
    #[serde(default)]
    pub joined: BTreeSet<ServiceName>,
    /// Since when.
    #[serde(default)]
    pub joined_since: Option<Moment>,
    /// Which of those people were told of last.
    #[serde(default)]
    pub latest: BTreeSet<ServiceName>,
    /// The most that failed at one time.
    #[serde(default)]
    pub most: u32,
    /// How often people were told that more has joined.
    #[serde(default)]
    pub grown: u32,
}

/// Which services of this host are watched and which fail, since when: kept up to date by the services, so that the brake
/// never counts replicas.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failing {
    /// Which have something here that can be seen to fail.
    pub(crate) watched: BTreeSet<ServiceName>,
    pub(crate) onset: BTreeMap<ServiceName, AwakeMs>,
    /// Which are down: no reason for the brake, but told of with it.
    pub(crate) down: BTreeSet<ServiceName>,
    /// What began before a release was judged by it and does not put the brake on again.
    pub(crate) judged_until: Option<Moment>,
}

impl Failing {
    /// What fails or is down.
    pub(crate) fn all(&self) -> BTreeSet<&ServiceName> {
        self.onset.keys().chain(&self.down).collect()
    }

    /// Whether so much began to fail within so short a time that the cause is elsewhere.
    pub(crate) fn is_much(&self, brake: BrakePolicy, now: AwakeMs) -> bool {
        let fresh = |onset: &&AwakeMs| {
            now.since(**onset) < ONSET_WITHIN
                && self.judged_until.is_none_or(|until| **onset > until.awake)
        };
        let recent = self.onset.values().filter(fresh).count();
        let enough = recent >= usize::try_from(brake.services).unwrap_or(usize::MAX);
        let share = recent.saturating_mul(100)
            >= self.watched.len().saturating_mul(usize::try_from(brake.percent).unwrap_or(100));
        enough && share
    }

    /// Whether so few fail, whenever it began, that it can't be said to be much.
    pub(crate) fn is_little(&self, brake: BrakePolicy) -> bool {
        let failing = self.onset.len();
        let few = failing < usize::try_from(brake.services).unwrap_or(usize::MAX);
        let share = failing.saturating_mul(100)
            < self.watched.len().saturating_mul(usize::try_from(brake.percent).unwrap_or(100));
        few || share
    }
}

impl Engaged {
    pub(crate) fn begin(now: Moment) -> Self {
        Self {
            since: now,
            last: now,
            trials: 0,
            trial: None,
            over_since: None,
            told: BTreeSet::new(),
            joined: BTreeSet::new(),
            joined_since: None,
            latest: BTreeSet::new(),
            most: 0,
            grown: 0,
        }
    }

    /// Counts who fails now, or is down. What does within the first moments is in the first word; what joins later is told of
    /// together, a while after the first of it. What is over is counted anew if it fails again.
    pub(crate) fn count(
        &mut self,
        failing: &Failing,
        is_over: impl Fn(&ServiceName) -> bool,
        now: Moment,
    ) {
        let fails = failing.all();
        if now.awake < self.told_at() {
            self.told.extend(fails.into_iter().cloned());
            return;
        }
        self.told.retain(|name| !is_over(name));
        self.joined.retain(|name| !is_over(name));
        self.joined.extend(fails.into_iter().filter(|name| !self.told.contains(*name)).cloned());
        self.joined_since =
            if self.joined.is_empty() { None } else { self.joined_since.or(Some(now)) };
        if self.joined_told_at().is_some_and(|at| at <= now.awake) {
            self.latest.clone_from(&self.joined);
            self.told.append(&mut self.joined);
            self.joined_since = None;
            self.grown = self.grown.saturating_add(1);
        }
    }

    /// When people are told that it is on.
    pub(crate) fn told_at(&self) -> AwakeMs {
        self.since.awake + GATHERED_FOR
    }

    /// When people are told of those that have joined.
    pub(crate) fn joined_told_at(&self) -> Option<AwakeMs> {
        self.joined_since.map(|since| since.awake + JOINED_TOLD_AFTER)
    }

    /// When the next trial may be chosen.
    pub(crate) fn next_trial_at(&self) -> AwakeMs {
        let wait = match self.trials.checked_sub(1).and_then(|index| usize::try_from(index).ok()) {
            None => FIRST_TRIAL_AFTER,
            Some(index) => NEXT_TRIAL_AFTER[index.min(NEXT_TRIAL_AFTER.len() - 1)],
        };
        self.last.awake + wait
    }
}
