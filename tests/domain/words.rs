//! What messages say: short, true at that moment, and never bad news where it is over.

use crate::rig::*;
use defib::domain::{
    message::{IncidentKind, MessageKind},
    name::ServiceName,
    observation::{ContainerState, EventAction, Observation},
    policy::{RestartMode, ServicePolicy},
};

const SETTLED: u64 = 90;

fn ends(rig: &mut Rig, name: &str) {
    let now = rig.now;
    let container = rig.containers.get_mut(name).unwrap();
    (container.state, container.exit_code, container.finished) =
        (ContainerState::Exited, Some(1), Some(now));
    let id = container.id.clone();
    rig.event(&id, name, EventAction::Died { exit_code: Some(1) });
}

#[test]
fn the_end_of_a_down_says_that_it_runs_again() {
    let mut rig = with(vec![probed("web")], &["web"]);
    ends(&mut rig, "web");
    rig.run(seconds(90));
    assert!(last(&rig, IncidentKind::Down).headline.starts_with("web is down: 0 of 1"));
    rig.by_hand("web", ContainerState::Running, &[EventAction::Started]);
    rig.run(seconds(1200));
    let message = last(&rig, IncidentKind::Down);
    assert_eq!(message.kind, MessageKind::Resolved);
    assert_eq!(message.headline, "web runs again: 1 of 1 run");
}

#[test]
fn what_could_not_be_evaluated_ends_as_good_news() {
    let mut rig = with(vec![probed("web")], &["web"]);
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(200));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(600));
    let message = last(&rig, IncidentKind::CannotEvaluate);
    assert_eq!(message.headline, "web can be evaluated again");
}

#[test]
fn the_brake_says_what_each_shows_and_its_end_says_why_and_what_still_fails() {
    let names: Vec<String> = (0..6).map(|n| format!("s{n}-")).collect();
    let mut rig = Rig::new(policy(names.iter().map(|name| probed(name)).collect()));
    for name in &names {
        rig.add(name);
    }
    rig.run(seconds(SETTLED));
    for name in &names {
        rig.behave(name, Behaviour::Hangs);
    }
    rig.run(seconds(55));
    let page = last(&rig, IncidentKind::Brake);
    assert_eq!(page.members.len(), 6, "{page:?}");
    assert!(page.members.iter().all(|line| line.contains(": probe `")), "{page:?}");
    // The trial helps.
    rig.until(|rig| {
        rig.sent.iter().any(|(_, _, message)| {
            message.incident_kind == IncidentKind::Brake && message.kind == MessageKind::Resolved
        })
    });
    let over = last(&rig, IncidentKind::Brake);
    assert!(over.headline.starts_with("restarts are free again: the trial of "), "{over:?}");
    assert!(over.members.iter().all(|line| line.contains(" still fails: probe `")), "{over:?}");
    assert!(!over.members.is_empty() && over.done.is_empty(), "{over:?}");
}

#[test]
fn what_holds_data_has_one_restart_and_is_said_to_have_had_it() {
    let mut rig = Rig::new(policy(vec![probed("db")]));
    rig.add("db").image = "postgres:16".to_owned();
    rig.run(seconds(SETTLED));
    rig.containers.get_mut("db").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("db", Behaviour::Hangs);
    rig.run(seconds(1200));
    let done = &last(&rig, IncidentKind::Unhealthy).done;
    assert!(done[0].starts_with("restart 1 of 1: did not help"), "{done:?}");
    assert_eq!(done[1], "not restarted now: it holds data, and had its one restart");
}

#[test]
fn what_waits_for_its_dependency_says_how_that_stands_and_sends_people_there() {
    let mut web = probed("web");
    web.depends_on = vec![ServiceName::new("db")];
    let never = ServicePolicy { restart: RestartMode::Never, ..probed("db") };
    let mut rig = with(vec![web, never], &["web", "db"]);
    rig.by_hand("db", ContainerState::Paused, &[EventAction::Paused]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(180));
    let page = last(&rig, IncidentKind::Unhealthy);
    assert_eq!(
        page.done,
        ["not restarted yet: `db`, which it needs, was not seen healthy since: it is paused"]
    );
    assert_eq!(page.next_steps[1], "$ docker unpause db");
    assert!(!page.next_steps.iter().any(|step| step.contains("docker restart")), "{page:?}");
}

#[test]
fn no_next_step_contradicts_why_nothing_is_restarted() {
    let mut rig = with(vec![probed("web")], &["web"]);
    rig.behave("web", Behaviour::Answers(404));
    rig.run(seconds(120));
    let page = last(&rig, IncidentKind::Unhealthy);
    assert!(!page.next_steps.iter().any(|step| step.contains("docker restart")), "{page:?}");

    let mut rig = with(vec![probed("web")], &["web"]);
    rig.put(0, Observation::HoldFile(true));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    let page = last(&rig, IncidentKind::Unhealthy);
    assert!(page.next_steps[0].contains("remove the `hold` file"), "{page:?}");
    assert!(!page.next_steps.iter().any(|step| step.contains("docker restart")), "{page:?}");
}

#[test]
fn a_dry_run_says_what_would_be_done() {
    let dry = ServicePolicy { restart: RestartMode::Dry, ..probed("web") };
    let mut rig = with(vec![dry], &["web"]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert_eq!(last(&rig, IncidentKind::Unhealthy).done, ["would be restarted now (dry run)"]);
}
