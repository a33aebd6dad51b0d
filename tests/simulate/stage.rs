//! The world of a run and everything that the script can do to it.

use crate::{
    account::{Condition, Fact, Ms},
    ports::{engine::short, sink::WeatherSink},
    recorder::Recorder,
    scenario::{Deed, ProberMood, Reload, SINKS, Scenario, SinkMood, Window},
    time::{Time, WorldView, wait_until},
};
use defib::{
    daemon::Order,
    docker::simulated::{
        faults::{FaultKind, FaultWindow, Faults},
        live::LiveWorld,
        script::Trouble,
        truth::{Actor, WorldTime},
        world::{Quirks, World},
    },
    domain::{
        moment::EngineMs,
        name::{ContainerId, SinkName},
        observation::ContainerState,
        policy::Policy,
    },
    notify::port::Sink,
    store::ledger::{Disk, Mood},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::mpsc;

/// How often the truth about each container is looked at between what happens.
const LOOK_EVERY_MS: Ms = 500;

/// The engine's clock is not the host's.
const ENGINE_EPOCH: EngineMs = EngineMs(1_793_491_213_000);

/// The world of a run.
pub struct Stage {
    /// The run's time.
    pub time: Arc<Time>,
    /// Writes the account.
    pub recorder: Arc<Recorder>,
    /// The engine and its containers.
    pub world: Arc<LiveWorld>,
    /// What is wrong on the way to it.
    pub faults: Arc<Faults>,
    /// What survives.
    pub disk: Disk,
    /// The sinks' weather.
    pub sinks: BTreeMap<&'static str, Arc<Mutex<SinkMood>>>,
    /// Whether defib can probe.
    pub prober: Arc<Mutex<ProberMood>>,
    /// What the config means now.
    pub policy: Arc<Policy>,
    /// Where orders to the present life of defib go.
    pub orders: Option<mpsc::Sender<Order>>,
    /// Whether the `hold` file exists.
    pub hold: Arc<AtomicBool>,
    /// How long the run is.
    pub run_ms: Ms,
    script: Vec<(Ms, Deed)>,
    played: usize,
    /// The present container of each replica.
    present: BTreeMap<String, ContainerId>,
    /// Which replica each container is of.
    replicas: BTreeMap<String, String>,
    conditions: BTreeMap<String, Condition>,
    /// Which evidence there is of each replica: probes, and a healthcheck.
    evidence: BTreeMap<String, (bool, bool)>,
    /// Sinks that were gone, or refused: in the end they are tried again hourly, which is beyond the run.
    shunned: BTreeSet<&'static str>,
    /// When the engine is to come back after a boot.
    rebooted: bool,
}

/// Why a stretch of the script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The run is over.
    End,
    /// The host boots: defib dies with it.
    Reboot,
}

impl Stage {
    /// Sets the stage: every container runs.
    pub fn set(scenario: &Scenario) -> Self {
        let time = Time::begin();
        let recorder = Recorder::new(Arc::clone(&time));
        let quirks = Quirks {
            cancelled_restart_leaves_stopped: scenario.cancels,
            health_frozen_after_engine_restart: false,
        };
        let world = World::new(ENGINE_EPOCH).with_quirks(quirks);
        let world = LiveWorld::begin(world, Arc::new(WorldView(Arc::clone(&time))));
        let mut present = BTreeMap::new();
        let mut replicas = BTreeMap::new();
        for (replica, script) in &scenario.containers {
            let id = world.with(|world, now| world.run(now, script.clone()));
            replicas.insert(short(&id), replica.clone());
            present.insert(replica.clone(), id);
        }
        let windows = scenario.windows.iter().filter_map(|(from, to, window)| {
            let kind = match window {
                Window::Kind(kind) => kind.clone(),
                Window::InspectHangs(replica) => {
                    FaultKind::InspectHangs(present.get(replica)?.clone())
                }
            };
            Some(FaultWindow { from: WorldTime(*from), to: WorldTime(*to), kind })
        });
        let faults = Arc::new(Faults { windows: windows.collect() });
        let sinks =
            SINKS.iter().map(|name| (*name, Arc::new(Mutex::new(SinkMood::Fine)))).collect();
        let services = scenario.rules.services.iter();
        let evidence = services
            .flat_map(|service| {
                let has = (!service.probes.is_empty(), service.healthcheck.is_some());
                service.replicas.iter().map(move |replica| (replica.clone(), has))
            })
            .collect();
        Self {
            disk: Disk::new(scenario.pace),
            time,
            recorder,
            world,
            faults,
            sinks,
            prober: Arc::new(Mutex::new(ProberMood::Fine)),
            policy: Arc::clone(&scenario.policy),
            orders: None,
            hold: Arc::new(AtomicBool::new(false)),
            run_ms: scenario.run_ms,
            script: scenario.script.clone(),
            played: 0,
            present,
            replicas,
            conditions: BTreeMap::new(),
            evidence,
            shunned: BTreeSet::new(),
            rebooted: false,
        }
    }

