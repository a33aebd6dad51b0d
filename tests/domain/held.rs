//! What is not done, and not said, because it is not known: a cause that was well only before, a call that nobody answered, how
//! much fails while nobody can look, whether what stands in for a URL says anything of a container, and whether what recovered
//! is still well.

use crate::rig::*;
use defib::domain::{
    acting::attempt::Ending,
    effect::Primitive,
    message::{IncidentKind, MessageKind, Severity},
    name::ServiceName,
    observation::{ActOutcome, ContainerState, EventAction, Healthcheck, LookFailure, Observation},
    policy::{Place, ProbePolicy, ProbeSpec, RestartMode, ServicePolicy},
    record::Decision,
};

fn never(name: &str) -> ServicePolicy {
    ServicePolicy { restart: RestartMode::Never, ..probed(name) }
}

fn needs(dependent: ServicePolicy, needed: &str) -> ServicePolicy {
    ServicePolicy { depends_on: vec![ServiceName::new(needed)], ..dependent }
}

fn restarts(rig: &Rig) -> usize {
    let restarts = |act: &&(u64, _)| {
        let (_, order): &(u64, defib::domain::effect::ActOrder) = act;
        matches!(order.primitive, Primitive::Restart { .. })
    };
    rig.acts.iter().filter(restarts).count()
}

fn of_kind(rig: &Rig, kind: IncidentKind) -> Vec<MessageKind> {
    let sent = rig.sent.iter().filter(|(_, _, message)| message.incident_kind == kind);
    sent.map(|(_, _, message)| message.kind).collect()
}

fn decided(rig: &Rig, wanted: impl Fn(&Decision) -> bool) -> usize {
    rig.decisions.iter().filter(|(_, decision)| wanted(decision)).count()
}

/// Each of these hangs from now on, also after a restart.
fn hang<'a>(rig: &mut Rig, names: impl IntoIterator<Item = &'a str>) {
    for name in names {
        rig.behave(name, Behaviour::Hangs);
        rig.containers.get_mut(name).unwrap().after_restart = [Behaviour::Hangs].into();
    }
}

#[test]
fn a_check_that_passed_before_the_trouble_is_no_proof_that_a_dependency_is_well_in_it() {
    let db = ServicePolicy { restart: RestartMode::Never, ..service("db") };
    let mut rig = Rig::new(policy(vec![needs(probed("web"), "db"), db]));
    rig.add("web");
    let rarely = Healthcheck { interval: seconds(60), ..healthcheck() };
    rig.add_with("db", |container| container.healthcheck = Some(rarely));
    // Checked at 60 and 120 s; nobody has looked at the second result.
    rig.run(seconds(122));
    hang(&mut rig, ["web", "db"]);
    rig.run(seconds(56));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
    assert!(rig.holds().contains(&"dependency_not_healthy"), "{:?}", rig.holds());
    rig.behave("db", Behaviour::Fine);
    rig.run(seconds(20));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.holds());
}

#[test]
fn a_call_that_nobody_answered_is_not_made_again_while_it_may_be_carried_out() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.act_outcome = Some(ActOutcome::TimedOut(seconds(32)));
    hang(&mut rig, ["web"]);
    rig.until(|rig| decided(rig, |decision| matches!(decision, Decision::Ended(..))) == 1);
    rig.run(seconds(290));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.holds());
    assert_eq!(rig.holds().last(), Some(&"call_open"));
    rig.crash();
    rig.run(seconds(5));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.holds());
    rig.run(seconds(90));
    assert_eq!(restarts(&rig), 2, "{:?}", rig.holds());
}

