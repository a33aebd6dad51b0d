//! Streams that end, are opened again, and break down.

use super::*;
use crate::{
    clock::paused::{PausedClock, now},
    domain::{
        effect::Primitive,
        name::ContainerId,
        observation::{ActOutcome, EventAction, Inspection, Listing},
    },
    tasks::{Pending, Tasks},
};
use std::{collections::VecDeque, sync::Mutex};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

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
    fn opened_at(&self) -> Option<EngineMs> {
        None
    }

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

/// A stream that says nothing and ends so, after this long; or breaks down.
#[derive(Clone)]
enum Ends {
    With(LookFailure, Duration),
    BreaksDown,
}

impl EventStream for Ends {
    fn opened_at(&self) -> Option<EngineMs> {
        Some(EngineMs(7_000))
    }

    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>> {
        let end = self.clone();
        Box::pin(async {
            match end {
                Ends::With(failure, after) => {
                    sleep(after).await;
                    Err(failure)
                }
                Ends::BreaksDown => panic!("broken"),
            }
        })
    }
}

/// An engine whose streams all end in the same way, and when each was asked for, from when on.
struct Streams {
    end: Ends,
    asked: Mutex<Vec<(Instant, Option<EngineMs>)>>,
}

impl Engine for Streams {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        panic!("nobody lists")
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        panic!("nobody lists")
    }

    fn inspect(&self, _: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        panic!("nobody inspects")
    }

    fn act(&self, _: ContainerId, _: Primitive) -> Pending<'_, ActOutcome> {
        panic!("nobody acts")
    }

    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        self.asked.lock().unwrap().push((now(), since));
        let stream = self.end.clone();
        Box::pin(async { Ok(Box::new(stream) as Box<dyn EventStream>) })
    }
}

/// What is told of three streams that end so; how long after each the next one was asked for, and from when on.
async fn three_streams(end: Ends) -> (Vec<Observation>, [Duration; 2], [Option<EngineMs>; 3]) {
    let engine = Arc::new(Streams { end, asked: Mutex::default() });
    let (lane, mut told) = mpsc::channel(16);
    let followed = Arc::clone(&engine);
    let keeping = keep_open(followed, Arc::new(PausedClock::at(0)), lane);
    let keeping = Tasks::on(Handle::current()).spawn("events", keeping);
    let mut heard = Vec::new();
    while heard.len() < 6 {
        heard.push(told.recv().await.expect("it ends"));
    }
    keeping.abort();
    // The fourth is asked for at once, where nothing was wrong with the third.
    let asked = engine.asked.lock().unwrap().clone();
    let [(first, a), (second, b), (third, c)] = asked[..3].try_into().unwrap();
    (heard, [second - first, third - second], [a, b, c])
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_breaks_down_is_told_as_lost_and_opened_anew() {
    let (heard, waits, _) = three_streams(Ends::BreaksDown).await;
    let lost = LookFailure::Local("what followed the events broke down".to_owned());
    let once = [Observation::EventsOpened, Observation::EventsLost(lost)];
    assert_eq!(heard, [&once[..], &once, &once].concat());
    // And not in a loop that does nothing else.
    assert!(waits[0] >= REOPEN_EVENTS_AFTER && waits[1] > waits[0], "{waits:?}");
}

#[tokio::test(start_paused = true)]
async fn what_happens_between_two_streams_is_asked_for_though_none_brought_anything() {
    let lost = LookFailure::Unreachable("the engine closed its event stream".to_owned());
    let (_, _, since) = three_streams(Ends::With(lost, Duration::from_secs(60))).await;
    assert_eq!(since, [None, Some(EngineMs(7_000)), Some(EngineMs(7_000))]);
}

#[tokio::test(start_paused = true)]
async fn after_a_stream_on_which_nothing_came_the_next_is_opened_at_once() {
    let idle = Duration::from_secs(600);
    let (_, waits, _) = three_streams(Ends::With(LookFailure::TimedOut(idle), idle)).await;
    assert_eq!(waits, [idle, idle]);
    // Whatever a stream says of itself: never in a loop that does nothing else.
    let never = Ends::With(LookFailure::TimedOut(idle), Duration::ZERO);
    let (_, waits, _) = three_streams(never).await;
    assert_eq!(waits, [REOPEN_EVENTS_AFTER, REOPEN_EVENTS_AFTER]);
}
