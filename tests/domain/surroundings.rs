//! What happens around a replica: its address moves, the config is read again, the engine and the disk have their days.

use crate::rig::*;
use defib::domain::{
    effect::Primitive,
    judging::verdict::Verdict,
    message::{MessageKind, Severity},
    name::SinkName,
    observation::{ContainerState, EventAction, LookFailure, Observation},
    policy::{RestartMode, ServicePolicy, SinkPolicy, Threshold},
    record::Decision,
};

fn never(name: &str) -> ServicePolicy {
    ServicePolicy { restart: RestartMode::Never, ..probed(name) }
}

fn kinds(rig: &Rig) -> Vec<MessageKind> {
    rig.told().into_iter().map(|(kind, ..)| kind).collect()
}

#[test]
fn a_container_that_moved_to_another_address_is_probed_there() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.containers.get_mut("web").unwrap().address = "172.18.0.9";
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Updated);
    rig.run(seconds(1));
    assert_eq!(rig.watched_at(), ["172.18.0.9"]);
}

#[test]
fn a_cut_event_stream_is_no_start_of_the_engine_and_asks_for_one_list() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    let lists = rig.lists;
    for n in 0..20 {
        rig.put(
            n,
            Observation::EventsLost(LookFailure::Unreachable("the stream ended".to_owned())),
        );
    }
    rig.run(seconds(1));
    assert!(rig.lists - lists <= 2, "{} lists", rig.lists - lists);
    rig.put(1, Observation::EventsOpened);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    assert!(
        rig.acts.iter().any(|(_, order)| matches!(order.primitive, Primitive::Restart { .. })),
        "{:?}",
        rig.holds()
    );
}

#[test]
fn without_an_event_stream_nothing_is_restarted_and_that_is_told() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    let denied = LookFailure::Engine { status: 403, message: "not allowed".to_owned() };
    rig.put(1, Observation::EventsLost(denied));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(200));
    assert!(rig.acts.is_empty(), "a stop that somebody has begun would not be seen");
    assert!(rig.holds().contains(&"touches_unseen"), "{:?}", rig.holds());
    assert!(rig.told().iter().any(|told| told.1 == Severity::Page), "{:?}", rig.told());
    let (_, why) = rig.view().events_problem.unwrap();
    assert!(why.contains("403"), "{why}");

    rig.put(1, Observation::EventsOpened);
    rig.run(seconds(65));
    assert!(!rig.acts.is_empty(), "{:?}", rig.holds());
    assert!(rig.view().events_problem.is_none());
}

#[test]
fn an_engine_that_was_away_settles_when_it_is_back() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.engine_works = false;
    rig.run(seconds(30));
    rig.engine_works = true;
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(200));
    assert!(rig.acts.is_empty());
    assert!(rig.holds().contains(&"settling_engine_start"), "{:?}", rig.holds());
}

#[test]
fn a_list_that_is_late_removes_nobody() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    let empty = defib::domain::observation::Listing { containers: Vec::new(), undecodable: 0 };
    rig.put(1, Observation::Listed(empty));
    rig.run(std::time::Duration::from_millis(100));
    assert_eq!(rig.view().replicas[0].verdict, Verdict::Healthy);
    rig.run(seconds(120));
    assert!(rig.sent.is_empty(), "{:?}", rig.told());
}

#[test]
fn checks_that_could_not_run_are_not_in_the_count_though_the_engine_counts_them() {
    let mut rig = Rig::new(policy(vec![service("web")]));
    rig.add_with("web", |container| {
        container.healthcheck = Some(healthcheck());
        container.behaviour = Behaviour::CannotLook;
    });
    rig.run(seconds(300));
    let container = rig.containers.get_mut("web").unwrap();
    assert!(container.streak > 50);
    // One real failure among them.
    container.behaviour = Behaviour::Hangs;
    rig.run(seconds(5));
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(300));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
}

#[test]
fn switching_the_brake_off_lets_restarts_go() {
    let services: Vec<_> = (0..6).map(|n| probed(&format!("s{n}-"))).collect();
    let mut rig = Rig::new(policy(services.clone()));
    for n in 0..6 {
        rig.add(&format!("s{n}-web"));
    }
    rig.run(seconds(90));
    for n in 0..6 {
        rig.behave(&format!("s{n}-web"), Behaviour::Hangs);
    }
    rig.run(seconds(50));
    assert!(rig.acts.is_empty() && rig.view().brake);
    let mut without = policy(services);
    without.limits.brake = None;
    rig.reload(without);
    rig.run(seconds(20));
    assert!(!rig.view().brake && !rig.acts.is_empty());
}

