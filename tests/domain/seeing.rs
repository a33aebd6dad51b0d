//! What can't be seen, and what is told, refilled or called over on that account: nothing that was not seen.

use crate::rig::*;
use defib::{
    daemon::Shown,
    domain::{
        ReplicaView,
        acting::attempt::Ending,
        effect::Primitive,
        judging::verdict::Verdict,
        message::{IncidentKind, MessageKind, Severity},
        moment::WallMs,
        name::{ServiceName, SinkName},
        observation::{ActOutcome, ContainerState, DeliveryOutcome, EventAction, Observation},
        policy::{Place, Policy, ProbeSpec, RestartMode, ServicePolicy, Threshold, Unlisted},
        record::Decision,
    },
    probe::stats::Stats,
    status::{
        page::page,
        snapshot::{Beside, RefusedReload, Snapshot},
    },
};
use std::time::Duration;

fn settled(services: Vec<ServicePolicy>) -> Rig {
    let names: Vec<String> = services.iter().map(|service| service.name.to_string()).collect();
    let mut rig = Rig::new(policy(services));
    for name in names {
        rig.add(&name);
    }
    rig.run(seconds(90));
    rig
}

fn of_kind(rig: &Rig, kind: IncidentKind) -> Vec<MessageKind> {
    let sent = rig.sent.iter().filter(|(_, _, message)| message.incident_kind == kind);
    sent.map(|(_, _, message)| message.kind).collect()
}

/// Runs until that is so, for at most ten minutes.
#[test]
fn a_blindness_that_ends_is_told_to_be_over() {
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(120));
    assert_eq!(of_kind(&rig, IncidentKind::CannotEvaluate), [MessageKind::Opened]);
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(30));
    let told = of_kind(&rig, IncidentKind::CannotEvaluate);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn a_prober_that_has_ended_is_told_of_for_every_service_that_is_probed() {
    let mut rig = settled(vec![probed("web"), probed("db"), service("unprobed")]);
    rig.samples_are_taken = false;
    rig.put(0, Observation::ProberEnded("the scheduler broke down".to_owned()));
    rig.run(seconds(50));
    assert_eq!(of_kind(&rig, IncidentKind::CannotEvaluate), []);
    // Told of once more, it goes on since the first time.
    rig.put(0, Observation::ProberEnded("the scheduler broke down".to_owned()));
    rig.run(seconds(20));
    let told = rig.sent.iter().filter(|(_, _, message)| {
        message.incident_kind == IncidentKind::CannotEvaluate && message.kind == MessageKind::Opened
    });
    let told: Vec<String> = told.map(|(_, _, message)| format!("{message:?}")).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told.iter().all(|message| message.contains("the scheduler broke down")), "{told:?}");
    assert!(rig.acts.is_empty());
}

#[test]
fn a_blindness_that_ended_while_defib_was_away_is_told_to_be_over() {
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(120));
    rig.behave("web", Behaviour::Fine);
    rig.crash();
    rig.run(seconds(120));
    let told = of_kind(&rig, IncidentKind::CannotEvaluate);
    assert_eq!(told, [MessageKind::Opened, MessageKind::Resolved]);
}

#[test]
fn a_ticket_about_a_dependency_does_not_stand_for_a_page() {
    let web = ServicePolicy { depends_on: vec![ServiceName::new("db")], ..probed("web") };
    let mut rig = settled(vec![web, ServicePolicy { restart: RestartMode::Never, ..probed("db") }]);
    rig.behave("db", Behaviour::CannotLook);
    rig.run(seconds(120));
    assert_eq!(of_kind(&rig, IncidentKind::CannotEvaluate), [MessageKind::Opened]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(300));
    assert_eq!(rig.holds().last(), Some(&"dependency_not_healthy"));
    let page = rig.sent.iter().find(|(_, _, message)| message.severity == Severity::Page);
    assert!(page.is_some(), "{:?}", rig.told());
}

