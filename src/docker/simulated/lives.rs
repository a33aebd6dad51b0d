//! How a container's lives begin and end: starts, exits, Docker's own restart policy, `--rm`, and the engine's own going
//! and coming. Sequences and delays are those of Engine 20.10.

use super::{
    container::{PolicyWork, Standing},
    script::Behaviour,
    timers::{Due, Slot},
    truth::{Actor, Answer, Happened, WorldTime},
    world::World,
};
use crate::domain::{
    moment::EngineMs,
    name::StartedAt,
    observation::{EventAction, RestartPolicy},
};
use std::time::Duration;

/// Docker's policy waits this long first, then doubles.
const POLICY_FIRST: Duration = Duration::from_millis(100);
/// And at most this long.
const POLICY_LAST: Duration = Duration::from_secs(60);
/// A life this long ends the doubling.
const POLICY_RESET: Duration = Duration::from_secs(10);
/// What a container shows whose start failed before anything ran.
const NEVER_RAN: i64 = 128;

impl World {
    /// Starts its process. Nothing where it runs already.
    pub(super) fn try_start(&mut self, slot: Slot, at: WorldTime, by: Actor) -> Result<(), Answer> {
        let Some(container) = self.containers.get(&slot) else {
            return Err(Answer::NoSuchContainer);
        };
        if container.alive()
            || container.standing == Standing::Restarting && by != Actor::DockerPolicy
        {
            return Ok(());
        }
        let joined = match self.why_not(slot) {
            Ok(joined) => joined,
            Err(answer) => {
                self.start_failed(slot, at, by, &answer);
                return Err(answer);
            }
        };
        self.lives += 1;
        let life = self.lives;
        let engine_now = self.engine_now(at);
        let Some(container) = self.containers.get_mut(&slot) else {
            return Err(Answer::NoSuchContainer);
        };
        container.standing = Standing::Running;
        container.started_at = stamp(engine_now, life);
        container.started = Some(engine_now);
        container.life_began = at;
        container.error.clear();
        container.exit_code = 0;
        container.pid = Some(u32::try_from(1000 + life).unwrap_or(u32::MAX));
        container.joined = joined;
        container.ending = None;
        container.ended_unseen = None;
        if by != Actor::DockerPolicy {
            container.policy = PolicyWork::default();
            container.manually_stopped = false;
        }
        let started = Happened::Started {
            container: container.id.clone(),
            by,
            started_at: container.started_at.clone(),
        };
        self.happen(at, started);
        self.begin_process(slot, at);
        self.begin_monitoring(slot, at);
        self.tell(slot, at, EventAction::Started);
        Ok(())
    }

    /// What stands in the way of a start; else the parent's life whose namespace it will hold.
    fn why_not(&self, slot: Slot) -> Result<Option<StartedAt>, Answer> {
        let Some(container) = self.containers.get(&slot) else {
            return Err(Answer::NoSuchContainer);
        };
        if let Some(message) = &container.start_fails {
            return Err(Answer::Failed(message.clone()));
        }
        let Some(parent) = &container.script.network_parent else { return Ok(None) };
        match self.get(parent) {
            None => Err(Answer::Failed(format!("No such container: {parent}"))),
            Some(found) if !found.alive() => Err(Answer::Conflict(format!(
                "cannot join network of a non running container: {parent}"
            ))),
            Some(found) => Ok(Some(found.started_at.clone())),
        }
    }

    /// It stays down: the stop before it marked it as stopped by hand, and Docker's policy gives up.
    fn start_failed(&mut self, slot: Slot, at: WorldTime, by: Actor, answer: &Answer) {
        let message = match answer {
            Answer::Failed(message) | Answer::Conflict(message) | Answer::Denied(message) => {
                message.clone()
            }
            Answer::Done | Answer::NotModified | Answer::NoSuchContainer | Answer::Lost => {
                String::new()
            }
        };
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.error.clone_from(&message);
        if container.exit_code == 0 {
            container.exit_code = NEVER_RAN;
        }
        if container.standing == Standing::Restarting {
            container.standing = Standing::Exited;
        }
        let (container, auto_remove) = (container.id.clone(), container.script.auto_remove);
        self.happen(at, Happened::StartFailed { container, by, message });
        if auto_remove {
            self.destroy(slot, at, Actor::DockerPolicy);
        }
    }

