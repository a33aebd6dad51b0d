//! How things stand, for programs. Fields are only ever added.

use crate::{
    daemon::Shown,
    domain::{moment::millis, telling::story::Stage},
};
use serde::{Deserialize, Serialize};

/// How things stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The daemon's version.
    pub version: String,
    /// Wall time, milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// This host.
    pub host: String,
    /// Whether at least one sink has confirmed a message (P10).
    pub messages_reach_somebody: bool,
    /// What is wrong with defib's own surroundings: engine, store, brake, hold. Empty when all is well.
    pub problems: Vec<String>,
    /// Every replica.
    pub replicas: Vec<ReplicaStatus>,
    /// How the prober keeps up.
    pub probing: ProbingStatus,
    /// Every open incident.
    pub incidents: Vec<IncidentStatus>,
    /// Every sink.
    pub sinks: Vec<SinkStatus>,
}

/// How a replica stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaStatus {
    /// Its service.
    pub service: String,
    /// Its name.
    pub name: String,
    /// How it is judged.
    pub verdict: String,
    /// For how long, in milliseconds.
    pub verdict_for_ms: u64,
    /// In what state its container is.
    pub state: String,
    /// What its trouble shows.
    pub trouble: Option<String>,
    /// How many failures its trouble has.
    pub failures: u32,
    /// Why it is not restarted.
    pub hold: Option<String>,
    /// Whether it is being restarted.
    pub in_hand: bool,
    /// Restarts spent.
    pub restarts_spent: u32,
    /// Restarts allowed.
    pub restarts_allowed: u32,
    /// Why it can't be looked at.
    pub could_not_look: Option<String>,
}

/// How the prober keeps up: lag is what a pool that is too small looks like.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProbingStatus {
    /// Targets that are probed.
    pub targets: usize,
    /// Probes that may run at the same time.
    pub pool: usize,
    /// Probes that run.
    pub in_flight: usize,
    /// Targets that wait for a place.
    pub queued: usize,
    /// What 99 of 100 of the latest runs did not have to wait longer than.
    pub lag_p99_ms: u64,
    /// The longest wait of the latest runs.
    pub lag_max_ms: u64,
    /// Ticks that were skipped since the start, because a target's last probe still ran.
    pub skipped: u64,
}

/// How an incident stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentStatus {
    /// Its number.
    pub id: u64,
    /// Which service; `None`: the host.
    pub service: Option<String>,
    /// What kind.
    pub kind: String,
    /// `notice`, `ticket` or `page`.
    pub severity: String,
    /// `failing`, `recovered` or `resolved`.
    pub stage: String,
    /// What is wrong.
    pub headline: String,
    /// Since when, milliseconds since the Unix epoch.
    pub since_ms: i64,
}

/// How a sink stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkStatus {
    /// Its name.
    pub name: String,
    /// Whether it has ever confirmed a message.
    pub proven: bool,
    /// What is wrong with it.
    pub broken: Option<String>,
    /// Messages that it has not confirmed.
    pub waiting: usize,
}

impl Snapshot {
    /// Of how things are shown to stand.
    pub fn of(shown: &Shown, host: &str) -> Self {
        let Shown { view, probing } = shown;
        let mut problems = Vec::new();
        if let Some((_, why)) = &view.engine_problem {
            problems.push(format!("the container engine can't be asked: {why}"));
        }
        if let Some(why) = &view.store_problem {
            problems
                .push(format!("what is done can't be recorded, so nothing is restarted: {why}"));
        }
        if view.brake {
            problems.push("much fails at once: restarts are held back on this host".to_owned());
        }
        if view.hold_file {
            problems.push("the `hold` file exists: nothing is acted on".to_owned());
        }
        let replicas = view.replicas.iter().map(|replica| ReplicaStatus {
            service: replica.service.to_string(),
            name: replica.name.to_string(),
            verdict: replica.verdict.to_string(),
            verdict_for_ms: millis(replica.verdict_for),
            state: replica.state.clone(),
            trouble: replica.trouble.as_ref().map(|(shows, _)| shows.clone()),
            failures: replica.trouble.as_ref().map_or(0, |(_, failures)| *failures),
            hold: replica.hold.clone(),
            in_hand: replica.in_hand,
            restarts_spent: replica.spent.0,
            restarts_allowed: replica.spent.1,
            could_not_look: replica.could_not_look.clone(),
        });
        let incidents =
            view.incidents.iter().filter(|incident| incident.story.stage != Stage::Resolved);
        let incidents = incidents.map(|incident| IncidentStatus {
            id: incident.id.0,
            service: incident.key.service.as_ref().map(ToString::to_string),
            kind: incident.key.kind.word().to_owned(),
            severity: incident.story.level.to_string(),
            stage: match incident.story.stage {
                Stage::Failing => "failing",
                Stage::Recovered => "recovered",
                Stage::Resolved => "resolved",
            }
            .to_owned(),
            headline: incident.content.headline.clone(),
            since_ms: incident.since.wall.0,
        });
        let sinks = view.sinks.iter().map(|sink| SinkStatus {
            name: sink.name.to_string(),
            proven: sink.proven,
            broken: sink.broken.clone(),
            waiting: sink.waiting,
        });
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at_ms: view.now.wall.0,
            host: host.to_owned(),
            messages_reach_somebody: view
                .sinks
                .iter()
                .any(|sink| sink.proven && sink.broken.is_none()),
            problems,
            replicas: replicas.collect(),
            probing: ProbingStatus {
                targets: probing.targets,
                pool: probing.pool,
                in_flight: probing.in_flight,
                queued: probing.queued,
                lag_p99_ms: millis(probing.lag_p99),
                lag_max_ms: millis(probing.lag_max),
                skipped: probing.skipped,
            },
            incidents: incidents.collect(),
            sinks: sinks.collect(),
        }
    }

    /// Whether there is nothing that anybody need look at.
    pub fn is_well(&self) -> bool {
        self.messages_reach_somebody && self.problems.is_empty() && self.incidents.is_empty()
    }
}
