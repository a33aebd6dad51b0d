//! The world behind the typed port: calls take their latency, meet the faults of their time, and end within the deadlines
//! that the real adapter has.
//!
//! An act is handed to the world and waited for: dropping the future is the caller going away, and the world goes on with
//! it (or, by a quirk, does not). Nothing here spawns, so a paused runtime owns it all.

use super::{
    faults::{FaultKind, Faults},
    history::{EventCursor, WorldEvent},
    live::{Caller, LiveWorld},
    truth::{Answer, RequestId, WorldTime},
};
use crate::{
    docker::port::{Engine, EventStream, INSPECT_WITHIN, LIST_WITHIN, OPEN_EVENTS_WITHIN},
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{ActOutcome, EngineEvent, Inspection, Listing, LookFailure},
    },
    tasks::Pending,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// A reader that holds this many undelivered events has lost its stream, as with the engine itself.
const UNDELIVERED: usize = 1024;

/// A simulated engine. Several may stand on one world (a daemon that crashed, and its successor).
#[derive(Clone)]
pub struct SimulatedEngine {
    world: Arc<LiveWorld>,
    faults: Arc<Faults>,
    latency: Duration,
}

impl SimulatedEngine {
    /// Answers after 2 ms, about what a local socket takes.
    pub fn new(world: Arc<LiveWorld>, faults: Arc<Faults>) -> Self {
        Self { world, faults, latency: Duration::from_millis(2) }
    }

    /// Answers after `latency`.
    #[must_use]
    pub fn with_latency(mut self, latency: Duration) -> Self {
        self.latency = latency;
        self
    }

    /// The way to the engine and the wait for its answer, up to the deadline.
    async fn reach(&self, deadline: Duration) -> Result<(), LookFailure> {
        let give_up_at = self.world.now() + deadline;
        self.connect()?;
        let answers_at = self.world.now() + self.latency;
        self.world.sleep_until(answers_at.min(give_up_at)).await;
        while let Some(until) = self.hangs(self.world.now()) {
            self.world.sleep_until(until.min(give_up_at)).await;
            if self.world.now() >= give_up_at {
                return Err(LookFailure::TimedOut(deadline));
            }
        }
        if self.world.now() >= give_up_at {
            return Err(LookFailure::TimedOut(deadline));
        }
        self.connect()
    }

    fn connect(&self) -> Result<(), LookFailure> {
        match self.unreachable() {
            Some(why) => Err(LookFailure::Unreachable(why)),
            None => Ok(()),
        }
    }

    fn unreachable(&self) -> Option<String> {
        let down = self.world.with(|world, _| !world.engine_is_up());
        (down || self.faults.active(self.world.now(), &FaultKind::EngineUnreachable))
            .then(|| "connection refused".to_owned())
    }

    fn hangs(&self, now: WorldTime) -> Option<WorldTime> {
        self.faults.until(now, |kind| *kind == FaultKind::EngineHangs)
    }

    async fn inspect_container(&self, id: ContainerId) -> Result<Box<Inspection>, LookFailure> {
        let give_up_at = self.world.now() + INSPECT_WITHIN;
        self.reach(INSPECT_WITHIN).await?;
        let wanted = FaultKind::InspectHangs(id.clone());
        while let Some(until) = self.faults.until(self.world.now(), |kind| *kind == wanted) {
            self.world.sleep_until(until.min(give_up_at)).await;
            if self.world.now() >= give_up_at {
                return Err(LookFailure::TimedOut(INSPECT_WITHIN));
            }
        }
        match self.world.with(|world, now| world.inspect(now, &id)) {
            Some(inspection) => Ok(Box::new(inspection)),
            None => Err(LookFailure::NoSuchContainer),
        }
    }

    async fn act_on(&self, id: ContainerId, primitive: Primitive) -> ActOutcome {
        if let Some(why) = self.unreachable() {
            return ActOutcome::Unreachable(why);
        }
        let arrives_at = self.world.now() + self.latency;
        self.world.sleep_until(arrives_at).await;
        while let Some(until) = self.hangs(self.world.now()) {
            self.world.sleep_until(until).await;
        }
        if let Some(why) = self.unreachable() {
            return ActOutcome::Unreachable(why);
        }
        let now = self.world.now();
        if let Some(until) = self.faults.until(now, |kind| *kind == FaultKind::ActHeld) {
            self.world.sleep_until(until).await;
            return ActOutcome::Unreachable("the connection broke before the answer".to_owned());
        }
        let refusal = if self.faults.active(now, &FaultKind::ActDenied) {
            Some(Answer::Denied("administrative rules forbid this request".to_owned()))
        } else if self.faults.active(now, &FaultKind::ActFails) {
            Some(Answer::Failed("the engine could not do that now".to_owned()))
        } else {
            None
        };
        if let Some(answer) = refusal {
            self.world.with(|world, now| world.refuse(now, &id, primitive, answer.clone()));
            return outcome(answer);
        }
        let request = self.world.with(|world, now| world.act(now, &id, primitive));
        let caller = Caller::of(&self.world, request);
        let Some(answer) = self.heard(request).await else {
            return ActOutcome::Unreachable("the connection broke before the answer".to_owned());
        };
        caller.heard();
        while let Some(until) = self.hangs(self.world.now()) {
            self.world.sleep_until(until).await;
        }
        if self.faults.active(self.world.now(), &FaultKind::ActAnswerLost) {
            return ActOutcome::Unreachable("the connection broke before the answer".to_owned());
        }
        outcome(answer)
    }

