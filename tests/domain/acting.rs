//! When a replica is restarted, and when not.

use crate::rig::*;
use defib::domain::{
    acting::attempt::{Ending, Rung},
    effect::Primitive,
    judging::verdict::Verdict,
    message::{MessageKind, Severity},
    name::ServiceName,
    observation::{ActOutcome, ContainerState, EventAction, Observation, RestartPolicy},
    policy::{RestartMode, ServicePolicy},
    record::Decision,
};
use std::time::Duration;

/// Long enough for defib's own start to have settled.
const SETTLED: u64 = 90;

fn settled(services: Vec<ServicePolicy>, name: &str) -> Rig {
    let mut rig = Rig::new(policy(services));
    rig.add(name);
    rig.run(seconds(SETTLED));
    assert_eq!(rig.view().replicas[0].verdict, Verdict::Healthy);
    rig
}

fn restarts(rig: &Rig) -> usize {
    rig.acts
        .iter()
        .filter(|(_, order)| matches!(order.primitive, Primitive::Restart { .. }))
        .count()
}

fn endings(rig: &Rig) -> Vec<Ending> {
    let endings = rig.decisions.iter().filter_map(|(_, decision)| match decision {
        Decision::Ended(_, ending) => Some(ending.clone()),
        _ => None,
    });
    endings.collect()
}

#[test]
fn a_hung_replica_is_restarted_after_its_third_failure_and_the_settle_and_proven_well() {
    let mut rig = settled(vec![probed("web")], "web");
    let hung_at = rig.now;
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    assert_eq!(restarts(&rig), 1);
    let (acted_at, _) = rig.acts[0];
    // fall × interval + timeout + settle + 0.5 s (incident 4).
    assert!(acted_at - hung_at <= 3 * 5_000 + 2_000 + 3_000 + 500, "{}", acted_at - hung_at);
    assert!(acted_at - hung_at > 2 * 5_000 + 2_000, "not before the third failure");
    assert!(matches!(endings(&rig)[..], [Ending::Verified { .. }]), "{:?}", endings(&rig));
    let kinds: Vec<_> =
        rig.told().into_iter().map(|(kind, severity, _)| (kind, severity)).collect();
    assert_eq!(
        kinds,
        [(MessageKind::Opened, Severity::Notice), (MessageKind::Recovered, Severity::Notice)]
    );
}

#[test]
fn two_failures_restart_nothing() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(9));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    assert_eq!(restarts(&rig), 0);
    assert!(rig.sent.is_empty());
}

#[test]
fn dockers_unhealthy_restarts_without_any_probe() {
    let mut rig = Rig::new(policy(vec![service("web")]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(SETTLED));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    assert_eq!(restarts(&rig), 1);
    assert!(matches!(endings(&rig)[..], [Ending::Verified { .. }]), "{:?}", endings(&rig));
}

#[test]
fn what_never_recovers_is_restarted_with_growing_gaps_until_the_budget_is_spent_and_then_paged() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(3000));
    assert_eq!(restarts(&rig), 3);
    let times: Vec<u64> = rig.acts.iter().map(|(at, _)| at / 1000).collect();
    assert!(times[2] - times[1] >= times[1] - times[0], "{times:?}");
    assert_eq!(rig.holds().last(), Some(&"budget_spent"));
    let told = rig.told();
    assert_eq!(told[0].0, MessageKind::Opened);
    assert_eq!((told[1].0, told[1].1), (MessageKind::Raised, Severity::Page), "{told:?}");
    // Given up, loudly and once, also after a restart of defib.
    assert_eq!((told[2].0, told[2].1), (MessageKind::GivenUp, Severity::Page), "{told:?}");
    rig.crash();
    rig.run(seconds(300));
    assert_eq!(rig.told().len(), 3, "{:?}", rig.told());
    let last = &rig.sent.last().unwrap().2;
    assert!(last.done.iter().any(|line| line.contains("did not help")), "{:?}", last.done);
}

