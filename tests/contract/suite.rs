//! What every engine behind the port has to show. Each behaviour gets a driver of its own.

use crate::driver::{Check, Driver, Made, Order, Wanted};
use defib::{
    docker::port::EventStream,
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{
            ActOutcome, ContainerState, EventAction, Health, HealthResult, HealthStatus,
            Inspection, LookFailure, RestartPolicy,
        },
    },
};
use std::time::Duration;

/// Hands the names of all behaviours to a macro, which makes a test of each for one engine.
macro_rules! for_every_behaviour {
    ($make_tests:ident) => {
        $make_tests! {
            the_list_shows_every_container_with_its_state,
            a_container_that_was_never_started_has_no_times,
            a_running_container_is_inspected_with_its_settings,
            an_exited_container_keeps_its_exit_code,
            pausing_freezes_a_life_and_unpausing_goes_on_with_it,
            a_container_without_a_healthcheck_is_not_evaluated,
            a_passing_healthcheck_makes_it_healthy,
            failing_checks_are_counted_and_make_it_unhealthy_until_one_passes,
            a_check_that_hangs_has_failed,
            a_check_that_cannot_be_executed_is_no_failure,
            a_child_of_a_network_names_its_parent,
            a_restart_begins_exactly_one_new_life,
            a_restart_of_one_that_ignores_sigterm_waits_for_its_stop_timeout,
            a_kill_ends_it_and_a_start_begins_a_new_life,
            starting_what_runs_changes_nothing,
            killing_what_does_not_run_fails,
            what_does_not_exist_is_said_to_be_missing,
            somebodys_stop_is_heard_as_kill_die_stop,
            somebodys_stop_of_one_that_ignores_it_shows_both_kills,
            somebodys_restart_is_heard_like_ours,
            somebodys_touches_are_heard,
            a_removal_is_heard_and_the_container_is_gone,
            a_signal_is_heard_with_its_number,
            the_engines_own_restart_shows_neither_kill_nor_restart,
            changes_of_health_are_heard_and_checks_are_not,
            events_since_a_time_are_told_again,
            what_happens_between_two_streams_is_heard_by_the_second,
        }
    };
}
pub(crate) use for_every_behaviour;

/// How long anything may take here. An engine under load needs some seconds to begin and end a container.
const PATIENCE: Duration = Duration::from_secs(60);

const RESTART: Primitive = Primitive::Restart { stop_timeout: Duration::from_secs(10) };

// Looks

pub(crate) async fn the_list_shows_every_container_with_its_state(driver: &dyn Driver) {
    let wanted = Wanted { label: Some(("defib.colour", "green")), ..Wanted::default() };
    let made = driver.make(&wanted).await;
    let (running, paused, exited) = (up(driver).await, up(driver).await, up(driver).await);
    driver.order(&paused.id, Order::Pause).await;
    driver.order(&exited.id, Order::Stop).await;
    let listing = driver.engine().list().await.unwrap();
    let row = |of: &Made| listing.containers.iter().find(|row| row.id == of.id).unwrap();
    assert_eq!(row(&made).state, ContainerState::Created);
    assert_eq!(row(&running).state, ContainerState::Running);
    assert_eq!(row(&paused).state, ContainerState::Paused);
    assert_eq!(row(&exited).state, ContainerState::Exited);
    assert_eq!((&row(&made).name, &row(&made).image), (&made.name, &made.image));
    assert_eq!(row(&made).labels.get("defib.colour").map(String::as_str), Some("green"));
    assert_eq!(listing.undecodable, 0);
}

pub(crate) async fn a_container_that_was_never_started_has_no_times(driver: &dyn Driver) {
    let made = driver.make(&Wanted::default()).await;
    let seen = inspected(driver, &made).await;
    assert_eq!(seen.state, ContainerState::Created);
    assert_eq!((seen.started, seen.finished, seen.exit_code, seen.pid), (None, None, None, None));
}

