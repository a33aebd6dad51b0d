//! The engine itself: containers, their timers, the event history, and the truth.
//!
//! A plain state machine. Every method takes the world's time and first fires all timers up to it, each at its own due
//! time, so that what happened does not depend on how often anybody looked. The same script gives the same truth.
//!
//! What a start, an end, a request, a healthcheck does stands in `lives`, `requests`,
//! `health`; how a process misbehaves in `process`; how it all looks from outside in `views`.

use super::{
    container::{Container, NEVER, PolicyWork, Standing},
    history::{CursorLost, EventCursor, History, WorldAction, WorldEvent},
    script::ContainerScript,
    timers::{Due, Slot, Timers},
    truth::{Actor, Answer, Happened, RequestId, Truth, WorldTime},
};
use crate::domain::{
    moment::EngineMs,
    name::{ContainerId, StartedAt},
    observation::EventAction,
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, net::Ipv4Addr, sync::Arc, time::Duration};

/// The engine's own timers have no container.
const ENGINE: Slot = Slot(0);

/// Ways in which engine versions differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Engine 24.0.0–24.0.6: a caller that goes away in mid-restart leaves the container stopped (moby 44365).
    pub cancelled_restart_leaves_stopped: bool,
    /// Engine before 23: no healthcheck runs after the engine came back (moby 41871).
    pub health_frozen_after_engine_restart: bool,
}

/// An engine and its containers.
#[derive(Debug)]
pub struct World {
    pub(super) quirks: Quirks,
    pub(super) containers: BTreeMap<Slot, Container>,
    pub(super) slots: BTreeMap<ContainerId, Slot>,
    pub(super) timers: Timers,
    pub(super) answers: BTreeMap<RequestId, Answer>,
    pub(super) engine_up: bool,
    pub(super) lives: u64,
    pub(super) requests: u64,
    history: History,
    truth: Vec<Truth>,
    epoch: EngineMs,
    created: u64,
    revision: u64,
}

impl World {
    /// An empty engine whose clock shows `epoch` at world time 0.
    pub fn new(epoch: EngineMs) -> Self {
        Self {
            quirks: Quirks::default(),
            containers: BTreeMap::new(),
            slots: BTreeMap::new(),
            timers: Timers::default(),
            answers: BTreeMap::new(),
            engine_up: true,
            lives: 0,
            requests: 0,
            history: History::default(),
            truth: Vec::new(),
            epoch,
            created: 0,
            revision: 0,
        }
    }

    /// The same, of another version.
    #[must_use]
    pub fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// Everything that happened so far, in order.
    pub fn truth(&self) -> &[Truth] {
        &self.truth
    }

    /// Grows with every change that somebody may wait for.
    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    /// Fires all timers up to `now`, each at its own time.
    pub fn advance(&mut self, now: WorldTime) {
        while let Some((at, slot, due)) = self.timers.pop(now) {
            self.revision += 1;
            match due {
                Due::Booted => self.booted(slot),
                Due::Behaviour => self.behaviour_strikes(slot, at),
                Due::Exit => self.exit_is_due(slot, at),
                Due::CheckBegins => self.check_begins(slot, at),
                Due::CheckEnds => self.check_ends(slot, at),
                Due::Policy => self.policy_starts(slot, at),
                Due::Request(request) => self.step_is_over(slot, request, at),
                Due::EngineUp => self.come_up(at),
            }
        }
    }

    /// When something will happen by itself; `None` where nothing will.
    pub fn next_event_at(&self) -> Option<WorldTime> {
        self.timers.next()
    }

    /// What the engine's clock shows.
    pub fn engine_now(&self, now: WorldTime) -> EngineMs {
        self.epoch + Duration::from_millis(now.0)
    }

    /// The engine's clock is set, by so many milliseconds.
    pub fn step_engine_clock(&mut self, now: WorldTime, by: i64) {
        self.advance(now);
        self.epoch = EngineMs(self.epoch.0.saturating_add(by));
    }

    /// The host slept from `from` until `until`, and nothing in it moved: every timer is put off.
    pub fn host_slept(&mut self, from: WorldTime, until: WorldTime) {
        self.advance(from);
        let span = until.since(from);
        self.timers.shift(span);
        for container in self.containers.values_mut() {
            container.life_began = container.life_began + span;
        }
        self.happen(from, Happened::HostSlept { span });
    }

    /// Whether the engine answers at all.
    pub fn engine_is_up(&self) -> bool {
        self.engine_up
    }

