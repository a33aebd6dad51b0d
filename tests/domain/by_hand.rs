//! What somebody else does to a container, at every moment of a trouble and of a restart: theirs, and nobody is woken for it.

use crate::rig::{Behaviour, Container, Rig, policy, probed, seconds};
use defib::domain::{
    acting::attempt::Ending,
    message::{MessageKind, Severity},
    observation::{ActOutcome, ContainerState, EventAction, Observation},
    record::Decision,
};

/// Long enough for everything to have settled after a start.
const SETTLED: u64 = 400;

fn settled() -> Rig {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(SETTLED));
    assert!(rig.sent.is_empty());
    rig
}

fn docker_stop(rig: &mut Rig) {
    let actions = [
        EventAction::Killed { signal: Some(15) },
        EventAction::Died { exit_code: Some(143) },
        EventAction::Stopped,
    ];
    rig.by_hand("web", ContainerState::Exited, &actions);
}

/// Ends by itself right after a start of which only the events tell.
fn start_that_ends_at_once(rig: &mut Rig) {
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    container.life += 1;
    (container.state, container.exit_code) = (ContainerState::Exited, Some(1));
    (container.started, container.finished) = (now, Some(now + 50));
    let id = container.id.clone();
    rig.event(&id, "web", EventAction::Started);
    rig.event(&id, "web", EventAction::Died { exit_code: Some(1) });
}

fn ended(rig: &Rig) -> Option<&Ending> {
    rig.decisions.iter().rev().find_map(|(_, decision)| match decision {
        Decision::Ended(_, ending) => Some(ending),
        _ => None,
    })
}

/// Nobody was woken, nothing more was done, and that it stands still was a ticket in the end.
fn left_to_them(rig: &mut Rig, acts: usize) {
    rig.run(seconds(1500));
    assert_eq!(rig.acts.len(), acts, "{:?}", rig.acts);
    let told = rig.told();
    assert!(told.iter().all(|(_, severity, _)| *severity != Severity::Page), "{told:?}");
    let ticket = |(kind, severity, _): &(MessageKind, Severity, u64)| {
        (*kind, *severity) == (MessageKind::Opened, Severity::Ticket)
    };
    assert!(told.iter().any(ticket), "{told:?}");
}

fn is_paged_as_down(rig: &mut Rig) {
    is_paged_as_down_within(rig, 120);
}

fn is_paged_as_down_within(rig: &mut Rig, span: u64) {
    rig.run(seconds(span));
    let down = rig.sent.iter().find(|(_, _, message)| message.headline.contains("down"));
    assert_eq!(down.map(|(_, _, message)| message.severity), Some(Severity::Page));
    assert!(rig.acts.is_empty());
}

#[test]
fn a_container_that_was_removed_says_nothing_of_the_one_after_it() {
    for after in [0, 30, 700] {
        let mut rig = settled();
        rig.by_hand(
            "web",
            ContainerState::Exited,
            &[EventAction::Killed { signal: Some(9) }, EventAction::Died { exit_code: Some(137) }],
        );
        rig.remove("web");
        rig.run(seconds(after));
        rig.sent.clear();
        rig.add_with("web", |container| {
            (container.state, container.exit_code) = (ContainerState::Exited, Some(1));
            container.finished = Some(container.started + 50);
        });
        is_paged_as_down(&mut rig);
    }
}

#[test]
fn a_stop_says_nothing_of_a_life_that_began_after_it() {
    for restarted_meanwhile in [false, true] {
        let mut rig = settled();
        docker_stop(&mut rig);
        rig.run(seconds(30));
        start_that_ends_at_once(&mut rig);
        if restarted_meanwhile {
            rig.forget_queue();
            rig.crash();
        }
        is_paged_as_down(&mut rig);
    }
}

#[test]
fn a_stop_while_its_verdict_settles_is_no_page() {
    let mut rig = settled();
    rig.hangs_until_it_settles("web");
    docker_stop(&mut rig);
    left_to_them(&mut rig, 0);
}

#[test]
fn a_stop_that_takes_its_time_is_no_page_meanwhile() {
    let mut rig = settled();
    rig.hangs_until_it_settles("web");
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
    rig.run(seconds(10));
    docker_stop(&mut rig);
    left_to_them(&mut rig, 0);
}

#[test]
fn a_stop_that_comes_to_nothing_is_over_and_people_are_told() {
    let mut rig = settled();
    rig.hangs_until_it_settles("web");
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
    rig.run(seconds(300));
    assert!(rig.acts.is_empty(), "its stop may still be under way: {:?}", rig.acts);
    let told = rig.told();
    assert!(told.iter().any(|(_, severity, _)| *severity == Severity::Page), "{told:?}");
    rig.run(seconds(400));
    assert!(!rig.acts.is_empty());
}

