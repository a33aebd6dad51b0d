//! Requests under way, from their first wait to their answer: the engine's own escalation from SIGTERM to SIGKILL, and the
//! start that belongs to a restart.
//!
//! A request goes on when its caller leaves: that is what makes "our call timed out" different from "nothing happened".
//! The one exception is a quirk of Engine 24.0.0–24.0.6, for which acts are never dropped.

use super::{
    container::{Container, Request, Step},
    orders::SIGKILL,
    requests::KILL_WAIT,
    timers::{Due, Slot},
    truth::{Actor, Answer, Happened, Order, RequestId, WorldTime},
    world::World,
};
use crate::domain::{name::ContainerId, observation::EventAction};
use std::time::Duration;

/// How long the engine waits for an exit after it killed the process directly.
const LAST_WAIT: Duration = Duration::from_secs(2);

impl World {
    /// The container is down: what waited for that goes on.
    pub(super) fn stops_are_over(&mut self, slot: Slot, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let id = container.id.clone();
        let starting = |request: &Request| request.step == Step::Starting;
        let (kept, over): (Vec<_>, Vec<_>) =
            std::mem::take(&mut container.requests).into_iter().partition(starting);
        container.requests = kept;
        for request in over {
            self.timers.cancel(slot, Due::Request(request.id));
            let by = request.by;
            match request.order {
                Order::Stop { .. } => {
                    self.stopped(slot, &id, at, by);
                    self.conclude(&id, request, at, Answer::Done);
                }
                Order::Restart { .. } => {
                    self.stopped(slot, &id, at, by);
                    if request.cancelled {
                        self.cancelled(&id, &request, at);
                    } else {
                        self.begin_start(slot, at, request);
                    }
                }
                Order::Remove { .. } => {
                    self.destroy(slot, at, by);
                    self.conclude(&id, request, at, Answer::Done);
                }
                Order::Kill { .. }
                | Order::Start
                | Order::Pause
                | Order::Unpause
                | Order::Rename(_)
                | Order::Update => self.conclude(&id, request, at, Answer::Done),
            }
        }
    }

    fn stopped(&mut self, slot: Slot, id: &ContainerId, at: WorldTime, by: Actor) {
        self.tell(slot, at, EventAction::Stopped);
        self.happen(at, Happened::Stopped { container: id.clone(), by });
    }

    fn cancelled(&mut self, id: &ContainerId, request: &Request, at: WorldTime) {
        self.happen(at, Happened::ActionCancelled { request: request.id, container: id.clone() });
    }

    /// A request's wait or start is over.
    pub(super) fn step_is_over(&mut self, slot: Slot, number: RequestId, at: WorldTime) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let id = container.id.clone();
        let name = container.script.name.clone();
        let Some(place) = container.requests.iter().position(|request| request.id == number) else {
            return;
        };
        let by = container.requests[place].by;
        match container.requests[place].step {
            Step::Graceful => {
                container.requests[place].step = Step::Killed;
                self.timers.set(slot, Due::Request(number), at + KILL_WAIT);
                self.signal(slot, at, by, SIGKILL);
            }
            Step::Killed => {
                container.requests[place].step = Step::KilledAgain;
                self.timers.set(slot, Due::Request(number), at + LAST_WAIT);
                self.killed(slot, at, by);
            }
            Step::KilledAgain => {
                let request = container.requests.remove(place);
                let verb = verb(&request.order);
                let answer = Answer::Failed(format!(
                    "Cannot {verb} container {name}: tried to kill container, but did not receive \
                     an exit event"
                ));
                self.conclude(&id, request, at, answer);
            }
            Step::Starting => {
                let request = container.requests.remove(place);
                if request.cancelled {
                    self.cancelled(&id, &request, at);
                    return;
                }
                self.finish_start(slot, at, &id, &name, request);
            }
        }
    }

    fn finish_start(
        &mut self,
        slot: Slot,
        at: WorldTime,
        id: &ContainerId,
        name: &str,
        request: Request,
    ) {
        let by = request.by;
        let restarts = matches!(request.order, Order::Restart { .. });
        let answer = match self.try_start(slot, at, by) {
            Ok(()) if restarts => {
                self.tell(slot, at, EventAction::Restarted);
                self.happen(at, Happened::Restarted { container: id.clone(), by });
                Answer::Done
            }
            Ok(()) => Answer::Done,
            // After the lookup, everything of a restart is a 500.
            Err(Answer::Conflict(text) | Answer::Failed(text)) if restarts => {
                Answer::Failed(format!("Cannot restart container {name}: {text}"))
            }
            Err(answer) => answer,
        };
        self.conclude(id, request, at, answer);
    }

    /// The answer leaves, to whoever still listens.
    pub(super) fn conclude(
        &mut self,
        id: &ContainerId,
        request: Request,
        at: WorldTime,
        answer: Answer,
    ) {
        if request.primitive.is_some() {
            self.happen(
                at,
                Happened::ActionEnded {
                    request: request.id,
                    container: id.clone(),
                    answer: answer.clone(),
                },
            );
        }
        if !request.unheard {
            self.answer(request.id, answer);
        }
    }
}

impl Container {
    /// A restart or start under way will need it: `--rm` waits.
    pub(super) fn being_restarted(&self) -> bool {
        self.requests.iter().any(|request| request.step == Step::Starting)
    }
}

fn verb(order: &Order) -> &'static str {
    match order {
        Order::Restart { .. } => "restart",
        Order::Stop { .. } => "stop",
        Order::Remove { .. } => "remove",
        Order::Kill { .. } => "kill",
        Order::Start => "start",
        Order::Pause => "pause",
        Order::Unpause => "unpause",
        Order::Rename(_) => "rename",
        Order::Update => "update",
    }
}
