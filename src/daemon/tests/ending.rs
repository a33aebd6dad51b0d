//! Whole lives that are told to end in mid-restart, with containers that hang.

use super::*;
use crate::{
    docker::simulated::{
        script::{ContainerScript, Stopping, Trouble},
        truth::{Happened, WorldTime},
    },
    domain::{
        acting::attempt::Ending,
        observation::{ContainerState, Healthcheck},
        policy::{RestartMode, ServicePolicy},
        record::Decision,
    },
    log_of::LogOf,
};
use std::sync::Mutex;

/// Everything that was decided of attempts.
#[derive(Clone, Default)]
struct Endings(Arc<Mutex<Vec<Ending>>>);

impl Witness for Endings {
    fn observed(&mut self, _: Moment, _: &Observation) {}
    fn decided(&mut self, _: Moment, batch: &Batch) {
        for record in &batch.records {
            if let Record::Decided(decided) = record
                && let Decision::Ended(_, ending) = &decided.decision
            {
                self.0.lock().unwrap().push(ending.clone());
            }
        }
    }
}

struct Nothing;

impl EvidenceReader for Nothing {
    fn gather(&self, _: Instance, _: Option<u32>) -> Pending<'_, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}

/// A host on which defib has settled, and restarts whatever hangs.
struct Host {
    world: Arc<LiveWorld>,
    orders: mpsc::Sender<Order>,
    life: tokio::task::JoinHandle<()>,
    endings: Endings,
}

impl Host {
    async fn with(scripts: Vec<ContainerScript>) -> Self {
        let stage = Stage::set(Duration::ZERO);
        let (orders, taken) = mpsc::channel(4);
        let world = LiveWorld::begin(Containers::new(EngineMs(0)), Arc::clone(&stage.clock));
        for script in scripts {
            world.with(|world, now| world.run(now, script));
        }
        let endings = Endings::default();
        let mut policy = config::without_config(&HostName::new("host"));
        policy.unlisted_service = Arc::new(ServicePolicy {
            restart: RestartMode::Auto,
            ..(*policy.unlisted_service).clone()
        });
        let of_life = World {
            engine: Arc::new(SimulatedEngine::new(Arc::clone(&world), Arc::default())),
            evidence: Arc::new(Nothing),
            policy: Arc::new(policy),
            witness: Box::new(endings.clone()),
            ..stage.world(false, taken).await
        };
        let life = of_life.tasks.clone().spawn("daemon", run(of_life));
        // Its own start, the host's and the engine's have settled.
        sleep(Duration::from_secs(400)).await;
        Self { world, orders, life, endings }
    }

    fn id(&self, name: &str) -> ContainerId {
        let found = self.world.with(|world, _| {
            world.truth().iter().find_map(|truth| match &truth.what {
                Happened::Created { container, name: of, .. } if of == name => {
                    Some(container.clone())
                }
                _ => None,
            })
        });
        found.unwrap()
    }

    fn hangs(&self, name: &str) {
        let id = self.id(name);
        self.world.with(|world, now| world.trouble(now, &id, Trouble::Hangs));
    }

    fn start_fails(&self, name: &str, why: Option<&str>) {
        let id = self.id(name);
        self.world.with(|world, now| world.set_start_fails(now, &id, why.map(str::to_owned)));
    }

    fn runs(&self, name: &str) -> bool {
        let id = self.id(name);
        self.world.with(|world, _| world.state(&id)) == Some(ContainerState::Running)
    }

    /// When so many acts of ours had begun, or ended.
    async fn until(&self, count: usize, of: impl Fn(&Happened) -> bool) -> WorldTime {
        for _ in 0..60_000 {
            let at = self.world.with(|world, _| {
                let mut such = world.truth().iter().filter(|truth| of(&truth.what));
                such.nth(count - 1).map(|truth| truth.at)
            });
            if let Some(at) = at {
                return at;
            }
            sleep(Duration::from_millis(10)).await;
        }
        panic!("it does not come");
    }