#[test]
fn a_stop_while_the_recovery_is_awaited_ends_the_attempt_and_is_no_page() {
    for after in [1, 4, 20] {
        let mut rig = settled();
        rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
        rig.hangs_until_it_is_restarted("web");
        rig.run(seconds(after));
        docker_stop(&mut rig);
        rig.run(seconds(10));
        assert!(matches!(ended(&rig), Some(Ending::TakenOver(_))), "{after} s: {:?}", ended(&rig));
        left_to_them(&mut rig, 1);
    }
}

#[test]
fn a_stop_right_after_a_restart_that_helped_is_theirs() {
    let mut rig = settled();
    rig.hangs_until_it_is_restarted("web");
    rig.until(|rig| matches!(ended(rig), Some(Ending::Verified { .. })));
    docker_stop(&mut rig);
    left_to_them(&mut rig, 1);
}

#[test]
fn a_pause_while_the_recovery_is_awaited_ends_the_attempt_and_is_no_page() {
    let mut rig = settled();
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(4));
    rig.by_hand("web", ContainerState::Paused, &[EventAction::Paused]);
    rig.run(seconds(600));
    assert!(matches!(ended(&rig), Some(Ending::TakenOver(_))), "{:?}", ended(&rig));
    let told = rig.told();
    assert!(told.iter().all(|(_, severity, _)| *severity == Severity::Notice), "{told:?}");
}

#[test]
fn what_recovers_while_its_verdict_settles_wakes_nobody() {
    let mut quick = probed("web");
    quick.page_after.failures = Some(3);
    quick.settle = seconds(20);
    let mut rig = Rig::new(policy(vec![quick]));
    rig.add("web");
    rig.run(seconds(SETTLED));
    rig.hangs_until_it_settles("web");
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(1500));
    let told = rig.told();
    assert!(told.iter().all(|(_, severity, _)| *severity == Severity::Notice), "{told:?}");
    assert!(rig.acts.is_empty());
}

#[test]
fn what_was_renamed_is_missed_and_its_trouble_and_budget_stay() {
    let mut rig = settled();
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(150));
    let paged = rig.told().len();
    assert!(rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page));
    rename(&mut rig, "web", "old");
    rig.run(seconds(90));
    assert_eq!(rig.told().len(), paged, "not over: {:?}", rig.told());
    let acts = rig.acts.len();
    rename(&mut rig, "old", "web");
    rig.run(seconds(1800));
    assert_eq!(rig.acts.len(), 3, "one trouble, one budget: {acts} before");
}

#[test]
fn what_was_renamed_and_left_so_is_a_ticket() {
    let mut rig = settled();
    rename(&mut rig, "web", "old");
    left_to_them(&mut rig, 0);
}

#[test]
fn a_rename_in_the_middle_of_a_restart_does_not_hide_what_the_restart_came_to() {
    let mut rig = settled();
    rig.hangs_until_it_is_restarted("web");
    rename(&mut rig, "web", "old");
    rig.run(seconds(60));
    assert!(matches!(ended(&rig), Some(Ending::Verified { .. })), "{:?}", ended(&rig));
    left_to_them(&mut rig, 1);
}

/// `docker rename`.
fn rename(rig: &mut Rig, from: &str, to: &str) {
    let mut container = rig.containers.remove(from).unwrap();
    to.clone_into(&mut container.name);
    let id = container.id.clone();
    rig.containers.insert(to.to_owned(), container);
    rig.event(&id, to, EventAction::Renamed);
}

fn signal(rig: &mut Rig, signal: u32) {
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(signal) });
}

/// A restart that stops it and does not start it.
fn restart_that_only_stops(rig: &mut Rig) {
    rig.act_outcome = Some(ActOutcome::Failed { status: 500, message: "cannot start".to_owned() });
    rig.hangs_until_it_is_restarted("web");
    docker_stop(rig);
    rig.act_outcome = None;
}

#[test]
fn a_signal_that_it_lived_through_is_held_against_no_later_stop() {
    let mut rig = settled();
    signal(&mut rig, 2);
    rig.run(seconds(3600));
    restart_that_only_stops(&mut rig);
    rig.run(seconds(60));
    let primitives: Vec<_> =
        rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
    assert_eq!(primitives, ["restart", "start"], "{:?}", ended(&rig));
}

