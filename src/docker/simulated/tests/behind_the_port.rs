//! The world behind the typed port, under a paused runtime: latency, deadlines, faults, and callers that leave.

use super::{
    super::{
        engine::SimulatedEngine,
        faults::{FaultKind, FaultWindow, Faults},
        live::LiveWorld,
        truth::{Actor::Somebody, Happened, WorldTime},
    },
    every_second, ms, seconds, stubborn, web, world,
};
use crate::{
    clock::paused::PausedClock,
    docker::port::Engine,
    domain::{
        effect::Primitive,
        name::ContainerId,
        observation::{ActOutcome, ContainerState, EventAction, LookFailure},
    },
};
use std::{sync::Arc, time::Duration};

const RESTART: Primitive = Primitive::Restart { stop_timeout: Duration::from_secs(10) };

fn live() -> Arc<LiveWorld> {
    LiveWorld::begin(world(), Arc::new(PausedClock::at(5000)))
}

fn engine(live: &Arc<LiveWorld>, faults: Vec<(u64, u64, FaultKind)>) -> SimulatedEngine {
    let window = |(from, to, kind)| FaultWindow { from: WorldTime(from), to: WorldTime(to), kind };
    let windows = faults.into_iter().map(window).collect();
    SimulatedEngine::new(Arc::clone(live), Arc::new(Faults { windows }))
}

#[tokio::test(start_paused = true)]
async fn an_act_is_answered_when_the_world_is_done() {
    let live = live();
    let id = live.with(|world, now| world.run(now, stubborn()));
    let outcome = engine(&live, Vec::new()).act(id, RESTART).await;
    assert_eq!(outcome, ActOutcome::Done);
    assert_eq!(live.now(), ms(10_052));
}

#[tokio::test(start_paused = true)]
async fn a_restart_goes_on_when_its_caller_leaves() {
    let live = live();
    let id = live.with(|world, now| world.run(now, stubborn()));
    let engine = engine(&live, Vec::new());
    let waiting = tokio::time::timeout(Duration::from_secs(3), engine.act(id.clone(), RESTART));
    assert!(waiting.await.is_err());
    live.sleep_until(seconds(20)).await;
    live.with(|world, _| {
        assert_eq!(world.state(&id), Some(ContainerState::Running));
        assert!(
            world.truth().iter().any(|truth| matches!(truth.what, Happened::ActionEnded { .. }))
        );
    });
}

#[tokio::test(start_paused = true)]
async fn looks_end_within_their_deadlines() {
    let live = live();
    let id = live.with(|world, now| world.run(now, web()));
    let engine = engine(
        &live,
        vec![
            (1000, 100_000, FaultKind::EngineHangs),
            (200_000, 300_000, FaultKind::InspectHangs(id.clone())),
        ],
    );
    live.sleep_until(seconds(2)).await;
    assert_eq!(engine.list().await, Err(LookFailure::TimedOut(Duration::from_secs(10))));
    assert_eq!(live.now(), seconds(12));
    let inspected = engine.inspect(id.clone()).await;
    assert_eq!(inspected, Err(LookFailure::TimedOut(Duration::from_secs(5))));
    live.sleep_until(seconds(95)).await;
    assert!(engine.list().await.is_ok(), "it hung for less than the deadline");
    live.sleep_until(seconds(200)).await;
    assert!(engine.list().await.is_ok());
    let inspected = engine.inspect(id.clone()).await;
    assert_eq!(inspected, Err(LookFailure::TimedOut(Duration::from_secs(5))));
    live.sleep_until(seconds(299)).await;
    assert!(engine.inspect(id).await.is_ok());
    let nobody = ContainerId::new("nobody");
    assert_eq!(engine.inspect(nobody).await, Err(LookFailure::NoSuchContainer));
}

