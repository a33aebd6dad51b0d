//! One event stream, kept open for as long as the loop listens.
//!
//! A stream opened again begins with the events of the last moment that was seen, or of when the first one was opened, by the
//! engine's clock, so that none is lost between two streams; what was told already is not told twice, or it would look like
//! somebody's touch. A full lane ends the stream, which is said, and the list stands in: events are hints, and dropping them
//! silently would make hints lies. Decides nothing.

use crate::{
    clock::Clock,
    docker::port::{Engine, EventStream, OPEN_EVENTS_WITHIN, with_net},
    domain::{
        moment::EngineMs,
        observation::{EngineEvent, LookFailure, Observation},
    },
};
use futures_util::FutureExt;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Between two attempts at opening the event stream; doubles while it can't be opened.
const REOPEN_EVENTS_AFTER: Duration = Duration::from_secs(1);

/// Never longer than this between two attempts: nothing is restarted without the stream.
const REOPEN_EVENTS_AT_MOST: Duration = Duration::from_secs(10);

/// The engine's clock is this much earlier than its latest event only where it was set back.
const CLOCK_STEP: Duration = Duration::from_secs(2);

/// Events of one millisecond that are remembered, so that a stream that begins with them again tells nothing twice.
const MOST_AT_A_TIME: usize = 256;

/// Follows the engine's events into `lane`, through every loss, until the lane is closed.
pub(crate) async fn keep_open(
    engine: Arc<dyn Engine>,
    clock: Arc<dyn Clock>,
    lane: mpsc::Sender<Observation>,
) {
    let mut place = Place::default();
    let mut wait = REOPEN_EVENTS_AFTER;
    loop {
        let begun = clock.now().awake;
        // What breaks down is a stream that is lost. Were it not said, the stream would count as open for good, and nobody's
        // touch would be seen.
        let followed = AssertUnwindSafe(follow_once(&*engine, &lane, &mut place)).catch_unwind();
        let (opened, failure) = match followed.await {
            Ok(Ok(end)) => (end.opened, end.failure),
            Ok(Err(Ended)) => return,
            Err(_) => (false, LookFailure::Local("what followed the events broke down".to_owned())),
        };
        let from = match &failure {
            // Nothing came for so long, and nothing is wrong with it: the next one is opened at once.
            LookFailure::TimedOut(_) if opened => begun,
            _ => clock.now().awake,
        };
        if lane.send(Observation::EventsLost(failure)).await.is_err() {
            return;
        }
        // One that ends at once, again and again, is as good as none.
        let lasted = opened && from.since(begun) >= REOPEN_EVENTS_AT_MOST;
        let is_idle = opened && from == begun;
        wait = if lasted || is_idle {
            REOPEN_EVENTS_AFTER
        } else {
            (wait * 2).min(REOPEN_EVENTS_AT_MOST)
        };
        clock.sleep_until(from + wait).await;
    }
}

/// The loop has ended.
struct Ended;

/// How far the stream was followed: its last moment, and the events of that moment. Before the first event that moment is when
/// the first stream was opened.
#[derive(Default)]
struct Place {
    since: Option<EngineMs>,
    told: Vec<EngineEvent>,
}

impl Place {
    /// A stream was opened at this time by the engine.
    fn opened(&mut self, at: Option<EngineMs>) {
        // An engine whose clock was set back replays nothing from a time that it has not come to again. It tells its own in
        // whole seconds.
        let was_set_back = |since: EngineMs| at.is_some_and(|at| at + CLOCK_STEP < since);
        if self.since.is_none_or(was_set_back) {
            self.since = at;
            self.told.clear();
        }
    }

    /// Whether this event was told already: a stream opened again begins with the last moment's events.
    fn knows(&self, event: &EngineEvent) -> bool {
        self.since == Some(event.at) && self.told.contains(event)
    }

    /// This event is told. Not before there is room for it: one that is noted and then dropped would be passed over when the
    /// next stream brings it again, and be lost for good.
    fn note(&mut self, event: &EngineEvent) {
        if self.since.is_none_or(|since| since < event.at) {
            self.since = Some(event.at);
            self.told.clear();
        }
        if self.since == Some(event.at) && self.told.len() < MOST_AT_A_TIME {
            self.told.push(event.clone());
        }
    }
}

/// How following a stream once ended.
struct End {
    opened: bool,
    failure: LookFailure,
}

/// Opens the stream and follows it to its end.
async fn follow_once(
    engine: &dyn Engine,
    events: &mpsc::Sender<Observation>,
    place: &mut Place,
) -> Result<End, Ended> {
    match with_net(OPEN_EVENTS_WITHIN, engine.events(place.since)).await {
        Ok(stream) => {
            place.opened(stream.opened_at());
            events.send(Observation::EventsOpened).await.map_err(|_| Ended)?;
            Ok(End { opened: true, failure: follow(stream, events, place).await? })
        }
        Err(failure) => Ok(End { opened: false, failure }),
    }
}

async fn follow(
    mut stream: Box<dyn EventStream>,
    events: &mpsc::Sender<Observation>,
    place: &mut Place,
) -> Result<LookFailure, Ended> {
    loop {
        let event = match stream.next().await {
            Ok(event) if place.knows(&event) => continue,
            Ok(event) => event,
            Err(failure) => return Ok(failure),
        };
        match events.try_reserve() {
            Ok(room) => {
                place.note(&event);
                room.send(Observation::Event(event));
            }
            Err(mpsc::error::TrySendError::Closed(())) => return Err(Ended),
            Err(mpsc::error::TrySendError::Full(())) => {
                return Ok(LookFailure::Local("more events than could be taken in".to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests;