#[test]
fn what_holds_data_has_one_restart_in_a_trouble_however_its_budget_refills() {
    let mut db = probed("db");
    db.stateful = Some(true);
    db.stable_for = seconds(3600);
    db.budget.refill_after_healthy = seconds(60);
    let mut rig = Rig::new(policy(vec![db]));
    rig.add("db");
    rig.run(seconds(90));
    rig.behave("db", Behaviour::Hangs);
    rig.until(|rig| decided(rig, |decision| matches!(decision, Decision::Ended(..))) == 1);
    rig.run(seconds(300));
    hang(&mut rig, ["db"]);
    rig.run(seconds(300));
    assert_eq!(restarts(&rig), 1);
    assert_eq!(rig.holds().last(), Some(&"stateful"));
    assert_eq!(rig.view().replicas[0].spent, (1, 1));
    assert!(rig.view().incidents.iter().any(|incident| incident.story.given_up > 0));
}

#[test]
fn what_flaps_by_its_healthcheck_is_counted_on_and_told_of() {
    let mut rig =
        Rig::new(policy(vec![ServicePolicy { restart: RestartMode::Never, ..service("web") }]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(90));
    for _ in 0..3 {
        rig.behave("web", Behaviour::Hangs);
        rig.until(|rig| rig.containers["web"].streak == 3);
        rig.behave("web", Behaviour::Fine);
        rig.until(|rig| rig.containers["web"].streak == 0);
    }
    let told = of_kind(&rig, IncidentKind::Unhealthy);
    assert_eq!(
        told.first(),
        Some(&MessageKind::Opened),
        "three failures each time are six in the trouble"
    );
}

#[test]
fn a_defib_that_is_started_again_and_again_tells_of_what_fails_all_the_while() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(17));
    for _ in 0..4 {
        rig.crash();
        rig.run(seconds(40));
    }
    assert!(
        of_kind(&rig, IncidentKind::Unhealthy).contains(&MessageKind::Opened),
        "{:?}",
        rig.told()
    );
}

#[test]
fn what_is_held_by_one_brief_thing_after_another_is_told_of_in_a_minute() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    hang(&mut rig, ["web"]);
    for _ in 0..100 {
        let ended = LookFailure::Unreachable("the stream ended".to_owned());
        rig.put(1, Observation::EventsLost(ended));
        rig.put(2, Observation::EventsOpened);
        // Evidence takes no time here: an attempt begins and is given up, again and again.
        rig.run(std::time::Duration::from_millis(3));
        rig.put(
            1,
            Observation::EventsLost(LookFailure::Unreachable("the stream ended".to_owned())),
        );
        rig.run(seconds(1));
    }
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
    assert!(
        rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page),
        "{:?}",
        rig.told()
    );
}

#[test]
fn a_stop_after_the_engine_answered_that_it_is_done_is_somebody_elses() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    // A proxy says so; the engine never hears of it.
    rig.act_outcome = Some(ActOutcome::Failed { status: 503, message: "no server".to_owned() });
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(2));
    let stop = [
        EventAction::Killed { signal: Some(15) },
        EventAction::Died { exit_code: Some(143) },
        EventAction::Stopped,
    ];
    rig.by_hand("web", ContainerState::Exited, &stop);
    rig.run(seconds(120));
    assert_eq!(rig.acts.len(), 1, "{:?}", rig.acts);
}

#[test]
fn where_the_stream_does_not_tell_that_a_healthcheck_fails_nothing_is_restarted() {
    let mut rig = Rig::new(policy(vec![service("web")]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.put(1, Observation::EventsOpened);
    rig.run(seconds(90));
    rig.events_are_told = false;
    hang(&mut rig, ["web"]);
    rig.run(seconds(120));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
    assert_eq!(rig.holds().last(), Some(&"touches_unseen"));
    assert!(
        rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page),
        "{:?}",
        rig.told()
    );
    // What happened before a stream was opened it need not tell.
    rig.put(1, Observation::EventsOpened);
    rig.run(seconds(20));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.holds());
}

#[test]
fn what_fails_again_while_an_order_holds_it_back_is_no_notice_first() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.put(1, Observation::HoldFile(true));
    for _ in 0..2 {
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(60));
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(60));
    }
    assert!(
        rig.told().iter().all(|(_, severity, _)| *severity == Severity::Page),
        "{:?}",
        rig.told()
    );
    let again = |decision: &Decision| matches!(decision, Decision::FailsAgain { .. });
    assert_eq!(decided(&rig, again), 1);
}

