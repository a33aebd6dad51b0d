//! What can be shown of all this, as a copy. Looking changes nothing.

use super::{
    Domain,
    acting::brake::Brake,
    judging::verdict::Verdict,
    moment::Moment,
    name::{ReplicaName, ServiceName, SinkName},
    telling::incident::Incident,
    watching::replica::Replica,
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
    /// Services of the config that match no container; empty while there was no full list.
    pub unmatched: Vec<ServiceName>,
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
    /// What fails without being a trouble, in words: why it is judged as it is.
    pub failing: Vec<String>,
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
    /// Whether anybody is woken by it.
    pub takes_pages: bool,
    /// Whether it has confirmed a message since it was defined as it is now (P10).
    pub proven: bool,
    /// Whether the next message would arrive, as far as is known.
    pub works: bool,
    /// For how long nothing has arrived, and why.
    pub failing: Option<(Duration, String)>,
    /// What this host lacks for sending there.
    pub lacks: Option<String>,
    /// Messages that it has not confirmed.
    pub waiting: usize,
    /// In how long the next attempt is; `None`: nothing is owed.
    pub next_attempt: Option<Duration>,
    /// What it said to messages that it will never take.
    pub undeliverable: Vec<String>,
}

impl Domain {
    /// Services of the config that match no container. Nothing is known of it before the first full list.
    pub(super) fn unmatched(&self) -> Vec<ServiceName> {
        let matches = |name: &ServiceName| {
            self.services
                .get(name)
                .is_some_and(|service| !service.members.is_empty() || !service.contested.is_empty())
        };
        let services = self.policy.services.iter();
        services
            .filter(|service| {
                self.looking.has_listed_as_configured && !service.containers.is_empty()
            })
            .filter(|service| !matches(&service.name))
            .map(|service| service.name.clone())
            .collect()
    }

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
            failing: failing(replica),
            hold: replica.hold.as_ref().map(ToString::to_string),
            in_hand: replica.kept.attempt.is_some(),
            spent: (replica.kept.spending.spent, replica.policy.budget.restarts),
            could_not_look: replica.could_not_look.as_ref().map(|(_, why)| why.clone()),
        });
        let sinks = self.sinks.iter().map(|(name, sink)| SinkView {
            name: name.clone(),
            takes_pages: sink.takes_pages(),
            proven: sink.is_proven(),
            works: sink.is_working(),
            failing: sink
                .failing
                .as_ref()
                .map(|failing| (self.now.awake.since(failing.since.awake), failing.why.clone())),
            lacks: sink.policy.lacks.clone(),
            waiting: sink.waiting(),
            next_attempt: sink.next_attempt(self.now.awake).map(|at| at.since(self.now.awake)),
            undeliverable: sink.undeliverable().map(str::to_owned).collect(),
        });
        View {
            now: self.now,
            replicas: replicas.collect(),
            incidents: self.incidents.values().cloned().collect(),
            unmatched: self.unmatched(),
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

/// The probes of a replica without a trouble that fail. A trouble says by itself what it shows.
fn failing(replica: &Replica) -> Vec<String> {
    if replica.kept.trouble.is_some() {
        return Vec::new();
    }
    let probes = replica.policy.probes.iter().filter_map(|probe| {
        let seen = replica.evidence.probes.get(&probe.name).filter(|seen| seen.streak.failing)?;
        let ever = if replica.has_passed(probe) {
            ""
        } else {
            " (it has never passed since it was defined, so it restarts nothing)"
        };
        Some(format!("{}: {}{ever}", probe.name, seen.streak.shows))
    });
    probes.collect()
}
