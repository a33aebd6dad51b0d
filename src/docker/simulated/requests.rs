//! Requests to the engine that change something, as they arrive: what each does at once, by the state that the container is
//! in, with the steps and answers of Engine 20.10. How those that wait go on is in `under_way`.

use super::{
    container::{Request, Standing, Step},
    history::WorldAction,
    orders::SIGKILL,
    timers::{Due, Slot},
    truth::{Actor, Answer, Happened, Order, RequestId, WorldTime},
    world::World,
};
use crate::domain::{effect::Primitive, name::ContainerId, observation::EventAction};
use std::time::Duration;

/// Where a container has no stop timeout of its own.
const DEFAULT_GRACE: Duration = Duration::from_secs(10);
/// How long the engine waits for an exit after SIGKILL.
pub(super) const KILL_WAIT: Duration = Duration::from_secs(10);

const SIGTERM: u32 = 15;

impl World {
    pub(super) fn receive(
        &mut self,
        now: WorldTime,
        id: &ContainerId,
        order: Order,
        by: Actor,
        primitive: Option<Primitive>,
    ) -> RequestId {
        self.advance(now);
        self.requests += 1;
        let request = Request {
            id: RequestId(self.requests),
            order,
            by,
            primitive,
            step: Step::Graceful,
            cancelled: false,
            unheard: false,
        };
        let number = request.id;
        match self.slot(id) {
            _ if !self.engine_up => self.turn_away(now, id, &request, Answer::Lost),
            None => self.turn_away(now, id, &request, Answer::NoSuchContainer),
            Some(slot) => {
                if let (Some(primitive), Some(container)) = (primitive, self.get(id)) {
                    let received = Happened::ActionReceived {
                        request: number,
                        container: id.clone(),
                        primitive,
                        found: container.standing.state(),
                        instance: container.started_at.clone(),
                    };
                    self.happen(now, received);
                }
                self.take_up(slot, now, request);
                self.advance(now);
            }
        }
        number
    }

    fn turn_away(&mut self, now: WorldTime, id: &ContainerId, request: &Request, answer: Answer) {
        if let Some(primitive) = request.primitive {
            let answer = answer.clone();
            self.happen(now, Happened::ActionRefused { container: id.clone(), primitive, answer });
        }
        self.answer(request.id, answer);
    }

    /// The first step of a request, and for most the only one.
    fn take_up(&mut self, slot: Slot, at: WorldTime, request: Request) {
        let Some(container) = self.containers.get(&slot) else { return };
        let (id, by, standing) = (container.id.clone(), request.by, container.standing);
        match request.order.clone() {
            Order::Start => match standing {
                Standing::Created | Standing::Exited => self.begin_start(slot, at, request),
                Standing::Running | Standing::Restarting => {
                    self.conclude(&id, request, at, Answer::NotModified);
                }
                Standing::Paused => {
                    let text = "cannot start a paused container, try unpause instead";
                    self.conclude(&id, request, at, Answer::Conflict(text.to_owned()));
                }
            },
            Order::Stop { timeout } => match standing {
                Standing::Running | Standing::Paused | Standing::Restarting => {
                    self.begin_stop(slot, at, request, timeout);
                }
                Standing::Created | Standing::Exited => {
                    self.conclude(&id, request, at, Answer::NotModified);
                }
            },
            Order::Restart { timeout } => match standing {
                Standing::Running | Standing::Paused | Standing::Restarting => {
                    self.begin_stop(slot, at, request, timeout);
                }
                // The engine starts what somebody stopped: why S2 has us look right before.
                Standing::Created | Standing::Exited => self.begin_start(slot, at, request),
            },
            Order::Kill { signal } => self.take_up_kill(slot, at, request, signal),
            Order::Pause => {
                let answer = match standing {
                    Standing::Running => {
                        self.pause_it(slot, at, by);
                        Answer::Done
                    }
                    Standing::Paused => {
                        Answer::Conflict(format!("Container {id} is already paused"))
                    }
                    Standing::Restarting => Answer::Conflict(format!(
                        "Container {id} is restarting, wait until the container is running"
                    )),
                    Standing::Created | Standing::Exited => {
                        Answer::Conflict(format!("Container {id} is not running"))
                    }
                };
                self.conclude(&id, request, at, answer);
            }
            Order::Unpause => {
                let answer = if standing == Standing::Paused {
                    self.unpause_it(slot, at, by);
                    Answer::Done
                } else {
                    Answer::Failed(format!("Container {id} is not paused"))
                };
                self.conclude(&id, request, at, answer);
            }
            Order::Remove { force } => self.take_up_remove(slot, at, request, force),
            Order::Rename(name) => {
                if let Some(container) = self.containers.get_mut(&slot) {
                    let old_name = std::mem::replace(&mut container.script.name, name.clone());
                    self.emit(slot, at, WorldAction::Renamed { old_name });
                    self.happen(at, Happened::Renamed { container: id.clone(), by, name });
                }
                self.conclude(&id, request, at, Answer::Done);
            }
            Order::Update => {
                self.tell(slot, at, EventAction::Updated);
                self.happen(at, Happened::Updated { container: id.clone(), by });
                self.conclude(&id, request, at, Answer::Done);
            }
        }
    }

