//! What a page tells people to do: about the container that fails, never against the reason for which defib does nothing
//! itself, never with what is not there, and no promise that is not kept.

use crate::rig::*;
use defib::domain::{
    message::{IncidentKind, Message},
    name::ServiceName,
    observation::{ActOutcome, ContainerState, EventAction, Healthcheck},
    policy::{ContainerMatch, RestartMode, ServicePolicy, Threshold},
};

const SETTLED: u64 = 91;

fn mode(restart: RestartMode, service: ServicePolicy) -> ServicePolicy {
    ServicePolicy { restart, ..service }
}

fn needs_db(restart: RestartMode) -> ServicePolicy {
    ServicePolicy { depends_on: vec![ServiceName::new("db")], restart, ..probed("web") }
}

fn names(message: &Message, container: &str) -> bool {
    let of = |step: &String| step.split_whitespace().any(|word| word == container);
    message.next_steps.iter().any(of)
}

fn offers_a_restart(message: &Message) -> bool {
    message.next_steps.iter().any(|step| step.contains("docker restart"))
}

fn ends(rig: &mut Rig, name: &str) {
    rig.by_hand(name, ContainerState::Exited, &[EventAction::Died { exit_code: Some(143) }]);
}

#[test]
fn a_page_is_about_the_replica_that_fails_and_not_about_one_that_is_well_again() {
    let mut rig = with(vec![mode(RestartMode::Never, probed("api"))], &["api-1", "api-2"]);
    rig.behave("api-1", Behaviour::Hangs);
    rig.run(seconds(60));
    rig.behave("api-1", Behaviour::Fine);
    rig.run(seconds(60));
    let told = rig.sent.len();
    rig.behave("api-2", Behaviour::Hangs);
    rig.until(|rig| rig.sent.len() > told);
    let page = last(&rig, IncidentKind::Unhealthy);
    assert_eq!(page.headline, "api is unhealthy (5 failures)", "{page:?}");
    assert!(names(page, "api-2") && offers_a_restart(page), "{page:?}");
    assert!(!names(page, "api-1"), "{page:?}");
}

#[test]
fn what_is_well_again_does_not_hide_that_another_replica_is_being_restarted() {
    let mut rig = with(vec![probed("api")], &["api-1", "api-2"]);
    rig.hangs_until_it_is_restarted("api-1");
    rig.run(seconds(60));
    let (acts, told) = (rig.acts.len(), rig.sent.len());
    rig.behave("api-2", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() > acts && rig.sent.len() > told);
    let notice = last(&rig, IncidentKind::Unhealthy);
    assert_eq!(notice.headline, "api is unhealthy and is being restarted", "{notice:?}");
    assert!(names(notice, "api-2") && !names(notice, "api-1"), "{notice:?}");
}

#[test]
fn no_restart_by_hand_is_offered_where_it_could_do_harm() {
    let told = |rig: &Rig, held: &str| {
        assert_eq!(rig.holds().last(), Some(&held));
        let page = last(rig, IncidentKind::Unhealthy).clone();
        assert!(!offers_a_restart(&page), "{held}: {page:?}");
        page
    };
    // Swarm replaces it itself.
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add_with("web", |container| {
        container.labels.insert("com.docker.swarm.task.id".to_owned(), "task".to_owned());
    });
    rig.run(seconds(SETTLED));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    let page = told(&rig, "another_controller");
    assert!(page.next_steps[0].contains("what looks after it"), "{page:?}");

    // So is what defib would not touch anyway.
    let never = ServicePolicy { restart: RestartMode::Never, ..probed("web") };
    let mut rig = with(vec![never], &[]);
    rig.add_with("web", |container| {
        container.labels.insert("com.docker.swarm.task.id".to_owned(), "task".to_owned());
    });
    rig.run(seconds(SETTLED));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    let page = told(&rig, "never");
    assert!(page.next_steps[0].contains("what looks after it"), "{page:?}");

    // Somebody has told it to stop, and it takes its time.
    let mut rig = with(vec![probed("web")], &["web"]);
    let id = rig.containers["web"].id.clone();
    rig.event(&id, "web", EventAction::Killed { signal: Some(15) });
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    told(&rig, "touched");

    // A restart may come yet.
    let mut rig = with(vec![probed("web")], &["web"]);
    rig.act_outcome = Some(ActOutcome::TimedOut(seconds(32)));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.holds().last() == Some(&"call_open"));
    rig.run(seconds(60));
    told(&rig, "call_open");

    // It holds data.
    let db = ServicePolicy { stateful: Some(true), ..probed("db") };
    let mut rig = with(vec![db], &["db"]);
    rig.containers.get_mut("db").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("db", Behaviour::Hangs);
    rig.run(seconds(1200));
    told(&rig, "stateful");

    // Nobody can say which service it is of.
    let mut rig = with(vec![probed("web"), service("we")], &["web"]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    let page = told(&rig, "never");
    assert!(page.next_steps[0].contains("narrow the `containers`"), "{page:?}");
}

