//! The health monitor: streaks, what pause and exit make up, and what a start leaves.

use super::{
    super::{
        script::{ContainerScript, Trouble},
        truth::{Actor::Somebody, Happened},
        world::{Quirks, World},
    },
    every_second, health, ms, seconds, seen, told, web, world,
};
use crate::domain::{
    name::ContainerId,
    observation::{HealthResult, Healthcheck, RestartPolicy},
};
use std::time::Duration;

fn checked() -> (World, ContainerId) {
    let mut world = world();
    let id = world.run(ms(0), web().with_healthcheck(every_second()));
    (world, id)
}

#[test]
fn the_first_check_comes_after_one_interval() {
    let (mut world, id) = checked();
    assert_eq!(health(&mut world, ms(1049), &id), ("starting", 0));
    assert_eq!(health(&mut world, ms(1050), &id), ("healthy", 0));
}

#[test]
fn a_container_that_was_never_started_has_no_health() {
    let mut world = world();
    let id = world.create(ms(0), web().with_healthcheck(every_second()));
    assert_eq!(seen(&mut world, seconds(60), &id).health, None);
}

#[test]
fn only_changes_are_told_and_five_results_are_kept() {
    let (mut world, id) = checked();
    let mut cursor = world.open_events(None);
    world.trouble(seconds(10), &id, Trouble::Answers(500));
    world.advance(seconds(30));
    world.heal(seconds(30), &id);
    world.advance(seconds(40));
    assert_eq!(told(&world, &mut cursor), ["healthy", "unhealthy", "healthy"]);
    let health = seen(&mut world, seconds(40), &id).health.unwrap();
    assert_eq!(health.log.len(), 5);
    assert!(health.log.is_sorted_by_key(|entry| entry.end));
}

#[test]
fn a_hanging_process_runs_its_checks_into_their_timeout() {
    let (mut world, id) = checked();
    world.hang(ms(500), &id);
    assert_eq!(health(&mut world, ms(3999), &id), ("starting", 0));
    assert_eq!(health(&mut world, ms(4000), &id), ("starting", 1));
    // Interval, timeout: the next ends at 4 + 1 + 3 s.
    assert_eq!(health(&mut world, ms(8000), &id), ("unhealthy", 2));
    let log = seen(&mut world, ms(8000), &id).health.unwrap().log;
    assert_eq!(log[0].result, HealthResult::Failed);
    assert_eq!(log[0].output, "Health check exceeded timeout (3s)");
}

#[test]
fn a_check_that_cannot_be_executed_counts_for_docker_and_says_so() {
    let (mut world, id) = checked();
    world.healthcheck_cannot_run(ms(0), &id, true);
    assert_eq!(health(&mut world, ms(2200), &id), ("unhealthy", 2));
    let log = seen(&mut world, ms(2200), &id).health.unwrap().log;
    assert_eq!(log[0].result, HealthResult::CouldNotRun);
}

#[test]
fn failures_in_the_start_period_do_not_count_while_starting() {
    let mut world = world();
    let healthcheck = Healthcheck { start_period: Duration::from_secs(5), ..every_second() };
    let boots_in = Duration::from_secs(60);
    let script = ContainerScript { boots_in, ..web() }.with_healthcheck(healthcheck);
    let id = world.run(ms(0), script);
    assert_eq!(health(&mut world, seconds(5), &id), ("starting", 0));
    assert_eq!(health(&mut world, seconds(6), &id), ("starting", 1));
    assert_eq!(health(&mut world, seconds(7), &id), ("unhealthy", 2));
}

#[test]
fn a_pause_makes_up_an_unhealthy_and_tells_nobody() {
    let (mut world, id) = checked();
    let mut cursor = world.open_events(None);
    world.pause(seconds(5), &id, Somebody);
    assert_eq!(health(&mut world, seconds(5), &id), ("unhealthy", 0));
    assert_eq!(world.list_unhealthy(seconds(5)), std::slice::from_ref(&id));
    assert_eq!(told(&world, &mut cursor), ["healthy", "paused"]);
    assert!(
        world
            .truth()
            .iter()
            .any(|truth| matches!(truth.what, Happened::HealthTurned { made_up: true, .. }))
    );
    // Stale as long as it is paused.
    let before = seen(&mut world, seconds(5), &id).health;
    assert_eq!(seen(&mut world, seconds(500), &id).health, before);
    // And after that, until a check has run.
    world.unpause(seconds(500), &id, Somebody);
    assert_eq!(health(&mut world, ms(501_049), &id), ("unhealthy", 0));
    assert_eq!(health(&mut world, ms(501_050), &id), ("healthy", 0));
    assert_eq!(told(&world, &mut cursor), ["unpaused", "healthy"]);
}

#[test]
fn an_exit_makes_up_an_unhealthy_and_a_start_keeps_the_log() {
    let (mut world, id) = checked();
    world.stop(seconds(5), &id, Somebody);
    assert_eq!(health(&mut world, seconds(6), &id), ("unhealthy", 0));
    // Without `all`, the engine does not list what does not run.
    assert!(world.list_unhealthy(seconds(6)).is_empty());
    world.start(seconds(7), &id, Somebody);
    assert_eq!(health(&mut world, seconds(8), &id), ("starting", 0));
    assert_eq!(seen(&mut world, seconds(8), &id).health.unwrap().log.len(), 4);
}

#[test]
fn dockers_own_restart_starts_health_anew() {
    let mut world = world();
    let script = ContainerScript { restart_policy: RestartPolicy::Always, ..web() };
    let id = world.run(ms(0), script.with_healthcheck(every_second()));
    world.trouble(ms(0), &id, Trouble::Answers(500));
    assert_eq!(health(&mut world, ms(5500), &id), ("unhealthy", 5));
    world.crash(ms(5500), &id, 1);
    assert_eq!(health(&mut world, ms(5599), &id), ("unhealthy", 5));
    assert_eq!(health(&mut world, ms(5600), &id), ("starting", 0));
}

#[test]
fn an_engine_that_comes_back_begins_with_starting_and_the_same_life() {
    let (mut world, id) = checked();
    world.hang(ms(1500), &id);
    assert_eq!(health(&mut world, seconds(15), &id).0, "unhealthy");
    let life = seen(&mut world, seconds(15), &id).started_at;
    world.engine_restart(seconds(15), Duration::from_secs(5));
    world.advance(seconds(21));
    assert_eq!(health(&mut world, seconds(21), &id), ("starting", 0));
    assert_eq!(seen(&mut world, seconds(21), &id).started_at, life);
    assert_eq!(health(&mut world, seconds(40), &id).0, "unhealthy");
}

#[test]
fn some_engines_never_check_again_after_that() {
    let (world, id) = checked();
    let mut world =
        world.with_quirks(Quirks { health_frozen_after_engine_restart: true, ..Quirks::default() });
    world.engine_restart(seconds(5), Duration::from_secs(1));
    assert_eq!(health(&mut world, seconds(600), &id), ("starting", 0));
}