#[test]
fn what_is_no_longer_configured_closes_its_incidents_also_when_that_happened_while_defib_was_away()
{
    for away in [false, true] {
        let mut rig = Rig::new(policy(vec![never("web")]));
        rig.add("web");
        rig.run(seconds(90));
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(60));
        let nothing = policy(Vec::new());
        if away {
            rig.policy = nothing;
            rig.crash();
        } else {
            rig.reload(nothing);
        }
        rig.run(seconds(120));
        assert_eq!(kinds(&rig), [MessageKind::Opened, MessageKind::Resolved], "away: {away}");
    }
}

#[test]
fn what_is_no_longer_configured_is_not_missed_though_its_container_went_while_defib_was_away() {
    let mut web = never("web");
    web.replicas = Some(1);
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web");
    rig.run(seconds(90));
    rig.events_are_told = false;
    rig.remove("web");
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(kinds(&rig), [MessageKind::Opened], "{:?}", rig.told());
    rig.reload(policy(Vec::new()));
    rig.run(seconds(60));
    assert_eq!(kinds(&rig), [MessageKind::Opened, MessageKind::Resolved], "{:?}", rig.told());
    assert!(rig.view().replicas.is_empty());
}

#[test]
fn a_restart_of_defib_while_it_is_well_again_tells_of_no_relapse() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(kinds(&rig), [MessageKind::Opened, MessageKind::Recovered]);
}

#[test]
fn a_restart_of_defib_resolves_nothing_that_still_stands() {
    // Never passed, stopped by hand, and an engine that does not answer.
    let mut rig = Rig::new(policy(vec![never("web"), never("db")]));
    rig.add("web").behaviour = Behaviour::Answers(503);
    rig.add("db");
    rig.run(seconds(90));
    rig.by_hand(
        "db",
        ContainerState::Exited,
        &[
            EventAction::Killed { signal: Some(15) },
            EventAction::Died { exit_code: Some(143) },
            EventAction::Stopped,
        ],
    );
    rig.run(seconds(700));
    let before = rig.sent.len();
    assert_eq!(before, 2, "{:?}", rig.told());
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(rig.sent.len(), before, "{:?}", rig.told());
    rig.engine_works = false;
    rig.run(seconds(120));
    assert_eq!(rig.sent.len(), before + 1);
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(rig.sent.len(), before + 1, "{:?}", rig.told());
}

#[test]
fn a_thread_dump_is_no_stop_and_what_ends_later_is_down() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    let id = rig.containers["web"].id.clone();
    for signal in [3, 15] {
        // The second one it survives.
        rig.event(&id, "web", EventAction::Killed { signal: Some(signal) });
    }
    rig.run(seconds(3600));
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(137), Some(now));
    rig.event(&id, "web", EventAction::Died { exit_code: Some(137) });
    rig.run(seconds(70));
    assert_eq!((kinds(&rig)[0], rig.told()[0].1), (MessageKind::Opened, Severity::Page));
}

#[test]
fn a_sink_that_was_away_from_the_config_is_told_of_the_next_incident() {
    let one = |sinks: &[&str]| {
        let mut policy = policy(vec![never("web")]);
        let named = |name: &&str| SinkPolicy {
            name: SinkName::new(*name),
            severities: Vec::new(),
            deadline: seconds(10),
            definition: 1,
            lacks: None,
        };
        policy.sinks = sinks.iter().map(named).collect();
        policy
    };
    let mut rig = Rig::new(one(&["oncall", "other"]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    rig.reload(one(&["oncall"]));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(900));
    rig.policy = one(&["oncall", "other"]);
    rig.crash();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    let to_other = rig.sent.iter().filter(|(_, sink, message)| {
        sink.as_str() == "other" && message.kind == MessageKind::Opened
    });
    assert_eq!(to_other.count(), 2, "once for each incident");
}

#[test]
fn what_ended_while_the_disk_was_full_does_not_come_back_with_the_next_start() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    rig.store_works = false;
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(900));
    rig.store_works = true;
    rig.run(seconds(60));
    let before = rig.sent.len();
    rig.crash();
    rig.run(seconds(200));
    assert_eq!(rig.sent.len(), before, "{:?}", rig.told());
}