#[test]
fn the_quiet_loop_goes_on_over_instances_and_is_paged_at_its_threshold() {
    // It works for a minute after each restart and then fails again (case 11).
    let mut rig = settled(vec![probed("web")], "web");
    for _ in 0..4 {
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(30));
        rig.run(seconds(60));
    }
    let kinds: Vec<_> =
        rig.told().into_iter().map(|(kind, severity, _)| (kind, severity)).collect();
    assert_eq!(kinds[0], (MessageKind::Opened, Severity::Notice));
    assert_eq!(
        kinds.iter().filter(|(kind, _)| *kind == MessageKind::Raised).count(),
        1,
        "{kinds:?}"
    );
    assert!(restarts(&rig) <= 3);
}

#[test]
fn a_paused_replica_is_left_alone_and_judged_anew_only_by_a_real_probe() {
    let mut rig = Rig::new(policy(vec![service("web")]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(SETTLED));
    rig.by_hand("web", ContainerState::Paused, &[EventAction::Paused]);
    rig.run(seconds(120));
    rig.by_hand("web", ContainerState::Running, &[EventAction::Unpaused]);
    rig.run(seconds(2));
    assert_eq!(rig.view().replicas[0].verdict, Verdict::Unknown);
    rig.run(seconds(60));
    assert_eq!(rig.view().replicas[0].verdict, Verdict::Healthy);
    assert!(rig.acts.is_empty() && rig.sent.is_empty());
}

#[test]
fn what_somebody_stopped_stays_stopped_and_is_a_ticket_after_ten_minutes() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.by_hand(
        "web",
        ContainerState::Exited,
        &[
            EventAction::Killed { signal: Some(15) },
            EventAction::Died { exit_code: Some(143) },
            EventAction::Stopped,
        ],
    );
    rig.run(seconds(590));
    assert!(rig.acts.is_empty() && rig.sent.is_empty(), "{:?}", rig.told());
    rig.run(seconds(60));
    assert_eq!(rig.told()[0].1, Severity::Ticket);
    assert!(rig.acts.is_empty());
}

#[test]
fn what_ended_by_itself_is_down_after_a_minute_and_never_started() {
    let mut rig = settled(vec![probed("web")], "web");
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(1), Some(now));
    let id = container.id.clone();
    rig.event(&id, "web", EventAction::Died { exit_code: Some(1) });
    rig.run(seconds(70));
    assert_eq!((rig.told()[0].0, rig.told()[0].1), (MessageKind::Opened, Severity::Page));
    assert!(rig.acts.is_empty());
}

#[test]
fn a_finished_job_is_nobodys_trouble() {
    let mut rig = settled(vec![probed("web")], "web");
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(0), Some(now));
    container.policy = RestartPolicy::No;
    let id = container.id.clone();
    rig.event(&id, "web", EventAction::Died { exit_code: Some(0) });
    rig.run(seconds(1200));
    assert!(rig.acts.is_empty() && rig.sent.is_empty(), "{:?}", rig.told());
}

#[test]
fn nothing_is_restarted_while_defib_itself_settles_and_the_standing_failure_is_told_then() {
    let mut rig =
        Rig::new(policy(vec![ServicePolicy { restart: RestartMode::Never, ..service("web") }]));
    rig.add_with("web", |container| {
        container.healthcheck = Some(healthcheck());
        container.behaviour = Behaviour::Hangs;
        container.streak = 74;
        container.unhealthy = true;
    });
    rig.run(seconds(55));
    assert!(rig.sent.is_empty(), "{:?}", rig.told());
    rig.run(seconds(20));
    assert_eq!((rig.told()[0].0, rig.told()[0].1), (MessageKind::Opened, Severity::Page));
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(rig.sent.len(), 1, "a restart of defib repeats nothing: {:?}", rig.told());
}

#[test]
fn a_probe_that_has_never_passed_restarts_nothing_and_is_told_as_such() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web").behaviour = Behaviour::Answers(503);
    rig.run(seconds(900));
    assert!(rig.acts.is_empty());
    assert_eq!(rig.sent.len(), 1);
    assert!(rig.sent[0].2.headline.contains("never passed"), "{}", rig.sent[0].2.headline);
}

