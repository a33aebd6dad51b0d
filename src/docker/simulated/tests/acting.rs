//! Requests, lives, Docker's own restarts: what is answered, when, and what it leaves.

use super::{
    super::{
        script::{Behaviour, ContainerScript, Stopping, Trouble},
        truth::{
            Actor::{Defib, DockerPolicy, Itself, Somebody},
            Answer, Happened, Order, Truth, WorldTime,
        },
        world::{Quirks, World},
    },
    every_second, ms, seconds, seen, stubborn, web, world,
};
use crate::domain::{
    effect::Primitive,
    name::ContainerId,
    observation::{ContainerState, Phase, ProbeOutcome, RestartPolicy},
};
use std::time::Duration;

const RESTART: Primitive = Primitive::Restart { stop_timeout: Duration::from_secs(10) };

fn starts(world: &World) -> Vec<u64> {
    let started = |truth: &&Truth| matches!(truth.what, Happened::Started { .. });
    world.truth().iter().filter(started).map(|truth| truth.at.0).collect()
}

#[test]
fn a_restart_is_done_after_grace_kill_and_start() {
    let mut world = world();
    let script = ContainerScript { stop_timeout: Some(Duration::from_secs(45)), ..stubborn() };
    let id = world.run(ms(0), script);
    let life = seen(&mut world, ms(0), &id).started_at;
    let request = world.act(seconds(10), &id, RESTART);
    world.advance(ms(55_049));
    assert_eq!(world.take_answer(request), None);
    assert_eq!(world.state(&id), Some(ContainerState::Exited));
    world.advance(ms(55_050));
    assert_eq!(world.take_answer(request), Some(Answer::Done));
    let after = seen(&mut world, ms(55_050), &id);
    assert_ne!(after.started_at, life);
    assert_eq!(after.state, ContainerState::Running);
    assert!(after.started_at.as_str().starts_with("2026-11-29T23:30:55.050"));
}

#[test]
fn the_truth_holds_what_an_act_met() {
    let mut world = world();
    let id = world.run(ms(0), web());
    world.stop(seconds(1), &id, Somebody);
    world.act(seconds(5), &id, RESTART);
    world.advance(seconds(9));
    let story: Vec<Happened> =
        world.truth().iter().map(|truth| truth.what.clone()).skip(2).collect();
    let life = |story: &Happened| match story {
        Happened::Started { started_at, .. } => started_at.clone(),
        other => panic!("not a start: {other:?}"),
    };
    let first = life(&world.truth()[1].what);
    let second = life(&story[5]);
    let container = id.clone();
    let request = super::super::truth::RequestId(2);
    assert_eq!(
        story,
        [
            Happened::Stopping { container: container.clone(), by: Somebody },
            Happened::Signalled { container: container.clone(), by: Somebody, signal: 15 },
            Happened::Died {
                container: container.clone(),
                by: Somebody,
                exit_code: 143,
                started_at: first.clone(),
            },
            Happened::Stopped { container: container.clone(), by: Somebody },
            Happened::ActionReceived {
                request,
                container: container.clone(),
                primitive: RESTART,
                found: ContainerState::Exited,
                instance: first,
            },
            Happened::Started { container: container.clone(), by: Defib, started_at: second },
            Happened::Restarted { container: container.clone(), by: Defib },
            Happened::ActionEnded { request, container, answer: Answer::Done },
        ]
    );
}

#[test]
fn what_cannot_be_killed_ends_in_an_error_and_runs_on() {
    let mut world = world();
    let id = world.run(ms(0), ContainerScript { stopping: Stopping::Unkillable, ..web() });
    let request = world.act(seconds(1), &id, RESTART);
    world.advance(ms(22_999));
    assert_eq!(world.take_answer(request), None);
    world.advance(seconds(23));
    let answer = world.take_answer(request);
    assert!(matches!(answer, Some(Answer::Failed(text)) if text.contains("exit event")));
    assert_eq!(world.state(&id), Some(ContainerState::Running));
}