#[test]
fn what_stands_still_and_runs_again_is_said_where_defib_had_no_hand_in_it() {
    let said = |rig: &Rig| {
        let stands = |decision: &Decision| matches!(decision, Decision::StandsStill { .. });
        (decided(rig, stands), decided(rig, |decision| *decision == Decision::RunsAgain))
    };
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| decided(rig, |decision| matches!(decision, Decision::Ended(..))) == 1);
    rig.run(seconds(60));
    assert_eq!(said(&rig), (0, 0), "its own restart");
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
    rig.run(seconds(60));
    assert_eq!(said(&rig), (1, 0));
    rig.by_hand("web", ContainerState::Running, &[EventAction::Started]);
    rig.run(seconds(60));
    assert_eq!(said(&rig), (1, 1));
}

#[test]
fn a_trial_is_made_of_what_may_be_restarted_and_promised_only_then() {
    let promise = |services: Vec<ServicePolicy>| {
        let names: Vec<String> = services.iter().map(|service| service.name.to_string()).collect();
        let mut rig = Rig::new(policy(services));
        for name in &names {
            rig.add(name);
        }
        rig.run(seconds(90));
        hang(&mut rig, names.iter().map(String::as_str));
        rig.until(|rig| !of_kind(rig, IncidentKind::Brake).is_empty());
        let of_brake = |(_, _, message): &&(_, _, defib::domain::message::Message)| {
            message.incident_kind == IncidentKind::Brake
        };
        let told = rig.sent.iter().find(of_brake).unwrap().2.done.join("; ");
        rig.run(seconds(100));
        let tried: Vec<String> =
            rig.acts.iter().map(|(_, order)| order.replica.to_string()).collect();
        (told, tried)
    };
    let dry = |name: &str| ServicePolicy { restart: RestartMode::Dry, ..probed(name) };
    let data = |name: &str| ServicePolicy { stateful: Some(true), ..probed(name) };

    let (told, tried) = promise(vec![dry("a"), data("b"), probed("c")]);
    assert!(told.contains("is restarted soon"), "{told}");
    assert_eq!(tried, ["c"], "the first that may be");
    let (told, tried) = promise(vec![data("a"), data("b"), dry("c")]);
    assert!(told.contains("no trial is made"), "{told}");
    assert!(tried.is_empty(), "{tried:?}");
}

fn many() -> (Rig, Vec<String>) {
    let names: Vec<String> = (0..20).map(|n| format!("s{n:02}-")).collect();
    let mut rig = Rig::new(policy(names.iter().map(|name| never(name)).collect()));
    for name in &names {
        rig.add(name);
    }
    rig.run(seconds(90));
    (rig, names)
}

fn engaged(rig: &Rig) -> usize {
    decided(rig, |decision| *decision == Decision::BrakeEngaged)
}

#[test]
fn the_brake_does_not_go_on_for_a_few_because_the_others_were_not_looked_at_yet() {
    let (mut rig, names) = many();
    hang(&mut rig, names.iter().take(3).map(String::as_str));
    rig.run(seconds(60));
    assert_eq!(engaged(&rig), 0, "3 of 20 are not 20 %");
    rig.crash();
    rig.run(seconds(60));
    assert_eq!(engaged(&rig), 0, "{:?}", rig.decisions);
}

#[test]
fn the_brake_does_not_go_off_because_nothing_can_be_seen() {
    let (mut rig, names) = many();
    hang(&mut rig, names.iter().take(6).map(String::as_str));
    rig.run(seconds(60));
    assert_eq!(engaged(&rig), 1);
    rig.engine_works = false;
    rig.crash();
    rig.run(seconds(600));
    let released =
        |rig: &Rig| decided(rig, |decision| matches!(decision, Decision::BrakeReleased(_)));
    assert_eq!(released(&rig), 0);
    rig.engine_works = true;
    rig.run(seconds(200));
    assert_eq!(released(&rig), 0, "six of twenty fail as before");
}