#[test]
fn what_a_restart_does_not_cure_is_paged_and_not_restarted() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.behave("web", Behaviour::Answers(404));
    rig.run(seconds(120));
    assert!(rig.acts.is_empty());
    assert_eq!(rig.holds(), ["settling", "not_curable"]);
    assert_eq!(rig.told()[0].1, Severity::Page);
}

#[test]
fn what_could_not_be_looked_at_is_no_failure() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(600));
    assert!(rig.acts.is_empty());
    assert!(
        rig.told().iter().all(|(_, severity, _)| *severity == Severity::Ticket),
        "{:?}",
        rig.told()
    );
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn nothing_is_done_that_cannot_be_recorded_but_people_are_told() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.store_works = false;
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    assert!(rig.acts.is_empty());
    assert!(rig.holds().contains(&"cannot_record"), "{:?}", rig.holds());
    assert!(!rig.sent.is_empty());
    rig.store_works = true;
    rig.run(seconds(60));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.holds());
}

#[test]
fn a_store_that_never_answers_holds_restarts_back_too() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.store_answers = false;
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    assert!(rig.acts.is_empty());
    assert!(!rig.sent.is_empty());
}

#[test]
fn a_crash_after_the_intent_is_reconciled_and_never_sent_again() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.hangs_until_it_is_restarted("web");
    rig.crash();
    rig.run(seconds(60));
    assert_eq!(restarts(&rig), 1);
    assert!(matches!(endings(&rig)[..], [Ending::Verified { .. }]), "{:?}", endings(&rig));
}

#[test]
fn what_our_own_stop_left_standing_is_started_after_a_crash_and_only_that() {
    for (finished_after, ours) in [(2_000, true), (120_000, false)] {
        let mut rig = settled(vec![probed("web")], "web");
        // The engine goes away in mid-restart: stopped, and never started.
        rig.act_outcome = Some(ActOutcome::Unreachable("reset".to_owned()));
        rig.hangs_until_it_is_restarted("web");
        rig.act_outcome = None;
        let now = rig.now;
        let container = rig.containers.get_mut("web").unwrap();
        (container.state, container.finished) =
            (ContainerState::Exited, Some(now + finished_after));
        rig.forget_queue();
        rig.now += finished_after + 1000;
        rig.crash();
        rig.run(seconds(90));
        let started = rig.acts.iter().any(|(_, order)| order.primitive == Primitive::Start);
        assert_eq!(started, ours, "finished {finished_after} ms after the intent");
        assert_eq!(restarts(&rig), 1);
    }
}

#[test]
fn a_stop_that_does_not_end_it_climbs_to_kill_and_start() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.act_outcome = Some(ActOutcome::Failed {
        status: 500,
        message: "did not receive an exit event".to_owned(),
    });
    rig.hangs_until_it_is_restarted("web");
    rig.act_outcome = None;
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
    rig.run(seconds(60));
    let rungs: Vec<_> = rig
        .decisions
        .iter()
        .filter_map(|(_, decision)| match decision {
            Decision::Acting(_, rung) => Some(*rung),
            _ => None,
        })
        .collect();
    assert_eq!(rungs, [Rung::Restart, Rung::Kill, Rung::Start]);
    assert!(matches!(endings(&rig)[..], [Ending::Verified { .. }]), "{:?}", endings(&rig));
    let said = &rig.sent.last().unwrap().2.done;
    assert!(said.iter().any(|line| line.contains("kill: ")), "{said:?}");
}

#[test]
fn a_stop_that_was_never_sent_is_no_reason_to_kill() {
    let answered = |status| {
        let message = "no".to_owned();
        Some(ActOutcome::Failed { status, message })
    };
    for outcome in [answered(400), answered(405), answered(500), answered(503), None] {
        let mut rig = settled(vec![probed("web")], "web");
        rig.act_outcome = outcome.clone().or(Some(ActOutcome::Unreachable("hangs".to_owned())));
        rig.acts_are_answered = outcome.is_some();
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(3600));
        let rungs: Vec<_> = rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
        assert!(rungs.iter().all(|rung| rung == "restart"), "{outcome:?}: {rungs:?}");
        assert!(rungs.len() <= 3, "{outcome:?}: {rungs:?}");
        let paged = rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page);
        assert!(paged, "{outcome:?}: {:?}", rig.told());
    }
}