pub(crate) async fn a_running_container_is_inspected_with_its_settings(driver: &dyn Driver) {
    let wanted = Wanted {
        healthcheck: true,
        stop_timeout: Some(Duration::from_secs(7)),
        always_restarted: true,
        label: Some(("defib.colour", "green")),
        ..Wanted::default()
    };
    let made = started(driver, &wanted).await;
    let seen = inspected(driver, &made).await;
    assert_eq!((&seen.id, &seen.name, &seen.image), (&made.id, &made.name, &made.image));
    assert_eq!(seen.state, ContainerState::Running);
    assert_eq!(seen.labels.get("defib.colour").map(String::as_str), Some("green"));
    assert!(seen.pid.is_some());
    assert_eq!((seen.finished, seen.exit_code), (None, None));
    let began = seen.started.unwrap();
    // The answer's date has whole seconds.
    assert!(seen.engine_now + Duration::from_secs(1) > began, "{seen:?}");
    assert!(seen.engine_now.since(began) < PATIENCE, "{seen:?}");
    let check = seen.healthcheck.unwrap();
    assert_eq!((check.interval, check.timeout), (Duration::from_secs(1), Duration::from_secs(1)));
    assert_eq!((check.start_period, check.retries), (Duration::ZERO, 2));
    assert_eq!(seen.restart_policy, RestartPolicy::Always);
    assert_eq!((seen.stop_timeout, seen.auto_remove), (Some(Duration::from_secs(7)), false));
    assert_eq!(seen.network_parent, None);
    assert!(!seen.addresses.is_empty(), "{seen:?}");
}

pub(crate) async fn an_exited_container_keeps_its_exit_code(driver: &dyn Driver) {
    let made = up(driver).await;
    let began = inspected(driver, &made).await.started_at;
    driver.order(&made.id, Order::Exit(3)).await;
    let seen = when(driver, &made, |seen| seen.state == ContainerState::Exited).await;
    assert_eq!((seen.exit_code, seen.pid), (Some(3), None));
    assert_eq!(seen.started_at, began);
    assert!(seen.finished.unwrap() >= seen.started.unwrap());
    assert_eq!(seen.restart_policy, RestartPolicy::No);
}

pub(crate) async fn pausing_freezes_a_life_and_unpausing_goes_on_with_it(driver: &dyn Driver) {
    let made = up(driver).await;
    let before = inspected(driver, &made).await;
    driver.order(&made.id, Order::Pause).await;
    let frozen = inspected(driver, &made).await;
    assert_eq!((&frozen.state, &frozen.started_at), (&ContainerState::Paused, &before.started_at));
    driver.order(&made.id, Order::Unpause).await;
    let thawed = inspected(driver, &made).await;
    assert_eq!((&thawed.state, &thawed.started_at), (&ContainerState::Running, &before.started_at));
}

// Health

pub(crate) async fn a_container_without_a_healthcheck_is_not_evaluated(driver: &dyn Driver) {
    let made = up(driver).await;
    let seen = inspected(driver, &made).await;
    assert_eq!((seen.health, seen.healthcheck), (None, None));
}

pub(crate) async fn a_passing_healthcheck_makes_it_healthy(driver: &dyn Driver) {
    let made = checked(driver, None).await;
    let health = inspected(driver, &made).await.health.unwrap();
    assert_eq!((health.status, health.failing_streak), (HealthStatus::Starting, 0));
    let health = with_health(driver, &made, |health| health.status == HealthStatus::Healthy).await;
    assert_eq!(health.failing_streak, 0);
    let last = health.log.last().unwrap();
    assert_eq!(last.result, HealthResult::Passed);
    assert!(last.end >= last.start);
}