#[test]
fn nothing_is_over_while_nobody_can_look() {
    let mut policy = policy(vec![ServicePolicy { probes: Vec::new(), ..probed("web") }]);
    policy.limits.brake = None;
    let mut rig = Rig::new(policy);
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.until(|rig| rig.view().replicas[0].verdict == Verdict::Healthy);
    rig.run(seconds(5));
    rig.engine_works = false;
    rig.run(seconds(3600));
    let over = |rig: &Rig| {
        rig.decisions.iter().any(|(_, decision)| matches!(decision, Decision::TroubleOver))
    };
    assert!(!over(&rig));
    assert_eq!(rig.view().replicas[0].spent.0, 1);
    rig.engine_works = true;
    rig.run(seconds(300));
    assert!(!over(&rig), "what was not seen does not count");
    rig.run(seconds(900));
    assert!(over(&rig));
}

#[test]
fn a_stall_of_ours_is_not_held_against_a_restart() {
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(2));
    assert!(rig.view().replicas[0].in_hand);
    // The process was stopped for longer than the verification may take; what came meanwhile comes after.
    let stalled = seconds(600);
    rig.stall(stalled);
    rig.run(seconds(60));
    let ended = rig.decisions.iter().find_map(|(_, decision)| match decision {
        Decision::Ended(_, ending) => Some(ending.clone()),
        _ => None,
    });
    assert!(matches!(ended, Some(Ending::Verified { .. })), "{ended:?}");
}