#[test]
fn a_kill_leaves_the_container_the_time_that_its_stop_has() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.acts_are_answered = false;
    rig.act_outcome = Some(ActOutcome::Unreachable("hangs".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(2));
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
    let told = rig.now;
    rig.run(seconds(60));
    let kill = rig.acts.iter().find(|(_, order)| order.primitive.to_string() == "kill");
    let (at, _) = kill.expect("the stop did not end it");
    assert!(at - told >= 10_000 + 10_000, "killed {} ms after it was told to stop", at - told);
}

#[test]
fn what_ends_by_itself_after_a_restart_that_did_nothing_is_not_ours_to_start() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.act_outcome = Some(ActOutcome::Failed { status: 500, message: "no".to_owned() });
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| !endings(rig).is_empty());
    let exited = [EventAction::Died { exit_code: Some(0) }];
    rig.by_hand("web", ContainerState::Exited, &exited);
    rig.run(seconds(600));
    let starts = rig.acts.iter().filter(|(_, order)| order.primitive == Primitive::Start);
    assert_eq!(starts.count(), 0, "{:?}", rig.acts);
}

#[test]
fn what_the_hosts_boot_ended_is_not_ours_to_start() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.acts_are_answered = false;
    rig.act_outcome = Some(ActOutcome::Unreachable("hangs".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(5));
    let (now, acts) = (rig.now, rig.acts.len());
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(255), Some(now));
    rig.forget_queue();
    rig.reboot();
    rig.run(seconds(900));
    assert_eq!(rig.acts.len(), acts, "{:?}", rig.acts);
    assert!(rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page));
}

#[test]
fn a_404_of_a_container_that_is_there_is_told_and_not_called_its_removal() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.act_outcome = Some(ActOutcome::NoSuchContainer);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert!(matches!(endings(&rig)[0], Ending::NotCured(_)), "{:?}", endings(&rig));
    assert!(rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page));
}

#[test]
fn the_failures_of_a_life_are_counted_once_though_it_has_ended() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    let (_, _, message) = rig.sent.last().unwrap();
    assert_eq!(message.kind, MessageKind::Recovered);
    assert!(message.members[0].contains("had failed 3 times"), "{:?}", message.members);
}

#[test]
fn what_holds_data_is_restarted_once_and_never_killed() {
    let mut rig = Rig::new(policy(vec![probed("db")]));
    rig.add("db").image = "postgres:16".to_owned();
    rig.run(seconds(SETTLED));
    rig.containers.get_mut("db").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("db", Behaviour::Hangs);
    rig.run(seconds(1200));
    assert_eq!(restarts(&rig), 1);
    assert_eq!(rig.acts.len(), 1);
    assert_eq!(rig.holds().last(), Some(&"stateful"));
}

#[test]
fn when_much_fails_at_once_nothing_is_restarted_but_a_trial_and_one_page_is_sent() {
    let services: Vec<_> = (0..6).map(|n| probed(&format!("s{n}-"))).collect();
    let mut rig = Rig::new(policy(services));
    for n in 0..6 {
        rig.add(&format!("s{n}-web"));
    }
    rig.run(seconds(SETTLED));
    for n in 0..6 {
        rig.behave(&format!("s{n}-web"), Behaviour::Hangs);
        rig.containers
            .get_mut(&format!("s{n}-web"))
            .unwrap()
            .after_restart
            .push_back(Behaviour::Hangs);
    }
    rig.run(seconds(55));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
    assert_eq!(
        rig.told().iter().filter(|(_, severity, _)| *severity == Severity::Page).count(),
        1,
        "{:?}",
        rig.told()
    );
    rig.run(seconds(120));
    assert_eq!(restarts(&rig), 1, "one trial");
    rig.run(seconds(240));
    assert_eq!(restarts(&rig), 1, "the next after five minutes");
}

