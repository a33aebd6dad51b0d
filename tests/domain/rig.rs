//! A domain, a table of containers, and virtual time.

use defib::domain::{
    Domain, View,
    effect::{ActOrder, Batch, Effect, Look, Primitive, ProbeOrder, Watch},
    message::{IncidentKind, Message, MessageKind, Severity},
    moment::{AwakeMs, BootId, BootMs, EngineMs, Moment, WallMs},
    name::{ContainerId, HostName, ProbeName, Seq, ServiceName, SinkName, StartedAt},
    observation::{
        ActOutcome, ContainerState, DeliveryOutcome, EngineEvent, EventAction, Health, HealthEntry,
        HealthResult, HealthStatus, Healthcheck, Inspection, Listed, Listing, LookFailure,
        Observation, Phase, Phases, ProbeOutcome, RestartPolicy, Sample, Target,
    },
    policy::{
        Backoff, BrakePolicy, ContainerMatch, HostBudget, HostLimits, HttpProbe, Looking, PageWhen,
        Place, Policy, ProbePolicy, ProbeSpec, RestartMode, ServiceBudget, ServicePolicy, Settling,
        SinkPolicy, Threshold, Unlisted,
    },
    record::{Decision, Record, Shelf},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

pub const fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Wall time at the rig's first millisecond.
const EPOCH: i64 = 1_790_000_000_000;

/// The host had been up for an hour when the rig began.
const UPTIME: u64 = 3_600_000;

/// How a container behaves.
#[derive(Clone, Debug, PartialEq)]
pub enum Behaviour {
    Fine,
    Hangs,
    Answers(u16),
    /// As after a deadline of our own: no evidence.
    CannotLook,
}

#[derive(Clone, Debug)]
pub struct Container {
    pub id: String,
    pub name: String,
    pub image: String,
    pub labels: BTreeMap<String, String>,
    pub state: ContainerState,
    pub life: u32,
    pub started: u64,
    pub finished: Option<u64>,
    pub exit_code: Option<i64>,
    pub behaviour: Behaviour,
    /// How it behaves after its next starts; the last one stays.
    pub after_restart: VecDeque<Behaviour>,
    pub healthcheck: Option<Healthcheck>,
    pub streak: u32,
    pub log: Vec<HealthEntry>,
    pub next_check: u64,
    pub unhealthy: bool,
    /// The engine has forgotten what its healthcheck showed, and says so until that shows enough anew.
    pub forgotten: bool,
    pub auto_remove: bool,
    pub address: &'static str,
    pub stop_timeout: Option<Duration>,
    pub stop_signal: Option<u32>,
    pub policy: RestartPolicy,
}

pub struct Rig {
    pub policy: Policy,
    pub domain: Domain,
    pub now: u64,
    pub wall_offset: i64,
    /// See `moment`.
    lost: u64,
    boots: u32,
    pub containers: BTreeMap<String, Container>,
    watches: BTreeMap<Target, (Watch, u64)>,
    queue: BTreeMap<(u64, u64), Observation>,
    counter: u64,
    seq: Seq,
    pub kept: BTreeMap<defib::domain::record::RecordKey, Record>,
    pub store_works: bool,
    pub store_answers: bool,
    pub engine_works: bool,
    pub inspects_work: bool,
    pub act_outcome: Option<ActOutcome>,
    /// Whether what is told to act ever says that it is done.
    pub acts_are_answered: bool,
    /// Whether the event stream tells anything.
    pub events_are_told: bool,
    /// Whether the prober takes any samples.
    pub samples_are_taken: bool,
    /// How every URL answers.
    pub url: Behaviour,
    pub sink: BTreeMap<SinkName, VecDeque<DeliveryOutcome>>,
    /// A sink whose attempts never come back.
    pub mute_sink: Option<SinkName>,
    pub acts: Vec<(u64, ActOrder)>,
    pub sent: Vec<(u64, SinkName, Message)>,
    pub decisions: Vec<(u64, Decision)>,
    /// Everything that was observed.
    pub observed: Vec<(Moment, Observation)>,
    pub inspects: u64,
    pub lists: u64,
}

pub fn service(name: &str) -> ServicePolicy {
    ServicePolicy {
        name: ServiceName::new(name),
        containers: vec![ContainerMatch::Name(format!("{name}*"))],
        replicas: None,
        severity: Severity::Page,
        page: PageWhen::IfNotCured,
        restart: RestartMode::Auto,
        page_after: Threshold { failures: Some(5), failing_for: None },
        restart_after: Threshold { failures: Some(3), failing_for: None },
        settle: seconds(3),
        start_grace: seconds(10),
        budget: ServiceBudget { restarts: 3, refill_after_healthy: seconds(1800) },
        backoff: Backoff { first: seconds(10), max: seconds(300) },
        recover_within: seconds(90),
        stable_for: seconds(600),
        max_acting: 1,
        min_healthy: 0,
        stateful: None,
        depends_on: Vec::new(),
        runbook: None,
        note: None,
        probes: Vec::new(),
    }
}

pub fn http_probe() -> ProbePolicy {
    ProbePolicy {
        name: ProbeName::new("health"),
        definition: 1,
        spec: ProbeSpec::Http(HttpProbe {
            place: Place::Replica { port: 4000, network: None },
            path: "/health".to_owned(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            status: vec![(200, 299)],
            body_cap: 65_536,
            cap_is_ok: false,
        }),
        every: seconds(5),
        timeout: seconds(2),
        fall: 3,
        rise: 2,
        may_restart: None,
    }
}

pub fn probed(name: &str) -> ServicePolicy {
    ServicePolicy { probes: vec![http_probe()], ..service(name) }
}

pub fn policy(services: Vec<ServicePolicy>) -> Policy {
    Policy {
        fleet: "fleet".to_owned(),
        host: HostName::new("host"),
        dry_run: false,
        never_act: false,
        unlisted: Unlisted::Healthchecked,
        unlisted_service: Arc::new(ServicePolicy {
            restart: RestartMode::IfLabelled,
            severity: Severity::Ticket,
            containers: Vec::new(),
            ..service("unlisted")
        }),
        autoheal_labels: false,
        only_label: None,
        limits: HostLimits {
            max_concurrent: 4,
            budget: HostBudget { restarts: 6, within: seconds(1800) },
            brake: Some(BrakePolicy { services: 3, percent: 20 }),
        },
        settling: Settling {
            own_start: seconds(60),
            host_boot: seconds(300),
            engine_start: seconds(300),
        },
        services: services.into_iter().map(Arc::new).collect(),
        sinks: vec![SinkPolicy {
            name: SinkName::new("oncall"),
            severities: Vec::new(),
            deadline: seconds(10),
            definition: 1,
            lacks: None,
        }],
        looking: Looking { unhealthy_every: seconds(10), list_every: seconds(60) },
    }
}

/// `lost`: how much less than its first uptime the host has been up, after a boot.
fn moment(now: u64, lost: u64, wall_offset: i64) -> Moment {
    let up = UPTIME + now - lost;
    let wall = EPOCH + i64::try_from(now).unwrap() + wall_offset;
    Moment { awake: AwakeMs(up), boot: BootMs(up), wall: WallMs(wall) }
}

fn engine_time(at: u64) -> EngineMs {
    EngineMs(EPOCH + i64::try_from(at).unwrap())
}

impl Rig {
    pub fn new(policy: Policy) -> Self {
        let policy_of_rig = policy.clone();
        let (domain, batch) = Domain::restore(
            Arc::new(policy.clone()),
            BootId("boot0".into()),
            Vec::new(),
            Seq(0),
            moment(0, 0, 0),
        );
        let mut rig = Self {
            policy,
            domain,
            now: 0,
            wall_offset: 0,
            lost: 0,
            boots: 0,
            containers: BTreeMap::new(),
            watches: BTreeMap::new(),
            queue: BTreeMap::new(),
            counter: 0,
            seq: Seq(0),
            kept: BTreeMap::new(),
            store_works: true,
            store_answers: true,
            engine_works: true,
            inspects_work: true,
            act_outcome: None,
            acts_are_answered: true,
            events_are_told: true,
            samples_are_taken: true,
            url: Behaviour::Fine,
            sink: BTreeMap::new(),
            mute_sink: None,
            acts: Vec::new(),
            sent: Vec::new(),
            decisions: Vec::new(),
            observed: vec![(moment(0, 0, 0), Observation::PolicyLoaded(Arc::new(policy_of_rig)))],
            inspects: 0,
            lists: 0,
        };
        rig.carry_out(batch);
        rig
    }

    /// The host boots, and defib starts ten seconds after it. What runs is for the test to say.
    pub fn reboot(&mut self) {
        self.boots += 1;
        self.lost = UPTIME + self.now - 10_000;
        self.crash();
    }

    /// kill −9 and a start from what was committed.
    pub fn crash(&mut self) {
        self.queue.clear();
        self.watches.clear();
        let records = self.kept.values().cloned().collect();
        let now = moment(self.now, self.lost, self.wall_offset);
        let (domain, batch) = Domain::restore(
            Arc::new(self.policy.clone()),
            BootId(format!("boot{}", self.boots).into()),
            records,
            self.seq,
            now,
        );
        self.domain = domain;
        self.carry_out(batch);
    }

    pub fn add(&mut self, name: &str) -> &mut Container {
        self.add_with(name, |_| {})
    }

    pub fn add_with(&mut self, name: &str, change: impl FnOnce(&mut Container)) -> &mut Container {
        self.counter += 1;
        let mut container = Container {
            id: format!("{name}-{}", self.counter),
            name: name.to_owned(),
            image: "app:1".to_owned(),
            labels: BTreeMap::new(),
            state: ContainerState::Running,
            life: 1,
            started: self.now,
            finished: None,
            exit_code: None,
            behaviour: Behaviour::Fine,
            after_restart: VecDeque::new(),
            healthcheck: None,
            streak: 0,
            log: Vec::new(),
            next_check: 0,
            unhealthy: false,
            forgotten: false,
            auto_remove: false,
            address: "172.17.0.2",
            stop_timeout: None,
            stop_signal: None,
            policy: RestartPolicy::No,
        };
        change(&mut container);
        if let Some(check) = container.healthcheck {
            container.next_check = self.now + ms(check.interval);
        }
        let id = container.id.clone();
        self.containers.insert(name.to_owned(), container);
        self.event(&id, name, EventAction::Started);
        self.containers.get_mut(name).unwrap()
    }

    pub fn event(&mut self, id: &str, name: &str, action: EventAction) {
        if !self.events_are_told {
            return;
        }
        let event = EngineEvent {
            container: ContainerId::new(id),
            name: Some(name.to_owned()),
            action,
            at: engine_time(self.now),
        };
        self.put(1, Observation::Event(event));
    }

    /// What happened at this moment is told only now.
    pub fn late_event(&mut self, name: &str, action: EventAction, at: u64) {
        let container = ContainerId::new(self.containers[name].id.as_str());
        let event =
            EngineEvent { container, name: Some(name.to_owned()), action, at: engine_time(at) };
        self.put(1, Observation::Event(event));
    }

    pub fn behave(&mut self, name: &str, behaviour: Behaviour) {
        self.containers.get_mut(name).unwrap().behaviour = behaviour;
    }

    /// What was under way never arrives.
    pub fn forget_queue(&mut self) {
        self.queue.clear();
    }

    /// The config is read again, and says this now.
    pub fn reload(&mut self, policy: Policy) {
        self.policy = policy.clone();
        self.put(1, Observation::PolicyLoaded(Arc::new(policy)));
    }

    /// defib does not run for so long; what came meanwhile comes after.
    pub fn stall(&mut self, span: Duration) {
        let by = ms(span);
        self.now += by;
        let late = std::mem::take(&mut self.queue);
        self.queue = late.into_iter().map(|((at, n), what)| ((at + by, n), what)).collect();
        for (_, at) in self.watches.values_mut() {
            *at += by;
        }
        for container in self.containers.values_mut() {
            container.next_check += by;
        }
        self.step(Observation::HostResumed(span));
    }

    /// Where the prober was last told to find each target.
    pub fn watched_at(&self) -> Vec<String> {
        let addresses = self.watches.values().filter_map(|(watch, _)| watch.address);
        addresses.map(|address| address.to_string()).collect()
    }

    /// Somebody does something to a container.
    pub fn by_hand(&mut self, name: &str, state: ContainerState, actions: &[EventAction]) {
        let now = self.now;
        let container = self.containers.get_mut(name).unwrap();
        if state == ContainerState::Exited {
            container.finished = Some(now);
            container.exit_code = Some(143);
        }
        if state == ContainerState::Running && container.state == ContainerState::Exited {
            container.life += 1;
            container.started = now;
        }
        if let Some(check) = container.healthcheck.filter(|_| state == ContainerState::Running) {
            container.next_check = now + ms(check.interval);
        }
        container.state = state;
        let id = container.id.clone();
        for action in actions {
            self.event(&id, name, action.clone());
        }
    }

    /// The engine is restarted, and what runs lives through it (live restore).
    pub fn restart_engine(&mut self) {
        for container in self.containers.values_mut().filter(|c| c.healthcheck.is_some()) {
            container.streak = 0;
            container.log.clear();
            container.unhealthy = false;
            container.forgotten = true;
        }
    }

    pub fn remove(&mut self, name: &str) {
        let container = self.containers.remove(name).unwrap();
        self.event(&container.id, name, EventAction::Destroyed);
    }

    pub fn put(&mut self, after: u64, observation: Observation) {
        self.counter += 1;
        self.queue.insert((self.now + after, self.counter), observation);
    }

    /// Runs for so long.
    pub fn run(&mut self, span: Duration) {
        let until = self.now + ms(span);
        loop {
            let queued = self.queue.keys().next().map(|(at, _)| *at);
            let deadline = self
                .domain
                .next_deadline()
                .map(|at| (at.0 + self.lost).saturating_sub(UPTIME).max(self.now));
            let sample = self.watches.values().map(|(_, at)| *at).min();
            let check = self.containers.values().filter_map(next_check).min();
            let next =
                [queued, deadline, sample, check].into_iter().flatten().min().unwrap_or(u64::MAX);
            if next > until {
                break;
            }
            self.now = next;
            if check == Some(next) {
                self.run_healthchecks();
            } else if queued == Some(next) {
                let (_, observation) = self.queue.pop_first().unwrap();
                self.step(observation);
            } else if sample == Some(next) {
                self.take_sample();
            } else {
                self.step(Observation::Woke);
            }
        }
        self.now = until;
    }

    /// Runs until that is so.
    ///
    /// # Panics
    /// Where it does not come within ten minutes.
    pub fn until(&mut self, wanted: impl Fn(&Self) -> bool) {
        let came = (0..60_000).any(|_| {
            if wanted(self) {
                return true;
            }
            self.run(Duration::from_millis(10));
            wanted(self)
        });
        assert!(came, "{:?}", self.decisions);
    }

    /// A replica hangs until its verdict is given time to settle.
    pub fn hangs_until_it_settles(&mut self, name: &str) {
        self.behave(name, Behaviour::Hangs);
        self.until(|rig| rig.holds().contains(&"settling"));
    }

    /// A replica hangs until the first act.
    pub fn hangs_until_it_is_restarted(&mut self, name: &str) {
        self.behave(name, Behaviour::Hangs);
        self.until(|rig| !rig.acts.is_empty());
    }

    pub fn step(&mut self, observation: Observation) {
        self.observed.push((moment(self.now, self.lost, self.wall_offset), observation.clone()));
        let batch = self.domain.step(moment(self.now, self.lost, self.wall_offset), observation);
        self.carry_out(batch);
    }

    fn carry_out(&mut self, batch: Batch) {
        if !batch.records.is_empty() {
            for record in &batch.records {
                if let Record::Decided(decided) = record {
                    self.decisions.push((self.now, decided.decision.clone()));
                }
            }
            if self.store_works {
                self.seq = batch.seq;
                for record in batch.records {
                    match record.shelf() {
                        Shelf::State(key) => {
                            self.kept.insert(key, record);
                        }
                        Shelf::Removed(key) => {
                            self.kept.remove(&key);
                        }
                        Shelf::AllRemoved => self.kept.clear(),
                        Shelf::History => {}
                    }
                }
                if self.store_answers {
                    self.put(5, Observation::Committed(batch.seq));
                }
            } else if self.store_answers {
                self.put(
                    5,
                    Observation::Refused { seq: batch.seq, reason: "no space left".to_owned() },
                );
            }
        }
        for effect in batch.effects {
            self.perform(effect);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Look(Look::List) => {
                self.lists += 1;
                let answer = if self.engine_works {
                    Observation::Listed(self.listing())
                } else {
                    Observation::ListFailed {
                        full: true,
                        failure: LookFailure::Unreachable("refused".to_owned()),
                    }
                };
                self.put(2, answer);
            }
            Effect::Look(Look::ListUnhealthy) => {
                self.lists += 1;
                let answer = if self.engine_works {
                    let unhealthy = self.containers.values().filter(|c| c.unhealthy);
                    Observation::UnhealthyListed(
                        unhealthy.map(|c| ContainerId::new(c.id.as_str())).collect(),
                    )
                } else {
                    Observation::ListFailed {
                        full: false,
                        failure: LookFailure::Unreachable("refused".to_owned()),
                    }
                };
                self.put(2, answer);
            }
            Effect::Look(Look::Inspect { look, container }) => {
                self.inspects += 1;
                let found = self.containers.values().find(|c| c.id == container.as_str());
                let answer = match found {
                    _ if !self.inspects_work => Err(LookFailure::TimedOut(seconds(5))),
                    _ if !self.engine_works => Err(LookFailure::Unreachable("refused".to_owned())),
                    Some(found) => Ok(Box::new(inspection(found, self.now))),
                    None => Err(LookFailure::NoSuchContainer),
                };
                self.put(2, Observation::Inspected { look, container, answer });
            }
            Effect::Probe(ProbeOrder::Watch(watch)) => {
                let at = self.now + 100;
                self.watches.insert(watch.target.clone(), (*watch, at));
            }
            Effect::Probe(ProbeOrder::Drop(target)) => {
                self.watches.remove(&target);
            }
            Effect::GatherEvidence { attempt, .. } => {
                let findings = vec!["main thread blocked in recv()".to_owned()];
                self.put(10, Observation::EvidenceGathered { attempt, findings });
            }
            Effect::Act(order) => self.act(order),
            Effect::Send(order) if self.mute_sink.as_ref() == Some(&order.sink) => {}
            Effect::Send(order) => {
                let outcomes = self.sink.entry(order.sink.clone()).or_default();
                let outcome = outcomes.pop_front().unwrap_or(DeliveryOutcome::Delivered);
                if outcome == DeliveryOutcome::Delivered {
                    self.sent.push((self.now, order.sink.clone(), order.message.clone()));
                }
                self.put(
                    20,
                    Observation::Answered {
                        sink: order.sink.clone(),
                        message: order.message.id,
                        attempt: order.attempt,
                        outcome,
                    },
                );
            }
        }
    }

    fn act(&mut self, order: ActOrder) {
        self.acts.push((self.now, order.clone()));
        let outcome = self.act_outcome.clone().unwrap_or(ActOutcome::Done);
        if outcome == ActOutcome::Done {
            let now = self.now;
            let found = self.containers.values_mut().find(|c| c.id == order.container.as_str());
            if let Some(container) = found {
                let (id, name) = (container.id.clone(), container.name.clone());
                match order.primitive {
                    Primitive::Restart { .. } => {
                        for action in [
                            EventAction::Killed { signal: Some(15) },
                            EventAction::Died { exit_code: Some(143) },
                            EventAction::Stopped,
                            EventAction::Started,
                            EventAction::Restarted,
                        ] {
                            self.event(&id, &name, action);
                        }
                        self.start(&name, now + 200);
                    }
                    Primitive::Start => self.start(&name, now),
                    Primitive::Kill => {
                        container.state = ContainerState::Exited;
                        container.finished = Some(now);
                    }
                }
            }
        }
        if self.acts_are_answered {
            self.put(300, Observation::Acted { attempt: order.attempt, outcome });
        }
    }

    fn start(&mut self, name: &str, at: u64) {
        let container = self.containers.get_mut(name).unwrap();
        container.state = ContainerState::Running;
        container.life += 1;
        container.started = at;
        container.finished = Some(at);
        container.streak = 0;
        container.log.clear();
        container.unhealthy = false;
        let next = if container.after_restart.len() > 1 {
            container.after_restart.pop_front()
        } else {
            container.after_restart.front().cloned()
        };
        container.behaviour = next.unwrap_or(Behaviour::Fine);
        if let Some(check) = container.healthcheck {
            container.next_check = at + ms(check.interval);
        }
    }

    fn listing(&self) -> Listing {
        let containers = self.containers.values().map(|c| Listed {
            id: ContainerId::new(c.id.as_str()),
            name: c.name.clone(),
            image: c.image.clone(),
            state: c.state.clone(),
            labels: c.labels.clone(),
        });
        Listing { containers: containers.collect(), undecodable: 0 }
    }

    fn take_sample(&mut self) {
        let now = self.now;
        let due = self
            .watches
            .iter()
            .find(|(_, (_, at))| *at == now)
            .map(|(target, _)| target.clone())
            .unwrap();
        let (watch, at) = self.watches.get_mut(&due).unwrap();
        *at += ms(watch.probe.every);
        if !self.samples_are_taken {
            return;
        }
        let watch = watch.clone();
        let behaviour = match &watch.instance {
            None => Some(self.url.clone()),
            Some(instance) => self
                .containers
                .values()
                .find(|c| c.id == instance.container.as_str())
                .filter(|c| c.state == ContainerState::Running)
                .map(|c| c.behaviour.clone()),
        };
        let (outcome, took) = match behaviour {
            Some(Behaviour::Fine) => (ProbeOutcome::Ok { status: Some(200) }, 3),
            Some(Behaviour::Hangs) => (ProbeOutcome::Timeout(Phase::FirstByte), 2000),
            Some(Behaviour::Answers(status)) if (200..300).contains(&status) => {
                (ProbeOutcome::Ok { status: Some(status) }, 3)
            }
            Some(Behaviour::Answers(status)) => (ProbeOutcome::Status(status), 3),
            Some(Behaviour::CannotLook) => (ProbeOutcome::Local("no descriptors".to_owned()), 0),
            None => (ProbeOutcome::Refused, 1),
        };
        self.put(
            took,
            Observation::Sampled(Sample {
                target: watch.target.clone(),
                service: watch.service.clone(),
                instance: watch.instance.clone(),
                outcome,
                phases: Phases::default(),
                address: None,
                lag: Duration::ZERO,
                skipped: 0,
            }),
        );
    }

    fn run_healthchecks(&mut self) {
        let now = self.now;
        let due: Vec<String> = self
            .containers
            .values()
            .filter(|c| next_check(c) == Some(now))
            .map(|c| c.name.clone())
            .collect();
        for name in due {
            let container = self.containers.get_mut(&name).unwrap();
            let check = container.healthcheck.unwrap();
            container.next_check = now + ms(check.interval);
            let passes = container.behaviour == Behaviour::Fine;
            let result = match container.behaviour {
                Behaviour::Fine => HealthResult::Passed,
                Behaviour::Hangs | Behaviour::Answers(_) => HealthResult::Failed,
                Behaviour::CannotLook => HealthResult::CouldNotRun,
            };
            let entry = HealthEntry {
                start: engine_time(now),
                end: engine_time(now),
                result,
                output: "no answer".to_owned(),
            };
            container.log.push(entry);
            if container.log.len() > 5 {
                container.log.remove(0);
            }
            let before = container.unhealthy;
            container.forgotten &= !passes && container.streak + 1 < check.retries;
            if passes {
                container.streak = 0;
                container.unhealthy = false;
            } else {
                container.streak += 1;
                container.unhealthy = container.streak >= check.retries;
            }
            if before != container.unhealthy || (passes && container.log.len() == 1) {
                let status = if container.unhealthy {
                    HealthStatus::Unhealthy
                } else {
                    HealthStatus::Healthy
                };
                let id = container.id.clone();
                self.event(&id, &name, EventAction::HealthChanged(status));
            }
        }
    }

    pub fn view(&self) -> View {
        self.domain.view()
    }

    /// What was sent, as `kind severity at-second`.
    pub fn told(&self) -> Vec<(MessageKind, Severity, u64)> {
        self.sent
            .iter()
            .map(|(at, _, message)| (message.kind, message.severity, at / 1000))
            .collect()
    }

    /// The words of the holds that were recorded, in order.
    pub fn holds(&self) -> Vec<&'static str> {
        let words = self.decisions.iter().filter_map(|(_, decision)| match decision {
            Decision::Held(hold) => Some(hold.word()),
            _ => None,
        });
        words.collect()
    }
}

fn next_check(container: &Container) -> Option<u64> {
    (container.healthcheck.is_some() && container.state == ContainerState::Running)
        .then_some(container.next_check)
}

fn inspection(container: &Container, now: u64) -> Inspection {
    let status = if container.unhealthy || container.state != ContainerState::Running {
        HealthStatus::Unhealthy
    } else if container.log.is_empty() || container.forgotten {
        HealthStatus::Starting
    } else {
        HealthStatus::Healthy
    };
    Inspection {
        id: ContainerId::new(container.id.as_str()),
        name: container.name.clone(),
        image: container.image.clone(),
        labels: container.labels.clone(),
        state: container.state.clone(),
        started_at: StartedAt::new(format!("{}:{}", container.id, container.life)),
        started: Some(engine_time(container.started)),
        finished: container.finished.map(engine_time),
        exit_code: container.exit_code,
        engine_now: EngineMs(engine_time(now).0 / 1000 * 1000),
        health: container.healthcheck.map(|_| Health {
            status,
            failing_streak: container.streak,
            log: container.log.clone(),
        }),
        healthcheck: container.healthcheck,
        restart_policy: container.policy,
        auto_remove: container.auto_remove,
        stop_timeout: container.stop_timeout,
        stop_signal: container.stop_signal,
        addresses: vec![("bridge".to_owned(), container.address.parse().unwrap())],
        network_parent: None,
        pid: Some(4242),
    }
}

/// What was sent of a kind last.
///
/// # Panics
/// Where nothing was.
pub fn last(rig: &Rig, kind: IncidentKind) -> &Message {
    let mut sent = rig.sent.iter().rev().map(|(_, _, message)| message);
    sent.find(|message| message.incident_kind == kind).expect("was told")
}

/// These services, with these containers, all of them well and settled.
pub fn with(services: Vec<ServicePolicy>, names: &[&str]) -> Rig {
    let mut rig = Rig::new(policy(services));
    for name in names {
        rig.add(name);
    }
    rig.run(seconds(91));
    rig
}

fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap()
}

pub fn healthcheck() -> Healthcheck {
    Healthcheck { interval: seconds(5), timeout: seconds(2), start_period: seconds(0), retries: 3 }
}