#[test]
fn a_failed_start_leaves_it_down_also_under_unless_stopped() {
    let mut world = world();
    let policy = RestartPolicy::UnlessStopped;
    let id = world.run(ms(0), ContainerScript { restart_policy: policy, ..web() });
    world.set_start_fails(ms(0), &id, Some("bind source path does not exist".to_owned()));
    let request = world.act(seconds(1), &id, RESTART);
    world.advance(seconds(600));
    let answer = world.take_answer(request);
    let expected = "Cannot restart container web: bind source path does not exist";
    assert_eq!(answer, Some(Answer::Failed(expected.to_owned())));
    assert_eq!(world.state(&id), Some(ContainerState::Exited));
    assert!(!world.is_well(&id));
}

#[test]
fn answers_by_state_are_those_of_the_engine() {
    let mut world = world();
    let id = world.run(ms(0), web());
    let mut ask = |at: WorldTime, order: Order| {
        let request = world.request(at, &id, order, Somebody);
        world.take_answer(request).unwrap()
    };
    assert_eq!(ask(ms(1), Order::Start), Answer::NotModified);
    assert!(matches!(ask(ms(1), Order::Unpause), Answer::Failed(_)));
    assert!(matches!(ask(ms(1), Order::Remove { force: false }), Answer::Conflict(_)));
    assert_eq!(ask(ms(1), Order::Pause), Answer::Done);
    assert!(matches!(ask(ms(1), Order::Pause), Answer::Conflict(_)));
    assert!(matches!(ask(ms(1), Order::Start), Answer::Conflict(_)));
    assert_eq!(ask(ms(2), Order::Kill { signal: 9 }), Answer::Done);
    assert!(matches!(ask(ms(2), Order::Kill { signal: 9 }), Answer::Conflict(_)));
    assert_eq!(ask(ms(2), Order::Stop { timeout: None }), Answer::NotModified);
    assert_eq!(ask(ms(2), Order::Remove { force: false }), Answer::Done);
    assert_eq!(ask(ms(3), Order::Restart { timeout: None }), Answer::NoSuchContainer);
}

#[test]
fn dockers_own_restarts_wait_100_ms_and_double_up_to_a_minute() {
    let mut world = world();
    let behaviour = Behaviour::ExitsAfter { runs: Duration::from_secs(1), exit_code: 3 };
    world.run(ms(0), ContainerScript { restart_policy: RestartPolicy::Always, behaviour, ..web() });
    world.advance(seconds(400));
    let starts = starts(&world);
    let waits: Vec<u64> = starts.windows(2).map(|pair| pair[1] - pair[0] - 1000).collect();
    let expected =
        [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 51_200, 60_000, 60_000, 60_000];
    assert_eq!(waits[..13], expected);
}

#[test]
fn a_life_of_ten_seconds_ends_the_doubling() {
    let mut world = world();
    let behaviour = Behaviour::ExitsAfter { runs: Duration::from_secs(10), exit_code: 3 };
    world.run(ms(0), ContainerScript { restart_policy: RestartPolicy::Always, behaviour, ..web() });
    world.advance(seconds(40));
    assert_eq!(starts(&world), [0, 10_100, 20_200, 30_300]);
}

#[test]
fn on_failure_is_used_up_and_leaves_a_clean_exit_alone() {
    let mut world = world();
    let behaviour = Behaviour::ExitsAfter { runs: Duration::from_secs(1), exit_code: 1 };
    let restart_policy = RestartPolicy::OnFailure { max_retries: 3 };
    let id = world.run(ms(0), ContainerScript { restart_policy, behaviour, ..web() });
    world.advance(seconds(600));
    assert_eq!(starts(&world).len(), 4);
    assert_eq!(seen(&mut world, seconds(600), &id).exit_code, Some(1));
    let behaviour = Behaviour::ExitsAfter { runs: Duration::from_secs(1), exit_code: 0 };
    let done = world.run(seconds(600), ContainerScript { restart_policy, behaviour, ..web() });
    world.advance(seconds(700));
    assert_eq!(world.state(&done), Some(ContainerState::Exited));
}