#[test]
fn a_mended_sink_is_tried_at_once_when_the_config_is_read_again() {
    let mut rig = settled(vec![ServicePolicy { restart: RestartMode::Never, ..probed("web") }]);
    let sink = rig.policy.sinks[0].name.clone();
    let broken = DeliveryOutcome::Broken("the webhook is gone (404)".to_owned());
    rig.sink.entry(sink).or_default().extend([broken.clone(), broken]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert!(rig.sent.is_empty());
    rig.reload(rig.policy.clone());
    rig.run(seconds(10));
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_refusal_in_mid_ladder_leaves_our_own_stop_ours() {
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::Hangs);
    rig.act_outcome = Some(ActOutcome::Failed { status: 500, message: "no start".to_owned() });
    rig.until(|rig| rig.acts.len() == 1);
    // The stop went through, the start did not, and starting alone is forbidden.
    rig.by_hand("web", ContainerState::Exited, &[EventAction::Died { exit_code: Some(143) }]);
    rig.act_outcome = Some(ActOutcome::Denied("403".to_owned()));
    rig.until(|rig| rig.acts.len() == 2);
    assert_eq!(rig.acts[1].1.primitive, Primitive::Start);
    rig.run(seconds(60));
    assert_eq!(rig.view().replicas[0].spent.0, 1, "what was done is paid for");
    rig.act_outcome = None;
    rig.run(seconds(1200));
    assert_eq!(rig.containers["web"].state, ContainerState::Running);
}

#[test]
fn what_is_no_longer_configured_is_not_restarted_though_its_attempt_had_begun() {
    let mut rig = settled(vec![probed("web"), probed("api")]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| {
        rig.view()
            .replicas
            .iter()
            .any(|replica| replica.service.as_str() == "web" && replica.in_hand)
    });
    assert!(rig.acts.is_empty());
    let without: Policy = policy(vec![probed("api")]);
    rig.reload(without);
    rig.run(seconds(300));
    assert!(rig.acts.is_empty(), "{:?}", rig.acts);
}

#[test]
fn what_an_attempt_keeps_of_a_service_that_is_no_longer_configured_misses_nobody() {
    let web = ServicePolicy { replicas: Some(2), ..probed("web") };
    let mut rig = Rig::new(policy(vec![web, probed("api")]));
    rig.add("web-1").after_restart.push_back(Behaviour::Hangs);
    rig.add("web-2");
    rig.run(seconds(90));
    rig.behave("web-1", Behaviour::Hangs);
    rig.until(|rig| !rig.acts.is_empty());
    rig.run(seconds(5));
    rig.reload(policy(vec![probed("api")]));
    rig.run(seconds(300));
    let down = rig.sent.iter().find(|sent| sent.2.headline.contains("down"));
    assert!(down.is_none(), "{:?}", rig.told());
}

#[test]
fn giving_up_wakes_people_even_below_the_threshold() {
    let patient = Threshold { failures: None, failing_for: Some(seconds(3600)) };
    let mut web = probed("web");
    web.page_after = patient;
    web.budget.restarts = 1;
    let mut rig = settled(vec![web]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(30));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert_eq!(rig.holds().last(), Some(&"budget_spent"));
    let last = rig.told().last().map(|(kind, severity, _)| (*kind, *severity));
    assert_eq!(last, Some((MessageKind::Raised, Severity::Page)), "{:?}", rig.told());
}

#[test]
fn a_page_about_a_url_asks_nobody_to_restart_it() {
    let mut web = ServicePolicy { restart: RestartMode::Never, ..probed("web") };
    let ProbeSpec::Http(http) = &mut web.probes[0].spec;
    http.place = Place::Url { host: "site.example".to_owned(), port: 80 };
    let mut rig = Rig::new(policy(vec![web]));
    rig.run(seconds(90));
    rig.url = Behaviour::Hangs;
    rig.run(seconds(300));
    assert_eq!(of_kind(&rig, IncidentKind::Unhealthy), [MessageKind::Opened]);
    let told = rig.sent.iter().map(|(_, _, message)| message);
    let commands: Vec<&String> =
        told.flat_map(|message| &message.next_steps).filter(|step| step.starts_with('$')).collect();
    assert!(commands.is_empty(), "{commands:?}");
}

#[test]
fn what_begins_anew_before_every_sink_knew_the_end_is_a_notice_again() {
    let mut policy = policy(vec![probed("web")]);
    let mut other = policy.sinks[0].clone();
    other.name = SinkName::new("away");
    policy.sinks.push(other);
    let mut rig = Rig::new(policy);
    let away = SinkName::new("away");
    for _ in 0..10_000 {
        let unknown = DeliveryOutcome::Unknown("reset".to_owned());
        rig.sink.entry(away.clone()).or_default().push_back(unknown);
    }
    rig.add("web");
    rig.run(seconds(90));
    rig.containers.get_mut("web").unwrap().after_restart =
        [Behaviour::Hangs, Behaviour::Fine].into();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(3600));
    let near = |rig: &Rig| -> Vec<(MessageKind, Severity)> {
        let sent = rig.sent.iter().filter(|(_, sink, _)| *sink != away);
        sent.map(|(_, _, message)| (message.kind, message.severity)).collect()
    };
    assert_eq!(near(&rig).last(), Some(&(MessageKind::Resolved, Severity::Page)));
    let before = near(&rig).len();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert_eq!(near(&rig)[before], (MessageKind::Opened, Severity::Notice));
}

#[test]
fn a_stop_that_takes_for_ever_is_no_cure_under_way() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web").stop_timeout = Some(seconds(3600));
    rig.run(seconds(90));
    rig.acts_are_answered = false;
    rig.act_outcome = Some(ActOutcome::TimedOut(seconds(3600)));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(60));
    assert!(rig.told().iter().all(|(_, severity, _)| *severity == Severity::Notice));
    rig.run(seconds(120));
    let last = rig.told().last().map(|(kind, severity, _)| (*kind, *severity));
    assert_eq!(last, Some((MessageKind::Raised, Severity::Page)), "{:?}", rig.told());
    assert_eq!(rig.acts.len(), 1, "and nothing is sent on top of it");
}

