//! One event stream, kept open for as long as the loop listens.
//!
//! A stream opened again begins with the events of the last moment that was seen, so that none is lost between two streams;
//! what was told already is not told twice, or it would look like somebody's touch. A full lane ends the stream, which is
//! said, and the list stands in: events are hints, and dropping them silently would make hints lies. Decides nothing.

use crate::{
    clock::Clock,
    docker::port::{Engine, EventStream, OPEN_EVENTS_WITHIN, with_net},
    domain::{
        moment::EngineMs,
        observation::{EngineEvent, LookFailure, Observation},
    },
};
use std::{sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Between two attempts at opening the event stream; doubles while it can't be opened.
const REOPEN_EVENTS_AFTER: Duration = Duration::from_secs(1);

/// Never longer than this between two attempts: nothing is restarted without the stream.
const REOPEN_EVENTS_AT_MOST: Duration = Duration::from_secs(10);

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
    while let Ok(opened) = follow_once(&*engine, &lane, &mut place).await {
        wait = if opened { REOPEN_EVENTS_AFTER } else { (wait * 2).min(REOPEN_EVENTS_AT_MOST) };
        clock.sleep_until(clock.now().awake + wait).await;
    }
}

/// The loop has ended.
struct Ended;

/// How far the stream was followed: its last moment, and the events of that moment.
#[derive(Default)]
struct Place {
    since: Option<EngineMs>,
    told: Vec<EngineEvent>,
}

impl Place {
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

/// Opens the stream and follows it to its end. Says whether it could be opened.
async fn follow_once(
    engine: &dyn Engine,
    events: &mpsc::Sender<Observation>,
    place: &mut Place,
) -> Result<bool, Ended> {
    let (opened, failure) = match with_net(OPEN_EVENTS_WITHIN, engine.events(place.since)).await {
        Ok(stream) => {
            events.send(Observation::EventsOpened).await.map_err(|_| Ended)?;
            (true, follow(stream, events, place).await?)
        }
        Err(failure) => (false, failure),
    };
    events.send(Observation::EventsLost(failure)).await.map_err(|_| Ended)?;
    Ok(opened)
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
mod tests {
    use super::*;
    use crate::{
        domain::{name::ContainerId, observation::EventAction},
        tasks::Pending,
    };
    use std::collections::VecDeque;

    fn event(at: i64, action: EventAction) -> EngineEvent {
        EngineEvent { container: ContainerId::new("c"), name: None, action, at: EngineMs(at) }
    }

    #[test]
    fn what_a_reopened_stream_repeats_is_known_and_what_it_brings_is_not() {
        let mut place = Place::default();
        let (stopped, started) = (event(5, EventAction::Stopped), event(5, EventAction::Started));
        for told in [&stopped, &started] {
            assert!(!place.knows(told));
            place.note(told);
        }
        // Opened again, from the last moment on.
        assert!(place.knows(&stopped) && place.knows(&started));
        let (another, later) = (event(5, EventAction::Restarted), event(6, EventAction::Stopped));
        assert!(!place.knows(&another), "the same moment, another event");
        place.note(&another);
        assert!(!place.knows(&later));
        place.note(&later);
        assert_eq!(place.since, Some(EngineMs(6)));
        let earlier = event(4, EventAction::Paused);
        assert!(!place.knows(&earlier), "a clock that was set back hides nothing");
        place.note(&earlier);
        assert_eq!(place.since, Some(EngineMs(6)));
    }

    #[test]
    fn the_events_of_one_moment_that_are_remembered_are_bounded() {
        let mut place = Place::default();
        for signal in 0..1000 {
            place.note(&event(5, EventAction::Killed { signal: Some(signal) }));
        }
        assert_eq!(place.told.len(), MOST_AT_A_TIME);
    }

    /// A stream that brings these events and ends.
    struct Brings(VecDeque<EngineEvent>);

    impl EventStream for Brings {
        fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>> {
            let event = self.0.pop_front();
            Box::pin(async { event.ok_or(LookFailure::Unreachable("its end".to_owned())) })
        }
    }

    #[tokio::test]
    async fn the_event_that_met_a_full_lane_is_told_when_the_next_stream_brings_it_again() {
        let (lane, mut told) = mpsc::channel(1);
        let mut place = Place::default();
        let (stopped, started) = (event(5, EventAction::Stopped), event(5, EventAction::Started));
        let stream = || Box::new(Brings([stopped.clone(), started.clone()].into()));
        let full = follow(stream(), &lane, &mut place).await.ok();
        assert!(matches!(full, Some(LookFailure::Local(_))), "{full:?}");
        assert_eq!(told.try_recv().ok(), Some(Observation::Event(stopped.clone())));

        let ended = follow(stream(), &lane, &mut place).await.ok();
        assert!(matches!(ended, Some(LookFailure::Unreachable(_))), "{ended:?}");
        assert_eq!(told.try_recv().ok(), Some(Observation::Event(started.clone())));
        assert!(told.try_recv().is_err(), "what was told is not told twice");
    }
}
