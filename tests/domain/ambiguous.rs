//! Where the config or the labels do not say which: nothing is guessed, nothing is acted on, and people hear of it.

use crate::rig::{Behaviour, Container, Rig, http_probe, policy, probed, seconds, service};
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    observation::{ContainerState, EventAction},
    policy::{ContainerMatch, RestartMode, ServicePolicy},
};

const SETTLED: u64 = 400;

fn tickets(rig: &Rig) -> Vec<(MessageKind, Severity, String)> {
    rig.sent
        .iter()
        .map(|(_, _, message)| message)
        .filter(|message| message.incident_kind == IncidentKind::Ambiguous)
        .map(|message| (message.kind, message.severity, message.headline.clone()))
        .collect()
}

#[test]
fn a_container_that_two_services_match_is_watched_and_never_restarted() {
    let never = ServicePolicy { restart: RestartMode::Never, ..service("we") };
    let wanted = ServicePolicy { replicas: Some(1), ..service("we") };
    for rival in [never, service("we"), wanted] {
        for rival_first in [false, true] {
            let mut services = vec![probed("web"), rival.clone()];
            if rival_first {
                services.reverse();
                services[0].probes = vec![http_probe()];
            }
            let mut rig = Rig::new(policy(services));
            rig.add("web");
            rig.run(seconds(SETTLED));
            let told = tickets(&rig);
            assert_eq!(told.len(), 1, "{told:?}");
            let (kind, severity, headline) = &told[0];
            assert_eq!((*kind, *severity), (MessageKind::Opened, Severity::Ticket));
            assert!(headline.contains("`web`") && headline.contains("`we`"), "{headline}");
            assert_eq!(rig.sent.len(), 1, "nothing is missing: {:?}", rig.told());
            rig.behave("web", Behaviour::Hangs);
            rig.run(seconds(600));
            assert!(rig.acts.is_empty());
            assert!(rig.told().iter().any(|(_, severity, _)| *severity == Severity::Page));
        }
    }
}

#[test]
fn a_reload_that_makes_it_clear_again_ends_it() {
    let mut rig = Rig::new(policy(vec![probed("web"), service("we")]));
    rig.add("web");
    rig.run(seconds(SETTLED));
    rig.reload(policy(vec![probed("web")]));
    rig.run(seconds(60));
    assert_eq!(tickets(&rig).last().unwrap().0, MessageKind::Resolved);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    assert_eq!(rig.acts.len(), 1);
}

#[test]
fn a_reload_that_makes_it_unclear_stops_a_restart_that_is_about_to_begin() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(SETTLED));
    rig.hangs_until_it_settles("web");
    rig.reload(policy(vec![probed("web"), service("we")]));
    rig.run(seconds(600));
    assert!(rig.acts.is_empty());
}

fn of_compose(container: &mut Container) {
    for (key, value) in [("project", "shop"), ("service", "web"), ("container-number", "1")] {
        container.labels.insert(format!("com.docker.compose.{key}"), value.to_owned());
    }
}

fn compose() -> ServicePolicy {
    let (project, service) = ("shop".to_owned(), "web".to_owned());
    ServicePolicy {
        containers: vec![ContainerMatch::Compose { project, service }],
        ..probed("web")
    }
}

#[test]
fn a_container_that_runs_beside_another_of_the_same_labels_is_told_of() {
    let mut rig = Rig::new(policy(vec![compose()]));
    rig.add_with("shop-web-1", of_compose);
    rig.run(seconds(SETTLED));
    rig.add_with("copy", of_compose);
    rig.run(seconds(590));
    assert!(rig.sent.is_empty(), "a deploy may take its time: {:?}", rig.told());
    assert_eq!(rig.view().replicas[0].doubles, ["shop-web-1"], "to be seen at once");
    rig.run(seconds(60));
    let told = tickets(&rig);
    assert_eq!(told.len(), 1, "{told:?}");
    let lines = &rig.sent[0].2.members;
    assert!(lines[0].contains("`copy`, which is watched"), "{lines:?}");
    assert!(lines[0].contains("`shop-web-1`, which is not"), "{lines:?}");
    rig.remove("shop-web-1");
    rig.run(seconds(10));
    assert_eq!(tickets(&rig).last().unwrap().0, MessageKind::Resolved);
}

#[test]
fn a_deploy_that_starts_the_new_one_before_it_stops_the_old_one_is_no_news() {
    let mut rig = Rig::new(policy(vec![compose()]));
    rig.add_with("shop-web-1", of_compose);
    rig.run(seconds(SETTLED));
    rig.add_with("new", of_compose);
    rig.run(seconds(60));
    rig.by_hand("shop-web-1", ContainerState::Exited, &[]);
    rig.remove("shop-web-1");
    rig.run(seconds(1200));
    assert!(rig.sent.is_empty(), "{:?}", rig.told());
}

