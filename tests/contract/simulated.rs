//! The simulated engine, twice: behind the typed port in paused time, and behind HTTP in real time with the real adapter
//! speaking to it. Both are driven through the world itself, as somebody.

use crate::{
    driver::{Check, Driver, Made, Order, Wanted},
    suite::{self, for_every_behaviour},
};
use defib::{
    clock::{Clock, HostClock},
    docker::{
        adapter::DockerEngine,
        address::EngineAddress,
        port::Engine,
        simulated::{
            engine::SimulatedEngine,
            faults::Faults,
            live::LiveWorld,
            script::{ContainerScript, Stopping, Trouble},
            truth::{self, Actor, Answer},
            wire::WireEngine,
            world::World,
        },
    },
    domain::{
        moment::{AwakeMs, BootId, BootMs, EngineMs, Moment, WallMs, millis},
        name::ContainerId,
        observation::{Healthcheck, RestartPolicy},
    },
    tasks::{Pending, Tasks},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

macro_rules! on_the_world {
    ($($behaviour:ident),* $(,)?) => {
        mod world {
            $(
                #[tokio::test(start_paused = true)]
                async fn $behaviour() {
                    super::suite::$behaviour(&super::Simulated::behind_the_port()).await;
                }
            )*
        }
    };
}
for_every_behaviour!(on_the_world);

macro_rules! on_the_wire {
    ($($behaviour:ident),* $(,)?) => {
        mod wire {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    super::suite::$behaviour(&super::Simulated::on_the_wire()).await;
                }
            )*
        }
    };
}
for_every_behaviour!(on_the_wire);

/// A world and a way to it.
struct Simulated {
    live: Arc<LiveWorld>,
    engine: Arc<dyn Engine>,
    names: AtomicU32,
    _served: Option<(WireEngine, tempfile::TempDir)>,
}

impl Simulated {
    fn behind_the_port() -> Self {
        let clock = Arc::new(PausedClock { began: tokio_now() });
        // 2026-11-29T23:30:00Z.
        let live = LiveWorld::begin(World::new(EngineMs(1_795_995_000_000)), clock);
        let engine = Arc::new(SimulatedEngine::new(Arc::clone(&live), Arc::new(Faults::default())));
        Self { live, engine, names: AtomicU32::new(0), _served: None }
    }

    fn on_the_wire() -> Self {
        let clock = Arc::new(HostClock::new());
        let wall = clock.now().wall.0;
        let live = LiveWorld::begin(World::new(EngineMs(wall)), clock);
        let folder = tempfile::tempdir().unwrap();
        let tasks = Tasks::on(tokio::runtime::Handle::current());
        let path = folder.path().join("engine.sock");
        let served = WireEngine::serve(Arc::clone(&live), path, &tasks).unwrap();
        let address = EngineAddress::parse(&served.address()).unwrap();
        let engine = Arc::new(DockerEngine::new(&address));
        Self { live, engine, names: AtomicU32::new(0), _served: Some((served, folder)) }
    }

    fn unused_name(&self) -> String {
        format!("simulated-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    async fn ask(&self, container: &ContainerId, order: truth::Order) {
        let request =
            self.live.with(|world, now| world.request(now, container, order, Actor::Somebody));
        let answer = self.live.find(|world, _| world.take_answer(request).ok_or(None)).await;
        assert!(matches!(answer, Answer::Done | Answer::NotModified), "{answer:?}");
    }
}

impl Driver for Simulated {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.engine)
    }

    fn make<'a>(&'a self, wanted: &'a Wanted) -> Pending<'a, Made> {
        Box::pin(async move {
            let obeys = Stopping::Obeys(Duration::from_millis(20));
            let every_second = Healthcheck {
                interval: Duration::from_secs(1),
                timeout: Duration::from_secs(1),
                start_period: Duration::ZERO,
                retries: 2,
            };
            let label = wanted.label.map(|(key, value)| (key.to_owned(), value.to_owned()));
            let script = ContainerScript {
                labels: label.into_iter().collect(),
                healthcheck: wanted.healthcheck.then_some(every_second),
                stopping: if wanted.ignores_sigterm { Stopping::IgnoresSignal } else { obeys },
                obeying_exit_code: 0,
                stop_timeout: wanted.stop_timeout,
                restart_policy: if wanted.always_restarted {
                    RestartPolicy::Always
                } else {
                    RestartPolicy::No
                },
                network_parent: wanted.network_of.clone(),
                ..ContainerScript::named(self.unused_name())
            };
            let (name, image) = (script.name.clone(), script.image.clone());
            let id = self.live.with(|world, now| world.create(now, script));
            Made { id, name, image }
        })
    }

    fn order<'a>(&'a self, container: &'a ContainerId, order: Order) -> Pending<'a, ()> {
        Box::pin(async move {
            match order {
                Order::Start => self.ask(container, truth::Order::Start).await,
                Order::Stop => self.ask(container, truth::Order::Stop { timeout: None }).await,
                Order::Restart => {
                    self.ask(container, truth::Order::Restart { timeout: None }).await;
                }
                Order::Pause => self.ask(container, truth::Order::Pause).await,
                Order::Unpause => self.ask(container, truth::Order::Unpause).await,
                Order::Signal(signal) => self.ask(container, truth::Order::Kill { signal }).await,
                Order::Update => self.ask(container, truth::Order::Update).await,
                Order::Rename => {
                    self.ask(container, truth::Order::Rename(self.unused_name())).await;
                }
                Order::Remove => self.ask(container, truth::Order::Remove { force: true }).await,
                Order::Exit(code) => self.live.with(|world, now| world.crash(now, container, code)),
                Order::Check(check) => self.live.with(|world, now| match check {
                    Check::Passes => {
                        world.heal(now, container);
                        world.healthcheck_cannot_run(now, container, false);
                    }
                    Check::Fails => world.trouble(now, container, Trouble::OnlyHealthcheck),
                    Check::Hangs => world.hang(now, container),
                    Check::CannotRun => world.healthcheck_cannot_run(now, container, true),
                }),
            }
        })
    }
}

/// All clocks go by the paused runtime's.
struct PausedClock {
    began: tokio::time::Instant,
}

#[allow(clippy::disallowed_methods, reason = "the paused runtime's clock is the test's clock")]
fn tokio_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

impl Clock for PausedClock {
    fn now(&self) -> Moment {
        let elapsed = millis(tokio_now() - self.began);
        Moment { awake: AwakeMs(elapsed), boot: BootMs(elapsed), wall: WallMs(0) }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from("paused"))
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        Box::pin(tokio::time::sleep(until.since(self.now().awake)))
    }
}
