//! What is told of stays told of: neither an engine that can't be asked, nor a new life, nor a start of ours ends what was not
//! seen to end, and nothing is told anew because of them (S5, S6).

use crate::rig::*;
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    name::ServiceName,
    observation::ActOutcome,
    policy::{RestartMode, ServicePolicy, Threshold},
    record::Decision,
};

fn never(name: &str) -> ServicePolicy {
    ServicePolicy { restart: RestartMode::Never, ..probed(name) }
}

/// What was told of this kind of incident.
fn of_kind(rig: &Rig, kind: IncidentKind) -> Vec<MessageKind> {
    let sent = rig.sent.iter().filter(|(_, _, message)| message.incident_kind == kind);
    sent.map(|(_, _, message)| message.kind).collect()
}

/// The engine is away for ten minutes and comes back.
fn engine_away(rig: &mut Rig) {
    rig.engine_works = false;
    rig.run(seconds(600));
    rig.engine_works = true;
    rig.run(seconds(300));
}

#[test]
fn what_is_down_is_not_back_because_the_engine_is_away() {
    let mut rig = Rig::new(policy(vec![ServicePolicy { replicas: Some(2), ..never("web") }]));
    rig.add("web-1");
    rig.run(seconds(180));
    assert_eq!(of_kind(&rig, IncidentKind::Down), [MessageKind::Opened]);
    rig.behave("web-1", Behaviour::Hangs);
    engine_away(&mut rig);
    assert_eq!(of_kind(&rig, IncidentKind::Down), [MessageKind::Opened]);
}

#[test]
fn time_in_which_nobody_looked_makes_nothing_down() {
    let mut rig = Rig::new(policy(vec![ServicePolicy { replicas: Some(2), ..never("web") }]));
    rig.add("web-1");
    rig.run(seconds(30));
    rig.stall(seconds(120));
    rig.run(seconds(10));
    assert!(of_kind(&rig, IncidentKind::Down).is_empty(), "missed for 40 s that were seen");
    rig.run(seconds(60));
    assert_eq!(of_kind(&rig, IncidentKind::Down), [MessageKind::Opened]);
}

#[test]
fn since_when_nothing_can_be_recorded_is_said_by_the_clock_of_then() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.store_works = false;
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| !of_kind(rig, IncidentKind::StoreFailing).is_empty());
    let failing = |sent: &&(_, _, defib::domain::message::Message)| {
        sent.2.incident_kind == IncidentKind::StoreFailing
    };
    let (_, _, told) = rig.sent.iter().find(failing).unwrap();
    let late = told.decided.0 - told.since.0;
    assert!(late >= 5_000, "told {late} ms after it began, and said to have begun just then");
}

#[test]
fn what_is_missing_is_not_called_down_while_the_engine_is_away() {
    let mut rig = Rig::new(policy(vec![ServicePolicy { replicas: Some(2), ..never("web") }]));
    rig.add("web-1");
    rig.run(seconds(30));
    rig.engine_works = false;
    rig.run(seconds(120));
    assert!(of_kind(&rig, IncidentKind::Down).is_empty());
}