#[test]
fn a_trial_that_tried_nothing_is_not_counted() {
    let names: Vec<String> = (0..4).map(|n| format!("s{n}-")).collect();
    let mut rig = settled(names.iter().map(|name| probed(name)).collect());
    for name in &names {
        rig.behave(name, Behaviour::Hangs);
    }
    let trials = |rig: &Rig| {
        let chosen = |decision: &Decision| matches!(decision, Decision::TrialChosen);
        rig.decisions.iter().filter(|(_, decision)| chosen(decision)).count()
    };
    rig.inspects_work = false;
    rig.until(|rig| trials(rig) == 1);
    rig.run(seconds(30));
    assert!(rig.acts.is_empty());
    rig.inspects_work = true;
    rig.run(seconds(60));
    assert!(!rig.acts.is_empty(), "the next after a minute, and not after five");
}

#[test]
fn a_service_that_matches_no_container_is_said_to_once_the_engine_has_listed_them() {
    let web = service("web");
    let mistyped = ServicePolicy { replicas: None, ..service("wbe") };
    let mut url = http_probe();
    let ProbeSpec::Http(http) = &mut url.spec;
    http.place = Place::Url { host: "site.example".to_owned(), port: 80 };
    let alone = ServicePolicy { containers: Vec::new(), probes: vec![url], ..service("url") };
    let mut rig = Rig::new(policy(vec![web, mistyped, alone]));
    rig.engine_works = false;
    rig.crash();
    rig.run(seconds(90));
    let said = |rig: &Rig| {
        let said = rig.decisions.iter().filter_map(|(_, decision)| match decision {
            Decision::Unmatched(services) => Some(services.clone()),
            _ => None,
        });
        said.collect::<Vec<_>>()
    };
    assert!(said(&rig).is_empty() && rig.view().unmatched.is_empty(), "nobody can know");
    rig.add("web");
    rig.engine_works = true;
    rig.run(seconds(300));
    let wbe = ServiceName::new("wbe");
    assert_eq!(said(&rig), [vec![wbe.clone()]], "once");
    assert_eq!(rig.view().unmatched, [wbe]);
    rig.add("wbe-1");
    rig.run(seconds(5));
    assert!(rig.view().unmatched.is_empty());
}

#[test]
fn a_reload_that_brings_a_service_says_of_none_that_it_matches_nothing() {
    let mut without = policy(vec![probed("api")]);
    without.unlisted = Unlisted::None;
    let mut with = policy(vec![probed("api"), probed("web"), probed("nowhere")]);
    with.unlisted = Unlisted::None;
    let mut rig = Rig::new(without);
    rig.add("api");
    rig.add("web");
    rig.run(seconds(90));
    rig.reload(with);
    let mut said = Vec::new();
    for _ in 0..100 {
        rig.run(std::time::Duration::from_millis(1));
        said.extend(rig.view().unmatched.iter().map(ToString::to_string));
    }
    said.dedup();
    assert_eq!(said, ["nowhere"], "neither before a list nor after it");
}

#[test]
fn what_is_over_asks_for_nothing() {
    let mut rig = settled(vec![probed("web")]);
    rig.containers.get_mut("web").unwrap().after_restart.push_back(Behaviour::Hangs);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(300));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(1200));
    let (_, _, message) = rig.sent.last().unwrap();
    assert_eq!(message.kind, MessageKind::Resolved);
    assert!(message.next_steps.is_empty(), "{:?}", message.next_steps);
}

fn shown(rig: &Rig, beside: &Beside) -> (Snapshot, String) {
    let shown = Shown { view: rig.view(), probing: Stats::default() };
    let snapshot = Snapshot::of_daemon(&shown, "host", beside);
    let text = page(&snapshot);
    (snapshot, text)
}

#[test]
fn that_nothing_is_probed_any_more_is_a_problem() {
    let rig = Rig::new(policy(Vec::new()));
    let probing = Stats { ended: true, ..Stats::default() };
    let snapshot = Snapshot::of(&Shown { view: rig.view(), probing }, "host");
    assert!(!snapshot.is_well(), "{snapshot:?}");
    let problem = "nothing is probed any more: the scheduler of the probes broke down, which is a fault of defib; restart it, and \
                   please report what its log says";
    assert!(snapshot.problems.iter().any(|said| said == problem), "{:?}", snapshot.problems);
    assert!(page(&snapshot).contains("nothing is probed any more"));
}