#[tokio::test(start_paused = true)]
async fn acts_meet_the_faults_of_their_time() {
    let live = live();
    let id = live.with(|world, now| world.run(now, stubborn()));
    let engine = engine(
        &live,
        vec![
            (0, 1000, FaultKind::ActDenied),
            (1000, 2000, FaultKind::ActFails),
            (2000, 3000, FaultKind::EngineUnreachable),
            (5000, 9000, FaultKind::EngineUnreachable),
        ],
    );
    let act = || engine.act(id.clone(), RESTART);
    assert!(matches!(act().await, ActOutcome::Denied(_)));
    live.sleep_until(seconds(1)).await;
    assert!(matches!(act().await, ActOutcome::Failed { status: 500, .. }));
    live.sleep_until(seconds(2)).await;
    assert!(matches!(act().await, ActOutcome::Unreachable(_)));
    let received = |live: &LiveWorld| {
        live.with(|world, _| {
            let truth = world.truth().iter();
            truth.filter(|it| matches!(it.what, Happened::ActionReceived { .. })).count()
        })
    };
    assert_eq!(received(&live), 0);
    // This one arrives, and its connection breaks in the middle.
    live.sleep_until(seconds(3)).await;
    assert!(matches!(act().await, ActOutcome::Unreachable(_)));
    assert_eq!(live.now(), seconds(5));
    assert_eq!(received(&live), 1);
    live.sleep_until(seconds(20)).await;
    assert_eq!(live.with(|world, _| world.state(&id)), Some(ContainerState::Running));
}

#[tokio::test(start_paused = true)]
async fn events_come_as_they_happen_and_survive_a_dropped_wait() {
    let live = live();
    let engine = engine(&live, Vec::new());
    let mut events = engine.events(None).await.unwrap();
    let waited = tokio::time::timeout(Duration::from_secs(5), events.next()).await;
    assert!(waited.is_err());
    let id = live.with(|world, now| world.run(now, web().with_healthcheck(every_second())));
    let mut actions = Vec::new();
    for _ in 0..3 {
        let event = events.next().await.unwrap();
        assert_eq!(event.container, id);
        actions.push(event.action);
    }
    assert_eq!(actions[..2], [EventAction::Created, EventAction::Started]);
    assert!(matches!(actions[2], EventAction::HealthChanged(_)), "execs are left out");
    assert_eq!(live.now(), ms(5002 + 1050 + 2));
}

#[tokio::test(start_paused = true)]
async fn events_are_dropped_doubled_late_and_cut_by_their_time() {
    let live = live();
    let id = live.with(|world, now| world.run(now, web()));
    let engine = engine(
        &live,
        vec![
            (1000, 2000, FaultKind::EventsDropped),
            (2000, 3000, FaultKind::EventsDuplicated),
            (3000, 4000, FaultKind::EventsLate(Duration::from_secs(10))),
            (20_000, 30_000, FaultKind::StreamCut),
        ],
    );
    let mut events = engine.events(None).await.unwrap();
    for second in 1..=4 {
        live.sleep_until(ms(second * 1000 + 500)).await;
        live.with(|world, now| {
            if second % 2 == 1 {
                world.pause(now, &id, Somebody);
            } else {
                world.unpause(now, &id, Somebody);
            }
        });
    }
    let mut arrived = Vec::new();
    let end = loop {
        match events.next().await {
            Ok(event) => arrived.push((live.now().0, event.action)),
            Err(end) => break end,
        }
    };
    assert_eq!(
        arrived,
        [
            (4500, EventAction::Unpaused),
            (4500, EventAction::Unpaused),
            (4502, EventAction::Unpaused),
            (13_502, EventAction::Paused),
        ]
    );
    assert!(matches!(end, LookFailure::Unreachable(_)));
    assert_eq!(live.now(), seconds(20));
    assert!(engine.events(None).await.is_err());
    live.sleep_until(seconds(30)).await;
    // What was dropped on the way stands in the engine's history.
    let since = live.with(|world, _| world.engine_now(seconds(1)));
    let mut replayed = engine.events(Some(since)).await.unwrap();
    assert_eq!(replayed.next().await.unwrap().action, EventAction::Paused);
}

#[tokio::test(start_paused = true)]
async fn a_restarting_engine_is_unreachable_and_ends_its_streams() {
    let live = live();
    let engine = engine(&live, Vec::new());
    let mut events = engine.events(None).await.unwrap();
    live.with(|world, now| world.engine_restart(now, Duration::from_secs(5)));
    assert!(matches!(events.next().await, Err(LookFailure::Unreachable(_))));
    assert!(matches!(engine.list().await, Err(LookFailure::Unreachable(_))));
    live.sleep_until(seconds(6)).await;
    assert!(engine.list().await.is_ok());
}
