//! What can be shown of all this, as a copy. Looking changes nothing.

use super::{
    Domain,
    acting::brake::Brake,
    judging::verdict::Verdict,
    moment::Moment,
    name::{ReplicaName, ServiceName, SinkName},
    telling::incident::Incident,
};
use std::time::Duration;

/// How things stand.
#[derive(Clone, Debug)]
pub struct View {
    /// As of when.
    pub now: Moment,
    /// Every replica, in the order of their names.
    pub replicas: Vec<ReplicaView>,
    /// Every incident that is open, or not told to its end.
    pub incidents: Vec<Incident>,
    /// Every sink.
    pub sinks: Vec<SinkView>,
    /// Since when the engine does not answer, and why.
    pub engine_problem: Option<(Moment, String)>,
    /// Why nothing can be recorded.
    pub store_problem: Option<String>,
    /// Whether the host-wide hold is on.
    pub brake: bool,
    /// Whether the `hold` file exists.
    pub hold_file: bool,
}

/// How a replica stands.
#[derive(Clone, Debug)]
pub struct ReplicaView {
    /// Its service.
    pub service: ServiceName,
    /// Its name.
    pub name: ReplicaName,
    /// How it is judged.
    pub verdict: Verdict,
    /// For how long.
    pub verdict_for: Duration,
    /// In what state it is, in words.
    pub state: String,
    /// What its trouble shows, and how many failures it has.
    pub trouble: Option<(String, u32)>,
    /// Why it is not restarted, in words.
    pub hold: Option<String>,
    /// Whether it is being restarted.
    pub in_hand: bool,
    /// Restarts spent, and allowed.
    pub spent: (u32, u32),
    /// Why it can't be looked at.
    pub could_not_look: Option<String>,
}

/// How a sink stands.
#[derive(Clone, Debug)]
pub struct SinkView {
    /// Its name.
    pub name: SinkName,
    /// Whether it has ever confirmed a message (P10).
    pub proven: bool,
    /// What is wrong with it.
    pub broken: Option<String>,
    /// Messages that it has not confirmed.
    pub waiting: usize,
}

impl Domain {
    /// How things stand.
    pub fn view(&self) -> View {
        let replicas = self.replicas.values().map(|replica| ReplicaView {
            service: replica.policy.name.clone(),
            name: replica.kept.name.clone(),
            verdict: replica.verdict,
            verdict_for: self.now.awake.since(replica.verdict_since),
            state: replica.lifecycle.to_string(),
            trouble: replica
                .kept
                .trouble
                .as_ref()
                .map(|trouble| (trouble.shows.clone(), trouble.failures())),
            hold: replica.hold.as_ref().map(ToString::to_string),
            in_hand: replica.kept.attempt.is_some(),
            spent: (replica.kept.spending.spent, replica.policy.budget.restarts),
            could_not_look: replica.could_not_look.as_ref().map(|(_, why)| why.clone()),
        });
        let sinks = self.sinks.iter().map(|(name, sink)| SinkView {
            name: name.clone(),
            proven: sink.proven,
            broken: sink.broken.as_ref().map(|(_, why)| why.clone()),
            waiting: sink.rows.values().filter(|row| row.outgoing.is_some()).count(),
        });
        View {
            now: self.now,
            replicas: replicas.collect(),
            incidents: self.incidents.values().cloned().collect(),
            sinks: sinks.collect(),
            engine_problem: self
                .looking
                .blind()
                .map(|(since, failure)| (since, failure.to_string())),
            store_problem: self.durability.failing().map(|(_, why)| why.clone()),
            brake: matches!(self.host.brake, Brake::Engaged(_)),
            hold_file: self.host.hold_file,
        }
    }
}
