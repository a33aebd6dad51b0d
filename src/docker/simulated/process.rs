//! How the process of a container truly is: booting, well, in trouble, told to end. What the script does to it, what its
//! behaviour does by itself, and what a probe of it would show.

use super::{
    container::Standing,
    script::{Behaviour, Stopping, Trouble},
    timers::{Due, Slot},
    truth::{Actor, Happened, WorldTime},
    world::World,
};
use crate::domain::{
    name::ContainerId,
    observation::{Phase, ProbeOutcome},
};

/// Exit code of a process that SIGKILL ended.
const KILLED: i64 = 137;

impl World {
    /// Its process begins to misbehave so, until it is healed or a start cures it.
    pub fn trouble(&mut self, now: WorldTime, id: &ContainerId, trouble: Trouble) {
        self.advance(now);
        if let Some(slot) = self.slot(id) {
            self.begin_trouble(slot, now, trouble);
        }
    }

    /// Its process hangs: sockets open, no answers.
    pub fn hang(&mut self, now: WorldTime, id: &ContainerId) {
        self.trouble(now, id, Trouble::Hangs);
    }

    /// Its process is well again, by itself.
    pub fn heal(&mut self, now: WorldTime, id: &ContainerId) {
        self.advance(now);
        if let Some(slot) = self.slot(id) {
            self.recover(slot, now);
        }
    }

    /// Its process ends by itself.
    pub fn crash(&mut self, now: WorldTime, id: &ContainerId, exit_code: i64) {
        self.advance(now);
        if let Some(slot) = self.slot(id) {
            self.end_life(slot, now, exit_code, Actor::Itself);
        }
    }

    /// Its healthcheck cannot be executed any more, or can again.
    pub fn healthcheck_cannot_run(&mut self, now: WorldTime, id: &ContainerId, cannot: bool) {
        self.advance(now);
        if let Some(container) = self.slot(id).and_then(|slot| self.containers.get_mut(&slot)) {
            container.healthcheck_cannot_run = cannot;
        }
    }

    /// What its lives do from the next start on.
    pub fn set_behaviour(&mut self, now: WorldTime, id: &ContainerId, behaviour: Behaviour) {
        self.advance(now);
        if let Some(container) = self.slot(id).and_then(|slot| self.containers.get_mut(&slot)) {
            container.script.behaviour = behaviour;
        }
    }

    /// What it does when it is told to end, from now on.
    pub fn set_stopping(&mut self, now: WorldTime, id: &ContainerId, stopping: Stopping) {
        self.advance(now);
        if let Some(container) = self.slot(id).and_then(|slot| self.containers.get_mut(&slot)) {
            container.script.stopping = stopping;
        }
    }

    /// Every start of it fails with this message, until set back to `None`.
    pub fn set_start_fails(&mut self, now: WorldTime, id: &ContainerId, message: Option<String>) {
        self.advance(now);
        if let Some(container) = self.slot(id).and_then(|slot| self.containers.get_mut(&slot)) {
            container.start_fails = message;
        }
    }

    /// Whether it runs, is not paused, has booted and is in no trouble.
    pub fn is_well(&self, id: &ContainerId) -> bool {
        self.get(id).is_some_and(|container| {
            container.alive()
                && container.standing == Standing::Running
                && container.booted
                && container.trouble.is_none()
        })
    }

    /// How it misbehaves; `None` where it does not, or is not alive.
    pub fn current_trouble(&self, id: &ContainerId) -> Option<Trouble> {
        self.get(id).filter(|container| container.alive())?.trouble
    }