/// The replica's line in `defib status`.
fn line(rig: &Rig, name: &str) -> String {
    let (_, text) = shown(rig, &Beside::default());
    let of_it = |line: &&str| line.starts_with(&format!("  {name} "));
    text.lines().find(of_it).unwrap_or_else(|| panic!("{name} is not in\n{text}")).to_owned()
}

fn only(rig: &Rig) -> ReplicaView {
    let mut replicas = rig.view().replicas;
    assert_eq!(replicas.len(), 1);
    replicas.remove(0)
}

#[test]
fn a_probe_that_fails_below_fall_is_shown_and_the_verdict_stays() {
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| !only(rig).begins_to_fail.is_empty());
    let begun = "1 of 3 failures: probe `health` gets no answer within 2s";
    assert!(only(&rig).begins_to_fail[0].starts_with(begun), "{:?}", only(&rig));
    assert_eq!(only(&rig).verdict, Verdict::Healthy, "it is well until it fails");
    assert!(line(&rig, "web").contains(begun), "{}", line(&rig, "web"));
    rig.run(seconds(5));
    assert!(line(&rig, "web").contains("; 2 of 3 failures: "), "{}", line(&rig, "web"));
    rig.behave("web", Behaviour::Fine);
    rig.until(|rig| only(rig).begins_to_fail.is_empty());
    assert_eq!(only(&rig).verdict, Verdict::Healthy);
    // What counts is told by the trouble alone.
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| only(rig).verdict == Verdict::Unhealthy);
    assert!(only(&rig).begins_to_fail.is_empty(), "{:?}", only(&rig));
}

#[test]
fn what_fails_in_its_grace_is_shown_and_counts_for_nothing() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web").behaviour = Behaviour::Hangs;
    rig.run(seconds(8));
    assert_eq!(only(&rig).verdict, Verdict::Starting);
    let text = line(&rig, "web");
    assert!(text.contains("; failing in its grace (3s left): probe `health` gets no"), "{text}");
    rig.until(|rig| !only(rig).begins_to_fail[0].contains("grace"));
    assert!(only(&rig).begins_to_fail[0].starts_with("1 of 3 failures: "), "{:?}", only(&rig));
}

#[test]
fn a_healthcheck_that_fails_below_its_retries_is_shown() {
    let mut rig = Rig::new(policy(vec![service("web")]));
    rig.add_with("web", |container| container.healthcheck = Some(healthcheck()));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.view().replicas.iter().any(|seen| !seen.begins_to_fail.is_empty()));
    let retries = healthcheck().retries;
    let begun = &only(&rig).begins_to_fail[0];
    assert!(begun.contains(&format!(" of {retries} failures: Docker's healthcheck")), "{begun}");
    assert_ne!(only(&rig).verdict, Verdict::Unhealthy);
    rig.until(|rig| only(rig).verdict == Verdict::Unhealthy);
    assert!(only(&rig).begins_to_fail.is_empty());
}

