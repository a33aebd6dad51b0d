//! Hands in a world where whatever is called breaks down or never answers: each call has an answer all the same.

use super::*;
use crate::{
    clock::paused::PausedClock,
    docker::port::EventStream,
    domain::{
        effect::{ActOrder, Primitive, Watch},
        message::{IncidentKind, Message, MessageKind, Severity},
        moment::{BootId, EngineMs, Moment, WallMs},
        name::{HostName, IncidentId, Instance, ProbeName, ServiceName, StartedAt},
        observation::{Inspection, Listing, LookFailure, Target},
        policy::{HttpProbe, Place, ProbePolicy, ProbeSpec},
    },
    probe::port::Probed,
    store::ledger::{Disk, Pace},
    tasks::Pending,
};
use std::{future::pending, time::Duration};
use tokio::{runtime::Handle, time::timeout};

/// Breaks down at whatever it is asked.
struct Broken;

impl Engine for Broken {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        panic!("broken")
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        panic!("broken")
    }

    fn inspect(&self, _: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        panic!("broken")
    }

    fn act(&self, _: ContainerId, _: Primitive) -> Pending<'_, ActOutcome> {
        Box::pin(async { panic!("broken") })
    }

    fn events(
        &self,
        _: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        panic!("broken")
    }
}

impl Prober for Broken {
    fn probe(&self, _: Arc<Watch>) -> Pending<'_, Probed> {
        panic!("broken")
    }
}

impl EvidenceReader for Broken {
    fn gather(&self, _: Instance, _: Option<u32>) -> Pending<'_, Vec<String>> {
        panic!("broken")
    }
}

impl Sink for Broken {
    fn deliver(&self, _: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        panic!("broken")
    }
}

/// A sink that never answers.
struct Mute;

impl Sink for Mute {
    fn deliver(&self, _: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        Box::pin(pending())
    }
}

fn hands(sink: Arc<dyn Sink>) -> Hands {
    let clock: Arc<dyn Clock> = Arc::new(PausedClock::at(0));
    let tasks = Tasks::on(Handle::current());
    let (answers, stored) = mpsc::channel(8);
    let opened = Disk::new(Pace::default()).open(Arc::clone(&clock), &tasks, answers).unwrap();
    Hands::new(Setup {
        clock,
        tasks,
        engine: Arc::new(Broken),
        prober: Arc::new(Broken),
        pool: 1,
        evidence: Arc::new(Broken),
        sinks: BTreeMap::from([(SinkName::new("ops"), sink)]),
        store: Box::new(opened.ledger),
        stored,
        seed: 7,
    })
}

/// What one effect comes to.
async fn comes_to(hands: &mut Hands, effect: Effect) -> Observation {
    hands.carry_out(Batch { effects: vec![effect], ..Batch::default() });
    hands.next().await
}

fn message() -> Message {
    Message {
        id: MessageId(7),
        incident: IncidentId(3),
        key: "f/h/web/unhealthy".to_owned(),
        kind: MessageKind::Raised,
        severity: Severity::Page,
        incident_kind: IncidentKind::Unhealthy,
        fleet: "f".to_owned(),
        host: HostName::new("h"),
        service: None,
        headline: "web is unhealthy".to_owned(),
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

fn send() -> Effect {
    Effect::Send(Box::new(SendOrder {
        sink: SinkName::new("ops"),
        message: message(),
        attempt: 1,
        deadline: Duration::from_secs(90),
        durable: true,
        late: Duration::ZERO,
    }))
}

fn outcome(came: Observation) -> DeliveryOutcome {
    match came {
        Observation::Answered { outcome, .. } => outcome,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_that_breaks_down_is_answered() {
    let mut hands = hands(Arc::new(Broken));
    let asked = Effect::Look(Look::List);
    let failure = LookFailure::Local("the task that asked has ended".to_owned());
    let failed = Observation::ListFailed { full: true, failure };
    assert_eq!(comes_to(&mut hands, asked).await, failed);

    let attempt = AttemptId(5);
    let instance = Instance {
        container: ContainerId::new("c1"),
        started_at: StartedAt::new("2026-11-29T10:00:00Z"),
    };
    let deadline = Duration::from_secs(3);
    let read = Effect::GatherEvidence { attempt, instance, pid: None, deadline };
    let findings = vec!["the evidence could not be read".to_owned()];
    let unread = Observation::EvidenceGathered { attempt, findings };
    assert_eq!(comes_to(&mut hands, read).await, unread);

    let restarted = Effect::Act(ActOrder {
        attempt,
        replica: ReplicaName::new("web"),
        container: ContainerId::new("c1"),
        primitive: Primitive::Kill,
        deadline,
    });
    let why = "the call ended without an answer".to_owned();
    let unreachable = Observation::Acted { attempt, outcome: ActOutcome::Unreachable(why) };
    assert_eq!(comes_to(&mut hands, restarted).await, unreachable);
    assert_eq!(hands.acting().count(), 0);

    let lost = DeliveryOutcome::Unknown("the task that sent has ended".to_owned());
    assert_eq!(outcome(comes_to(&mut hands, send()).await), lost);
    assert!(!hands.is_sending());
}

#[tokio::test(start_paused = true)]
async fn how_long_a_sink_was_waited_for_is_said_as_people_say_it() {
    let mut hands = hands(Arc::new(Mute));
    let said = DeliveryOutcome::Unknown("no answer within 1m 30s".to_owned());
    assert_eq!(outcome(comes_to(&mut hands, send()).await), said);
}

/// Shows the time once, and then breaks down.
struct BreaksDown(std::sync::atomic::AtomicBool);

impl Clock for BreaksDown {
    fn now(&self) -> Moment {
        assert!(!self.0.swap(true, std::sync::atomic::Ordering::Relaxed), "broken");
        PausedClock::at(0).now()
    }

    fn boot_id(&self) -> BootId {
        panic!("broken")
    }

    fn sleep_until(&self, _: AwakeMs) -> Pending<'_, ()> {
        panic!("broken")
    }
}

#[tokio::test(start_paused = true)]
async fn that_no_probe_runs_any_more_is_observed_and_again_with_each_target_that_is_ordered_since()
{
    let mut hands = hands(Arc::new(Mute));
    let (scheduler, samples) = scheduler::start(scheduler::Setup {
        clock: Arc::new(BreaksDown(false.into())),
        tasks: Tasks::on(Handle::current()),
        prober: Arc::new(Broken),
        pool: 1,
        seed: 7,
    });
    (hands.scheduler, hands.samples) = (scheduler, samples);
    let first = timeout(Duration::from_secs(60), hands.next()).await.unwrap();
    assert!(matches!(first, Observation::ProberEnded(_)), "{first:?}");
    assert!(timeout(Duration::from_secs(60), hands.next()).await.is_err(), "once");

    hands.carry_out(Batch { effects: vec![watch(1), watch(2)], ..Batch::default() });
    assert_eq!(hands.next().await, first);
    assert!(timeout(Duration::from_secs(60), hands.next()).await.is_err(), "once for both");
}

fn watch(replica: u8) -> Effect {
    let (service, probe) = (ServiceName::new("web"), ProbeName::new("health"));
    let replica = ReplicaName::new(format!("web-{replica}"));
    let target = Target { replica, probe: probe.clone() };
    let probe = ProbePolicy {
        name: probe,
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
        every: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
        fall: 3,
        rise: 2,
        may_restart: None,
    };
    let watch = Watch { target, service, instance: None, address: None, probe };
    Effect::Probe(ProbeOrder::Watch(Box::new(watch)))
}