#[test]
fn a_signal_that_it_lived_through_explains_no_later_end_though_the_events_were_lost() {
    let mut rig = settled();
    signal(&mut rig, 2);
    rig.run(seconds(3600));
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(1), Some(now));
    is_paged_as_down_within(&mut rig, 240);
}

#[test]
fn a_stop_that_may_take_any_time_is_not_undone() {
    for (stop_timeout, stop_signal, sent) in
        [(Some(300), None, 15), (None, None, 15), (Some(120), Some(3), 3), (None, Some(10), 10)]
    {
        let mut rig = Rig::new(policy(vec![probed("web")]));
        rig.add_with("web", |container| {
            container.stop_timeout = stop_timeout.map(seconds);
            container.stop_signal = stop_signal;
        });
        rig.run(seconds(SETTLED));
        signal(&mut rig, sent);
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(290));
        docker_stop(&mut rig);
        rig.run(seconds(300));
        assert!(rig.acts.is_empty(), "signal {sent}: {:?}", rig.acts);
    }
}

#[test]
fn a_signal_by_which_people_only_talk_to_it_holds_nothing() {
    let mut rig = settled();
    signal(&mut rig, 1);
    rig.hangs_until_it_is_restarted("web");
    assert!(!rig.holds().contains(&"touched"));
}

#[test]
fn a_rename_within_its_service_takes_trouble_budget_and_memory_along() {
    let mut rig = settled();
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(900));
    assert_eq!(rig.acts.len(), 3);
    let told = rig.told().len();
    rename(&mut rig, "web", "web-2");
    rig.run(seconds(1200));
    assert_eq!(rig.acts.len(), 3, "one budget");
    assert_eq!(rig.told().len(), told, "nothing is over, and nothing new: {:?}", rig.told());
    assert_eq!(rig.view().replicas.len(), 1);
    rig.crash();
    rig.run(seconds(600));
    assert_eq!((rig.acts.len(), rig.view().replicas.len()), (3, 1));
}

#[test]
fn a_config_that_changed_while_defib_was_away_is_nobodys_rename() {
    let mut rig = settled();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(30));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(1000));
    rig.sent.clear();
    let mut other = policy(vec![]);
    other.unlisted = defib::domain::policy::Unlisted::None;
    rig.policy = other;
    rig.crash();
    rig.run(seconds(1800));
    assert!(rig.sent.is_empty(), "{:?}", rig.told());
}

#[test]
fn a_removal_in_the_middle_of_a_restart_is_theirs() {
    let mut rig = settled();
    rig.acts_are_answered = false;
    rig.act_outcome = Some(ActOutcome::Unreachable("hangs".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(2));
    rig.remove("web");
    left_to_them(&mut rig, 1);
}

#[test]
fn what_somebody_paused_and_left_so_is_a_ticket() {
    let mut rig = settled();
    rig.by_hand("web", ContainerState::Paused, &[EventAction::Paused]);
    rig.run(seconds(590));
    assert!(rig.sent.is_empty());
    left_to_them(&mut rig, 0);
    rig.by_hand("web", ContainerState::Running, &[EventAction::Unpaused]);
    rig.run(seconds(60));
    assert_eq!(rig.told().last().unwrap().0, MessageKind::Resolved);
}

#[test]
fn our_own_stop_that_comes_late_is_blamed_on_nobody() {
    let mut rig = settled();
    rig.acts_are_answered = false;
    rig.act_outcome = Some(ActOutcome::Unreachable("hangs".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.until(|rig| ended(rig).is_some());
    rig.run(seconds(10));
    docker_stop(&mut rig);
    let before = rig.sent.len();
    rig.run(seconds(120));
    let down = rig.sent[before..].iter().any(|(_, _, message)| message.headline.contains("down"));
    assert!(down, "{:?}", rig.told());
}

#[test]
fn what_is_told_late_of_our_own_restart_is_nobody_elses() {
    let mut rig = settled();
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| ended(rig).is_some());
    let acted = rig.acts[0].0;
    rig.run(seconds(30));
    for action in [
        EventAction::Killed { signal: Some(15) },
        EventAction::Died { exit_code: Some(143) },
        EventAction::Stopped,
        EventAction::Started,
        EventAction::Restarted,
    ] {
        rig.late_event("web", action, acted + 100);
    }
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 2);
    assert!(!rig.holds().contains(&"touched"), "{:?}", rig.holds());
    // But what somebody did after it is theirs, however soon.
    let mut rig = settled();
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| ended(rig).is_some());
    let before = rig.now;
    rig.run(seconds(30));
    rig.late_event("web", EventAction::Restarted, before + 2_000);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.holds().contains(&"touched"));
}

