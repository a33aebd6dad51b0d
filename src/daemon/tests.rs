//! Lives of the whole daemon in virtual time, with an engine that has no containers: what it has to tell is that its memory
//! was lost.

use super::*;
use crate::{
    clock::paused::{PausedClock, now},
    config,
    docker::simulated::{
        engine::SimulatedEngine, faults::Faults, live::LiveWorld, world::World as Containers,
    },
    domain::{
        effect::{SendOrder, Watch},
        moment::EngineMs,
        name::{HostName, Instance},
        observation::DeliveryOutcome,
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

    /// One life, which begins by losing its memory where it is told to. It is told to end `after` the first message left, or
    /// after a minute without one. Says how long the end took.
    async fn live(&self, loses_memory: bool, after: Duration) -> Duration {
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
        let (orders, taken) = mpsc::channel(1);
        let world = World {
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
            tasks: tasks.clone(),
        };
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