    /// Which replica each container was of.
    pub fn replicas(&self) -> &BTreeMap<String, String> {
        &self.replicas
    }

    /// When something is to be done next.
    fn next(&self) -> Ms {
        let deed = self.script.get(self.played).map_or(self.run_ms, |deed| deed.0);
        deed.min(self.time.now() / LOOK_EVERY_MS * LOOK_EVERY_MS + LOOK_EVERY_MS).min(self.run_ms)
    }

    /// Plays the script while a life of defib goes on.
    pub async fn play(&mut self) -> Pause {
        loop {
            if let Some(pause) = self.play_due() {
                return pause;
            }
            wait_until(&self.time, self.next()).await;
        }
    }

    /// Plays the script while defib is down, up to this moment.
    pub fn play_alone(&mut self, until: Ms) -> Option<Pause> {
        loop {
            match self.play_due() {
                Some(Pause::End) => return Some(Pause::End),
                // It is down already.
                Some(Pause::Reboot) | None => {}
            }
            if self.time.now() >= until {
                return None;
            }
            self.time.pass_until(self.next().min(until));
        }
    }

    fn play_due(&mut self) -> Option<Pause> {
        let now = self.time.now();
        let mut pause = None;
        while pause.is_none()
            && let Some((at, deed)) = self.script.get(self.played)
            && *at <= now
        {
            let deed = deed.clone();
            self.played += 1;
            pause = self.perform(&deed);
        }
        self.look();
        if now >= self.run_ms { Some(Pause::End) } else { pause }
    }

    /// The host is up again, and the engine with it.
    pub fn host_is_back(&mut self) {
        if std::mem::take(&mut self.rebooted) {
            self.world.with(|world, now| world.engine_up(now));
            self.recorder.note(Fact::EngineWeather { fine: true, what: "booting".to_owned() });
        }
    }

    fn perform(&mut self, deed: &Deed) -> Option<Pause> {
        let somebody = Actor::Somebody;
        match deed {
            Deed::Trouble(replica, trouble) => {
                let trouble = *trouble;
                self.on(replica, |world, now, id| world.trouble(now, id, trouble));
            }
            Deed::Heal(replica) => self.on(replica, |world, now, id| world.heal(now, id)),
            Deed::Exit(replica, code) => {
                let code = *code;
                self.on(replica, |world, now, id| world.crash(now, id, code));
            }
            Deed::Stop(replica) => self.on(replica, |world, now, id| world.stop(now, id, somebody)),
            Deed::Start(replica) => {
                self.on(replica, |world, now, id| world.start(now, id, somebody));
            }
            Deed::Restart(replica) => {
                self.on(replica, |world, now, id| world.restart(now, id, somebody));
            }
            Deed::Signal(replica, signal) => {
                let signal = *signal;
                self.on(replica, |world, now, id| world.kill(now, id, signal, somebody));
            }
            Deed::Pause(replica) => {
                self.on(replica, |world, now, id| world.pause(now, id, somebody));
            }
            Deed::Unpause(replica) => {
                self.on(replica, |world, now, id| world.unpause(now, id, somebody));
            }
            Deed::Remove(replica) => {
                self.on(replica, |world, now, id| world.remove(now, id, somebody));
            }
            Deed::Recreate(replica) => self.recreate(replica),
            Deed::CannotCheck(replica, cannot) => {
                let cannot = *cannot;
                self.on(replica, |world, now, id| world.healthcheck_cannot_run(now, id, cannot));
            }
            Deed::Behave(replica, behaviour) => {
                let behaviour = *behaviour;
                self.on(replica, |world, now, id| world.set_behaviour(now, id, behaviour));
            }
            Deed::Stopping(replica, stopping) => {
                let stopping = *stopping;
                self.on(replica, |world, now, id| world.set_stopping(now, id, stopping));
            }
            Deed::StartFails(replica, fails) => {
                let message = fails.then(|| "no such network".to_owned());
                self.on(replica, |world, now, id| world.set_start_fails(now, id, message));
            }
            Deed::EngineRestarts(away) => {
                let away = Duration::from_millis(*away);
                self.world.with(|world, now| world.engine_restart(now, away));
            }
            Deed::Store(mood) => {
                let fine = *mood == Mood::Well;
                self.disk.set_mood(mood.clone());
                self.recorder.note(Fact::StoreWeather { fine, what: format!("{mood:?}") });
            }
            Deed::Sink(sink, mood) => {
                if let Some(slot) = self.sinks.get(sink) {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = *mood;
                }
                if matches!(mood, SinkMood::Broken | SinkMood::Rejects) {
                    self.shunned.insert(sink);
                }
                self.recorder.note(Fact::SinkWeather {
                    sink: (*sink).to_owned(),
                    fine: *mood == SinkMood::Fine && !self.shunned.contains(sink),
                    what: format!("{mood:?}"),
                });
            }
            Deed::Prober(mood) => {
                *self.prober.lock().unwrap_or_else(PoisonError::into_inner) = *mood;
            }
            Deed::Sleep(span) => {
                let until = Duration::from_millis(*span);
                self.world.with(|world, now| world.host_slept(now, now + until));
                self.recorder.slept(*span);
                self.time.sleep(*span);
            }
            Deed::StepWall(by) => {
                self.time.step_wall(*by);
                self.recorder.note(Fact::WallStepped(*by));
            }
            Deed::Reboot => return Some(self.reboot()),
            Deed::Hold(exists) => self.set_hold(*exists),
            Deed::Reload(reload) => self.reload(reload),
        }
        None
    }