#[test]
fn lives_that_could_record_nothing_give_no_key_twice() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.store_works = false;
    rig.behave("web", Behaviour::Hangs);
    for _ in 0..3 {
        let told = rig.sent.len();
        rig.until(|rig| rig.sent.len() > told);
        rig.crash();
    }
    let mut ids: Vec<_> = rig.sent.iter().map(|(_, _, message)| message.id).collect();
    let sent = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), sent, "{:?}", rig.sent);
}

#[test]
fn two_lives_without_any_memory_give_no_key_twice() {
    let mut keys = Vec::new();
    for began in [0, 1] {
        let mut rig = Rig::new(policy(vec![never("web")]));
        rig.kept.clear();
        rig.wall_offset = began * 60_000;
        rig.crash();
        rig.add("web");
        rig.run(seconds(90));
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(40));
        keys.push(rig.sent[0].2.idempotency_key());
    }
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn a_healthcheck_that_has_stopped_reporting_is_told_of_and_costs_few_questions() {
    let mut rig = Rig::new(policy(vec![service("web")]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(90));
    // Frozen: the engine runs no more checks.
    rig.containers.get_mut("web").unwrap().next_check = u64::MAX / 2;
    let id = rig.containers["web"].id.clone();
    rig.run(seconds(60));
    rig.event(&id, "web", EventAction::Updated);
    let inspects = rig.inspects;
    rig.run(seconds(300));
    assert!(rig.inspects - inspects <= 70, "{} inspects", rig.inspects - inspects);
    assert_eq!(rig.told()[0].1, Severity::Ticket, "{:?}", rig.told());
    assert!(rig.acts.is_empty());
}

#[test]
fn a_removal_of_what_stood_still_for_long_does_not_end_its_trouble_at_once() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    let failing = (0..60).any(|_| {
        rig.run(seconds(1));
        rig.view().replicas[0].trouble.is_some()
    });
    assert!(failing);
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
    rig.run(seconds(900));
    rig.remove("web");
    rig.run(seconds(2));
    rig.add("web").behaviour = Behaviour::Hangs;
    rig.run(seconds(30));
    assert!(rig.view().replicas[0].trouble.is_some());
    let over = |decision: &Decision| matches!(decision, Decision::TroubleOver);
    assert!(!rig.decisions.iter().any(|(_, decision)| over(decision)), "{:?}", rig.told());
}

#[test]
fn what_came_back_while_the_event_stream_was_cut_is_not_called_down() {
    let mut policy = policy(vec![probed("web")]);
    policy.looking.list_every = seconds(600);
    let mut rig = Rig::new(policy);
    rig.add("web");
    rig.run(seconds(90));
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
    rig.run(seconds(1));
    rig.by_hand("web", ContainerState::Running, &[]);
    rig.run(seconds(120));
    assert!(rig.told().is_empty(), "{:?}", rig.told());
    assert_eq!(rig.view().replicas[0].verdict, Verdict::Healthy);
}

#[test]
fn what_ran_between_two_ends_while_nobody_watched_is_missed_from_the_second_one_on() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
    rig.run(seconds(1));
    rig.by_hand("web", ContainerState::Running, &[EventAction::Started]);
    rig.run(seconds(5));
    // defib is away while it runs on for long enough to be back, and ends once more.
    rig.now += 15_000;
    rig.by_hand("web", ContainerState::Exited, &[]);
    rig.now += 2_000;
    rig.crash();
    rig.run(seconds(50));
    assert!(rig.told().is_empty(), "{:?}", rig.told());
    rig.run(seconds(20));
    assert_eq!(kinds(&rig), [MessageKind::Opened], "{:?}", rig.told());
}

