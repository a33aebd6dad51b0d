//! Which events come in which order: the table of what was recorded on Engine 20.10.

use super::{
    super::{
        script::{Behaviour, ContainerScript},
        truth::{Actor::Somebody, WorldTime},
        world::World,
    },
    ms, seconds, stubborn, told, web, world,
};
use crate::domain::{name::ContainerId, observation::RestartPolicy};
use std::time::Duration;

/// Runs a container, does something at 1 s, and says what was told in the minute after.
fn sequence(
    script: ContainerScript,
    does: impl FnOnce(&mut World, WorldTime, &ContainerId),
) -> Vec<String> {
    let mut world = world();
    let id = world.run(ms(0), script);
    let mut cursor = world.open_events(None);
    does(&mut world, seconds(1), &id);
    world.advance(seconds(61));
    told(&world, &mut cursor)
}

#[test]
fn a_stop() {
    let events = sequence(web(), |world, now, id| world.stop(now, id, Somebody));
    assert_eq!(events, ["kill 15", "die 143", "stopped"]);
}

#[test]
fn a_stop_whose_signal_is_ignored() {
    let events = sequence(stubborn(), |world, now, id| world.stop(now, id, Somebody));
    assert_eq!(events, ["kill 15", "kill 9", "die 137", "stopped"]);
}

#[test]
fn a_restart() {
    let events = sequence(web(), |world, now, id| world.restart(now, id, Somebody));
    assert_eq!(events, ["kill 15", "die 143", "stopped", "started", "restarted"]);
}

#[test]
fn a_restart_of_a_paused_one_thaws_it() {
    let events = sequence(web(), |world, now, id| {
        world.pause(now, id, Somebody);
        world.restart(now, id, Somebody);
    });
    assert_eq!(
        events,
        ["paused", "kill 15", "unpaused", "die 143", "stopped", "started", "restarted"]
    );
}

#[test]
fn a_restart_of_a_stopped_one_starts_it() {
    let events = sequence(web(), |world, now, id| {
        world.stop(now, id, Somebody);
        world.restart(seconds(3), id, Somebody);
    });
    assert_eq!(events, ["kill 15", "die 143", "stopped", "started", "restarted"]);
}

#[test]
fn a_hangup_that_nobody_handles() {
    let events = sequence(web(), |world, now, id| world.kill(now, id, 1, Somebody));
    assert_eq!(events, ["kill 1"]);
}

#[test]
fn a_kill_also_of_a_paused_one() {
    let events = sequence(web(), |world, now, id| world.kill(now, id, 9, Somebody));
    assert_eq!(events, ["kill 9", "die 137"]);
    let events = sequence(web(), |world, now, id| {
        world.pause(now, id, Somebody);
        world.kill(now, id, 9, Somebody);
    });
    assert_eq!(events, ["paused", "kill 9", "die 137"]);
}

#[test]
fn dockers_own_restart_is_a_death_and_a_start() {
    let always = ContainerScript { restart_policy: RestartPolicy::Always, ..web() };
    let events = sequence(always, |world, now, id| world.crash(now, id, 3));
    assert_eq!(events, ["die 3", "started"]);
}

#[test]
fn pause_unpause_update_rename_remove() {
    let events = sequence(web(), |world, now, id| {
        world.pause(now, id, Somebody);
        world.unpause(now, id, Somebody);
        world.update(now, id, Somebody);
        world.rename(now, id, "shop", Somebody);
        world.remove(now, id, Somebody);
    });
    assert_eq!(
        events,
        ["paused", "unpaused", "updated", "renamed from web", "kill 9", "die 137", "destroyed"]
    );
}

#[test]
fn a_container_with_rm_is_removed_after_its_stop_but_not_by_a_restart() {
    let script = || ContainerScript { auto_remove: true, ..web() };
    let events = sequence(script(), |world, now, id| world.stop(now, id, Somebody));
    assert_eq!(events, ["kill 15", "die 143", "stopped", "destroyed"]);
    let events = sequence(script(), |world, now, id| world.restart(now, id, Somebody));
    assert_eq!(events, ["kill 15", "die 143", "stopped", "started", "restarted"]);
    let events = sequence(script(), |world, now, id| {
        world.set_start_fails(now, id, Some("no such log driver".to_owned()));
        world.restart(now, id, Somebody);
    });
    assert_eq!(events, ["kill 15", "die 143", "stopped", "destroyed"]);
}

#[test]
fn a_stop_while_docker_waits_to_restart_is_only_a_stop() {
    let behaviour = Behaviour::ExitsAfter { runs: Duration::from_millis(990), exit_code: 3 };
    let crashing = ContainerScript { restart_policy: RestartPolicy::Always, behaviour, ..web() };
    let events = sequence(crashing, |world, now, id| world.stop(now, id, Somebody));
    assert_eq!(events, ["die 3", "stopped"]);
}

#[test]
fn history_replays_from_since_and_at_most_256() {
    let mut world = world();
    let id = world.run(ms(0), web());
    for n in 1..=200 {
        world.pause(seconds(n), &id, Somebody);
        world.unpause(seconds(n), &id, Somebody);
    }
    let recent = world.engine_now(seconds(199));
    assert_eq!(told(&world, &mut world.open_events(Some(recent))).len(), 4);
    let oldest = world.engine_now(ms(0));
    assert_eq!(told(&world, &mut world.open_events(Some(oldest))).len(), 256);
    assert_eq!(told(&world, &mut world.open_events(None)).len(), 0);
}

#[test]
fn a_restarted_engine_has_forgotten_its_events() {
    let mut world = world();
    world.run(ms(0), web());
    let mut cursor = world.open_events(None);
    world.engine_restart(seconds(1), Duration::from_secs(5));
    world.advance(seconds(10));
    assert!(world.read_event(&mut cursor).is_err());
    let begin = world.engine_now(ms(0));
    assert!(told(&world, &mut world.open_events(Some(begin))).is_empty());
}