    /// What an HTTP probe of it would show now. A container without a process has no address that answers.
    pub fn probe_outcome(&mut self, now: WorldTime, id: &ContainerId) -> ProbeOutcome {
        self.advance(now);
        let silent = ProbeOutcome::Timeout(Phase::Connect);
        let Some(container) = self.get(id) else { return silent };
        if !container.alive() {
            return silent;
        }
        let parent = container.script.network_parent.as_ref();
        let parents_life = parent.and_then(|parent| self.get(parent)).map(|it| &it.started_at);
        if parent.is_some() && parents_life != container.joined.as_ref() {
            // It holds the namespace of a life that is over: only loopback is left in it.
            return ProbeOutcome::Refused;
        }
        match container.standing {
            // The kernel accepts for it; nobody reads.
            Standing::Paused => return ProbeOutcome::Timeout(Phase::FirstByte),
            Standing::Running => {}
            Standing::Created | Standing::Restarting | Standing::Exited => return silent,
        }
        if !container.booted {
            return ProbeOutcome::Refused;
        }
        let status = match container.trouble {
            Some(Trouble::Hangs | Trouble::OnlyProbes) => {
                return ProbeOutcome::Timeout(Phase::FirstByte);
            }
            Some(Trouble::Refuses) => return ProbeOutcome::Refused,
            Some(Trouble::Resets) => return ProbeOutcome::Reset,
            Some(Trouble::Answers(status)) => status,
            Some(Trouble::OnlyHealthcheck) | None => container.script.answers,
        };
        if (200..400).contains(&status) {
            ProbeOutcome::Ok { status: Some(status) }
        } else {
            ProbeOutcome::Status(status)
        }
    }

    fn begin_trouble(&mut self, slot: Slot, at: WorldTime, trouble: Trouble) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        if container.trouble == Some(trouble) {
            return;
        }
        container.trouble = Some(trouble);
        container.starts_in_trouble = 0;
        let container = container.id.clone();
        self.happen(at, Happened::Troubled { container, trouble });
    }

    pub(super) fn recover(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.starts_in_trouble = 0;
        if container.trouble.take().is_some() {
            let container = container.id.clone();
            self.happen(at, Happened::Recovered { container });
        }
    }

    pub(super) fn booted(&mut self, slot: Slot) {
        if let Some(container) = self.containers.get_mut(&slot) {
            container.booted = true;
        }
    }

    pub(super) fn behaviour_strikes(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get(&slot) else { return };
        match container.script.behaviour {
            Behaviour::HangsAfter(_) => self.begin_trouble(slot, at, Trouble::Hangs),
            Behaviour::ExitsAfter { exit_code, .. } => {
                self.end_life(slot, at, exit_code, Actor::Itself);
            }
            // Changed since the timer was set.
            Behaviour::Fine | Behaviour::NeverRecovers | Behaviour::RecoversAfter { .. } => {}
        }
    }

    /// Its stop signal arrives.
    pub(super) fn told_to_end(&mut self, slot: Slot, at: WorldTime, by: Actor) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        match container.script.stopping {
            Stopping::Obeys(after) => {
                if container.ending.is_none() {
                    container.ending = Some((container.script.obeying_exit_code, by));
                    self.timers.set(slot, Due::Exit, at + after);
                }
            }
            Stopping::IgnoresSignal | Stopping::Unkillable => {}
        }
    }

    /// SIGKILL arrives.
    pub(super) fn killed(&mut self, slot: Slot, at: WorldTime, by: Actor) {
        let Some(container) = self.containers.get(&slot) else { return };
        match container.script.stopping {
            Stopping::Obeys(_) | Stopping::IgnoresSignal => self.end_life(slot, at, KILLED, by),
            Stopping::Unkillable => {}
        }
    }

    pub(super) fn exit_is_due(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        if let Some((exit_code, by)) = container.ending.take() {
            self.end_life(slot, at, exit_code, by);
        }
    }

    /// A frozen process does not boot, hang or end.
    pub(super) fn freeze(&mut self, slot: Slot, at: WorldTime) {
        for due in Due::OF_PROCESS {
            if let Some(was_due) = self.timers.cancel(slot, due)
                && let Some(container) = self.containers.get_mut(&slot)
            {
                container.frozen.push((due, was_due.since(at)));
            }
        }
    }

    pub(super) fn thaw(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        for (due, to_go) in std::mem::take(&mut container.frozen) {
            self.timers.set(slot, due, at + to_go);
        }
    }
}