#[test]
fn a_dependency_that_is_well_is_awaited_and_nobody_is_sent_there() {
    for restart in [RestartMode::Auto, RestartMode::Dry] {
        let page_after = Threshold { failures: None, failing_for: Some(seconds(20)) };
        let web = ServicePolicy { page_after, ..needs_db(restart) };
        let mut rig = Rig::new(policy(vec![web, service("db")]));
        rig.add("web");
        // It passes when web begins to fail, and next in half a minute.
        rig.add_with("db", |container| {
            container.healthcheck = Some(Healthcheck { interval: seconds(30), ..healthcheck() });
        });
        rig.run(seconds(SETTLED));
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(28));
        let told = last(&rig, IncidentKind::Unhealthy);
        assert_eq!(
            told.done,
            [
                "not restarted yet: `db`, which it needs, was not seen healthy since: it was healthy before that, and its next check is awaited"
            ]
        );
        assert!(!names(told, "db"), "{told:?}");
        assert_eq!(offers_a_restart(told), restart == RestartMode::Dry, "{told:?}");
    }
}

#[test]
fn what_is_removed_is_named_in_no_command() {
    let mut rig = Rig::new(policy(vec![probed("job")]));
    rig.add("job").auto_remove = true;
    rig.run(seconds(SETTLED));
    ends(&mut rig, "job");
    rig.remove("job");
    rig.run(seconds(120));
    let page = last(&rig, IncidentKind::Down);
    assert_eq!(page.members, ["job: removed"]);
    assert!(page.next_steps.iter().all(|step| !step.starts_with('$')), "{page:?}");
    assert_eq!(page.next_steps.len(), 1, "{page:?}");

    let mut rig = with(vec![needs_db(RestartMode::Auto), probed("db")], &["web", "db"]);
    ends(&mut rig, "db");
    rig.remove("db");
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(300));
    let page = last(&rig, IncidentKind::Unhealthy);
    assert!(page.done[0].ends_with("since: it is removed"), "{page:?}");
    assert!(!names(page, "db"), "{page:?}");

    let mut rig = with(vec![probed("web")], &["web"]);
    ends(&mut rig, "web");
    rig.run(seconds(120));
    assert!(names(last(&rig, IncidentKind::Down), "web"), "what stands still can be started");
}