pub(crate) async fn failing_checks_are_counted_and_make_it_unhealthy_until_one_passes(
    driver: &dyn Driver,
) {
    let made = checked(driver, Some(Check::Fails)).await;
    let other = checked(driver, None).await;
    let health = with_health(driver, &made, |health| health.failing_streak >= 3).await;
    assert_eq!(health.status, HealthStatus::Unhealthy);
    for entry in &health.log {
        assert_eq!(entry.result, HealthResult::Failed);
        assert_eq!(entry.output.trim(), "no answer");
    }
    assert!(health.log.windows(2).all(|pair| pair[0].end <= pair[1].start), "{health:?}");
    let unhealthy = driver.engine().list_unhealthy().await.unwrap();
    assert!(unhealthy.contains(&made.id) && !unhealthy.contains(&other.id), "{unhealthy:?}");

    driver.order(&made.id, Order::Check(Check::Passes)).await;
    let health = with_health(driver, &made, |health| health.status == HealthStatus::Healthy).await;
    assert_eq!(health.failing_streak, 0);
    assert!(health.log.len() <= 5);
    assert!(!driver.engine().list_unhealthy().await.unwrap().contains(&made.id));
}

pub(crate) async fn a_check_that_hangs_has_failed(driver: &dyn Driver) {
    let made = checked(driver, Some(Check::Hangs)).await;
    let health =
        with_health(driver, &made, |health| health.status == HealthStatus::Unhealthy).await;
    let last = health.log.last().unwrap();
    assert_eq!(last.result, HealthResult::Failed, "{health:?}");
    assert!(last.end.since(last.start) >= Duration::from_millis(900), "{health:?}");
}

pub(crate) async fn a_check_that_cannot_be_executed_is_no_failure(driver: &dyn Driver) {
    let made = checked(driver, Some(Check::CannotRun)).await;
    let health = with_health(driver, &made, |health| !health.log.is_empty()).await;
    assert_eq!(health.log.last().unwrap().result, HealthResult::CouldNotRun, "{health:?}");
}

pub(crate) async fn a_child_of_a_network_names_its_parent(driver: &dyn Driver) {
    let parent = up(driver).await;
    let wanted = Wanted { network_of: Some(parent.id.clone()), ..Wanted::default() };
    let child = started(driver, &wanted).await;
    assert_eq!(inspected(driver, &child).await.network_parent, Some(parent.id));
}

// Acts

pub(crate) async fn a_restart_begins_exactly_one_new_life(driver: &dyn Driver) {
    let made = checked(driver, Some(Check::Fails)).await;
    with_health(driver, &made, |health| health.status == HealthStatus::Unhealthy).await;
    let before = inspected(driver, &made).await;
    let mut events = driver.engine().events(None).await.unwrap();
    assert_eq!(driver.engine().act(made.id.clone(), RESTART).await, ActOutcome::Done);
    let after = inspected(driver, &made).await;
    assert_eq!(after.state, ContainerState::Running);
    assert_ne!(after.started_at, before.started_at);
    assert!(after.started > before.started);
    let health = after.health.unwrap();
    assert_eq!(health.status, HealthStatus::Starting, "{health:?}");
    let heard = heard_until(events.as_mut(), &made, "restart").await;
    let lives: Vec<_> = heard.iter().filter(|word| !word.starts_with("health")).collect();
    assert_eq!(lives, ["kill(15)", "die(0)", "stop", "start", "restart"]);
}

pub(crate) async fn a_restart_of_one_that_ignores_sigterm_waits_for_its_stop_timeout(
    driver: &dyn Driver,
) {
    let stop_timeout = Duration::from_secs(2);
    let wanted =
        Wanted { ignores_sigterm: true, stop_timeout: Some(stop_timeout), ..Wanted::default() };
    let made = started(driver, &wanted).await;
    let mut events = driver.engine().events(None).await.unwrap();
    let restart = Primitive::Restart { stop_timeout };
    assert_eq!(driver.engine().act(made.id.clone(), restart).await, ActOutcome::Done);
    let mut times = Vec::new();
    let mut words = Vec::new();
    while words.last().is_none_or(|word| word != "restart") {
        let (word, at) = next_of(events.as_mut(), &made).await;
        words.push(word);
        times.push(at);
    }
    assert_eq!(words, ["kill(15)", "kill(9)", "die(137)", "stop", "start", "restart"]);
    let grace = times[1].since(times[0]);
    assert!(grace >= Duration::from_millis(1900) && grace < Duration::from_secs(8), "{grace:?}");
}

