//! How things stand, for programs. Fields are only ever added; how much is shown of them `bounds` says.

use super::problems::{note, problems};
use crate::{
    daemon::Shown,
    domain::{ReplicaView, SinkView, moment::millis, telling::story::Stage},
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// How things stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The daemon's version.
    pub version: String,
    /// Wall time, milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// This host.
    pub host: String,
    /// Whether at least one sink has confirmed a message as it is defined now, and works (P10).
    pub messages_reach_somebody: bool,
    /// The same of the sinks that take pages.
    #[serde(default)]
    pub pages_reach_somebody: bool,
    /// What is wrong with defib's own surroundings: engine, store, brake, hold, a config that was not taken. Empty when all
    /// is well.
    pub problems: Vec<String>,
    /// What somebody wants so and whoever looks has to know: that nothing is restarted at all. No problem, so that the exit
    /// code goes on telling what is one.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Whether nothing at all is restarted, by the config or the command line; `notes` say which.
    #[serde(default)]
    pub restarts_nothing: bool,
    /// The path of the `hold` file, while there is one, or while that can't be seen.
    #[serde(default)]
    pub hold_file: Option<String>,
    /// The config that was not taken at a reload, while an older one holds on that account.
    #[serde(default)]
    pub refused_reload: Option<RefusedReload>,
    /// Every replica, up to a bound.
    pub replicas: Vec<ReplicaStatus>,
    /// Replicas beyond that; of other rows that are left out `notes` tells too.
    #[serde(default)]
    pub replicas_not_shown: usize,
    /// Services of the config that match no container of this host; empty too while the engine has not listed any.
    #[serde(default)]
    pub unmatched: Vec<String>,
    /// How the prober keeps up.
    pub probing: ProbingStatus,
    /// Every open incident.
    pub incidents: Vec<IncidentStatus>,
    /// Every sink.
    pub sinks: Vec<SinkStatus>,
}

/// That a config was not taken at a reload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusedReload {
    /// Since when the config that holds is not the one that was to hold, milliseconds since the Unix epoch.
    pub since_ms: i64,
    /// Why the latest one was not taken, in one line.
    pub why: String,
}

/// What a running daemon knows beside how things stand for the domain.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Where the `hold` file is looked for.
    pub hold_file: Option<PathBuf>,
    /// The config that was not taken at the last reload.
    pub refused_reload: Option<RefusedReload>,
}

/// How a replica stands. Texts are cut to some hundred bytes, with `…` where they were.
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
    /// What fails without being a trouble: a probe that has never passed says nothing yet.
    #[serde(default)]
    pub failing: Vec<String>,
    /// What has begun to fail and does not count yet, so that the verdict is what it was.
    #[serde(default)]
    pub begins_to_fail: Vec<String>,
    /// It has neither a healthcheck nor a probe, and can never be found unhealthy.
    #[serde(default)]
    pub nothing_to_judge_by: bool,
    /// Why it is not restarted.
    pub hold: Option<String>,
    /// For how much longer, in milliseconds, where that ends by itself at a time that is known.
    #[serde(default)]
    pub hold_for_ms: Option<u64>,
    /// Whether it is being restarted, or was and its recovery is awaited.
    pub in_hand: bool,
    /// Whether it is the latter.
    #[serde(default)]
    pub recovery_awaited: bool,
    /// Restarts spent.
    pub restarts_spent: u32,
    /// Restarts allowed.
    pub restarts_allowed: u32,
    /// Why it can't be looked at.
    pub could_not_look: Option<String>,
    /// Other running containers that carry its labels, and are not watched.
    #[serde(default)]
    pub doubles: Vec<String>,
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
    /// Since when it is well again, milliseconds since the Unix epoch, where it is.
    #[serde(default)]
    pub ended_ms: Option<i64>,
}

/// How a sink stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkStatus {
    /// Its name.
    pub name: String,
    /// Whether anybody is woken by it.
    #[serde(default)]
    pub takes_pages: bool,
    /// Whether it has confirmed a message since it was defined as it is now.
    pub proven: bool,
    /// Whether the next message would arrive, as far as is known.
    #[serde(default)]
    pub works: bool,
    /// Why the last attempt did not arrive; before there was one, what this host lacks for it.
    pub broken: Option<String>,
    /// What this host lacks for sending there, such as a secret's file. It is looked for each minute.
    #[serde(default)]
    pub lacks: Option<String>,
    /// For how long nothing has arrived, in milliseconds.
    #[serde(default)]
    pub broken_for_ms: Option<u64>,
    /// Messages that it has not confirmed.
    pub waiting: usize,
    /// In how long the next attempt is, in milliseconds; null where nothing is owed.
    #[serde(default)]
    pub next_attempt_ms: Option<u64>,
    /// What it said to messages that it will never take.
    #[serde(default)]
    pub undeliverable: Vec<String>,
}