#[test]
fn what_is_never_restarted_is_promised_no_restart() {
    for dry_run in [false, true] {
        let restart = if dry_run { RestartMode::Auto } else { RestartMode::Dry };
        let mut policy = policy(vec![needs_db(restart), mode(RestartMode::Never, probed("db"))]);
        policy.dry_run = dry_run;
        let mut rig = Rig::new(policy);
        rig.add("web");
        rig.add("db");
        rig.run(seconds(SETTLED));
        rig.by_hand("db", ContainerState::Paused, &[EventAction::Paused]);
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(180));
        let page = last(&rig, IncidentKind::Unhealthy);
        assert!(page.next_steps[0].starts_with("see to `db` first"), "{page:?}");
        assert!(!page.next_steps[0].contains("this is restarted"), "{page:?}");
    }
    let restart_after = Threshold { failures: Some(20), failing_for: None };
    for restart in [RestartMode::Auto, RestartMode::Dry] {
        let web = ServicePolicy { restart_after, ..mode(restart, probed("web")) };
        let mut rig = with(vec![web], &["web"]);
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(40));
        let done = &last(&rig, IncidentKind::Unhealthy).done;
        let said = match restart {
            RestartMode::Auto => "not restarted yet: that is due after 20 failures",
            _ => "not restarted: it would be after 20 failures (dry run)",
        };
        assert_eq!(*done, [said]);
    }
}

#[test]
fn one_failure_is_told_of_in_the_singular() {
    let mut web = mode(RestartMode::Never, probed("web"));
    web.probes[0].fall = 1;
    web.page_after.failures = Some(1);
    let mut rig = with(vec![web], &["web"]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| !rig.sent.is_empty());
    rig.behave("web", Behaviour::Fine);
    let page = last(&rig, IncidentKind::Unhealthy);
    assert_eq!(page.headline, "web is unhealthy (1 failure)");
    assert!(page.members[0].contains("1 failure)"), "{page:?}");
    rig.run(seconds(60));
    let over = last(&rig, IncidentKind::Unhealthy);
    assert!(over.members[0].contains("had failed 1 time, most recently"), "{over:?}");
}

#[test]
fn the_brake_counts_what_fails_at_once_and_only_names_what_failed_before() {
    let never = |name: &str| mode(RestartMode::Never, probed(name));
    let wanted = ServicePolicy { replicas: Some(1), ..probed("nowhere") };
    let mut services: Vec<_> = ["a-", "b-", "c-", "old"].map(never).into();
    services.push(wanted);
    let mut rig = with(services, &["a-", "b-", "c-", "old"]);
    rig.behave("old", Behaviour::Hangs);
    rig.run(seconds(1800));
    for name in ["a-", "b-", "c-"] {
        rig.behave(name, Behaviour::Hangs);
    }
    rig.run(seconds(60));
    let page = last(&rig, IncidentKind::Brake);
    assert_eq!(page.headline, "3 of 5 services fail at once: the cause is elsewhere", "{page:?}");
    assert_eq!(page.members.len(), 5, "{page:?}");
    assert_eq!(page.members[3], "nowhere (since before the others): down");
    assert!(page.members[4].starts_with("old (since before the others): probe"), "{page:?}");
}

#[test]
fn of_two_containers_with_the_same_labels_the_one_that_is_watched_is_named() {
    let of_compose = |container: &mut Container| {
        for (key, value) in [("project", "shop"), ("service", "web"), ("container-number", "1")] {
            container.labels.insert(format!("com.docker.compose.{key}"), value.to_owned());
        }
        container.healthcheck = Some(healthcheck());
    };
    for restart in [RestartMode::Never, RestartMode::Dry, RestartMode::Auto] {
        // The config names the older one.
        let named = ContainerMatch::Name("older".to_owned());
        let web = ServicePolicy { containers: vec![named], ..mode(restart, service("web")) };
        let mut rig = Rig::new(policy(vec![web]));
        rig.add_with("older", of_compose);
        rig.run(seconds(SETTLED));
        rig.add_with("younger", of_compose);
        rig.run(seconds(700));
        let ticket = last(&rig, IncidentKind::Ambiguous);
        let what = match restart {
            RestartMode::Auto => "may be restarted",
            _ => "not restarted",
        };
        let said = format!("`older` is watched and {what}; `younger` is left alone");
        assert_eq!(ticket.done, [said]);
    }
}