#[test]
fn failures_are_counted_on_when_the_engine_was_restarted_and_counts_anew() {
    let web = ServicePolicy { restart: RestartMode::Never, ..service("web") };
    let mut rig = Rig::new(policy(vec![web]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    let count = |rig: &Rig| rig.view().replicas[0].trouble.as_ref().map_or(0, |(_, n)| *n);
    rig.until(|rig| count(rig) == 3);
    rig.restart_engine();
    assert!(rig.sent.is_empty(), "five are to be told of");
    // The engine itself calls it unhealthy only after three.
    rig.until(|rig| !rig.sent.is_empty());
    assert_eq!(count(&rig), 5);
    assert!(!rig.containers["web"].unhealthy);
}

/// Restarted, or told of where it never is, when it has failed for a minute.
fn patient(restart: RestartMode) -> ServicePolicy {
    let minute = Threshold { failures: None, failing_for: Some(seconds(60)) };
    ServicePolicy { restart, restart_after: minute, page_after: minute, ..probed("web") }
}

fn hangs_until_it_is_in_trouble(rig: &mut Rig) {
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.view().replicas[0].trouble.is_some());
}

#[test]
fn time_in_which_nobody_looked_is_no_time_of_failing() {
    for restart in [RestartMode::Auto, RestartMode::Never] {
        let mut rig = Rig::new(policy(vec![patient(restart)]));
        rig.add("web");
        rig.run(seconds(90));
        hangs_until_it_is_in_trouble(&mut rig);
        rig.run(seconds(5));
        rig.behave("web", Behaviour::Fine);
        rig.stall(seconds(120));
        rig.run(seconds(60));
        assert!(rig.acts.is_empty(), "{restart:?}: {:?}", rig.acts);
        assert!(rig.sent.is_empty(), "{restart:?}: {:?}", rig.told());
    }
}

#[test]
fn what_fails_on_after_a_stall_is_restarted_after_its_minute_of_being_seen_to() {
    let mut rig = Rig::new(policy(vec![patient(RestartMode::Auto)]));
    rig.add("web");
    rig.run(seconds(90));
    hangs_until_it_is_in_trouble(&mut rig);
    let seen_from = rig.now;
    rig.run(seconds(5));
    rig.stall(seconds(120));
    rig.until(|rig| !rig.acts.is_empty());
    let after = (rig.acts[0].0 - seen_from) / 1000;
    // It had failed for ten seconds before its third failure.
    assert!((165..=185).contains(&after), "after {after} s");
}

#[test]
fn time_in_which_nobody_looked_is_no_time_of_being_healthy() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(60));
    rig.stall(seconds(3600));
    let over = |rig: &Rig| {
        rig.decisions.iter().any(|(_, decision)| matches!(decision, Decision::TroubleOver))
    };
    rig.run(seconds(60));
    assert!(!over(&rig) && rig.view().replicas[0].spent.0 == 1);
    rig.run(seconds(600));
    assert!(over(&rig));
}

#[test]
fn what_stands_still_or_can_not_be_listed_is_told_of_after_time_in_which_somebody_looked() {
    for engine_works in [true, false] {
        let mut rig = Rig::new(policy(vec![never("web")]));
        rig.add("web");
        rig.run(seconds(90));
        rig.engine_works = engine_works;
        rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
        rig.run(seconds(15));
        rig.engine_works = true;
        rig.by_hand("web", ContainerState::Running, &[]);
        rig.stall(seconds(600));
        rig.run(seconds(120));
        assert!(rig.told().is_empty(), "the engine works: {engine_works}: {:?}", rig.told());
    }
}

#[test]
fn after_a_stall_nobody_is_judged_before_the_list_has_come_or_is_late() {
    for answered in [true, false] {
        let mut rig = Rig::new(policy(vec![probed("web")]));
        rig.add("web");
        rig.run(seconds(90));
        rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
        rig.hangs_until_it_is_restarted("web");
        rig.until(|rig| rig.holds().last() == Some(&"backing_off"));
        // When the wait is over, nothing fresh is known.
        rig.samples_are_taken = false;
        rig.stall(seconds(60));
        if !answered {
            rig.forget_queue();
        }
        assert_eq!(rig.holds().last(), Some(&"backing_off"), "in the step of the stall itself");
        let from = rig.now;
        rig.until(|rig| rig.holds().last() == Some(&"evidence_stale"));
        let after = rig.now - from;
        assert_eq!(after < 100, answered, "judged after {after} ms");
        assert!(after < 5_000, "judged after {after} ms");
    }
}

#[test]
fn a_probe_that_says_nothing_more_restarts_nothing() {
    let mut rig = Rig::new(policy(vec![patient(RestartMode::Auto)]));
    rig.add("web");
    rig.run(seconds(90));
    hangs_until_it_is_in_trouble(&mut rig);
    rig.samples_are_taken = false;
    rig.run(seconds(300));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
    assert_eq!(rig.holds().last(), Some(&"evidence_stale"));
    rig.samples_are_taken = true;
    rig.until(|rig| !rig.acts.is_empty());
}