#[test]
fn what_two_services_match_hides_nothing_else_that_is_missing_and_goes_with_its_container() {
    let name = defib::domain::name::ServiceName::new("api");
    let api = ServicePolicy { name, replicas: Some(2), ..service("app-") };
    let mut rig = Rig::new(policy(vec![service("app-worker"), api]));
    for name in ["app-1", "app-2", "app-worker"] {
        rig.add(name);
    }
    rig.run(seconds(SETTLED));
    assert!(rig.view().unmatched.is_empty(), "{:?}", rig.view().unmatched);
    let exited = [EventAction::Died { exit_code: Some(1) }];
    rig.by_hand("app-2", ContainerState::Exited, &exited);
    rig.run(seconds(120));
    assert!(rig.sent.iter().any(|(_, _, message)| message.headline.contains("api is down")));
    rig.remove("app-worker");
    rig.run(seconds(61));
    assert_eq!(tickets(&rig).last().unwrap().0, MessageKind::Resolved);
}

#[test]
fn a_double_under_another_policy_changes_nothing_of_the_one_that_is_watched() {
    let named =
        ServicePolicy { containers: vec![ContainerMatch::Name("web".to_owned())], ..probed("web") };
    let mut rig = Rig::new(policy(vec![named]));
    rig.policy.looking.list_every = seconds(10);
    rig.add_with("web_old", |container| {
        of_compose(container);
        container.healthcheck = Some(crate::rig::healthcheck());
        container.behaviour = Behaviour::Hangs;
    });
    rig.run(seconds(5));
    rig.add_with("web", |container| {
        of_compose(container);
        container.healthcheck = Some(crate::rig::healthcheck());
    });
    for n in 0..60 {
        let behaviour = if n % 2 == 0 { Behaviour::Hangs } else { Behaviour::Fine };
        rig.behave("web", behaviour);
        rig.run(seconds(5));
    }
    let of_unlisted =
        rig.sent.iter().filter(|(_, _, message)| message.headline.contains("shop/web/1"));
    assert_eq!(of_unlisted.count(), 0, "{:?}", rig.told());
    assert!(rig.sent.len() <= 4, "{:?}", rig.told());
}

/// A service of the config that means one container by its name.
fn by_name(name: &str) -> ServicePolicy {
    ServicePolicy {
        containers: vec![ContainerMatch::Name(name.to_owned())],
        restart: RestartMode::Never,
        ..probed(name)
    }
}

fn verdict_of_real(rig: &Rig, service: &str) -> Option<defib::domain::judging::verdict::Verdict> {
    let view = rig.view();
    let found = view.replicas.iter().find(|replica| replica.service.as_str() == service);
    found.map(|replica| replica.verdict)
}

#[test]
fn what_only_copies_the_labels_of_a_listed_container_never_takes_its_place() {
    use defib::domain::judging::verdict::Verdict;
    // The other one is listed for nothing, or for another service; it came before our start, or after it.
    for other_is_listed in [false, true] {
        for is_first in [false, true] {
            let services = if other_is_listed {
                vec![by_name("web"), by_name("copy")]
            } else {
                vec![by_name("web")]
            };
            let copy = |container: &mut Container| {
                of_compose(container);
                container.healthcheck = Some(crate::rig::healthcheck());
            };
            let mut rig = Rig::new(policy(services));
            if is_first && !other_is_listed {
                rig.add_with("copy", copy);
                rig.run(seconds(5));
            }
            rig.add_with("web", of_compose);
            rig.run(seconds(SETTLED));
            rig.behave("web", Behaviour::Hangs);
            rig.run(seconds(60));
            let paged = rig.sent.len();
            assert!(paged > 0, "{other_is_listed} {is_first}");
            if !is_first || other_is_listed {
                rig.add_with("copy", copy);
            }
            rig.run(seconds(1500));
            let case = format!("{other_is_listed} {is_first}: {:?}", rig.told());
            let over =
                |kind: MessageKind| matches!(kind, MessageKind::Resolved | MessageKind::Recovered);
            assert!(rig.told().iter().all(|(kind, ..)| !over(*kind)), "{case}");
            assert_eq!(verdict_of_real(&rig, "web"), Some(Verdict::Unhealthy), "{case}");
            assert!(!tickets(&rig).is_empty(), "{case}");
            // Nor does it when the real one is away.
            rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
            rig.remove("web");
            rig.run(seconds(300));
            assert_eq!(verdict_of_real(&rig, "web"), Some(Verdict::Gone), "{case}");
            rig.add_with("web", of_compose);
            rig.run(seconds(60));
            assert_eq!(verdict_of_real(&rig, "web"), Some(Verdict::Healthy), "{case}");
        }
    }
}