#[test]
fn a_stall_does_not_put_a_brake_on_again_that_a_trial_has_released() {
    let services = [never("s0-"), never("s1-"), never("s2-"), probed("s3-")];
    let mut rig = Rig::new(policy(services.to_vec()));
    let names = ["s0-", "s1-", "s2-", "s3-"];
    for name in names {
        rig.add(name);
    }
    rig.run(seconds(90));
    for name in names {
        rig.behave(name, Behaviour::Hangs);
    }
    let is_released =
        |rig: &Rig| decided(rig, |decision| matches!(decision, Decision::BrakeReleased(_))) == 1;
    rig.until(is_released);
    rig.stall(seconds(120));
    rig.run(seconds(60));
    assert_eq!(engaged(&rig), 1, "{:?}", rig.decisions);
}

#[test]
fn what_fails_at_once_while_the_lists_can_not_be_had_is_held_back_and_told_of() {
    let names: Vec<String> = (0..6).map(|n| format!("s{n}-")).collect();
    let mut rig = Rig::new(policy(names.iter().map(|name| probed(name)).collect()));
    for name in &names {
        rig.add(name);
    }
    rig.run(seconds(90));
    rig.engine_works = false;
    rig.run(seconds(5));
    hang(&mut rig, names.iter().map(String::as_str));
    rig.run(seconds(120));
    assert_eq!(engaged(&rig), 1, "{:?}", rig.decisions);
    assert_eq!(of_kind(&rig, IncidentKind::Brake), [MessageKind::Opened]);
}

#[test]
fn what_our_own_stop_left_standing_is_started_though_a_call_is_open() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.act_outcome = Some(ActOutcome::TimedOut(seconds(32)));
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(1));
    // The stop is carried out while nothing can be seen, and no start follows.
    rig.inspects_work = false;
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(137), Some(now));
    rig.until(|rig| decided(rig, |decision| matches!(decision, Decision::Ended(..))) == 1);
    rig.inspects_work = true;
    rig.act_outcome = None;
    rig.run(seconds(90));
    let acts: Vec<String> = rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
    assert_eq!(acts, ["restart", "start"], "{:?}", rig.decisions);
}

#[test]
fn what_was_begun_is_not_left_half_done_because_the_event_stream_is_cut() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.act_outcome = Some(ActOutcome::TimedOut(seconds(32)));
    rig.hangs_until_it_is_restarted("web");
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
    let lost = LookFailure::Unreachable("the stream ended".to_owned());
    rig.put(2, Observation::EventsLost(lost));
    rig.run(seconds(120));
    let acts: Vec<String> = rig.acts.iter().map(|(_, order)| order.primitive.to_string()).collect();
    assert_eq!(acts[..2], ["restart", "kill"], "{:?}", rig.decisions);
}

#[test]
fn an_event_stream_that_was_away_for_long_holds_for_a_while_when_it_is_back() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.put(1, Observation::EventsLost(LookFailure::Unreachable("the stream ended".to_owned())));
    hang(&mut rig, ["web"]);
    rig.run(seconds(60));
    rig.put(1, Observation::EventsOpened);
    rig.run(seconds(55));
    assert!(rig.acts.is_empty(), "whoever began to stop it meanwhile was not seen");
    rig.run(seconds(15));
    assert_eq!(restarts(&rig), 1, "{:?}", rig.holds());
}

/// A service of a container and of a URL.
fn mixed() -> ServicePolicy {
    let mut web = never("web");
    let mut site =
        ProbePolicy { name: defib::domain::name::ProbeName::new("site"), ..http_probe() };
    let ProbeSpec::Http(http) = &mut site.spec;
    http.place = Place::Url { host: "site.example".to_owned(), port: 80 };
    web.probes.push(site);
    web.replicas = Some(1);
    web
}