pub(crate) async fn a_kill_ends_it_and_a_start_begins_a_new_life(driver: &dyn Driver) {
    let made = started(driver, &Wanted { ignores_sigterm: true, ..Wanted::default() }).await;
    let before = inspected(driver, &made).await;
    assert_eq!(driver.engine().act(made.id.clone(), Primitive::Kill).await, ActOutcome::Done);
    let dead = when(driver, &made, |seen| seen.state == ContainerState::Exited).await;
    assert_eq!((dead.exit_code, &dead.started_at), (Some(137), &before.started_at));
    assert_eq!(driver.engine().act(made.id.clone(), Primitive::Start).await, ActOutcome::Done);
    let after = inspected(driver, &made).await;
    assert_eq!((after.state, after.exit_code), (ContainerState::Running, None));
    assert_ne!(after.started_at, before.started_at);
}

pub(crate) async fn starting_what_runs_changes_nothing(driver: &dyn Driver) {
    let made = up(driver).await;
    let before = inspected(driver, &made).await.started_at;
    assert_eq!(driver.engine().act(made.id.clone(), Primitive::Start).await, ActOutcome::Done);
    assert_eq!(inspected(driver, &made).await.started_at, before);
}

pub(crate) async fn killing_what_does_not_run_fails(driver: &dyn Driver) {
    let made = up(driver).await;
    driver.order(&made.id, Order::Stop).await;
    let outcome = driver.engine().act(made.id.clone(), Primitive::Kill).await;
    assert!(matches!(outcome, ActOutcome::Failed { status: 409, .. }), "{outcome:?}");
}

pub(crate) async fn what_does_not_exist_is_said_to_be_missing(driver: &dyn Driver) {
    let nobody = ContainerId::new("0".repeat(64));
    let engine = driver.engine();
    assert_eq!(engine.inspect(nobody.clone()).await, Err(LookFailure::NoSuchContainer));
    for primitive in [RESTART, Primitive::Kill, Primitive::Start] {
        let outcome = engine.act(nobody.clone(), primitive).await;
        assert_eq!(outcome, ActOutcome::NoSuchContainer, "{primitive}");
    }
}

// Events

pub(crate) async fn somebodys_stop_is_heard_as_kill_die_stop(driver: &dyn Driver) {
    let made = up(driver).await;
    let heard = heard_after(driver, &made, Order::Stop, "stop").await;
    assert_eq!(heard, ["kill(15)", "die(0)", "stop"]);
}

pub(crate) async fn somebodys_stop_of_one_that_ignores_it_shows_both_kills(driver: &dyn Driver) {
    let wanted = Wanted {
        ignores_sigterm: true,
        stop_timeout: Some(Duration::from_secs(1)),
        ..Wanted::default()
    };
    let made = started(driver, &wanted).await;
    let heard = heard_after(driver, &made, Order::Stop, "stop").await;
    assert_eq!(heard, ["kill(15)", "kill(9)", "die(137)", "stop"]);
}

pub(crate) async fn somebodys_restart_is_heard_like_ours(driver: &dyn Driver) {
    let made = up(driver).await;
    let heard = heard_after(driver, &made, Order::Restart, "restart").await;
    assert_eq!(heard, ["kill(15)", "die(0)", "stop", "start", "restart"]);
}