#[test]
fn that_nothing_is_restarted_is_said_and_is_no_problem() {
    let never = |name| ServicePolicy { restart: RestartMode::Never, ..probed(name) };
    let dry = |name| ServicePolicy { restart: RestartMode::Dry, ..probed(name) };
    let noted = |policy: &Policy| {
        let mut rig = Rig::new(policy.clone());
        rig.add("web");
        // A sink that was proven: what is left is what the exit code is about.
        rig.run(seconds(90));
        let (snapshot, text) = shown(&rig, &Beside::default());
        assert!(snapshot.problems.is_empty(), "{text}");
        assert_eq!(snapshot.restarts_nothing, !snapshot.notes.is_empty());
        assert!(
            snapshot.notes.iter().all(|note| text.contains(&format!("\n- {note}\n"))),
            "{text}"
        );
        snapshot.notes.concat()
    };
    let auto = policy(vec![probed("web"), never("api")]);
    assert_eq!(noted(&auto), "");
    assert!(noted(&Policy { dry_run: true, ..auto.clone() }).starts_with("dry run: "));
    let on_this_host = noted(&Policy { never_act: true, dry_run: true, ..auto.clone() });
    assert!(on_this_host.contains("`never_act`"), "{on_this_host}");
    // With a label others may be restarted, unless there are none or the defaults forbid it.
    let mut all = policy(vec![never("web"), dry("api")]);
    assert_eq!(noted(&all), "");
    all.unlisted = Unlisted::None;
    assert!(noted(&all).contains("all that is watched has"), "{}", noted(&all));
    // Nothing is configured at all: there is nothing to say.
    assert_eq!(noted(&Policy { services: Vec::new(), ..all }), "");
}

#[test]
fn what_has_nothing_to_be_judged_by_is_said_to_and_is_no_problem() {
    let mut all = policy(vec![probed("web")]);
    all.unlisted = Unlisted::All;
    let mut rig = Rig::new(all);
    for name in ["bare", "checked", "web"] {
        rig.add_with(name, |container| {
            container.healthcheck = (name == "checked").then(healthcheck);
        });
    }
    rig.run(seconds(90));
    let replicas = rig.view().replicas;
    let bare: Vec<&str> = replicas
        .iter()
        .filter(|replica| replica.nothing_to_judge_by)
        .map(|replica| replica.name.as_str())
        .collect();
    assert_eq!(bare, ["bare"]);
    assert!(line(&rig, "bare").contains(" unknown "), "{}", line(&rig, "bare"));
    assert!(line(&rig, "bare").contains("; nothing to judge it by: "), "{}", line(&rig, "bare"));
    assert!(shown(&rig, &Beside::default()).0.problems.is_empty());
    // Of what stands still, that is said.
    rig.by_hand("bare", ContainerState::Exited, &[EventAction::Died { exit_code: Some(0) }]);
    rig.run(seconds(5));
    assert!(!line(&rig, "bare").contains("judge"), "{}", line(&rig, "bare"));
}

/// How long the hold with this reason is said to last when it is first seen, and when it really ends.
fn lasts(rig: &mut Rig, reason: &str) -> (Duration, Duration) {
    let held = |rig: &Rig| only(rig).hold.is_some_and(|hold| hold == reason);
    rig.until(held);
    let (since, left) = (rig.now, only(rig).hold_for.unwrap());
    let text = line(rig, "web");
    assert!(text.contains(&format!("; not restarted: {reason}, for ")), "{text}");
    assert!(text.ends_with(" more"), "{text}");
    rig.until(|rig| !held(rig));
    (left, Duration::from_millis(rig.now - since))
}

#[test]
fn a_hold_that_ends_by_itself_says_when() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web");
    rig.run(seconds(15));
    rig.behave("web", Behaviour::Hangs);
    let near = |(said, lasted): (Duration, Duration)| said.abs_diff(lasted) < seconds(1);
    let own_start = lasts(&mut rig, "defib has only just started");
    assert!(near(own_start) && own_start.0 > seconds(10), "{own_start:?}");
    // Its restart does not help, and the next one has to wait.
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(2));
    rig.behave("web", Behaviour::Hangs);
    let reason = "the last try ended less than 10s ago";
    let backing_off = lasts(&mut rig, reason);
    assert!(near(backing_off) && backing_off.0 > seconds(5), "{backing_off:?}");
    rig.until(|rig| rig.acts.len() == 2);
    rig.run(seconds(2));
    rig.behave("web", Behaviour::Hangs);
    rig.reboot();
    let boot = lasts(&mut rig, "the host has only just booted");
    assert!(near(boot) && boot.0 > seconds(100), "{boot:?}");
}