#[test]
fn a_stop_that_may_take_any_time_is_not_undone_after_a_restart_of_defib() {
    let mut rig = settled();
    signal(&mut rig, 15);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(20));
    rig.crash();
    rig.run(seconds(570));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
    assert_eq!(rig.holds().last(), Some(&"touched"));
    // It is no hold for ever.
    rig.run(seconds(30));
    assert_eq!(rig.acts.len(), 1, "{:?}", rig.holds());
}

#[test]
fn a_touch_is_remembered_over_a_boot_and_holds_no_longer_for_it() {
    let mut rig = settled();
    signal(&mut rig, 15);
    rig.run(seconds(20));
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.life, container.started) = (container.life + 1, now);
    rig.forget_queue();
    rig.reboot();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(400));
    assert_eq!(rig.acts.len(), 1, "a boot settles for five minutes: {:?}", rig.holds());
}

fn of_compose(container: &mut Container) {
    for (key, value) in [("project", "shop"), ("service", "web"), ("container-number", "1")] {
        container.labels.insert(format!("com.docker.compose.{key}"), value.to_owned());
    }
}

#[test]
fn an_old_container_that_does_not_run_takes_over_from_nobody() {
    // Its look is answered before, and after, the one that says that the replica was stopped.
    for after in [0, 2] {
        let mut rig = Rig::new(policy(vec![probed("web")]));
        rig.add_with("web-old", |container| {
            of_compose(container);
            (container.state, container.exit_code) = (ContainerState::Exited, Some(0));
            container.finished = Some(container.started + 50);
        });
        rig.run(seconds(5));
        rig.add_with("web", of_compose);
        rig.run(seconds(SETTLED));
        assert!(rig.sent.is_empty() && rig.view().replicas.len() == 1, "{:?}", rig.told());
        let id = rig.containers["web-old"].id.clone();
        if after == 0 {
            rig.event(&id, "web-old", EventAction::Updated);
        }
        docker_stop(&mut rig);
        rig.run(seconds(after));
        if after > 0 {
            rig.event(&id, "web-old", EventAction::Updated);
        }
        left_to_them(&mut rig, 0);
    }
}

#[test]
fn what_stands_still_beside_a_container_that_is_removed_is_looked_at_at_once() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add_with("web", of_compose);
    rig.run(seconds(SETTLED));
    rig.add_with("web-new", |container| {
        of_compose(container);
        (container.state, container.exit_code) = (ContainerState::Exited, Some(1));
        container.finished = Some(container.started + 50);
    });
    rig.run(seconds(5));
    docker_stop(&mut rig);
    rig.remove("web");
    rig.run(seconds(1));
    assert_eq!(rig.view().replicas[0].state, "stopped, exit code 1");
}

/// A restart is called for, and the engine never hears of it.
fn called_in_vain() -> Rig {
    let mut rig = settled();
    rig.act_outcome = Some(ActOutcome::Unreachable("connection reset".to_owned()));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig
}

#[test]
fn what_somebody_stops_after_a_call_that_got_lost_is_theirs_with_and_without_the_hold_file() {
    for hold in [false, true] {
        let mut rig = called_in_vain();
        rig.run(seconds(7));
        if hold {
            rig.put(1, Observation::HoldFile(true));
            rig.run(seconds(1));
        }
        docker_stop(&mut rig);
        left_to_them(&mut rig, 1);
    }
}

#[test]
fn what_somebody_drains_while_a_call_hangs_is_not_killed() {
    let mut rig = settled();
    (rig.act_outcome, rig.acts_are_answered) =
        (Some(ActOutcome::Unreachable("nobody hears it".to_owned())), false);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(5));
    // `docker stop -t 120`, and it takes its time.
    rig.by_hand("web", ContainerState::Running, &[EventAction::Killed { signal: Some(15) }]);
    rig.run(seconds(100));
    assert_eq!(rig.acts.len(), 1, "{:?}", rig.acts);
    let gone = [EventAction::Died { exit_code: Some(0) }, EventAction::Stopped];
    rig.by_hand("web", ContainerState::Exited, &gone);
    rig.run(seconds(600));
    assert_eq!(rig.acts.len(), 1, "and not started: {:?}", rig.acts);
}

