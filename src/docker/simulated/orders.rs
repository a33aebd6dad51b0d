//! What can be asked of the engine, by defib, by somebody, or by a script that does not wait for the answer.

use super::{
    truth::{Actor, Answer, Happened, Order, RequestId, WorldTime},
    world::World,
};
use crate::domain::{effect::Primitive, name::ContainerId};

/// The signal that cannot be ignored.
pub(super) const SIGKILL: u32 = 9;

impl World {
    /// A request by somebody. Its answer, at once or after timers, is taken by [`World::take_answer`].
    pub fn request(
        &mut self,
        now: WorldTime,
        id: &ContainerId,
        order: Order,
        by: Actor,
    ) -> RequestId {
        self.receive(now, id, order, by, None)
    }

    /// A request of defib's, recorded in the truth with what it met.
    pub fn act(&mut self, now: WorldTime, id: &ContainerId, primitive: Primitive) -> RequestId {
        let order = match primitive {
            Primitive::Restart { .. } => Order::Restart { timeout: None },
            Primitive::Kill => Order::Kill { signal: SIGKILL },
            Primitive::Start => Order::Start,
        };
        self.receive(now, id, order, Actor::Defib, Some(primitive))
    }

    /// A call of defib's that did not get through to the engine; it stands in the truth and nothing else happens.
    pub fn refuse(
        &mut self,
        now: WorldTime,
        id: &ContainerId,
        primitive: Primitive,
        answer: Answer,
    ) {
        self.advance(now);
        self.happen(now, Happened::ActionRefused { container: id.clone(), primitive, answer });
    }

    /// The answer to a request, once; `None` while it is under way.
    pub fn take_answer(&mut self, request: RequestId) -> Option<Answer> {
        self.answers.remove(&request)
    }

    /// Whoever made the request went away. It goes on, except by [`super::world::Quirks`].
    pub fn abandon(&mut self, now: WorldTime, request: RequestId) {
        self.advance(now);
        let cancels = self.quirks.cancelled_restart_leaves_stopped;
        self.unhear(request, cancels);
    }

    fn unhear(&mut self, request: RequestId, cancels: bool) {
        self.answers.remove(&request);
        for container in self.containers.values_mut() {
            for under_way in &mut container.requests {
                if under_way.id == request {
                    under_way.unheard = true;
                    under_way.cancelled |= cancels;
                }
            }
        }
    }

    /// Starts it.
    pub fn start(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Start, by);
    }

    /// Stops it, with its own stop timeout.
    pub fn stop(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Stop { timeout: None }, by);
    }

    /// Restarts it, with its own stop timeout.
    pub fn restart(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Restart { timeout: None }, by);
    }

    /// Sends it a signal.
    pub fn kill(&mut self, now: WorldTime, id: &ContainerId, signal: u32, by: Actor) {
        self.script(now, id, Order::Kill { signal }, by);
    }

    /// Freezes it.
    pub fn pause(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Pause, by);
    }

    /// Thaws it.
    pub fn unpause(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Unpause, by);
    }

    /// Gives it another name.
    pub fn rename(&mut self, now: WorldTime, id: &ContainerId, name: &str, by: Actor) {
        self.script(now, id, Order::Rename(name.to_owned()), by);
    }

    /// Changes its limits.
    pub fn update(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Update, by);
    }

    /// Removes it, by force where it runs.
    pub fn remove(&mut self, now: WorldTime, id: &ContainerId, by: Actor) {
        self.script(now, id, Order::Remove { force: true }, by);
    }

    /// Removes it by force and runs another of the same script in its place; `None` where it could not be removed at once.
    pub fn recreate(&mut self, now: WorldTime, id: &ContainerId, by: Actor) -> Option<ContainerId> {
        self.advance(now);
        let script = self.get(id)?.script.clone();
        self.remove(now, id, by);
        if self.slot(id).is_some() {
            return None;
        }
        let id = self.create(now, script);
        let slot = self.slot(&id)?;
        // A failed start stands in the truth.
        let _started_or_told = self.try_start(slot, now, by);
        Some(id)
    }

    /// A request whose answer nobody waits for.
    fn script(&mut self, now: WorldTime, id: &ContainerId, order: Order, by: Actor) {
        let request = self.request(now, id, order, by);
        self.unhear(request, false);
    }
}