    fn take_up_kill(&mut self, slot: Slot, at: WorldTime, request: Request, signal: u32) {
        let Some(container) = self.containers.get(&slot) else { return };
        let (id, standing) = (container.id.clone(), container.standing);
        match standing {
            Standing::Created | Standing::Exited => {
                let name = &container.script.name;
                let text = format!("Cannot kill container: {name}: Container {id} is not running");
                self.conclude(&id, request, at, Answer::Conflict(text));
            }
            Standing::Restarting => {
                self.give_up_policy(slot, at);
                self.conclude(&id, request, at, Answer::Done);
            }
            Standing::Running | Standing::Paused if signal == SIGKILL => {
                self.wait_for_exit(slot, at, request);
            }
            Standing::Running | Standing::Paused => {
                let by = request.by;
                self.signal(slot, at, by, signal);
                self.conclude(&id, request, at, Answer::Done);
            }
        }
    }

    fn take_up_remove(&mut self, slot: Slot, at: WorldTime, request: Request, force: bool) {
        let Some(container) = self.containers.get(&slot) else { return };
        let (id, standing, by) = (container.id.clone(), container.standing, request.by);
        match standing {
            Standing::Running | Standing::Paused | Standing::Restarting if !force => {
                let text = format!(
                    "You cannot remove a running container {id}. Stop the container before \
                     attempting removal or force remove"
                );
                self.conclude(&id, request, at, Answer::Conflict(text));
            }
            Standing::Running | Standing::Paused => self.wait_for_exit(slot, at, request),
            Standing::Created | Standing::Restarting | Standing::Exited => {
                self.destroy(slot, at, by);
                self.conclude(&id, request, at, Answer::Done);
            }
        }
    }

    /// SIGKILL, then the engine's two waits.
    fn wait_for_exit(&mut self, slot: Slot, at: WorldTime, mut request: Request) {
        let (number, by) = (request.id, request.by);
        request.step = Step::Killed;
        self.timers.set(slot, Due::Request(number), at + KILL_WAIT);
        if let Some(container) = self.containers.get_mut(&slot) {
            container.requests.push(request);
        }
        self.signal(slot, at, by, SIGKILL);
    }

    fn begin_stop(
        &mut self,
        slot: Slot,
        at: WorldTime,
        mut request: Request,
        timeout: Option<Duration>,
    ) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        let grace = timeout.or(container.script.stop_timeout).unwrap_or(DEFAULT_GRACE);
        let (number, by) = (request.id, request.by);
        let stopping = Happened::Stopping { container: container.id.clone(), by };
        let waits_for_policy = container.standing == Standing::Restarting;
        request.step = Step::Graceful;
        container.requests.push(request);
        self.happen(at, stopping);
        self.timers.set(slot, Due::Request(number), at + grace);
        if waits_for_policy {
            // Nothing to signal: the engine only tells its own restart to give up.
            self.give_up_policy(slot, at);
        } else {
            self.signal(slot, at, by, SIGTERM);
        }
    }

    pub(super) fn begin_start(&mut self, slot: Slot, at: WorldTime, mut request: Request) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        request.step = Step::Starting;
        let number = request.id;
        let starts_in = container.script.starts_in;
        container.requests.push(request);
        self.timers.set(slot, Due::Request(number), at + starts_in);
    }

    /// Sends a signal: every one that comes through the API ends Docker's own restarts, and thaws what is paused, except
    /// SIGKILL, which ends it frozen as it is.
    pub(super) fn signal(&mut self, slot: Slot, at: WorldTime, by: Actor, signal: u32) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.manually_stopped = true;
        container.policy.cancelled = true;
        let signalled = Happened::Signalled { container: container.id.clone(), by, signal };
        let paused = container.standing == Standing::Paused;
        self.happen(at, signalled);
        self.tell(slot, at, EventAction::Killed { signal: Some(signal) });
        if paused && signal != SIGKILL {
            self.unpause_it(slot, at, by);
        }
        match signal {
            SIGKILL => self.killed(slot, at, by),
            SIGTERM => self.told_to_end(slot, at, by),
            // The first process of a container ignores what it does not handle.
            _ => {}
        }
    }

    /// Docker's own restart was waiting and is told not to.
    fn give_up_policy(&mut self, slot: Slot, at: WorldTime) {
        self.timers.cancel(slot, Due::Policy);
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.manually_stopped = true;
        container.policy.cancelled = true;
        container.standing = Standing::Exited;
        self.went_down(slot, at);
    }

    fn pause_it(&mut self, slot: Slot, at: WorldTime, by: Actor) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.standing = Standing::Paused;
        let container = container.id.clone();
        self.freeze(slot, at);
        self.happen(at, Happened::Paused { container, by });
        self.close_monitor(slot, at);
        self.tell(slot, at, EventAction::Paused);
    }

    fn unpause_it(&mut self, slot: Slot, at: WorldTime, by: Actor) {
        let Some(container) = self.containers.get_mut(&slot) else { return };
        container.standing = Standing::Running;
        let container = container.id.clone();
        self.thaw(slot, at);
        self.happen(at, Happened::Unpaused { container, by });
        self.open_monitor(slot, at);
        self.tell(slot, at, EventAction::Unpaused);
    }
}