    /// The world's answer; `None` where the connection breaks before it.
    async fn heard(&self, request: RequestId) -> Option<Answer> {
        let breaks = |kind: &FaultKind| *kind == FaultKind::EngineUnreachable;
        self.world
            .find(|world, now| {
                if self.faults.until(now, breaks).is_some() {
                    return Ok(None);
                }
                world.take_answer(request).map(Some).ok_or_else(|| self.faults.next(now, breaks))
            })
            .await
    }

    async fn open_events(
        &self,
        since: Option<EngineMs>,
    ) -> Result<Box<dyn EventStream>, LookFailure> {
        self.reach(OPEN_EVENTS_WITHIN).await?;
        if self.faults.active(self.world.now(), &FaultKind::StreamCut) {
            return Err(LookFailure::Unreachable("the event stream was refused".to_owned()));
        }
        Ok(Box::new(self.world.with(|world, now| SimulatedEvents {
            engine: self.clone(),
            cursor: world.open_events(since),
            opened_at: now,
            date: world.date(now),
            undelivered: BTreeMap::new(),
        })))
    }
}

impl Engine for SimulatedEngine {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        Box::pin(async move {
            self.reach(LIST_WITHIN).await?;
            if self.faults.active(self.world.now(), &FaultKind::ListGarbled) {
                return Err(LookFailure::Garbled("expected a list, found `<html>`".to_owned()));
            }
            Ok(self.world.with(|world, now| world.list(now)))
        })
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        Box::pin(async move {
            self.reach(LIST_WITHIN).await?;
            if self.faults.active(self.world.now(), &FaultKind::ListGarbled) {
                return Err(LookFailure::Garbled("expected a list, found `<html>`".to_owned()));
            }
            Ok(self.world.with(|world, now| world.list_unhealthy(now)))
        })
    }

    fn inspect(&self, container: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        Box::pin(self.inspect_container(container))
    }

    fn act(&self, container: ContainerId, primitive: Primitive) -> Pending<'_, ActOutcome> {
        Box::pin(self.act_on(container, primitive))
    }

    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        Box::pin(self.open_events(since))
    }
}

struct SimulatedEvents {
    engine: SimulatedEngine,
    cursor: EventCursor,
    opened_at: WorldTime,
    /// The same by the engine's clock.
    date: EngineMs,
    /// By when they arrive, then by the order in which they happened; what is twice here is delivered twice.
    undelivered: BTreeMap<(WorldTime, u64, bool), EngineEvent>,
}

impl SimulatedEvents {
    /// Takes in what the world has; the faults of an event's own time decide when and how often it arrives.
    fn take(&mut self, event: &WorldEvent) {
        let Some(typed) = event.typed() else { return };
        let (faults, at) = (&self.engine.faults, event.at);
        // What a reopened stream replays was not dropped on the way: it stands in the engine's history.
        if at >= self.opened_at && faults.active(at, &FaultKind::EventsDropped) {
            return;
        }
        let arrives = at.max(self.opened_at) + self.engine.latency + faults.lateness(at);
        if faults.active(at, &FaultKind::EventsDuplicated) {
            self.undelivered.insert((arrives, event.seq, true), typed.clone());
        }
        self.undelivered.insert((arrives, event.seq, false), typed);
    }

    async fn next_event(&mut self) -> Result<EngineEvent, LookFailure> {
        let live = Arc::clone(&self.engine.world);
        let cuts =
            |kind: &FaultKind| matches!(kind, FaultKind::EngineUnreachable | FaultKind::StreamCut);
        live.find(|world, now| {
            if !world.engine_is_up() || self.engine.faults.until(now, cuts).is_some() {
                return Ok(Err(LookFailure::Unreachable("the event stream ended".to_owned())));
            }
            loop {
                match world.read_event(&mut self.cursor) {
                    Ok(Some(event)) => self.take(&event),
                    Ok(None) => break,
                    Err(_) => {
                        let why = "the event stream ended: too far behind, or a new engine";
                        return Ok(Err(LookFailure::Unreachable(why.to_owned())));
                    }
                }
                if self.undelivered.len() > UNDELIVERED {
                    let why = "the event stream ended: too far behind";
                    return Ok(Err(LookFailure::Unreachable(why.to_owned())));
                }
            }
            let cut_at = self.engine.faults.next(now, cuts);
            if let Some(until) = self.engine.hangs(now) {
                return Err(cut_at.into_iter().chain([until]).min());
            }
            match self.undelivered.first_entry() {
                Some(first) if first.key().0 <= now => Ok(Ok(first.remove())),
                Some(first) => Err(cut_at.into_iter().chain([first.key().0]).min()),
                None => Err(cut_at),
            }
        })
        .await
    }
}

impl EventStream for SimulatedEvents {
    fn opened_at(&self) -> Option<EngineMs> {
        Some(self.date)
    }

    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>> {
        Box::pin(self.next_event())
    }
}

fn outcome(answer: Answer) -> ActOutcome {
    match answer {
        Answer::Done | Answer::NotModified => ActOutcome::Done,
        Answer::NoSuchContainer => ActOutcome::NoSuchContainer,
        Answer::Denied(text) => ActOutcome::Denied(text),
        Answer::Conflict(message) => ActOutcome::Failed { status: 409, message },
        Answer::Failed(message) => ActOutcome::Failed { status: 500, message },
        Answer::Lost => ActOutcome::Unreachable("the engine went away".to_owned()),
    }
}