    async fn acts(&self, count: usize) {
        self.until(count, |what| matches!(what, Happened::ActionReceived { .. })).await;
    }

    async fn acts_end(&self, count: usize) {
        self.until(count, |what| matches!(what, Happened::ActionEnded { .. })).await;
    }

    async fn tell_to_end(&self) {
        self.orders.send(Order::Stop).await.ok().unwrap();
    }

    /// How long the end takes from now on.
    async fn ends(&mut self) -> Duration {
        let told = now();
        (&mut self.life).await.unwrap();
        now() - told
    }

    fn endings(&self) -> Vec<Ending> {
        self.endings.0.lock().unwrap().clone()
    }
}

/// Is killed by the engine so long after it was told to stop.
fn stubborn(name: &str, stop_timeout: u64) -> ContainerScript {
    ContainerScript {
        stopping: Stopping::IgnoresSignal,
        stop_timeout: Some(Duration::from_secs(stop_timeout)),
        ..ContainerScript::named(name)
    }
    .with_healthcheck(Healthcheck {
        interval: Duration::from_secs(5),
        timeout: Duration::from_secs(1),
        start_period: Duration::ZERO,
        retries: 2,
    })
}

#[tokio::test(start_paused = true)]
async fn of_acts_that_end_far_apart_at_the_end_nothing_untrue_is_recorded() {
    let mut host = Host::with(vec![stubborn("one", 5), stubborn("other", 40)]).await;
    host.hangs("one");
    host.hangs("other");
    host.acts(2).await;
    host.tell_to_end().await;
    let took = host.ends().await;
    assert!(took > Duration::from_secs(30), "{took:?}");
    assert!(host.runs("one") && host.runs("other"));
    assert_eq!(host.endings(), []);
}

#[tokio::test(start_paused = true)]
async fn what_defib_stopped_is_started_before_the_end() {
    let mut host = Host::with(vec![stubborn("web", 5)]).await;
    host.start_fails("web", Some("the address is in use"));
    host.hangs("web");
    host.acts(1).await;
    host.tell_to_end().await;
    host.acts_end(1).await;
    assert!(!host.runs("web"));
    host.start_fails("web", None);
    let took = host.ends().await;
    assert!(host.runs("web"));
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(host.endings(), []);
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_started_before_the_end_is_named() {
    let log = LogOf::here();
    let mut host = Host::with(vec![stubborn("web", 5)]).await;
    host.start_fails("web", Some("the address is in use"));
    host.hangs("web");
    host.acts(1).await;
    host.tell_to_end().await;
    let took = host.ends().await;
    assert!(ACTS_GRACE <= took && took < Duration::from_secs(70), "{took:?}");
    let log = log.text();
    assert!(log.contains("left stopped by defib: web; it is started at the next start"), "{log}");
    assert_eq!(host.endings(), []);
}

#[tokio::test(start_paused = true)]
async fn told_to_end_once_more_nothing_is_waited_for() {
    let mut host = Host::with(vec![stubborn("web", 40)]).await;
    host.hangs("web");
    host.acts(1).await;
    host.tell_to_end().await;
    sleep(Duration::from_secs(3)).await;
    host.tell_to_end().await;
    let took = host.ends().await;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn whoever_asks_at_the_end_hears_at_once_that_nobody_answers() {
    let mut host = Host::with(vec![stubborn("web", 40)]).await;
    host.hangs("web");
    host.acts(1).await;
    host.tell_to_end().await;
    sleep(Duration::from_secs(3)).await;
    let (answer, shown) = oneshot::channel();
    host.orders.send(Order::Show(answer)).await.ok().unwrap();
    let heard = timeout(Duration::from_millis(100), shown).await;
    assert!(matches!(heard, Ok(Err(_))), "{heard:?}");
    let took = host.ends().await;
    assert!(took > Duration::from_secs(30), "{took:?}");
}
