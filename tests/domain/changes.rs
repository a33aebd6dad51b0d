//! What changes under defib while something is under way: the config, the host, the container behind a name, what it is judged
//! by, and how much can be seen.

use crate::rig::*;
use defib::domain::{
    acting::attempt::Ending,
    effect::Primitive,
    judging::verdict::Verdict,
    message::{IncidentKind, MessageKind, Severity},
    name::ProbeName,
    observation::{ActOutcome, ContainerState, EventAction, Healthcheck},
    policy::{Place, ProbePolicy, ProbeSpec, RestartMode, ServicePolicy},
    record::Decision,
};

fn never(name: &str) -> ServicePolicy {
    ServicePolicy { restart: RestartMode::Never, ..probed(name) }
}

fn kinds(rig: &Rig) -> Vec<MessageKind> {
    rig.told().into_iter().map(|told| told.0).collect()
}

fn endings(rig: &Rig) -> Vec<&Ending> {
    let ended = rig.decisions.iter().filter_map(|(_, decision)| {
        let Decision::Ended(_, ending) = decision else { return None };
        Some(ending)
    });
    ended.collect()
}

#[test]
fn a_failing_probe_that_is_taken_out_of_the_config_ends_its_trouble() {
    for away in [false, true] {
        let mut rig = Rig::new(policy(vec![never("web")]));
        rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
        rig.run(seconds(90));
        rig.behave("web", Behaviour::Answers(404));
        rig.run(seconds(60));
        let without = policy(vec![ServicePolicy { probes: Vec::new(), ..never("web") }]);
        if away {
            rig.policy = without;
            rig.crash();
        } else {
            rig.reload(without);
        }
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(700));
        assert_eq!(rig.view().replicas[0].verdict, Verdict::Healthy, "away: {away}");
        assert_eq!(kinds(&rig).last(), Some(&MessageKind::Resolved), "{:?}", rig.told());
    }
}

#[test]
fn what_nothing_judges_any_more_is_in_no_trouble() {
    let mut rig = Rig::new(policy(vec![never("web")]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    rig.reload(policy(vec![ServicePolicy { probes: Vec::new(), ..never("web") }]));
    rig.run(seconds(590));
    assert_eq!(kinds(&rig), [MessageKind::Opened], "{:?}", rig.told());
    rig.run(seconds(30));
    assert_eq!(kinds(&rig), [MessageKind::Opened, MessageKind::Resolved], "{:?}", rig.told());
}

#[test]
fn a_double_does_not_take_over_what_defib_has_stopped_and_not_started_yet() {
    let of_compose = |container: &mut Container| {
        for (key, value) in [("project", "shop"), ("service", "web"), ("container-number", "1")] {
            container.labels.insert(format!("com.docker.compose.{key}"), value.to_owned());
        }
    };
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add_with("web-old", of_compose);
    rig.run(seconds(5));
    rig.add_with("web", of_compose);
    rig.run(seconds(90));
    rig.act_outcome = Some(ActOutcome::Failed { status: 500, message: "cannot start".to_owned() });
    rig.hangs_until_it_is_restarted("web");
    let actions = [EventAction::Killed { signal: Some(15) }, EventAction::Died { exit_code: None }];
    rig.by_hand("web", ContainerState::Exited, &actions);
    rig.act_outcome = None;
    let old = rig.containers["web-old"].id.clone();
    rig.event(&old, "web-old", EventAction::Updated);
    rig.run(seconds(60));
    let web = &rig.containers["web"];
    let started = |order: &defib::domain::effect::ActOrder| {
        order.primitive == Primitive::Start && order.container.as_str() == web.id
    };
    assert!(rig.acts.iter().any(|(_, order)| started(order)), "{:?}", rig.acts);
    assert_eq!(web.state, ContainerState::Running);
}

#[test]
fn a_url_that_fails_is_told_of_though_the_engine_has_been_away_since_the_start_of_defib() {
    let mut web = never("web");
    let mut site = ProbePolicy { name: ProbeName::new("site"), ..http_probe() };
    let ProbeSpec::Http(http) = &mut site.spec;
    http.place = Place::Url { host: "site.example".to_owned(), port: 80 };
    web.probes.push(site);
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web");
    rig.run(seconds(90));
    rig.engine_works = false;
    rig.crash();
    rig.run(seconds(300));
    rig.url = Behaviour::Hangs;
    rig.run(seconds(60));
    let about = rig.sent.iter().filter(|sent| sent.2.incident_kind == IncidentKind::Unhealthy);
    let told: Vec<_> = about.map(|(_, _, message)| (message.kind, message.severity)).collect();
    assert_eq!(told, [(MessageKind::Opened, Severity::Page)], "{:?}", rig.told());
}

#[test]
fn what_the_boot_of_the_host_has_started_is_no_restart_of_ours_that_helped() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(400));
    rig.acts_are_answered = false;
    rig.act_outcome = Some(ActOutcome::Unreachable("hangs".to_owned()));
    rig.hangs_until_it_is_restarted("web");
    rig.run(seconds(2));
    let now = rig.now;
    let container = rig.containers.get_mut("web").unwrap();
    (container.life, container.started, container.behaviour) =
        (container.life + 1, now, Behaviour::Fine);
    rig.forget_queue();
    rig.reboot();
    rig.run(seconds(120));
    assert!(matches!(endings(&rig)[..], [Ending::TakenOver(_)]), "{:?}", endings(&rig));
    let last = rig.sent.last().map(|(_, _, message)| (message.kind, message.headline.clone()));
    let headline = "web is healthy again; its restart was not seen to help".to_owned();
    assert_eq!(last, Some((MessageKind::Recovered, headline)), "{:?}", rig.told());
}

#[test]
fn a_restart_is_judged_by_the_policy_that_it_began_with() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web").after_restart.extend([Behaviour::Hangs]);
    rig.run(seconds(90));
    rig.hangs_until_it_is_restarted("web");
    let mut shorter = probed("web");
    (shorter.recover_within, shorter.start_grace) = (seconds(5), seconds(1));
    rig.reload(policy(vec![shorter]));
    rig.run(seconds(60));
    assert!(endings(&rig).is_empty(), "{:?}", endings(&rig));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(20));
    assert!(matches!(endings(&rig)[..], [Ending::Verified { .. }]), "{:?}", endings(&rig));
}

#[test]
fn the_last_of_its_siblings_that_passes_its_healthcheck_is_left_alone() {
    let mut web = probed("web");
    web.min_healthy = 1;
    let mut rig = Rig::new(policy(vec![web]));
    for name in ["web-1", "web-2"] {
        rig.add_with(name, |container| {
            container.healthcheck = Some(Healthcheck { interval: seconds(60), ..healthcheck() });
        });
    }
    rig.run(seconds(90));
    rig.by_hand("web-2", ContainerState::Exited, &[EventAction::Died { exit_code: Some(1) }]);
    rig.behave("web-1", Behaviour::Answers(503));
    // Its healthcheck has not turned yet.
    rig.run(seconds(35));
    assert!(rig.acts.is_empty(), "{:?}", rig.holds());
    assert!(rig.holds().contains(&"too_few_siblings"), "{:?}", rig.holds());
}