pub(crate) async fn somebodys_touches_are_heard(driver: &dyn Driver) {
    let mut events = driver.engine().events(None).await.unwrap();
    let made = up(driver).await;
    for (order, wanted) in [
        (Order::Pause, "pause"),
        (Order::Unpause, "unpause"),
        (Order::Update, "update"),
        (Order::Rename, "rename"),
    ] {
        driver.order(&made.id, order).await;
        let heard = heard_until(events.as_mut(), &made, wanted).await;
        let known = if wanted == "pause" { vec!["create", "start", "pause"] } else { vec![wanted] };
        assert_eq!(heard, known);
    }
    assert_ne!(inspected(driver, &made).await.name, made.name);
}

pub(crate) async fn a_removal_is_heard_and_the_container_is_gone(driver: &dyn Driver) {
    let made = up(driver).await;
    let heard = heard_after(driver, &made, Order::Remove, "destroy").await;
    assert_eq!(heard, ["kill(9)", "die(137)", "destroy"]);
    let look = driver.engine().inspect(made.id.clone()).await;
    assert_eq!(look, Err(LookFailure::NoSuchContainer));
    let listing = driver.engine().list().await.unwrap();
    assert!(listing.containers.iter().all(|row| row.id != made.id));
}

pub(crate) async fn a_signal_is_heard_with_its_number(driver: &dyn Driver) {
    let made = started(driver, &Wanted { ignores_sigterm: true, ..Wanted::default() }).await;
    let heard = heard_after(driver, &made, Order::Signal(15), "kill(15)").await;
    assert_eq!(heard, ["kill(15)"]);
    assert_eq!(inspected(driver, &made).await.state, ContainerState::Running);
}

pub(crate) async fn the_engines_own_restart_shows_neither_kill_nor_restart(driver: &dyn Driver) {
    let made = started(driver, &Wanted { always_restarted: true, ..Wanted::default() }).await;
    let before = inspected(driver, &made).await.started_at;
    let heard = heard_after(driver, &made, Order::Exit(4), "start").await;
    assert_eq!(heard, ["die(4)", "start"]);
    let seen = when(driver, &made, |seen| seen.state == ContainerState::Running).await;
    assert_ne!(seen.started_at, before);
}

pub(crate) async fn changes_of_health_are_heard_and_checks_are_not(driver: &dyn Driver) {
    let made = checked(driver, None).await;
    let mut events = driver.engine().events(None).await.unwrap();
    with_health(driver, &made, |health| health.status == HealthStatus::Healthy).await;
    driver.order(&made.id, Order::Check(Check::Fails)).await;
    let heard = heard_until(events.as_mut(), &made, "health(Unhealthy)").await;
    // The first change may have come before the stream was open.
    let changes: Vec<_> = heard.iter().filter(|word| *word != "health(Healthy)").collect();
    assert_eq!(changes, ["health(Unhealthy)"]);
    driver.order(&made.id, Order::Check(Check::Passes)).await;
    assert_eq!(heard_until(events.as_mut(), &made, "health(Healthy)").await, ["health(Healthy)"]);
}

pub(crate) async fn events_since_a_time_are_told_again(driver: &dyn Driver) {
    let made = up(driver).await;
    let since = inspected(driver, &made).await.started.unwrap();
    driver.order(&made.id, Order::Pause).await;
    driver.order(&made.id, Order::Unpause).await;
    let mut events = driver.engine().events(Some(since)).await.unwrap();
    let heard = heard_until(events.as_mut(), &made, "unpause").await;
    // The start itself is stamped after StartedAt.
    assert_eq!(heard, ["start", "pause", "unpause"]);
}

