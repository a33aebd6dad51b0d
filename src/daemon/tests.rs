//! Lives of the whole daemon in virtual time, with an engine that has no containers: what it has to tell is that its memory
//! was lost.

mod ending;

use super::{
    ending::{ACTS_GRACE, GRACE, waited_for},
    *,
};
use crate::{
    clock::paused::{PausedClock, now},
    config,
    docker::{
        port::EventStream,
        simulated::{
            engine::SimulatedEngine, faults::Faults, live::LiveWorld, world::World as Containers,
        },
    },
    domain::{
        effect::{ActOrder, Effect, Primitive, SendOrder, Watch},
        moment::EngineMs,
        name::{AttemptId, ContainerId, HostName, Instance, ReplicaName},
        observation::{ActOutcome, DeliveryOutcome, Inspection, Listing, LookFailure},
    },
    probe::port::Probed,
    store::ledger::{Disk, Pace},
};
use tokio::{
    runtime::Handle,
    sync::watch,
    time::{sleep, timeout},
};

struct NothingToAsk;

impl Prober for NothingToAsk {
    fn probe(&self, watch: Arc<Watch>) -> Pending<'_, Probed> {
        panic!("there is nothing to probe: {watch:?}")
    }
}

impl EvidenceReader for NothingToAsk {
    fn gather(&self, instance: Instance, _: Option<u32>) -> Pending<'_, Vec<String>> {
        panic!("there is nothing to read of {instance:?}")
    }
}

impl Witness for NothingToAsk {
    fn observed(&mut self, _: Moment, _: &Observation) {}
    fn decided(&mut self, _: Moment, _: &Batch) {}
}

/// A sink that confirms after this time, and remembers what reached it.
struct SlowSink {
    takes: Duration,
    reached: watch::Sender<Vec<String>>,
}

impl Sink for SlowSink {
    fn deliver(&self, order: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        self.reached.send_modify(|keys| keys.push(order.message.idempotency_key()));
        Box::pin(async {
            sleep(self.takes).await;
            DeliveryOutcome::Delivered
        })
    }
}

/// What two lives on one disk need.
struct Stage {
    clock: Arc<dyn Clock>,
    disk: Disk,
    /// The sink confirms after this time.
    takes: Duration,
    reached: watch::Sender<Vec<String>>,
}

impl Stage {
    fn set(takes: Duration) -> Self {
        let clock = Arc::new(PausedClock::at(1_000_000));
        let (reached, _) = watch::channel(Vec::new());
        Self { clock, disk: Disk::new(Pace::default()), takes, reached }
    }

    fn reached(&self) -> Vec<String> {
        self.reached.borrow().clone()
    }

    /// The world of one life, which begins by losing its memory where it is told to, with orders that wait already.
    async fn world(&self, loses_memory: bool, taken: mpsc::Receiver<Order>) -> World {
        let (clock, tasks) = (Arc::clone(&self.clock), Tasks::on(Handle::current()));
        let (answers, answered) = mpsc::channel(64);
        if loses_memory {
            answers.send(Observation::MemoryLost("damaged".to_owned())).await.unwrap();
        }
        let opened = self.disk.open(Arc::clone(&clock), &tasks, answers).unwrap();
        let policy = Arc::new(config::without_config(&HostName::new("host")));
        let sink: Arc<dyn Sink> =
            Arc::new(SlowSink { takes: self.takes, reached: self.reached.clone() });
        let sinks = policy.sinks.iter().map(|named| (named.name.clone(), Arc::clone(&sink)));
        let world = LiveWorld::begin(Containers::new(EngineMs(0)), Arc::clone(&clock));
        World {
            engine: Arc::new(SimulatedEngine::new(world, Arc::new(Faults::default()))),
            prober: Arc::new(NothingToAsk),
            pool: 8,
            evidence: Arc::new(NothingToAsk),
            sinks: sinks.collect(),
            store: Box::new(opened.ledger),
            answers: answered,
            records: opened.records,
            last: opened.last_seq,
            policy,
            orders: taken,
            hold: Box::new(|| false),
            witness: Box::new(NothingToAsk),
            seed: 7,
            clock,
            tasks,
        }
    }

