//! What of it may not be left half done: acts that have begun on containers which may stand still because of them.
//!
//! A daemon that is told to end begins nothing more, and stops the domain's time: no deadline passes any more, because nothing
//! would be seen that could keep it. What it stopped it has to start again all the same, and for that it looks at it.

use super::{
    Domain,
    acting::attempt::{Attempt, Phase, Rung},
    agenda::Owner,
    name::{AttemptId, ContainerId, ReplicaName},
};
use std::collections::BTreeSet;

/// An attempt that has begun to act, and of which it is not seen yet that its container runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// Which.
    pub attempt: AttemptId,
    /// Of which replica.
    pub replica: ReplicaName,
    /// On which container.
    pub container: ContainerId,
    /// It was seen to stand still.
    pub is_stopped: bool,
}

impl Domain {
    /// What is begun and not ended.
    pub fn begun(&self) -> Vec<Begun> {
        let replicas = self.attempts.values().filter_map(|name| self.replicas.get(name));
        let begun = replicas.filter_map(|replica| {
            let attempt = replica.kept.attempt.as_ref().filter(|attempt| is_begun(attempt))?;
            Some(Begun {
                attempt: attempt.id,
                replica: replica.kept.name.clone(),
                container: attempt.instance.container.clone(),
                is_stopped: replica.lifecycle.stands_still(),
            })
        });
        begun.collect()
    }

    /// Only that is looked at still. Questions about others would take its place at the engine.
    pub(super) fn look_at_what_is_begun(&mut self) {
        let begun: BTreeSet<ContainerId> =
            self.begun().into_iter().map(|begun| begun.container).collect();
        for container in self.containers.keys() {
            if begun.contains(container) {
                self.looking.want(container);
            } else {
                self.looking.forget(container);
            }
        }
        self.agenda.touch(Owner::Looking);
    }
}

/// A start is always of what defib itself stopped (S1).
fn is_begun(attempt: &Attempt) -> bool {
    match attempt.phase {
        Phase::Acting { .. }
        | Phase::Observing { .. }
        | Phase::Intent { rung: Rung::Start, .. } => true,
        Phase::Intent { rung: Rung::Restart | Rung::Kill, .. }
        | Phase::Evidence
        | Phase::Inspecting
        | Phase::Verifying { .. } => false,
    }
}