impl Snapshot {
    /// Of how things are shown to stand.
    pub fn of(shown: &Shown, host: &str) -> Self {
        Self::of_daemon(shown, host, &Beside::default())
    }

    /// Of how things are shown to stand, and of what the daemon knows beside that.
    pub fn of_daemon(shown: &Shown, host: &str, beside: &Beside) -> Self {
        let Shown { view, probing } = shown;
        let incidents =
            view.incidents.iter().filter(|incident| incident.story.stage != Stage::Resolved);
        let incidents = incidents.map(|incident| IncidentStatus {
            id: incident.id.0,
            service: incident.key.service.as_ref().map(ToString::to_string),
            kind: incident.key.kind.word().to_owned(),
            severity: incident.story.level.to_string(),
            // A recovery that follows one that did not hold is told only when it has held, and seen at once.
            stage: match incident.story.stage {
                Stage::Failing => "failing",
                Stage::Recovered => "recovered",
                Stage::Resolved => "resolved",
            }
            .to_owned(),
            headline: incident.content.headline.clone(),
            since_ms: incident.since.wall.0,
            ended_ms: incident.ended.map(|ended| ended.wall.0),
        });
        let sinks = view.sinks.iter().map(|sink| SinkStatus {
            name: sink.name.to_string(),
            takes_pages: sink.takes_pages,
            proven: sink.proven,
            works: sink.works,
            broken: sink
                .failing
                .as_ref()
                .map(|(_, why)| why.clone())
                .or_else(|| sink.lacks.clone()),
            lacks: sink.lacks.clone(),
            broken_for_ms: sink.failing.as_ref().map(|(span, _)| millis(*span)),
            waiting: sink.waiting,
            next_attempt_ms: sink.next_attempt.map(millis),
            undeliverable: sink.undeliverable.clone(),
        });
        let reaches = |sink: &&SinkView| sink.proven && sink.works;
        let reached = view.sinks.iter().filter(reaches).count();
        let by_pages = view.sinks.iter().filter(reaches).filter(|sink| sink.takes_pages).count();
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            at_ms: view.now.wall.0,
            host: host.to_owned(),
            messages_reach_somebody: reached > 0,
            pages_reach_somebody: by_pages > 0,
            problems: problems(view, probing, beside),
            notes: view.restarts_nothing.map(note).into_iter().collect(),
            restarts_nothing: view.restarts_nothing.is_some(),
            hold_file: beside
                .hold_file
                .as_deref()
                .filter(|_| view.hold_file)
                .map(|path| path.display().to_string()),
            refused_reload: beside.refused_reload.clone(),
            replicas: view.replicas.iter().map(ReplicaStatus::of).collect(),
            replicas_not_shown: 0,
            unmatched: view.unmatched.iter().map(ToString::to_string).collect(),
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
        .bounded()
    }

    /// Whether there is nothing that anybody need look at.
    pub fn is_well(&self) -> bool {
        let sinks_are_well =
            self.sinks.iter().all(|sink| sink.works && sink.undeliverable.is_empty());
        self.pages_reach_somebody
            && sinks_are_well
            && self.problems.is_empty()
            && self.incidents.is_empty()
    }
}

impl ReplicaStatus {
    fn of(replica: &ReplicaView) -> Self {
        Self {
            service: replica.service.to_string(),
            name: replica.name.to_string(),
            verdict: replica.verdict.to_string(),
            verdict_for_ms: millis(replica.verdict_for),
            state: replica.state.clone(),
            trouble: replica.trouble.as_ref().map(|(shows, _)| shows.clone()),
            failures: replica.trouble.as_ref().map_or(0, |(_, failures)| *failures),
            failing: replica.failing.clone(),
            begins_to_fail: replica.begins_to_fail.clone(),
            nothing_to_judge_by: replica.nothing_to_judge_by,
            hold: replica.hold.clone(),
            hold_for_ms: replica.hold_for.map(millis),
            in_hand: replica.in_hand,
            recovery_awaited: replica.recovery_awaited,
            restarts_spent: replica.spent.0,
            restarts_allowed: replica.spent.1,
            could_not_look: replica.could_not_look.clone(),
            doubles: replica.doubles.clone(),
        }
    }
}