#[test]
fn a_url_that_answers_is_no_replica_that_runs() {
    let mut rig = Rig::new(policy(vec![mixed()]));
    rig.add("web");
    rig.run(seconds(90));
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
    rig.run(seconds(90));
    assert_eq!(of_kind(&rig, IncidentKind::Down), [MessageKind::Opened]);
}

#[test]
fn that_a_probe_of_the_url_has_passed_ends_it_though_no_container_is_asked_it() {
    let mut rig = Rig::new(policy(vec![mixed()]));
    rig.url = Behaviour::Hangs;
    rig.add("web");
    rig.run(seconds(200));
    assert_eq!(of_kind(&rig, IncidentKind::NeverPassed), [MessageKind::Opened]);
    rig.url = Behaviour::Fine;
    rig.run(seconds(200));
    let told = of_kind(&rig, IncidentKind::NeverPassed);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn what_needs_what_needs_the_cause_is_not_told_of_for_itself() {
    let db = never("db");
    let mut policy = policy(vec![needs(probed("web"), "api"), needs(probed("api"), "db"), db]);
    policy.limits.brake = None;
    let mut rig = Rig::new(policy);
    for name in ["db", "api", "web"] {
        rig.add(name);
    }
    rig.run(seconds(90));
    hang(&mut rig, ["db"]);
    rig.run(seconds(10));
    hang(&mut rig, ["api", "web"]);
    rig.run(seconds(400));
    let told: Vec<_> = rig
        .sent
        .iter()
        .filter(|(_, _, message)| message.kind == MessageKind::Opened)
        .map(|(_, _, message)| message.service.clone().unwrap().to_string())
        .collect();
    assert_eq!(told, ["db"]);
}

#[test]
fn what_is_asked_about_more_slowly_than_events_come_is_judged_all_the_same() {
    let mut rig =
        Rig::new(policy(vec![ServicePolicy { restart: RestartMode::Never, ..service("web") }]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    let id = rig.containers["web"].id.clone();
    // Each answer takes 2 ms, and every millisecond something is told.
    for _ in 0..90_000 {
        rig.event(&id, "web", EventAction::OutOfMemory);
        rig.run(std::time::Duration::from_millis(1));
    }
    assert_eq!(of_kind(&rig, IncidentKind::Unhealthy), [MessageKind::Opened], "{:?}", rig.told());
}

#[test]
fn an_end_does_not_call_healthy_what_was_stopped_after_its_recovery() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| of_kind(rig, IncidentKind::Unhealthy).len() == 1);
    rig.behave("web", Behaviour::Fine);
    rig.until(|rig| of_kind(rig, IncidentKind::Unhealthy).len() == 2);
    rig.run(seconds(60));
    let stop =
        [EventAction::Killed { signal: Some(15) }, EventAction::Died { exit_code: Some(143) }];
    rig.by_hand("web", ContainerState::Exited, &stop);
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Stopped]);
    rig.run(seconds(1200));
    let last =
        rig.sent.iter().rfind(|(_, _, message)| message.incident_kind == IncidentKind::Unhealthy);
    let (_, _, last) = last.unwrap();
    assert_eq!(last.kind, MessageKind::Resolved);
    let said = format!("{} {:?}", last.headline, last.members);
    assert!(!said.contains("healthy again"), "{said}");
}

#[test]
fn what_defib_stopped_has_not_finished_though_it_exits_with_0_and_the_host_booted() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.acts_are_answered = false;
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(5));
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(0), Some(now));
    rig.forget_queue();
    rig.reboot();
    rig.run(seconds(900));
    let ended = |decision: &Decision| matches!(decision, Decision::Ended(_, Ending::TakenOver(_)));
    assert_eq!(decided(&rig, ended), 1, "{:?}", rig.decisions);
    assert_eq!(of_kind(&rig, IncidentKind::Down), [MessageKind::Opened], "it stands still");
}