#[test]
fn a_message_about_many_replicas_names_some_and_counts_the_rest() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    for n in 0..40 {
        rig.add(&format!("web-{n}"));
    }
    rig.run(seconds(90));
    for n in 0..40 {
        rig.behave(&format!("web-{n}"), Behaviour::Hangs);
    }
    rig.until(|rig| !rig.sent.is_empty());
    rig.run(seconds(3600));
    for (_, _, message) in &rig.sent {
        for lines in [&message.members, &message.done, &message.findings] {
            assert!(lines.len() <= 24, "{} lines: {lines:?}", lines.len());
        }
    }
    let (_, _, last) = rig.sent.last().unwrap();
    assert!(last.done.last().unwrap().contains("28 more"), "{:?}", last.done);
}

#[test]
fn a_job_that_has_finished_is_no_healthcheck_that_stopped_reporting() {
    for exit_code in [0, 1] {
        for behaviour in [Behaviour::Fine, Behaviour::CannotLook] {
            let mut rig = Rig::new(policy(vec![service("job")]));
            rig.add_with("job", |container| {
                container.healthcheck = Some(healthcheck());
                container.behaviour = behaviour.clone();
            });
            rig.run(seconds(20));
            let now = rig.now;
            let container = rig.containers.get_mut("job").unwrap();
            (container.state, container.exit_code, container.finished) =
                (ContainerState::Exited, Some(exit_code), Some(now));
            let id = container.id.clone();
            rig.event(&id, "job", EventAction::Died { exit_code: Some(exit_code) });
            rig.run(seconds(300));
            rig.crash();
            rig.run(seconds(300));
            let blind = |message: &defib::domain::message::Message| {
                message.headline.contains("can't be evaluated")
            };
            assert!(!rig.sent.iter().any(|(_, _, message)| blind(message)), "{:?}", rig.told());
        }
    }
}

#[test]
fn a_life_that_began_before_the_clock_was_set_back_is_judged_as_any_other() {
    for set_back_while_watched in [false, true] {
        let mut rig = Rig::new(policy(vec![never("web")]));
        rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
        let ahead = |rig: &mut Rig| {
            let container = rig.containers.get_mut("web").unwrap();
            container.started += 7_200_000;
            let id = container.id.clone();
            rig.event(&id, "web", EventAction::Updated);
        };
        if !set_back_while_watched {
            ahead(&mut rig);
        }
        rig.run(seconds(400));
        if set_back_while_watched {
            ahead(&mut rig);
        }
        rig.run(seconds(60));
        assert_eq!(rig.view().replicas[0].verdict, Verdict::Healthy);
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(60));
        assert_eq!(rig.view().replicas[0].verdict, Verdict::Unhealthy);
        assert!(!rig.sent.is_empty(), "{:?}", rig.told());
    }
}

#[test]
fn a_label_that_nobody_understands_holds_back_and_is_named() {
    // (value, restarted where a service lists it, restarted where none does)
    for (value, listed, unlisted) in [
        (None, true, false),
        (Some("true"), true, true),
        (Some(" True "), true, true),
        (Some("yes"), true, true),
        (Some("never"), false, false),
        (Some("no"), false, false),
        (Some("off"), false, false),
        (Some("0"), false, false),
        (Some("false "), false, false),
        (Some(""), false, false),
        (Some("nope"), false, false),
    ] {
        for (is_listed, wanted) in [(true, listed), (false, unlisted)] {
            let services = if is_listed { vec![service("web")] } else { Vec::new() };
            let mut rig = Rig::new(policy(services));
            rig.add_with("web", |container| {
                container.healthcheck = Some(healthcheck());
                let label = value.map(|value| ("defib.restart".to_owned(), value.to_owned()));
                container.labels.extend(label);
            });
            rig.run(seconds(400));
            rig.behave("web", Behaviour::Hangs);
            rig.run(seconds(60));
            assert_eq!(!rig.acts.is_empty(), wanted, "{value:?}, listed: {is_listed}");
            if value == Some("nope") {
                let said = rig.decisions.iter().any(|(_, decision)| {
                    matches!(decision, Decision::Held(hold) if hold.to_string().contains("neither `true`"))
                });
                assert!(said, "{:?}", rig.decisions);
                // It may be a secret that was pasted there.
                assert!(!format!("{:?}{:?}", rig.decisions, rig.sent).contains("nope"));
            }
        }
    }
}