#[test]
fn a_signal_by_hand_ends_dockers_own_restarts_until_a_start_by_hand() {
    let mut world = world();
    let script = ContainerScript { restart_policy: RestartPolicy::Always, ..web() };
    let id = world.run(ms(0), script);
    world.kill(seconds(1), &id, 9, Somebody);
    world.advance(seconds(60));
    assert_eq!(world.state(&id), Some(ContainerState::Exited));
    world.start(seconds(60), &id, Somebody);
    world.crash(seconds(70), &id, 1);
    assert_eq!(world.state(&id), Some(ContainerState::Restarting));
    world.advance(seconds(71));
    assert_eq!(world.state(&id), Some(ContainerState::Running));
    let last = world.truth().iter().rev();
    let by = last.into_iter().find_map(|truth| match &truth.what {
        Happened::Started { by, .. } => Some(*by),
        _ => None,
    });
    assert_eq!(by, Some(DockerPolicy));
}

#[test]
fn a_caller_that_leaves_changes_nothing_except_on_some_engines() {
    for (quirk, state) in [(false, ContainerState::Running), (true, ContainerState::Exited)] {
        let quirks = Quirks { cancelled_restart_leaves_stopped: quirk, ..Quirks::default() };
        let mut world = world().with_quirks(quirks);
        let id = world.run(ms(0), stubborn());
        let request = world.act(seconds(1), &id, RESTART);
        world.abandon(seconds(2), request);
        world.advance(seconds(30));
        assert_eq!(world.state(&id), Some(state));
        assert_eq!(world.take_answer(request), None);
    }
}

#[test]
fn an_engine_that_goes_down_in_mid_restart_loses_its_start() {
    let mut world = world();
    let id = world.run(ms(0), web());
    let request = world.act(seconds(1), &id, RESTART);
    world.engine_restart(ms(1010), Duration::from_secs(5));
    assert_eq!(world.take_answer(request), Some(Answer::Lost));
    world.advance(seconds(60));
    // It obeyed its signal at 1.02 s, unseen by the engine, and was marked as stopped by hand.
    assert_eq!(world.state(&id), Some(ContainerState::Exited));
    assert!(starts(&world).len() == 1);
}

#[test]
fn troubles_outlive_starts_as_the_behaviour_says() {
    let mut world = world();
    let script = ContainerScript { behaviour: Behaviour::RecoversAfter { starts: 2 }, ..web() };
    let id = world.run(ms(0), script);
    world.hang(seconds(1), &id);
    world.restart(seconds(2), &id, Somebody);
    world.advance(seconds(5));
    assert_eq!(world.current_trouble(&id), Some(Trouble::Hangs));
    world.restart(seconds(6), &id, Somebody);
    world.advance(seconds(9));
    assert!(world.is_well(&id));
    world.set_behaviour(seconds(9), &id, Behaviour::HangsAfter(Duration::from_secs(5)));
    world.restart(seconds(10), &id, Somebody);
    world.advance(ms(15_069));
    assert!(world.is_well(&id));
    world.advance(ms(15_070));
    assert_eq!(world.current_trouble(&id), Some(Trouble::Hangs));
}

#[test]
fn a_frozen_process_stands_still() {
    let mut world = world();
    let behaviour = Behaviour::HangsAfter(Duration::from_secs(5));
    let id = world.run(ms(0), ContainerScript { behaviour, ..web() });
    world.pause(seconds(3), &id, Somebody);
    world.unpause(seconds(103), &id, Somebody);
    world.advance(ms(104_999));
    assert!(world.is_well(&id));
    world.advance(seconds(105));
    assert!(!world.is_well(&id));
}

#[test]
fn a_probe_sees_what_a_client_would() {
    let mut world = world();
    let boots_in = Duration::from_secs(2);
    let id = world.run(ms(0), ContainerScript { boots_in, ..web() });
    let silent = ProbeOutcome::Timeout(Phase::FirstByte);
    assert_eq!(world.probe_outcome(ms(1), &id), ProbeOutcome::Refused);
    let fine = ProbeOutcome::Ok { status: Some(200) };
    assert_eq!(world.probe_outcome(seconds(2), &id), fine);
    world.pause(seconds(3), &id, Somebody);
    assert_eq!(world.probe_outcome(seconds(3), &id), silent);
    world.unpause(seconds(4), &id, Somebody);
    for (trouble, outcome) in [
        (Trouble::Hangs, silent.clone()),
        (Trouble::OnlyProbes, silent),
        (Trouble::Answers(503), ProbeOutcome::Status(503)),
        (Trouble::Refuses, ProbeOutcome::Refused),
        (Trouble::Resets, ProbeOutcome::Reset),
        (Trouble::OnlyHealthcheck, fine),
    ] {
        world.trouble(seconds(5), &id, trouble);
        assert_eq!(world.probe_outcome(seconds(5), &id), outcome);
    }
    world.stop(seconds(6), &id, Somebody);
    world.advance(seconds(7));
    let unanswered = ProbeOutcome::Timeout(Phase::Connect);
    assert_eq!(world.probe_outcome(seconds(7), &id), unanswered);
}