#[test]
fn a_restart_whose_recovery_is_awaited_is_shown_as_that() {
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| only(rig).in_hand);
    assert!(!only(&rig).recovery_awaited);
    assert!(line(&rig, "web").contains("; being restarted"), "{}", line(&rig, "web"));
    rig.until(|rig| only(rig).recovery_awaited);
    assert!(only(&rig).in_hand && rig.acts.len() == 1);
    let text = line(&rig, "web");
    assert!(text.contains("; restarted, its recovery is awaited"), "{text}");
    rig.until(|rig| !only(rig).in_hand);
    assert!(!only(&rig).recovery_awaited);
    // Its trouble is not over yet, and it does not fail.
    assert!(
        line(&rig, "web").contains("; had 3 failures: probe `health` "),
        "{}",
        line(&rig, "web")
    );
}

#[test]
fn a_recovery_is_decided_by_a_restart_or_said_to_have_come_by_itself() {
    let recovered = |rig: &Rig| {
        let by_itself = |decision: &Decision| matches!(decision, Decision::Recovered);
        rig.decisions.iter().filter(|(_, decision)| by_itself(decision)).count()
    };
    let mut rig = settled(vec![ServicePolicy { restart: RestartMode::Never, ..probed("web") }]);
    for times in 1..=2 {
        rig.behave("web", Behaviour::Hangs);
        rig.until(|rig| only(rig).verdict == Verdict::Unhealthy);
        assert_eq!(recovered(&rig), times - 1);
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(60));
        assert_eq!(recovered(&rig), times, "each time, and once");
    }
    let mut rig = settled(vec![probed("web")]);
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| rig.acts.len() == 1);
    rig.run(seconds(60));
    assert_eq!((only(&rig).verdict, recovered(&rig)), (Verdict::Healthy, 0));
}

#[test]
fn the_hold_file_and_how_to_go_on_are_said() {
    let mut rig = settled(vec![probed("web")]);
    rig.put(0, Observation::HoldFile(true));
    rig.run(seconds(1));
    let beside = Beside { hold_file: Some("/run/x/hold".into()), ..Beside::default() };
    let (snapshot, text) = shown(&rig, &beside);
    assert_eq!(snapshot.hold_file.as_deref(), Some("/run/x/hold"));
    assert!(text.contains("! `/run/x/hold` exists, or can't be looked for: "), "{text}");
    assert!(text.contains("; to go on: rm /run/x/hold\n") && !snapshot.is_well(), "{text}");
    rig.put(0, Observation::HoldFile(false));
    rig.run(seconds(1));
    let (snapshot, text) = shown(&rig, &beside);
    assert!(snapshot.hold_file.is_none() && !text.contains("hold"), "{text}");
}

#[test]
fn a_config_that_was_not_taken_is_a_problem_with_its_age_and_reason() {
    let rig = settled(vec![probed("web")]);
    let WallMs(now) = rig.view().now.wall;
    let why = "/etc/defib.toml:3:1: there is no key `prob`".to_owned();
    let refused = RefusedReload { since_ms: now - 90_000, why: why.clone() };
    let beside = Beside { refused_reload: Some(refused.clone()), ..Beside::default() };
    let (snapshot, text) = shown(&rig, &beside);
    assert_eq!(snapshot.refused_reload, Some(refused));
    assert!(!snapshot.is_well() && snapshot.problems.len() == 1, "{text}");
    assert!(text.contains("the one of before has held for 1m 30s since: ") && text.contains(&why));
}

#[test]
fn what_a_sink_lacks_is_looked_for_by_itself() {
    let mut lacking = policy(vec![probed("web")]);
    lacking.sinks[0].lacks = Some("secret could not be read from file `/etc/x`".to_owned());
    let (snapshot, text) = shown(&Rig::new(lacking), &Beside::default());
    assert!(snapshot.sinks[0].lacks.is_some());
    assert!(text.contains("what it lacks is looked for again each minute"), "{text}");
    assert!(!text.contains("the next attempt is the next message"), "{text}");
}