pub(crate) async fn what_happens_between_two_streams_is_heard_by_the_second(driver: &dyn Driver) {
    let made = up(driver).await;
    let first = driver.engine().events(None).await.unwrap();
    let opened_at = first.opened_at().unwrap();
    let by_the_engine = inspected(driver, &made).await.engine_now;
    assert!(
        (0..5_000).contains(&(by_the_engine.0 - opened_at.0)),
        "{opened_at:?} {by_the_engine:?}"
    );
    drop(first);
    driver.order(&made.id, Order::Pause).await;
    let mut second = driver.engine().events(Some(opened_at)).await.unwrap();
    heard_until(second.as_mut(), &made, "pause").await;
}

// What the behaviours are written in

/// A plain container, running.
async fn up(driver: &dyn Driver) -> Made {
    started(driver, &Wanted::default()).await
}

/// A running one with a healthcheck, which behaves as given.
async fn checked(driver: &dyn Driver, check: Option<Check>) -> Made {
    let made = started(driver, &Wanted { healthcheck: true, ..Wanted::default() }).await;
    if let Some(check) = check {
        driver.order(&made.id, Order::Check(check)).await;
    }
    made
}

async fn started(driver: &dyn Driver, wanted: &Wanted) -> Made {
    let made = driver.make(wanted).await;
    driver.order(&made.id, Order::Start).await;
    made
}

async fn inspected(driver: &dyn Driver, made: &Made) -> Inspection {
    *driver.engine().inspect(made.id.clone()).await.unwrap()
}

/// Looks until it is as wanted.
async fn when(
    driver: &dyn Driver,
    made: &Made,
    wanted: impl Fn(&Inspection) -> bool,
) -> Inspection {
    let mut last = None;
    let looking = async {
        loop {
            let seen = inspected(driver, made).await;
            if wanted(&seen) {
                return seen;
            }
            last = Some(seen);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.unwrap_or_else(|_| panic!("it stays {last:?}"))
}

async fn with_health(driver: &dyn Driver, made: &Made, wanted: impl Fn(&Health) -> bool) -> Health {
    when(driver, made, |seen| seen.health.as_ref().is_some_and(&wanted)).await.health.unwrap()
}

/// The next event of this container, as a word.
async fn next_of(events: &mut dyn EventStream, made: &Made) -> (String, EngineMs) {
    let listening = async {
        loop {
            let event = events.next().await.unwrap();
            if event.container == made.id {
                return (word(&event.action), event.at);
            }
        }
    };
    tokio::time::timeout(PATIENCE, listening).await.expect("no event comes")
}

/// All events of this container up to the first that reads `last`.
async fn heard_until(events: &mut dyn EventStream, made: &Made, last: &str) -> Vec<String> {
    let mut heard = Vec::new();
    while heard.last().is_none_or(|word| word != last) {
        heard.push(next_of(events, made).await.0);
        assert!(heard.len() < 50, "{last} does not come: {heard:?}");
    }
    heard
}

async fn heard_after(driver: &dyn Driver, made: &Made, order: Order, last: &str) -> Vec<String> {
    let mut events = driver.engine().events(None).await.unwrap();
    driver.order(&made.id, order).await;
    heard_until(events.as_mut(), made, last).await
}

fn word(action: &EventAction) -> String {
    let number = |number: Option<i64>| number.map_or("?".to_owned(), |n| n.to_string());
    match action {
        EventAction::Created => "create".to_owned(),
        EventAction::Started => "start".to_owned(),
        EventAction::Died { exit_code } => format!("die({})", number(*exit_code)),
        EventAction::Stopped => "stop".to_owned(),
        EventAction::Restarted => "restart".to_owned(),
        EventAction::Killed { signal } => format!("kill({})", number(signal.map(i64::from))),
        EventAction::Paused => "pause".to_owned(),
        EventAction::Unpaused => "unpause".to_owned(),
        EventAction::Updated => "update".to_owned(),
        EventAction::Renamed => "rename".to_owned(),
        EventAction::Destroyed => "destroy".to_owned(),
        EventAction::OutOfMemory => "oom".to_owned(),
        EventAction::HealthChanged(status) => format!("health({status:?})"),
    }
}