#[test]
fn one_replica_of_a_service_at_a_time() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web-1");
    rig.add("web-2");
    rig.run(seconds(SETTLED));
    rig.behave("web-1", Behaviour::Hangs);
    rig.behave("web-2", Behaviour::Hangs);
    rig.run(seconds(90));
    assert_eq!(restarts(&rig), 2);
    let verified = rig
        .decisions
        .iter()
        .find(|(_, d)| matches!(d, Decision::Ended(_, Ending::Verified { .. })))
        .unwrap()
        .0;
    assert!(rig.acts[1].0 >= verified, "the second not before the first was proven well");
}

#[test]
fn an_unlisted_container_is_restarted_only_where_its_label_says_so() {
    for (label, expected) in
        [(None, 0), (Some("true"), 1), (Some("TRUE"), 1), (Some("maybe"), 0), (Some("false"), 0)]
    {
        let mut rig = Rig::new(policy(Vec::new()));
        rig.add_with("lone", |container| {
            container.healthcheck = Some(healthcheck());
            if let Some(label) = label {
                container.labels.insert("defib.restart".to_owned(), label.to_owned());
            }
        });
        rig.run(seconds(SETTLED));
        rig.behave("lone", Behaviour::Hangs);
        rig.run(seconds(120));
        assert_eq!(restarts(&rig), expected, "{label:?}");
    }
}

#[test]
fn dry_says_what_it_would_do_and_touches_nothing() {
    let mut rig =
        settled(vec![ServicePolicy { restart: RestartMode::Dry, ..probed("web") }], "web");
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert!(rig.acts.is_empty());
    assert_eq!(rig.holds(), ["settling", "dry"]);
}

#[test]
fn a_dependency_that_is_down_holds_its_dependents_back() {
    let mut web = probed("web");
    web.depends_on = vec![ServiceName::new("db")];
    let mut rig =
        Rig::new(policy(vec![web, ServicePolicy { restart: RestartMode::Never, ..probed("db") }]));
    rig.add("web");
    rig.add("db");
    rig.run(seconds(SETTLED));
    rig.behave("db", Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert!(rig.acts.is_empty());
    assert!(rig.holds().contains(&"dependency_not_healthy"), "{:?}", rig.holds());
    rig.behave("db", Behaviour::Fine);
    rig.run(seconds(60));
    assert_eq!(restarts(&rig), 1);
}

#[test]
fn what_waited_for_its_cause_is_restarted_when_that_is_back_and_nobody_is_woken_for_it() {
    let mut web = probed("web");
    web.depends_on = vec![ServiceName::new("db")];
    let db = ServicePolicy { restart: RestartMode::Never, ..probed("db") };
    let mut rig = Rig::new(policy(vec![web, db]));
    rig.add("web");
    rig.add("db");
    rig.run(seconds(SETTLED));
    rig.behave("db", Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(600));
    let services = |rig: &Rig| -> Vec<(String, Severity)> {
        let about = rig.sent.iter().map(|(_, _, message)| message);
        about
            .map(|message| (message.service.clone().unwrap().to_string(), message.severity))
            .collect()
    };
    assert_eq!(services(&rig), [("db".to_owned(), Severity::Page)], "it stands for web");
    rig.behave("db", Behaviour::Fine);
    let since = |rig: &Rig, wanted: fn(&Decision) -> bool| {
        rig.decisions.iter().find(|(_, decision)| wanted(decision)).map(|(at, _)| *at)
    };
    rig.until(|rig| restarts(rig) == 1);
    let back = since(&rig, |decision| matches!(decision, Decision::Recovered)).unwrap();
    let spent = since(&rig, |decision| matches!(decision, Decision::Spent(_))).unwrap();
    assert!(spent - back < 1_000, "{} ms after what it needs was back", spent - back);
    rig.run(seconds(120));
    let web: Vec<_> = services(&rig).into_iter().filter(|told| told.0 == "web").collect();
    assert_eq!(web, [("web".to_owned(), Severity::Notice), ("web".to_owned(), Severity::Notice)]);
}

#[test]
fn a_dependency_that_nothing_judges_holds_its_dependents_and_is_said_to() {
    let mut web = probed("web");
    web.depends_on = vec![ServiceName::new("db")];
    let mut rig = Rig::new(policy(vec![web, service("db")]));
    rig.add("web");
    rig.add("db");
    rig.run(seconds(SETTLED));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert!(rig.acts.is_empty());
    assert!(rig.holds().contains(&"dependency_unjudged"), "{:?}", rig.holds());
    let (_, _, told) = rig.sent.last().unwrap();
    assert_eq!(told.severity, Severity::Page);
    let why = told.done.last().unwrap();
    assert!(why.contains("`db`, which it needs, has neither healthcheck nor probe"), "{why}");
}

#[test]
fn re_creating_it_loses_nothing_and_resolves_nothing() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(200));
    let spent = rig.view().replicas[0].spent;
    assert!(spent.0 >= 1);
    rig.remove("web");
    rig.add("web").behaviour = Behaviour::Hangs;
    rig.run(seconds(20));
    let replica = &rig.view().replicas[0];
    assert_eq!(replica.spent, spent);
    assert!(replica.trouble.is_some());
    assert!(
        !rig.told()
            .iter()
            .any(|(kind, ..)| matches!(kind, MessageKind::Resolved | MessageKind::Recovered))
    );
}