    /// Makes a container; it does not run yet. Its name should be free: the model does not check.
    pub fn create(&mut self, now: WorldTime, script: ContainerScript) -> ContainerId {
        self.advance(now);
        self.created += 1;
        let slot = Slot(self.created);
        let id = made_up_id(self.created, &script.name);
        let labels = Arc::new(script.labels.clone());
        let container = Container {
            id: id.clone(),
            labels: Arc::clone(&labels),
            created: self.engine_now(now),
            address: address(self.created),
            standing: Standing::Created,
            started_at: StartedAt::new(NEVER),
            started: None,
            finished: None,
            life_began: now,
            exit_code: 0,
            error: String::new(),
            pid: None,
            monitor: None,
            manually_stopped: false,
            policy: PolicyWork::default(),
            requests: Vec::new(),
            joined: None,
            booted: false,
            trouble: None,
            starts_in_trouble: 0,
            ending: None,
            frozen: Vec::new(),
            ended_unseen: None,
            start_fails: None,
            healthcheck_cannot_run: false,
            script,
        };
        let name = container.script.name.clone();
        self.containers.insert(slot, container);
        self.slots.insert(id.clone(), slot);
        let labels = (*labels).clone();
        self.happen(now, Happened::Created { container: id.clone(), name, labels });
        self.tell(slot, now, EventAction::Created);
        id
    }

    /// Makes a container and starts it at once, by somebody.
    pub fn run(&mut self, now: WorldTime, script: ContainerScript) -> ContainerId {
        let id = self.create(now, script);
        if let Some(slot) = self.slot(&id) {
            // A failed start stands in the truth.
            let _started_or_told = self.try_start(slot, now, Actor::Somebody);
        }
        id
    }

    /// Where to begin reading events: at the first that `since` replays, else at the next to come.
    pub fn open_events(&self, since: Option<EngineMs>) -> EventCursor {
        self.history.open(since)
    }

    /// The next event, execs included; `None` where there is none yet.
    ///
    /// # Errors
    /// Where the engine was restarted since, or the reader fell too far behind.
    pub fn read_event(&self, cursor: &mut EventCursor) -> Result<Option<WorldEvent>, CursorLost> {
        self.history.read(cursor)
    }

    /// The engine stops answering; containers run on (live-restore).
    pub fn engine_down(&mut self, now: WorldTime) {
        self.advance(now);
        self.go_down(now);
    }

    /// The engine comes back: what runs is `starting` again with a streak of 0, and the event history is empty.
    pub fn engine_up(&mut self, now: WorldTime) {
        self.advance(now);
        self.timers.cancel(ENGINE, Due::EngineUp);
        self.come_up(now);
    }

    /// The engine restarts and is away for so long.
    pub fn engine_restart(&mut self, now: WorldTime, down_for: Duration) {
        self.engine_down(now);
        self.timers.set(ENGINE, Due::EngineUp, now + down_for);
    }

    pub(super) fn slot(&self, id: &ContainerId) -> Option<Slot> {
        self.slots.get(id).copied()
    }

    pub(super) fn get(&self, id: &ContainerId) -> Option<&Container> {
        self.containers.get(&self.slot(id)?)
    }

    pub(super) fn happen(&mut self, at: WorldTime, what: Happened) {
        self.revision += 1;
        self.truth.push(Truth { at, what });
    }

    pub(super) fn answer(&mut self, request: RequestId, answer: Answer) {
        self.revision += 1;
        self.answers.insert(request, answer);
    }

    pub(super) fn forget_events(&mut self) {
        self.revision += 1;
        self.history.forget();
    }

    /// Emits an event of one container; a dead engine emits none.
    pub(super) fn tell(&mut self, slot: Slot, at: WorldTime, action: EventAction) {
        self.emit(slot, at, WorldAction::Told(action));
    }

    pub(super) fn tell_exec_began(&mut self, slot: Slot, at: WorldTime) {
        self.emit(slot, at, WorldAction::ExecCreated);
        self.emit(slot, at, WorldAction::ExecStarted);
    }

    pub(super) fn tell_exec_died(&mut self, slot: Slot, at: WorldTime, exit_code: i64) {
        self.emit(slot, at, WorldAction::ExecDied { exit_code });
    }

    pub(super) fn emit(&mut self, slot: Slot, at: WorldTime, action: WorldAction) {
        let Some(container) = self.containers.get(&slot) else { return };
        if !self.engine_up {
            return;
        }
        self.revision += 1;
        self.history.push(WorldEvent {
            seq: self.history.next_seq(),
            at,
            stamp: self.engine_now(at),
            container: container.id.clone(),
            name: container.script.name.clone(),
            image: container.script.image.clone(),
            labels: Arc::clone(&container.labels),
            action,
        });
    }
}

/// 64 hex digits, new for every container and the same in every run.
fn made_up_id(serial: u64, name: &str) -> ContainerId {
    let digest = Sha256::digest(format!("{serial} {name}"));
    let mut id = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _always_fits = write!(id, "{byte:02x}");
    }
    ContainerId::new(id)
}

/// An address of 172.16.0.0/12, by order of creation.
fn address(serial: u64) -> Ipv4Addr {
    let within = u32::try_from(serial % 0x000f_fffe).unwrap_or(0) + 1;
    Ipv4Addr::from_bits(Ipv4Addr::new(172, 16, 0, 0).to_bits() | within)
}