#[test]
fn a_stop_that_nobody_saw_is_not_undone_after_a_start_of_ours_that_is_to_touch_nothing() {
    let orders: [fn(&mut Rig); 3] = [
        |rig| rig.policy.dry_run = true,
        |rig| rig.policy.never_act = true,
        |rig| rig.put(1, Observation::HoldFile(true)),
    ];
    for order in orders {
        let mut rig = settled();
        (rig.act_outcome, rig.acts_are_answered) =
            (Some(ActOutcome::Unreachable("nobody hears it".to_owned())), false);
        rig.behave("web", Behaviour::Hangs);
        rig.until(|rig| rig.acts.len() == 1);
        rig.run(seconds(1));
        docker_stop(&mut rig);
        // Of which we hear nothing.
        rig.forget_queue();
        rig.crash();
        order(&mut rig);
        if rig.policy.dry_run || rig.policy.never_act {
            rig.crash();
        }
        rig.run(seconds(600));
        assert_eq!(rig.acts.len(), 1, "{:?}", rig.acts);
        // What ended so is nobody's to start, later either.
        (rig.policy.dry_run, rig.policy.never_act) = (false, false);
        rig.reload(rig.policy.clone());
        rig.put(1, Observation::HoldFile(false));
        rig.run(seconds(600));
        assert_eq!(rig.acts.len(), 1, "{:?}", rig.acts);
    }
}

#[test]
fn an_attempt_that_did_nothing_takes_no_proof_of_an_own_stop_away() {
    let mut web = probed("web");
    web.budget.restarts = 10;
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web");
    rig.run(seconds(SETTLED));
    let failed = || ActOutcome::Failed { status: 400, message: "bind source".to_owned() };
    (rig.act_outcome, rig.acts_are_answered) = (Some(failed()), false);
    rig.hangs_until_it_is_restarted("web");
    // The stop was done, and no start can be.
    docker_stop(&mut rig);
    rig.acts_are_answered = true;
    let attempt = rig.acts[0].1.attempt;
    rig.put(5, Observation::Acted { attempt, outcome: failed() });
    rig.until(|rig| rig.acts.len() >= 4);
    rig.act_outcome = None;
    rig.until(|rig| rig.containers["web"].state == ContainerState::Running);
}

#[test]
fn what_was_renamed_is_missed_though_its_labels_stay_and_what_is_made_in_its_place_is_it() {
    use defib::domain::policy::{ContainerMatch, ServicePolicy};
    let of_compose = |container: &mut Container| {
        for (key, value) in [("project", "shop"), ("service", "web"), ("container-number", "1")] {
            container.labels.insert(format!("com.docker.compose.{key}"), value.to_owned());
        }
        container.healthcheck = Some(crate::rig::healthcheck());
    };
    let named = ContainerMatch::Name("web".to_owned());
    let web = ServicePolicy { containers: vec![named], ..probed("web") };
    let mut rig = Rig::new(policy(vec![web]));
    rig.add_with("web", of_compose);
    rig.run(seconds(SETTLED));
    rename(&mut rig, "web", "old");
    rig.run(seconds(700));
    let told = rig.told();
    assert!(told.iter().any(|(kind, ..)| *kind == MessageKind::Opened), "{told:?}");
    assert!(told.iter().all(|(_, severity, _)| *severity == Severity::Ticket), "{told:?}");
    rig.add_with("web", of_compose);
    rig.run(seconds(60));
    rig.remove("old");
    rig.run(seconds(60));
    let view = rig.view();
    let web = view.replicas.iter().find(|replica| replica.service.as_str() == "web").unwrap();
    assert_eq!(web.verdict, defib::domain::judging::verdict::Verdict::Healthy);
    assert_eq!(rig.told().last().unwrap().0, MessageKind::Resolved, "{:?}", rig.told());
}

#[test]
fn a_page_does_not_say_that_somebody_else_stopped_what_defib_has_restarted() {
    let not_ours = "not started: defib starts only what it stopped itself";
    for restarted in [false, true] {
        let mut rig = settled();
        if restarted {
            rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
            rig.hangs_until_it_is_restarted("web");
            rig.run(seconds(120));
        }
        rig.sent.clear();
        let now = rig.now;
        let container = rig.containers.get_mut("web").unwrap();
        (container.state, container.exit_code, container.finished) =
            (ContainerState::Exited, Some(1), Some(now));
        let id = container.id.clone();
        rig.event(&id, "web", EventAction::Died { exit_code: Some(1) });
        rig.run(seconds(300));
        let down = rig.sent.iter().find(|(_, _, message)| message.headline.contains("is down"));
        let down = &down.unwrap_or_else(|| panic!("{restarted}: {:?}", rig.sent)).2;
        assert_eq!(down.done.iter().any(|line| line == not_ours), !restarted, "{:?}", down.done);
    }
}