#[test]
fn a_quiet_host_costs_few_questions() {
    let mut rig = Rig::new(policy(Vec::new()));
    for n in 0..54 {
        rig.add_with(&format!("c{n}"), |container| container.healthcheck = Some(healthcheck()));
    }
    rig.run(seconds(120));
    let (inspects, lists) = (rig.inspects, rig.lists);
    rig.run(seconds(600));
    let asked = (rig.inspects - inspects) + (rig.lists - lists);
    assert!(asked <= 100, "{asked} questions in ten minutes");
}

#[test]
fn what_can_not_be_inspected_is_held_and_not_tried_again_and_again() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.inspects_work = false;
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(300));
    let count = |wanted: fn(&Decision) -> bool| {
        rig.decisions.iter().filter(|(_, decision)| wanted(decision)).count()
    };
    assert!(rig.acts.is_empty());
    assert_eq!(count(|decision| matches!(decision, Decision::Spent(_))), 0);
    assert_eq!(count(|decision| matches!(decision, Decision::Ended(..))), 1, "{:?}", rig.holds());
    assert_eq!(rig.holds().last(), Some(&"could_not_look"));
    rig.inspects_work = true;
    rig.run(seconds(60));
    assert_eq!(restarts(&rig), 1);
}

#[test]
fn what_defib_stopped_is_started_again_though_a_hold_or_a_full_disk_came_in_between() {
    for disk in [true, false] {
        let mut rig = settled(vec![probed("web")], "web");
        rig.act_outcome =
            Some(ActOutcome::Failed { status: 500, message: "no such log driver".to_owned() });
        rig.hangs_until_it_is_restarted("web");
        rig.act_outcome = None;
        let now = rig.now;
        let container = rig.containers.get_mut("web").unwrap();
        (container.state, container.finished) = (ContainerState::Exited, Some(now + 100));
        if disk {
            rig.store_works = false;
        } else {
            rig.put(1, Observation::HoldFile(true));
        }
        rig.run(seconds(30));
        let primitives: Vec<_> =
            rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
        assert_eq!(primitives, ["restart", "start"], "disk: {disk}, {:?}", endings(&rig));
    }
}

#[test]
fn what_ends_by_itself_and_is_removed_by_the_engine_is_down_and_not_removed_by_hand() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web").auto_remove = true;
    rig.run(seconds(SETTLED));
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Died { exit_code: Some(1) });
    rig.remove("web");
    rig.run(seconds(70));
    assert_eq!((rig.told()[0].0, rig.told()[0].1), (MessageKind::Opened, Severity::Page));
}

