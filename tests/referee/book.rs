//! Accounts written by hand: one line a fact, with a service whose numbers are easy to count with.

use crate::account::{
    Account, Condition, Entry, Fact, HealthcheckRule, Ms, ProbeRule, Rules, Sampled, Seen,
    ServiceRule, Who,
};
use crate::referee::{self, Violation};
use defib::domain::{
    effect::Primitive,
    message::{IncidentKind, Message, MessageKind, Severity},
    moment::WallMs,
    name::{HostName, IncidentId, MessageId, ServiceName},
    observation::{ActOutcome, ContainerState, DeliveryOutcome, HealthStatus, Phase, ProbeOutcome},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

pub const SECOND: Ms = 1_000;
pub const MINUTE: Ms = 60_000;

/// An account in the making. Facts may be written in any order.
pub struct Book {
    pub rules: Rules,
    entries: Vec<Entry>,
    life: u32,
    calls: u64,
    sends: u64,
}

/// A service of one replica of the same name: probed every 5 s, failing at 3, told at 5, restarted at 3.
pub fn service(name: &str) -> ServiceRule {
    ServiceRule {
        name: name.to_owned(),
        replicas: vec![name.to_owned()],
        wanted: Some(1),
        may_act: true,
        pages: true,
        page_after: 5,
        restart_after: 3,
        settle: 3 * SECOND,
        budget: (3, 30 * MINUTE),
        recover_within: 90 * SECOND,
        stable_for: MINUTE,
        max_acting: 1,
        stop_timeout: 10 * SECOND,
        probes: vec![ProbeRule {
            name: "http".to_owned(),
            every: 5 * SECOND,
            timeout: 2 * SECOND,
            fall: 3,
            rise: 2,
        }],
        ..ServiceRule::default()
    }
}

/// A service that may not be restarted and hangs for good at one minute.
pub fn fails_for_good() -> Book {
    let mut watched = service("web");
    watched.may_act = false;
    let mut book = Book::of(vec![watched]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 12 * MINUTE, "web", &timeout());
    book
}

/// A healthcheck every 10 s that is unhealthy at 3.
pub fn healthcheck() -> HealthcheckRule {
    HealthcheckRule { interval: 10 * SECOND, timeout: 2 * SECOND, start_period: 0, retries: 3 }
}

pub fn timeout() -> ProbeOutcome {
    ProbeOutcome::Timeout(Phase::FirstByte)
}

pub fn pass() -> ProbeOutcome {
    ProbeOutcome::Ok { status: Some(200) }
}

impl Book {
    /// defib starts at 0; these services run and are well, two sinks work.
    pub fn of(services: Vec<ServiceRule>) -> Self {
        let mut book = Self {
            rules: Rules {
                wall_began: 0,
                sinks: vec!["a".to_owned(), "b".to_owned()],
                choosy: BTreeMap::new(),
                services,
                max_concurrent: 4,
                host_budget: (6, 30 * MINUTE),
                brake: Some((3, 20)),
                own_start: 0,
                host_boot: 0,
                hands_off: false,
                list_every: 30 * SECOND,
            },
            entries: Vec::new(),
            life: 1,
            calls: 0,
            sends: 0,
        };
        book.at(0, Fact::DefibStarted);
        let replicas: Vec<String> =
            book.rules.services.iter().flat_map(|service| service.replicas.clone()).collect();
        for replica in replicas {
            let container = replica.clone();
            book.at(0, Fact::Created { container: container.clone(), replica });
            book.begun(0, &container, Who::Somebody);
            book.turned(0, &container, Condition::Well);
            book.seen(SECOND, &container, ContainerState::Running);
        }
        book
    }

    pub fn at(&mut self, at: Ms, fact: Fact) {
        self.entries.push(Entry { at, elapsed: at, life: self.life, fact });
    }

    /// defib crashes and its next life begins.
    pub fn crash(&mut self, at: Ms, back: Ms) {
        self.at(at, Fact::DefibCrashed("test".to_owned()));
        self.life += 1;
        self.at(back, Fact::DefibStarted);
    }

    pub fn begun(&mut self, at: Ms, container: &str, by: Who) {
        let instance = format!("{container}@{at}");
        self.at(at, Fact::Started { container: container.to_owned(), instance, by });
    }

    pub fn died(&mut self, at: Ms, container: &str, by: Who, exit_code: i64) {
        self.turned(at, container, Condition::Absent);
        self.at(at, Fact::Died { container: container.to_owned(), by, exit_code });
    }

    pub fn turned(&mut self, at: Ms, container: &str, condition: Condition) {
        self.at(at, Fact::Turned { container: container.to_owned(), condition });
    }

    /// The life that a container is in at a moment, by what is written so far.
    fn instance(&self, container: &str, at: Ms) -> String {
        self.entries
            .iter()
            .filter_map(|entry| match &entry.fact {
                Fact::Started { container: other, instance, .. }
                    if other == container && entry.at <= at =>
                {
                    Some((entry.at, instance.clone()))
                }
                _ => None,
            })
            .max()
            .map(|found| found.1)
            .unwrap_or_default()
    }

    pub fn sample(&mut self, at: Ms, container: &str, outcome: ProbeOutcome) {
        let instance = self.instance(container, at);
        let replica = container.split('/').next().unwrap_or_default().to_owned();
        self.at(
            at,
            Fact::Sampled(Sampled {
                replica,
                probe: "http".to_owned(),
                container: container.to_owned(),
                instance,
                begun: at.saturating_sub(100),
                outcome,
                slept: false,
            }),
        );
    }

    /// A sample every 5 s.
    pub fn samples(&mut self, from: Ms, to: Ms, container: &str, outcome: &ProbeOutcome) {
        let mut at = from;
        while at < to {
            self.sample(at, container, outcome.clone());
            at += 5 * SECOND;
        }
    }

    pub fn seen(&mut self, at: Ms, container: &str, state: ContainerState) {
        let instance = self.instance(container, at);
        let seen = Seen { state, instance, health: None };
        self.at(at, Fact::Inspected { container: container.to_owned(), seen });
    }

    pub fn seen_unhealthy(&mut self, at: Ms, container: &str, streak: u32) {
        let instance = self.instance(container, at);
        let seen = Seen {
            state: ContainerState::Running,
            instance,
            health: Some((HealthStatus::Unhealthy, streak)),
        };
        self.at(at, Fact::Inspected { container: container.to_owned(), seen });
    }

    /// A restart as it should be: looked at and recorded right before, stopped and started within 100 ms; well afterwards
    /// or not.
    pub fn restart(&mut self, at: Ms, container: &str, cures: bool) {
        self.seen(at - 100, container, ContainerState::Running);
        self.commit(at - 50);
        self.bare_restart(at, container);
        let after = if cures { Condition::Well } else { Condition::Failing };
        self.at(at, Fact::Stopping { container: container.to_owned(), by: Who::Defib });
        self.died(at + 50, container, Who::Defib, 143);
        self.begun(at + 100, container, Who::Defib);
        self.turned(at + 100, container, after);
    }

    /// Only the call and its answer.
    pub fn bare_restart(&mut self, at: Ms, container: &str) {
        let stop_timeout = Duration::from_secs(10);
        self.call(at, container, Primitive::Restart { stop_timeout }, Some(at + 110));
    }

    pub fn call(&mut self, at: Ms, container: &str, primitive: Primitive, answered: Option<Ms>) {
        self.calls += 1;
        let call = self.calls;
        let instance = self.instance(container, at);
        let container = container.to_owned();
        self.at(at, Fact::ActCalled { call, container: container.clone(), primitive });
        let found = ContainerState::Running;
        self.at(at + 2, Fact::ActReceived { call, container, found, instance });
        if let Some(answered) = answered {
            self.at(answered, Fact::ActAnswered { call, outcome: ActOutcome::Done });
        }
    }

    pub fn commit(&mut self, at: Ms) {
        self.at(at, Fact::Submitted { seq: at, records: 1 });
        self.at(at + 10, Fact::Committed { seq: at });
    }

    /// A message to both sinks, delivered. `id` is the message's own.
    pub fn tell(&mut self, at: Ms, service: &str, kind: MessageKind, severity: Severity, id: u64) {
        for sink in ["a", "b"] {
            self.send(
                at,
                sink,
                message(service, kind, severity, id),
                true,
                Some(DeliveryOutcome::Delivered),
            );
        }
    }

    /// One attempt. A message that does not say when it was decided was so right before it.
    pub fn send(
        &mut self,
        at: Ms,
        sink: &str,
        message: Message,
        lands: bool,
        outcome: Option<DeliveryOutcome>,
    ) {
        self.attempt(at, sink, message, true, lands, outcome);
    }

    /// One attempt with a message that may not be recorded.
    pub fn attempt(
        &mut self,
        at: Ms,
        sink: &str,
        message: Message,
        durable: bool,
        lands: bool,
        outcome: Option<DeliveryOutcome>,
    ) {
        self.sends += 1;
        let send = self.sends;
        let sink = sink.to_owned();
        let now = WallMs(i64::try_from(at).unwrap_or(i64::MAX));
        let decided = if message.decided == WallMs(0) { now } else { message.decided };
        let message = Arc::new(Message { decided, ..message });
        self.at(at, Fact::SendBegun { send, sink, message, attempt: 1, durable });
        if lands {
            self.at(at + 100, Fact::Landed { send });
        }
        if let Some(outcome) = outcome {
            self.at(at + 200, Fact::SendAnswered { send, outcome });
        }
    }

    /// The rules that did not hold, by their numbers, each once.
    pub fn broken(mut self, end: Ms) -> Vec<&'static str> {
        self.entries.sort_by_key(|entry| entry.at);
        let account = Account { rules: self.rules, entries: self.entries, end };
        let found: Vec<Violation> = referee::judge(&account);
        for violation in &found {
            println!("{violation}");
        }
        let mut rules: Vec<&str> = found.into_iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}

/// A message about a service's one incident.
pub fn message(service: &str, kind: MessageKind, severity: Severity, id: u64) -> Message {
    Message {
        id: MessageId(id),
        incident: IncidentId(1),
        key: format!("fleet/host/{service}/unhealthy"),
        kind,
        severity,
        incident_kind: IncidentKind::Unhealthy,
        fleet: "fleet".to_owned(),
        host: HostName::new("host"),
        service: Some(ServiceName::new(service)),
        headline: "fails".to_owned(),
        since: WallMs(0),
        until: None,
        decided: WallMs(0),
        members: Vec::new(),
        done: Vec::new(),
        findings: Vec::new(),
        next_steps: Vec::new(),
        runbook: None,
        note: None,
    }
}

/// The same message about another matter of that service.
pub fn about(kind: IncidentKind, message: Message) -> Message {
    let service = message.service.as_ref().map_or("host", |name| name.as_str());
    let key = format!("fleet/host/{service}/{}", kind.word());
    Message { incident_kind: kind, key, ..message }
}
