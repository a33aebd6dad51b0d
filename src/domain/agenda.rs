//! Who has to think again, and when.
//!
//! Every machine of the domain belongs to an owner. An owner thinks when something about it changed (it is *dirty*) or when
//! its own deadline passes. Both are kept here, so that a step costs what it touches and not what there is. Owners think
//! in their order of declaration: what a replica concludes reaches its service, its incident and the sinks in one step.

use super::{
    moment::AwakeMs,
    name::{ReplicaName, ServiceName, SinkName},
    telling::IncidentKey,
};
use std::collections::{BTreeMap, BTreeSet};

/// Somebody who thinks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The lists and the queue of inspections.
    Looking,
    /// One replica: lifecycle, evidence, verdict, gates, attempt.
    Replica(ReplicaName),
    /// One service: what its replicas mean together.
    Service(ServiceName),
    /// The host: brake, engine, store.
    Host,
    /// One incident: its story and its reminders.
    Incident(IncidentKey),
    /// One sink: what it is owed.
    Sink(SinkName),
}

/// Who has to think again, and when.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    dirty: BTreeSet<Owner>,
    deadlines: BTreeMap<Owner, AwakeMs>,
    order: BTreeSet<(AwakeMs, Owner)>,
    for_commits: BTreeSet<Owner>,
}

impl Agenda {
    /// `owner` has to think within this step.
    pub(crate) fn touch(&mut self, owner: Owner) {
        self.dirty.insert(owner);
    }

    /// `owner` thinks again at `at` at the latest; `None`: only when touched.
    pub(crate) fn wake_at(&mut self, owner: Owner, at: Option<AwakeMs>) {
        if let Some(before) = self.deadlines.remove(&owner) {
            self.order.remove(&(before, owner.clone()));
        }
        if let Some(at) = at {
            self.order.insert((at, owner.clone()));
            self.deadlines.insert(owner, at);
        }
    }

    /// `owner` waits for the store's next answer.
    pub(crate) fn wait_for_commit(&mut self, owner: Owner) {
        self.for_commits.insert(owner);
    }

    /// The store answered: all who wait for it think.
    pub(crate) fn store_answered(&mut self) {
        self.dirty.append(&mut self.for_commits);
    }

    /// All whose deadline has passed think.
    pub(crate) fn ring(&mut self, now: AwakeMs) {
        while let Some((at, _)) = self.order.first() {
            if *at > now {
                break;
            }
            if let Some((_, owner)) = self.order.pop_first() {
                self.deadlines.remove(&owner);
                self.dirty.insert(owner);
            }
        }
    }

    /// The next who has to think within this step.
    pub(crate) fn next(&mut self) -> Option<Owner> {
        self.dirty.pop_first()
    }

    /// When the next deadline passes.
    pub(crate) fn next_deadline(&self) -> Option<AwakeMs> {
        self.order.first().map(|(at, _)| *at)
    }
}

/// The earlier of two deadlines.
pub(crate) fn earlier(a: Option<AwakeMs>, b: Option<AwakeMs>) -> Option<AwakeMs> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (one, None) | (None, one) => one,
    }
}