#[test]
fn a_restart_of_which_nobody_knows_whether_it_arrived_is_waited_for_and_no_reason_to_kill() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.act_outcome = Some(ActOutcome::Unreachable("reset".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.act_outcome = None;
    // The stop may take 10 s, and the engine 14 s beyond it.
    rig.run(seconds(23));
    assert_eq!((rig.acts.len(), endings(&rig).len()), (1, 0), "still waited for");
    rig.run(seconds(60));
    assert_eq!(endings(&rig)[0], Ending::Interrupted);
    let primitives: Vec<_> =
        rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
    assert_eq!(primitives, ["restart", "restart"]);
    assert!(
        rig.told().iter().all(|(_, severity, _)| *severity == Severity::Notice),
        "{:?}",
        rig.told()
    );
}

#[test]
fn what_our_stop_left_standing_is_still_ours_when_the_engine_comes_back_only_later() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.act_outcome = Some(ActOutcome::Unreachable("reset".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.act_outcome = None;
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.finished) = (ContainerState::Exited, Some(now + 1000));
    rig.engine_works = false;
    rig.run(seconds(90));
    assert_eq!(endings(&rig).len(), 1, "nobody could look: {:?}", endings(&rig));
    rig.engine_works = true;
    rig.run(seconds(700));
    let primitives: Vec<_> =
        rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
    assert_eq!(primitives, ["restart", "start"], "{:?}", endings(&rig));
}

#[test]
fn a_new_life_that_ends_by_itself_after_our_restart_is_not_ours_to_start() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(2));
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(1), Some(now));
    let id = container.id.clone();
    rig.event(&id, "web", EventAction::Died { exit_code: Some(1) });
    rig.run(seconds(600));
    assert_eq!(rig.acts.len(), 1, "{:?}", rig.acts);
    assert!(
        rig.sent.iter().any(|(_, _, message)| message.headline.contains("down")),
        "{:?}",
        rig.told()
    );
}

#[test]
fn what_begins_together_does_not_spend_more_than_the_host_has() {
    let mut policy = policy(vec![probed("web"), probed("api")]);
    policy.limits.budget.restarts = 1;
    let mut rig = Rig::new(policy);
    rig.add("web");
    rig.add("api");
    rig.run(seconds(SETTLED));
    rig.behave("web", Behaviour::Hangs);
    rig.behave("api", Behaviour::Hangs);
    rig.run(seconds(120));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.decisions);
    assert_eq!(rig.holds().last(), Some(&"host_budget_spent"));
}

#[test]
fn an_attempt_that_only_looked_costs_nothing_though_defib_dies_in_it() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.behave("web", Behaviour::Hangs);
    let begun = (0..60_000).any(|_| {
        rig.run(Duration::from_millis(1));
        rig.view().replicas[0].in_hand
    });
    assert!(begun);
    rig.crash();
    rig.run(seconds(300));
    assert_eq!(restarts(&rig), 1);
    let paid =
        rig.decisions.iter().filter(|(_, decision)| matches!(decision, Decision::Spent(_))).count();
    assert_eq!(paid, 1);
}

#[test]
fn a_stop_that_was_sent_and_does_not_end_it_climbs_to_kill_though_the_engine_went_away() {
    for crashes in [false, true] {
        let mut rig = settled(vec![probed("web")], "web");
        rig.act_outcome = Some(ActOutcome::Unreachable("reset".to_owned()));
        rig.hangs_until_it_is_restarted("web");
        rig.act_outcome = None;
        let id = rig.containers["web"].id.clone();
        rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
        rig.run(seconds(2));
        if crashes {
            rig.crash();
        }
        rig.until(|rig| !endings(rig).is_empty());
        assert_ne!(endings(&rig)[0], Ending::Interrupted, "crashes: {crashes}");
        let rungs: Vec<_> = rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
        // After a start of ours nothing is killed while that settles.
        let wanted: &[&str] = if crashes { &["restart"] } else { &["restart", "kill", "start"] };
        assert_eq!(rungs, wanted, "{:?}", endings(&rig));
    }
}

#[test]
fn a_new_life_that_ends_before_it_was_seen_is_no_cure_and_says_how_it_ended() {
    let mut rig = settled(vec![probed("web")], "web");
    rig.hangs_until_it_is_restarted("web");
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(1), Some(now + 250));
    rig.until(|rig| !endings(rig).is_empty());
    let why = "the new life ended at once, exit code 1".to_owned();
    assert_eq!(endings(&rig), [Ending::NotCured(why.clone())]);
    rig.run(seconds(600));
    assert_eq!(rig.acts.len(), 1, "not ours to start: {:?}", rig.acts);
    assert!(rig.sent.iter().any(|(_, _, said)| said.done.iter().any(|line| line.contains(&why))));
}