#[test]
fn what_can_not_be_looked_at_is_not_well_because_nothing_can_be() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(120));
    assert_eq!(of_kind(&rig, IncidentKind::CannotEvaluate), [MessageKind::Opened]);
    engine_away(&mut rig);
    assert_eq!(of_kind(&rig, IncidentKind::CannotEvaluate), [MessageKind::Opened]);
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    let told = of_kind(&rig, IncidentKind::CannotEvaluate);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn a_probe_that_has_never_passed_has_not_because_its_container_is_new() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web").behaviour = Behaviour::Hangs;
    rig.run(seconds(180));
    assert_eq!(of_kind(&rig, IncidentKind::NeverPassed), [MessageKind::Opened]);
    rig.remove("web");
    rig.run(seconds(2));
    rig.add("web").behaviour = Behaviour::Hangs;
    rig.run(seconds(180));
    assert_eq!(of_kind(&rig, IncidentKind::NeverPassed), [MessageKind::Opened]);
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    let told = of_kind(&rig, IncidentKind::NeverPassed);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn an_engine_that_refuses_is_told_of_once_however_often_it_is_tried() {
    let mut web = probed("web");
    web.budget.restarts = 100;
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web");
    rig.run(seconds(400));
    rig.act_outcome = Some(ActOutcome::Denied("403".to_owned()));
    rig.behave("web", Behaviour::Hangs);
    // Lists and commits come and go meanwhile, and a try every ten minutes.
    rig.run(seconds(3000));
    assert!(rig.acts.len() >= 3, "{:?}", rig.acts);
    assert_eq!(of_kind(&rig, IncidentKind::ActionsRefused), [MessageKind::Opened]);
    rig.act_outcome = None;
    rig.run(seconds(900));
    let told = of_kind(&rig, IncidentKind::ActionsRefused);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn a_brake_that_a_trial_has_released_is_not_on_again_after_a_start_of_ours() {
    let services = || (0..6).map(|n| probed(&format!("s{n}-")));
    let mut rig = Rig::new(policy(services().collect()));
    for n in 0..6 {
        let container = rig.add(&format!("s{n}-"));
        container.after_restart.extend([Behaviour::Fine]);
    }
    rig.run(seconds(400));
    for n in 0..4 {
        rig.behave(&format!("s{n}-"), Behaviour::Hangs);
    }
    let engaged = |rig: &Rig| {
        let engaged = |(_, decision): &&(_, Decision)| *decision == Decision::BrakeEngaged;
        rig.decisions.iter().filter(engaged).count()
    };
    let is_released =
        |(_, decision): &(u64, Decision)| matches!(decision, Decision::BrakeReleased(_));
    rig.until(|rig| rig.decisions.iter().any(is_released));
    assert_eq!(engaged(&rig), 1);
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(engaged(&rig), 1, "{:?}", rig.decisions);
}

#[test]
fn two_containers_that_are_one_are_told_of_once_over_a_start_of_ours() {
    let shop = ServicePolicy {
        containers: vec![defib::domain::policy::ContainerMatch::Compose {
            project: "shop".to_owned(),
            service: "web".to_owned(),
        }],
        ..never("web")
    };
    let mut rig = Rig::new(policy(vec![shop]));
    for name in ["shop-web-1", "old-web-1"] {
        rig.add_with(name, |container| {
            for (key, value) in [("project", "shop"), ("service", "web"), ("container-number", "1")]
            {
                let key = format!("com.docker.compose.{key}");
                container.labels.insert(key, value.to_owned());
            }
        });
    }
    rig.run(seconds(900));
    assert_eq!(of_kind(&rig, IncidentKind::Ambiguous), [MessageKind::Opened]);
    rig.crash();
    rig.run(seconds(900));
    assert_eq!(of_kind(&rig, IncidentKind::Ambiguous), [MessageKind::Opened]);
    rig.remove("old-web-1");
    rig.run(seconds(60));
    let told = of_kind(&rig, IncidentKind::Ambiguous);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn what_others_have_been_through_makes_a_siblings_first_failures_no_page() {
    let mut web = probed("web");
    web.replicas = Some(2);
    web.page_after = Threshold { failures: Some(30), failing_for: None };
    web.restart_after = Threshold { failures: Some(20), failing_for: None };
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web-1").after_restart.extend([Behaviour::Hangs, Behaviour::Fine]);
    rig.add("web-2");
    rig.run(seconds(400));
    rig.behave("web-1", Behaviour::Hangs);
    rig.until(|rig| of_kind(rig, IncidentKind::Unhealthy).last() == Some(&MessageKind::Recovered));
    let told = rig.sent.len();
    rig.behave("web-2", Behaviour::Hangs);
    rig.run(seconds(30));
    assert_eq!(rig.sent.len(), told, "{:?}", rig.told());
    // At its own threshold it is said, as loudly as the incident has been.
    rig.until(|rig| rig.sent.len() > told);
    assert_eq!(rig.told().last().map(|told| told.1), Some(Severity::Page));
}

#[test]
fn a_dependency_that_was_well_before_an_earlier_restart_says_nothing_of_now() {
    let mut web = probed("web");
    web.depends_on = vec![ServiceName::new("db")];
    let mut rig = Rig::new(policy(vec![web, never("db")]));
    rig.add("web");
    rig.add("db");
    rig.run(seconds(400));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(30));
    // The same trouble, and this time it is the database's.
    rig.behave("db", Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(400));
    assert_eq!(rig.acts.len(), 1, "{:?}", rig.acts);
    assert!(rig.holds().contains(&"dependency_not_healthy"), "{:?}", rig.holds());
}

#[test]
fn services_of_other_hosts_do_not_keep_the_brake_off() {
    let mut services: Vec<ServicePolicy> = (0..5).map(|n| probed(&format!("here{n}-"))).collect();
    services.extend((0..25).map(|n| probed(&format!("elsewhere{n}-"))));
    let mut rig = Rig::new(policy(services));
    for n in 0..5 {
        rig.add(&format!("here{n}-"));
    }
    rig.run(seconds(400));
    for n in 0..5 {
        rig.behave(&format!("here{n}-"), Behaviour::Hangs);
    }
    rig.run(seconds(50));
    assert!(rig.view().brake);
    let (_, _, message) =
        rig.sent.iter().find(|sent| sent.2.incident_kind == IncidentKind::Brake).unwrap();
    assert!(message.headline.starts_with("5 of 5 services"), "{}", message.headline);
}

#[test]
fn a_container_that_two_services_match_is_told_of_once_though_it_is_re_created() {
    let rival = ServicePolicy { name: ServiceName::new("rival"), ..never("web") };
    let mut rig = Rig::new(policy(vec![never("web"), rival]));
    rig.add("web");
    rig.run(seconds(90));
    assert_eq!(of_kind(&rig, IncidentKind::Ambiguous), [MessageKind::Opened]);
    rig.remove("web");
    rig.run(seconds(2));
    rig.add("web");
    rig.run(seconds(300));
    assert_eq!(of_kind(&rig, IncidentKind::Ambiguous), [MessageKind::Opened]);
    rig.remove("web");
    rig.run(seconds(120));
    let told = of_kind(&rig, IncidentKind::Ambiguous);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn a_dependency_that_begins_to_fail_is_not_seen_healthy_by_that() {
    let mut web = probed("web");
    web.depends_on = vec![ServiceName::new("db")];
    let mut db = never("db");
    db.probes[0].fall = 100;
    let mut rig = Rig::new(policy(vec![web, db]));
    rig.add("web");
    rig.add("db");
    rig.run(seconds(400));
    // Below its `fall`, all of its samples fail.
    rig.behave("db", Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
}

#[test]
fn what_can_not_be_evaluated_can_not_because_its_life_is_new() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(120));
    rig.remove("web");
    rig.run(seconds(2));
    rig.add("web").behaviour = Behaviour::CannotLook;
    rig.run(seconds(300));
    assert_eq!(of_kind(&rig, IncidentKind::CannotEvaluate), [MessageKind::Opened]);
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    let told = of_kind(&rig, IncidentKind::CannotEvaluate);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}