    /// Its process ended.
    pub(super) fn end_life(&mut self, slot: Slot, at: WorldTime, exit_code: i64, by: Actor) {
        let engine_now = self.engine_now(at);
        let engine_up = self.engine_up;
        let Some(container) = self.containers.get_mut(&slot) else { return };
        if !container.alive() {
            return;
        }
        container.ending = None;
        container.frozen.clear();
        if !engine_up {
            container.ended_unseen = Some((exit_code, engine_now));
        }
        let died = Happened::Died {
            container: container.id.clone(),
            by,
            exit_code,
            started_at: container.started_at.clone(),
        };
        for due in Due::OF_PROCESS {
            self.timers.cancel(slot, due);
        }
        self.happen(at, died);
        if engine_up {
            self.see_end(slot, at, exit_code);
        }
    }

    /// The engine sees that a process ended.
    fn see_end(&mut self, slot: Slot, at: WorldTime, exit_code: i64) {
        let engine_now = self.engine_now(at);
        self.close_monitor(slot, at);
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.exit_code = exit_code;
        container.finished = Some(engine_now);
        container.pid = None;
        let ran = at.since(container.life_began);
        let wait =
            next_wait(&mut container.policy, container.script.restart_policy, exit_code, ran);
        container.standing = if wait.is_some() { Standing::Restarting } else { Standing::Exited };
        if let Some(wait) = wait {
            self.timers.set(slot, Due::Policy, at + wait);
        }
        self.tell(slot, at, EventAction::Died { exit_code: Some(exit_code) });
        if wait.is_none() {
            self.went_down(slot, at);
        }
    }

    /// It is down for good: requests that waited for that go on, then `--rm` takes it.
    pub(super) fn went_down(&mut self, slot: Slot, at: WorldTime) {
        self.stops_are_over(slot, at);
        let Some(container) = self.containers.get(&slot) else { return };
        let taken = container.script.auto_remove && !container.being_restarted();
        if taken && !container.alive() {
            self.destroy(slot, at, Actor::DockerPolicy);
        }
    }

    pub(super) fn policy_starts(&mut self, slot: Slot, at: WorldTime) {
        // A failed start stands in the truth, and Docker does not try again.
        let _started_or_told = self.try_start(slot, at, Actor::DockerPolicy);
    }

    /// Removes it. Requests under way at it fail.
    pub(super) fn destroy(&mut self, slot: Slot, at: WorldTime, by: Actor) {
        self.stop_checks(slot);
        self.timers.cancel(slot, Due::Policy);
        for due in Due::OF_PROCESS {
            self.timers.cancel(slot, due);
        }
        self.tell(slot, at, EventAction::Destroyed);
        let Some(mut container) = self.containers.remove(&slot) else { return };
        self.slots.remove(&container.id);
        self.happen(at, Happened::Destroyed { container: container.id.clone(), by });
        for request in std::mem::take(&mut container.requests) {
            self.timers.cancel(slot, Due::Request(request.id));
            let answer =
                Answer::Failed("container is marked for removal and cannot be started".to_owned());
            self.conclude(&container.id, request, at, answer);
        }
    }

    pub(super) fn go_down(&mut self, at: WorldTime) {
        if !self.engine_up {
            return;
        }
        self.engine_up = false;
        self.happen(at, Happened::EngineWentDown);
        for slot in self.containers.keys().copied().collect::<Vec<_>>() {
            self.stop_checks(slot);
            self.timers.cancel(slot, Due::Policy);
            let Some(container) = self.containers.get_mut(&slot) else { continue };
            let id = container.id.clone();
            for request in std::mem::take(&mut container.requests) {
                self.timers.cancel(slot, Due::Request(request.id));
                self.conclude(&id, request, at, Answer::Lost);
            }
        }
        self.forget_events();
    }