    /// One life. It is told to end `after` the first message left, or after a minute without one. Says how long the end took.
    async fn live(&self, loses_memory: bool, after: Duration) -> Duration {
        let (orders, taken) = mpsc::channel(1);
        let world = self.world(loses_memory, taken).await;
        let tasks = world.tasks.clone();
        let before = self.reached().len();
        let life = tasks.spawn("daemon", run(world));
        let mut reached = self.reached.subscribe();
        let first = reached.wait_for(|keys| keys.len() > before);
        // A life that has nothing to tell tells nothing: that is what a minute of it shows.
        drop(timeout(Duration::from_secs(60), first).await);
        sleep(after).await;
        let told = now();
        orders.send(Order::Stop).await.ok().unwrap();
        life.await.unwrap();
        now() - told
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_right_after_a_send_takes_in_the_answer_and_repeats_nothing_at_the_next_start() {
    let stage = Stage::set(Duration::from_secs(3));
    let took = stage.live(true, Duration::from_millis(1)).await;
    assert_eq!(stage.reached().len(), 1);
    assert!((Duration::from_secs(2)..Duration::from_secs(4)).contains(&took), "{took:?}");
    stage.live(false, Duration::ZERO).await;
    assert_eq!(stage.reached().len(), 1, "{:?}", stage.reached());
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_does_not_answer_holds_the_end_up_no_longer_than_the_grace() {
    let stage = Stage::set(Duration::from_secs(3_600));
    let took = stage.live(true, Duration::from_millis(1)).await;
    assert!(took <= GRACE + Duration::from_millis(100), "{took:?}");
    // Nobody knows whether it arrived: once more, under the same key.
    stage.live(false, Duration::from_millis(1)).await;
    let [first, second] = stage.reached().try_into().unwrap();
    assert_eq!(first, second);
}

/// An engine that takes this long over each act.
struct SlowEngine(Duration);

impl Engine for SlowEngine {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        panic!("nobody lists")
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        panic!("nobody lists")
    }

    fn inspect(&self, _: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        panic!("nobody inspects")
    }

    fn act(&self, _: ContainerId, _: Primitive) -> Pending<'_, ActOutcome> {
        Box::pin(async {
            sleep(self.0).await;
            ActOutcome::Done
        })
    }

    fn events(
        &self,
        _: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        panic!("nobody listens")
    }
}

/// Which answers of acts came in.
#[derive(Default)]
struct Answers(Vec<ActOutcome>);

impl Witness for Answers {
    fn observed(&mut self, _: Moment, observation: &Observation) {
        if let Observation::Acted { outcome, .. } = observation {
            self.0.push(outcome.clone());
        }
    }
    fn decided(&mut self, _: Moment, _: &Batch) {}
}

/// A daemon in whose hands one restart is, which the engine takes so long over.
fn restarting(takes: Duration, deadline: Duration) -> Daemon {
    let clock: Arc<dyn Clock> = Arc::new(PausedClock::at(1_000_000));
    let tasks = Tasks::on(Handle::current());
    let (answers, stored) = mpsc::channel(64);
    let disk = Disk::new(Pace::default());
    let store = disk.open(Arc::clone(&clock), &tasks, answers).unwrap().ledger;
    let policy = Arc::new(config::without_config(&HostName::new("host")));
    let start = clock.now();
    let (domain, _) = Domain::restore(policy, clock.boot_id(), Vec::new(), Seq(0), start);
    let mut hands = Hands::new(Setup {
        clock: Arc::clone(&clock),
        tasks,
        engine: Arc::new(SlowEngine(takes)),
        prober: Arc::new(NothingToAsk),
        pool: 1,
        evidence: Arc::new(NothingToAsk),
        sinks: BTreeMap::new(),
        store: Box::new(store),
        stored,
        seed: 7,
    });
    let restart = Effect::Act(ActOrder {
        attempt: AttemptId(1),
        replica: ReplicaName::new("web"),
        container: ContainerId::new("c1"),
        primitive: Primitive::Restart { stop_timeout: Duration::from_secs(10) },
        deadline,
    });
    hands.carry_out(Batch { effects: vec![restart], ..Batch::default() });
    Daemon { domain, hands, clock, last_turn: start, due: start.awake, held: false }
}

/// How long a daemon that is told to end in mid-restart takes for that, and what it has heard of the restart by then.
async fn ended(takes: Duration, deadline: Duration) -> (Duration, Vec<ActOutcome>) {
    let (told, mut answers) = (now(), Answers::default());
    let (_orders, taken) = mpsc::channel(1);
    restarting(takes, deadline).end(taken, &mut answers).await;
    (now() - told, answers.0)
}

#[tokio::test(start_paused = true)]
async fn a_restart_under_way_is_waited_for_as_long_as_a_hung_container_takes_it() {
    // Its stop timeout and a start: more than the grace of anything else.
    let (takes, deadline) = (Duration::from_secs(13), Duration::from_secs(32));
    let (took, answers) = ended(takes, deadline).await;
    assert_eq!(answers, [ActOutcome::Done]);
    assert!(took < takes + Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_a_restart_until_its_deadline_and_never_until_systemd_kills() {
    let hour = Duration::from_secs(3_600);
    let deadline = Duration::from_secs(32);
    let (took, answers) = ended(hour, deadline).await;
    assert_eq!(answers, [ActOutcome::TimedOut(deadline)]);
    assert!(took < deadline + Duration::from_secs(1), "{took:?}");
    let (took, answers) = ended(hour, hour).await;
    assert_eq!(answers, []);
    assert!(ACTS_GRACE <= took && took < Duration::from_secs(70), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_the_end_waits_for_is_said_with_how_long() {
    let said = |deadline| {
        let daemon = restarting(deadline, Duration::from_secs(deadline.as_secs()));
        let told = daemon.clock.now().awake;
        daemon.hands.acting().map(|act| waited_for(act, told)).collect::<Vec<_>>()
    };
    let restart = |at_most| [format!("waiting for the restart of web, at most {at_most}")];
    assert_eq!(said(Duration::from_secs(40)), restart("40s"));
    assert_eq!(said(Duration::from_secs(600)), restart("1m"));
}

#[tokio::test(start_paused = true)]
async fn an_order_goes_before_nothing_that_has_come_already() {
    let stage = Stage::set(Duration::ZERO);
    let (orders, taken) = mpsc::channel(2);
    let (answer, shown) = oneshot::channel();
    // Both wait before the first turn.
    orders.send(Order::Show(answer)).await.ok().unwrap();
    orders.send(Order::Stop).await.ok().unwrap();
    run(stage.world(true, taken).await).await;
    let incidents = shown.await.unwrap().view.incidents;
    assert_eq!(incidents.len(), 1, "{incidents:?}");
}