#[test]
fn a_child_in_its_parents_network_is_cut_off_by_the_parents_restart() {
    let mut world = world();
    let parent = world.run(ms(0), ContainerScript::named("vpn"));
    let network_parent = Some(parent.clone());
    let child = world.run(ms(0), ContainerScript { network_parent, ..web() });
    assert_eq!(world.probe_outcome(ms(1), &child), ProbeOutcome::Ok { status: Some(200) });
    world.restart(seconds(1), &parent, Somebody);
    assert_eq!(world.probe_outcome(seconds(2), &child), ProbeOutcome::Refused);
    world.restart(seconds(3), &child, Somebody);
    assert_eq!(world.probe_outcome(seconds(4), &child), ProbeOutcome::Ok { status: Some(200) });
    // A re-created parent has another ID: the child can never start again.
    world.recreate(seconds(5), &parent, Somebody).unwrap();
    let request = world.act(seconds(6), &child, RESTART);
    world.advance(seconds(30));
    let answer = world.take_answer(request);
    assert!(matches!(answer, Some(Answer::Failed(text)) if text.contains("No such container")));
}

#[test]
fn lives_begun_in_one_millisecond_differ() {
    let mut world = world();
    let script = ContainerScript { starts_in: Duration::ZERO, ..web() };
    let id = world.run(ms(0), script);
    let first = seen(&mut world, ms(0), &id).started_at;
    world.kill(ms(0), &id, 9, Somebody);
    world.start(ms(0), &id, Somebody);
    assert_ne!(seen(&mut world, ms(0), &id).started_at, first);
}

#[test]
fn a_sleeping_host_moves_nothing() {
    let mut world = world();
    let id = world.run(ms(0), web().with_healthcheck(every_second()));
    world.advance(ms(10_500));
    let before = world.truth().len();
    world.host_slept(ms(10_500), seconds(3610));
    world.advance(seconds(3610));
    assert_eq!(world.truth().len(), before + 1);
    assert_eq!(seen(&mut world, seconds(3620), &id).health.unwrap().failing_streak, 0);
}

/// Some of everything, driven at uneven times.
fn long_story(pace: u64) -> Vec<Truth> {
    let mut world = world();
    let mut ids: Vec<ContainerId> = Vec::new();
    for n in 0..8 {
        let restart_policy =
            if n % 2 == 0 { RestartPolicy::UnlessStopped } else { RestartPolicy::No };
        let script = ContainerScript { restart_policy, ..ContainerScript::named(format!("c{n}")) };
        ids.push(world.run(ms(n * 100), script.with_healthcheck(every_second())));
    }
    let script = |world: &mut World, second: u64| {
        let at = seconds(second);
        let id = &ids[usize::try_from(second % 8).unwrap()];
        match second % 11 {
            0 => world.hang(at, id),
            2 => world.restart(at, id, Somebody),
            4 => world.pause(at, id, Somebody),
            6 => world.unpause(at, id, Somebody),
            7 => world.crash(at, id, 1),
            8 => world.heal(at, id),
            9 => drop(world.act(at, id, RESTART)),
            _ => {}
        }
    };
    for second in 1..300 {
        let mut at = (second - 1) * 1000;
        while at < second * 1000 {
            world.advance(WorldTime(at));
            at += pace;
        }
        script(&mut world, second);
    }
    assert!(
        world.truth().iter().any(|truth| matches!(truth.what, Happened::Died { by: Itself, .. }))
    );
    world.truth().to_vec()
}

#[test]
fn the_same_script_gives_the_same_truth_however_often_one_looks() {
    let story = long_story(1000);
    assert!(story.len() > 500);
    assert_eq!(story, long_story(1000));
    assert_eq!(story, long_story(7));
    assert!(story.is_sorted_by_key(|truth| truth.at));
}