    pub(super) fn come_up(&mut self, at: WorldTime) {
        if self.engine_up {
            return;
        }
        self.engine_up = true;
        self.happen(at, Happened::EngineCameUp);
        for slot in self.containers.keys().copied().collect::<Vec<_>>() {
            self.restore(slot, at);
        }
    }

    /// What the engine does about one container when it comes back.
    fn restore(&mut self, slot: Slot, at: WorldTime) {
        let frozen = self.quirks.health_frozen_after_engine_restart;
        let Some(container) = self.containers.get_mut(&slot) else { return };
        if let Some((exit_code, finished)) = container.ended_unseen.take() {
            container.standing = Standing::Exited;
            container.exit_code = exit_code;
            container.finished = Some(finished);
            container.pid = None;
        }
        container.policy = PolicyWork::default();
        match container.standing {
            Standing::Running => {
                self.begin_monitoring(slot, at);
                if frozen {
                    self.stop_checks(slot);
                }
            }
            Standing::Paused => {
                self.begin_monitoring(slot, at);
                self.stop_checks(slot);
            }
            Standing::Created => {}
            Standing::Restarting | Standing::Exited => {
                let starts = match container.script.restart_policy {
                    RestartPolicy::No => false,
                    RestartPolicy::Always => true,
                    RestartPolicy::UnlessStopped => !container.manually_stopped,
                    RestartPolicy::OnFailure { .. } => container.exit_code != 0,
                };
                if starts {
                    container.standing = Standing::Restarting;
                    self.timers.set(slot, Due::Policy, at + POLICY_FIRST);
                } else {
                    container.standing = Standing::Exited;
                    self.went_down(slot, at);
                }
            }
        }
    }

    /// Lets the process begin: its boot, and what its behaviour has in store.
    fn begin_process(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let boots_in = container.script.boots_in;
        container.booted = boots_in.is_zero();
        if !container.booted {
            self.timers.set(slot, Due::Booted, at + boots_in);
        }
        if container.trouble.is_some() {
            container.starts_in_trouble += 1;
        }
        let (well, strikes_in) = match container.script.behaviour {
            Behaviour::Fine => (true, None),
            Behaviour::HangsAfter(after) => (true, Some(after)),
            Behaviour::ExitsAfter { runs, .. } => (true, Some(runs)),
            Behaviour::NeverRecovers => (false, None),
            Behaviour::RecoversAfter { starts } => (container.starts_in_trouble >= starts, None),
        };
        if let Some(after) = strikes_in {
            self.timers.set(slot, Due::Behaviour, at + after);
        }
        if well {
            self.recover(slot, at);
        }
    }
}

/// How long Docker's policy waits before it starts a container that ended; `None` where it leaves it down.
fn next_wait(
    work: &mut PolicyWork,
    policy: RestartPolicy,
    exit_code: i64,
    ran: Duration,
) -> Option<Duration> {
    if work.cancelled {
        return None;
    }
    let wanted = match policy {
        RestartPolicy::No => false,
        RestartPolicy::Always | RestartPolicy::UnlessStopped => true,
        RestartPolicy::OnFailure { max_retries } => {
            exit_code != 0 && (max_retries == 0 || work.restarts < max_retries)
        }
    };
    if !wanted {
        return None;
    }
    work.backoff = if ran >= POLICY_RESET || work.backoff.is_zero() {
        POLICY_FIRST
    } else {
        (work.backoff * 2).min(POLICY_LAST)
    };
    work.restarts += 1;
    Some(work.backoff)
}

/// When a life began, as the engine writes it; its number makes it unique within a millisecond.
fn stamp(at: EngineMs, life: u64) -> StartedAt {
    let ms = super::views::written(at);
    StartedAt::new(format!("{ms}{:06}Z", life % 1_000_000))
}