    fn set_hold(&self, exists: bool) {
        if self.hold.swap(exists, Ordering::Relaxed) != exists {
            self.recorder.note(Fact::HoldFile { exists });
        }
    }

    /// While no defib lives, the next one reads it when it starts.
    fn reload(&mut self, reload: &Reload) {
        self.policy = Arc::clone(&reload.policy);
        self.recorder
            .note(Fact::Reloaded { removed: reload.removed.clone(), hands_off: reload.hands_off });
        if let Some(orders) = &self.orders {
            let order = Order::Reload { policy: Arc::clone(&self.policy), sinks: self.new_sinks() };
            // A life that has just ended takes no orders; the next one begins with the policy.
            drop(orders.try_send(order));
        }
    }

    /// The sinks, as they are made from the config.
    pub fn new_sinks(&self) -> BTreeMap<SinkName, Arc<dyn Sink>> {
        let sinks = self.sinks.iter().map(|(&name, mood)| {
            let (mood, recorder) = (Arc::clone(mood), Arc::clone(&self.recorder));
            let sink: Arc<dyn Sink> = Arc::new(WeatherSink { name, mood, recorder });
            (SinkName::new(name), sink)
        });
        sinks.collect()
    }

    fn on(&self, replica: &str, work: impl FnOnce(&mut World, WorldTime, &ContainerId)) {
        if let Some(id) = self.present.get(replica) {
            self.world.with(|world, now| work(world, now, id));
        }
    }

    fn recreate(&mut self, replica: &str) {
        let Some(old) = self.present.get(replica) else { return };
        let new = self.world.with(|world, now| world.recreate(now, old, Actor::Somebody));
        if let Some(new) = new {
            self.replicas.insert(short(&new), replica.to_owned());
            self.present.insert(replica.to_owned(), new);
        }
    }

    fn reboot(&mut self) -> Pause {
        for id in self.present.values() {
            self.world.with(|world, now| {
                if matches!(world.state(id), Some(ContainerState::Running | ContainerState::Paused))
                {
                    world.crash(now, id, 255);
                }
            });
        }
        self.world.with(|world, now| world.engine_down(now));
        self.recorder.note(Fact::EngineWeather { fine: false, what: "booting".to_owned() });
        self.rebooted = true;
        self.time.boot();
        self.recorder.note(Fact::HostBooted);
        // It lies where nothing survives a boot.
        self.set_hold(false);
        Pause::Reboot
    }

    /// Writes down what has changed in how the containers would answer.
    fn look(&mut self) {
        for id in self.replicas.keys().cloned().collect::<Vec<_>>() {
            let Some(whole) = self.whole(&id) else { continue };
            let replica = self.replicas.get(&id);
            let has = replica.and_then(|replica| self.evidence.get(replica)).copied();
            let has = has.unwrap_or((false, false));
            let condition = self.world.with(|world, _| condition(world, &whole, has));
            if self.conditions.get(&id) != Some(&condition) {
                self.conditions.insert(id.clone(), condition);
                self.recorder.note(Fact::Turned { container: id, condition });
            }
        }
    }

    fn whole(&self, id: &str) -> Option<ContainerId> {
        let found = self
            .world
            .with(|world, _| world.containers().into_iter().find(|other| short(other) == id));
        found.or_else(|| Some(ContainerId::new(id)))
    }
}

/// How a container would answer, by the evidence that there is of it: probes, and a healthcheck.
fn condition(world: &World, id: &ContainerId, (probes, checked): (bool, bool)) -> Condition {
    if world.state(id) != Some(ContainerState::Running) {
        return Condition::Absent;
    }
    let answers_well = matches!(world.script_of(id).map(|script| script.answers), Some(200..300));
    let mistyped = if answers_well || !probes { Condition::Well } else { Condition::Wrong };
    match world.current_trouble(id) {
        None if world.is_well(id) => mistyped,
        None => Condition::Failing,
        Some(Trouble::OnlyProbes) if !probes => Condition::Well,
        Some(Trouble::OnlyHealthcheck) if !checked => mistyped,
        Some(Trouble::Answers(status)) if status < 500 && !checked => Condition::Wrong,
        Some(_) => Condition::Failing,
    }
}
