//! What can be shown of all this, as a copy. Looking changes nothing.

use super::{
    Domain,
    acting::{
        attempt::Attempt,
        brake::Brake,
        gates::{restarts_allowed, restarts_made},
    },
    judging::{health, streak::Streak, verdict::Verdict},
    moment::{AwakeMs, Moment, Spoken, millis},
    name::{ReplicaName, ServiceName, SinkName},
    policy::{Policy, RestartMode, Unlisted},
    service::nothing_to_judge_by,
    telling::incident::Incident,
    watching::replica::Replica,
};
use std::time::Duration;

/// An event stream that is gone for so long is shown: on a quiet host it is opened anew every now and then.
const NO_EVENTS_FOR: Duration = Duration::from_secs(10);

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
    /// Since when there is no event stream, and why.
    pub events_problem: Option<(Moment, String)>,
    /// Why nothing can be recorded.
    pub store_problem: Option<String>,
    /// Whether the host-wide hold is on.
    pub brake: bool,
    /// Whether the `hold` file exists.
    pub hold_file: bool,
    /// Why nothing at all is restarted, where that is what somebody wants.
    pub restarts_nothing: Option<RestartsNothing>,
}

/// By whose wish nothing at all is restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestartsNothing {
    /// The config's, for this host (`never_act`).
    NeverAct,
    /// Whoever started it with `--dry-run`.
    DryRun,
    /// The config's, for each service: all say `never` or `dry`.
    NoService,
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
    /// What has begun to fail and does not count yet, in words: in its grace, or below `fall`.
    pub begins_to_fail: Vec<String>,
    /// It runs, and there is neither a healthcheck nor a probe of it: it can never be found unhealthy.
    pub nothing_to_judge_by: bool,
    /// Why it is not restarted, in words.
    pub hold: Option<String>,
    /// For how much longer, where that ends by itself at a time that is known.
    pub hold_for: Option<Duration>,
    /// Whether it is being restarted.
    pub in_hand: bool,
    /// It was restarted, and whether it is well is awaited. Only while it is in hand.
    pub recovery_awaited: bool,
    /// Restarts spent, and allowed.
    pub spent: (u32, u32),
    /// Why it can't be looked at.
    pub could_not_look: Option<String>,
    /// Other running containers that carry its labels, and are not watched.
    pub doubles: Vec<String>,
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
            begins_to_fail: begins_to_fail(replica, self.now.awake),
            nothing_to_judge_by: nothing_to_judge_by(replica),
            hold: replica.hold.as_ref().map(ToString::to_string),
            hold_for: self
                .hold_ends(replica)
                .filter(|at| *at > self.now.awake)
                .map(|at| at.since(self.now.awake)),
            in_hand: replica.kept.attempt.is_some(),
            recovery_awaited: replica.kept.attempt.as_ref().is_some_and(Attempt::is_verifying),
            spent: (restarts_made(replica), restarts_allowed(replica)),
            could_not_look: could_not_look(replica),
            doubles: replica.doubles.values().map(|double| double.name.clone()).collect(),
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
            events_problem: self
                .looking
                .no_events()
                .filter(|(since, _)| self.now.awake.since(since.awake) >= NO_EVENTS_FOR)
                .map(|(since, failure)| (since, failure.to_string())),
            store_problem: self.durability.failing().map(|(_, why)| why.clone()),
            brake: matches!(self.host.brake, Brake::Engaged(_)),
            hold_file: self.host.hold_file,
            restarts_nothing: restarts_nothing(&self.policy),
        }
    }

    /// When what a replica is held back by is over, where that is a matter of time alone: what its gate waits for.
    fn hold_ends(&self, replica: &Replica) -> Option<AwakeMs> {
        let hold = replica.hold.as_ref()?;
        self.first_shut(replica).filter(|shut| shut.hold == *hold).and_then(|shut| shut.until)
    }
}

/// By whose wish nothing at all is restarted, whatever fails.
fn restarts_nothing(policy: &Policy) -> Option<RestartsNothing> {
    let never = |restart: RestartMode| matches!(restart, RestartMode::Never | RestartMode::Dry);
    let unlisted = (policy.unlisted != Unlisted::None).then_some(&policy.unlisted_service);
    let mut watched = policy.services.iter().chain(unlisted).peekable();
    if policy.never_act {
        Some(RestartsNothing::NeverAct)
    } else if policy.dry_run {
        Some(RestartsNothing::DryRun)
    } else if watched.peek().is_some() && watched.all(|service| never(service.restart)) {
        Some(RestartsNothing::NoService)
    } else {
        None
    }
}

/// What has begun to fail and does not count yet. What counts is told by the trouble, or by `failing`.
fn begins_to_fail(replica: &Replica, now: AwakeMs) -> Vec<String> {
    let by_health = replica
        .inspection
        .as_deref()
        .filter(|_| replica.lifecycle.running().is_some())
        .filter(|_| !replica.evidence.health.streak.failing)
        .and_then(|seen| health::begins_to_fail(seen, replica.fresh_after));
    let by_probes = replica.policy.probes.iter().filter_map(|probe| {
        let seen = replica.evidence.probes.get(&probe.name)?;
        if seen.streak.failing {
            return None;
        }
        let Streak { failures, shows, .. } = &seen.streak;
        match &seen.fails_in_grace {
            Some(shows) => match replica.grace_ends().filter(|at| *at > now) {
                Some(at) => {
                    let left = Duration::from_secs(millis(at.since(now)).div_ceil(1000));
                    Some(format!("failing in its grace ({} left): {shows}", Spoken(left)))
                }
                None => Some(format!("failed in its grace: {shows}")),
            },
            None if *failures > 0 => {
                Some(format!("{failures} of {} failures: {shows}", probe.fall))
            }
            None => None,
        }
    });
    by_health.into_iter().chain(by_probes).collect()
}

/// Why it can't be looked at, or one of its probes can't be carried out.
fn could_not_look(replica: &Replica) -> Option<String> {
    let by_engine = replica.could_not_look.as_ref().map(|(_, why)| why.clone());
    let by_health = || {
        let (_, why) = replica.evidence.health.could_not_run.as_ref()?;
        Some(format!("Docker's healthcheck could not be run: {why}"))
    };
    let by_probes = || {
        let mut seen = replica.evidence.probes.values();
        seen.find_map(|seen| seen.could_not_look.as_ref()).map(|(_, why)| why.clone())
    };
    by_engine.or_else(by_health).or_else(by_probes)
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
