//! Sinks at which nothing arrives: what is owed stays owed, others hear of it, and `status` can't say that all is well.

use crate::rig::*;
use defib::{
    daemon::Shown,
    domain::{
        message::{IncidentKind, MessageKind, Severity},
        name::SinkName,
        observation::{DeliveryOutcome, Observation},
        policy::{Policy, RestartMode, ServicePolicy, SinkPolicy},
        record::Decision,
    },
    probe::stats::Stats,
    status::{page::page, snapshot::Snapshot},
};
use std::time::Duration;

const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

fn named(name: &str, severities: &[Severity]) -> SinkPolicy {
    SinkPolicy {
        name: SinkName::new(name),
        severities: severities.to_vec(),
        deadline: seconds(10),
        definition: 1,
        lacks: None,
    }
}

fn watching(sinks: Vec<SinkPolicy>) -> Policy {
    let web = ServicePolicy { restart: RestartMode::Never, ..probed("web") };
    Policy { sinks, ..policy(vec![web]) }
}

/// One that is woken, one that is not.
fn oncall_and_desk() -> Policy {
    watching(vec![
        named("oncall", &[Severity::Page]),
        named("desk", &[Severity::Ticket, Severity::Notice]),
    ])
}

fn started(policy: Policy) -> Rig {
    let mut rig = Rig::new(policy);
    rig.add("web");
    rig.run(seconds(90));
    rig
}

fn answers(rig: &mut Rig, sink: &str, outcomes: impl IntoIterator<Item = DeliveryOutcome>) {
    rig.sink.entry(SinkName::new(sink)).or_default().extend(outcomes);
}

fn refused() -> DeliveryOutcome {
    DeliveryOutcome::Broken("the sink answered 404".to_owned())
}

fn unready() -> DeliveryOutcome {
    DeliveryOutcome::NotSent("secret could not be read from file `/etc/x`".to_owned())
}

fn rejected() -> DeliveryOutcome {
    DeliveryOutcome::Rejected("the sink answered 400".to_owned())
}

/// After how many seconds from the first one a sink was tried again, each time.
fn attempts(rig: &Rig, sink: &str) -> Vec<u64> {
    let at: Vec<u64> = rig
        .observed
        .iter()
        .filter(|(_, observed)| {
            matches!(observed, Observation::Answered { sink: by, .. } if by.as_str() == sink)
        })
        .map(|(at, _)| at.awake.0)
        .collect();
    at.iter().skip(1).map(|later| (later - at[0]) / 1000).collect()
}

fn of_kind(rig: &Rig, kind: IncidentKind) -> Vec<(&str, MessageKind, Severity)> {
    let sent = rig.sent.iter().filter(|(_, _, message)| message.incident_kind == kind);
    sent.map(|(_, sink, message)| (sink.as_str(), message.kind, message.severity)).collect()
}

fn status(rig: &Rig) -> (Snapshot, String) {
    let shown = Shown { view: rig.view(), probing: Stats::default() };
    let snapshot = Snapshot::of(&shown, "host");
    let page = page(&snapshot);
    (snapshot, page)
}

fn first_line(rig: &Rig) -> String {
    status(rig).1.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_sink_that_takes_no_pages_proves_nothing_about_pages() {
    let mut rig = started(oncall_and_desk());
    assert!(first_line(&rig).starts_with("MESSAGES REACH NOBODY: "), "{}", first_line(&rig));
    // A ticket, which the desk takes.
    rig.behave("web", Behaviour::CannotLook);
    rig.run(seconds(120));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    assert!(status(&rig).0.sinks.iter().any(|sink| sink.name == "desk" && sink.proven));
    assert_eq!(
        first_line(&rig),
        "PAGES REACH NOBODY: oncall: has not confirmed a message yet, as it is defined now"
    );
    assert!(status(&rig).0.messages_reach_somebody && !status(&rig).0.is_well());
    // A page, and its end.
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(900));
    assert!(status(&rig).0.pages_reach_somebody && status(&rig).0.is_well(), "{}", status(&rig).1);
}

#[test]
fn the_status_counts_a_recovery_from_its_own_moment() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(20 * MINUTE));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(MINUTE));
    let text = status(&rig).1;
    let line = text.lines().find(|line| line.contains("(recovered, for ")).expect("recovered");
    let spoken = line.split("recovered, for ").nth(1).unwrap_or_default();
    assert!(!spoken.contains('m') && spoken.ends_with("s)"), "{line}");
    let incident = &status(&rig).0.incidents[0];
    assert!(incident.ended_ms.is_some_and(|ended| ended > incident.since_ms + 1_000_000));
}

#[test]
fn a_proven_sink_that_takes_nothing_now_reaches_nobody() {
    let paused =
        DeliveryOutcome::Paused { wait: Some(seconds(600)), reason: "answered 429".to_owned() };
    let silent = DeliveryOutcome::Unknown("no answer in time".to_owned());
    for outcome in [refused(), unready(), paused, silent] {
        let mut rig = started(watching(vec![named("oncall", &[])]));
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(40));
        assert!(status(&rig).0.pages_reach_somebody);
        answers(&mut rig, "oncall", std::iter::repeat_n(outcome.clone(), 30));
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(60));
        let (snapshot, text) = status(&rig);
        assert!(text.starts_with("MESSAGES REACH NOBODY: oncall: "), "{outcome:?}: {text}");
        assert!(!snapshot.pages_reach_somebody && !snapshot.is_well());
        let sink = &snapshot.sinks[0];
        assert!(sink.proven && !sink.works && sink.broken.is_some() && sink.waiting == 1);
        assert!(sink.next_attempt_ms.is_some() && text.contains("next attempt in"), "{text}");
        rig.sink.clear();
        rig.run(seconds(1800));
        assert!(status(&rig).0.is_well(), "{outcome:?}: {}", status(&rig).1);
    }
}

#[test]
fn a_sink_that_goes_elsewhere_now_is_not_proven_by_what_it_was() {
    let as_defined =
        |definition: u64| watching(vec![SinkPolicy { definition, ..named("oncall", &[]) }]);
    let mut rig = started(as_defined(1));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    assert!(status(&rig).0.pages_reach_somebody);
    rig.reload(as_defined(2));
    rig.run(seconds(1));
    assert!(!status(&rig).0.pages_reach_somebody, "by a reload");
    rig.reload(as_defined(1));
    rig.run(seconds(1));
    assert!(status(&rig).0.pages_reach_somebody, "what it was, it was proven as");
    rig.policy = as_defined(2);
    rig.crash();
    rig.run(seconds(1));
    assert!(!status(&rig).0.pages_reach_somebody, "by a start");
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(900));
    assert!(status(&rig).0.pages_reach_somebody);
    rig.crash();
    rig.run(seconds(1));
    assert!(status(&rig).0.pages_reach_somebody, "it is kept as what it was proven");
}

#[test]
fn the_answer_of_where_a_sink_went_before_says_nothing_of_where_it_goes_now() {
    for late in [DeliveryOutcome::Delivered, refused()] {
        let as_defined =
            |definition: u64| watching(vec![SinkPolicy { definition, ..named("oncall", &[]) }]);
        let mut rig = started(as_defined(1));
        answers(&mut rig, "oncall", [late.clone()]);
        rig.behave("web", Behaviour::Hangs);
        let left = |rig: &Rig| rig.view().sinks[0].next_attempt == Some(Duration::ZERO);
        let under_way = (0..60_000).any(|_| {
            rig.run(Duration::from_millis(1));
            left(&rig) && rig.sink[&SinkName::new("oncall")].is_empty()
        });
        assert!(under_way);
        rig.step(Observation::PolicyLoaded(std::sync::Arc::new(as_defined(2))));
        rig.run(Duration::from_millis(30));
        let (snapshot, text) = status(&rig);
        if late == DeliveryOutcome::Delivered {
            assert!(!snapshot.sinks[0].proven, "{text}");
        } else {
            rig.run(seconds(2));
            assert_eq!(rig.sent.len(), 1, "tried at once where it goes now: {text}");
        }
    }
}

#[test]
fn what_refuses_is_tried_again_after_1_5_and_15_minutes_and_then_hourly() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    answers(&mut rig, "oncall", std::iter::repeat_n(refused(), 6));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(4 * HOUR));
    let after: Vec<u64> =
        attempts(&rig, "oncall").into_iter().take(6).map(|after| after / MINUTE).collect();
    assert_eq!(after, [1, 6, 21, 81, 141, 201]);
    assert_eq!(rig.sent[0].2.kind, MessageKind::Opened);
}

#[test]
fn what_this_host_lacks_for_sending_is_looked_at_again_each_minute() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    answers(&mut rig, "oncall", std::iter::repeat_n(unready(), 100));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(100 * MINUTE));
    let after = attempts(&rig, "oncall");
    assert!(after.windows(2).all(|pair| pair[1] - pair[0] <= MINUTE + 1), "{after:?}");
    rig.sink.clear();
    rig.run(seconds(MINUTE + 1));
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_page_that_is_refused_stays_owed_and_the_others_are_told_of_it() {
    let mut rig = started(oncall_and_desk());
    // Whole, and reduced to what matters; and after a minute the same again.
    answers(&mut rig, "oncall", std::iter::repeat_n(rejected(), 4));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(4 * MINUTE));
    assert!(of_kind(&rig, IncidentKind::Unhealthy).is_empty());
    let told = of_kind(&rig, IncidentKind::SinkFailing);
    assert_eq!(told, [("desk", MessageKind::Opened, Severity::Page)]);
    let (_, _, message) = &rig.sent[0];
    assert_eq!(message.headline, "pages reach nobody");
    assert!(message.members[0].starts_with("oncall: the sink answered 400"), "{message:?}");
    rig.run(seconds(10 * MINUTE));
    let page = of_kind(&rig, IncidentKind::Unhealthy);
    assert_eq!(page, [("oncall", MessageKind::Opened, Severity::Page)]);
    let told = of_kind(&rig, IncidentKind::SinkFailing);
    assert_eq!(told.last(), Some(&("desk", MessageKind::Resolved, Severity::Page)));
    assert_eq!(told.len(), 2, "and not the one that failed: {told:?}");
}

#[test]
fn a_page_that_is_refused_for_a_day_is_given_up_and_said_to_be() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    answers(&mut rig, "oncall", std::iter::repeat_n(rejected(), 1000));
    rig.behave("web", Behaviour::Hangs);
    let given_up = |rig: &Rig| {
        let is = |decision: &Decision| matches!(decision, Decision::Undeliverable(..));
        rig.decisions.iter().filter(|(_, decision)| is(decision)).count()
    };
    rig.run(seconds(23 * HOUR));
    assert_eq!(given_up(&rig), 0);
    // A restart of ours makes it no shorter.
    rig.crash();
    rig.run(seconds(MINUTE));
    assert_eq!(given_up(&rig), 0);
    assert_eq!(status(&rig).0.sinks[0].waiting, 1);
    rig.run(seconds(3 * HOUR));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(5));
    assert!(rig.sent.is_empty());
    rig.sink.clear();
    rig.run(seconds(2 * HOUR));
    assert!(matches!(rig.sent[0].2.kind, MessageKind::Missed), "{:?}", rig.told());
}

/// What the log says of sinks.
fn logged(rig: &Rig) -> Vec<String> {
    rig.decisions
        .iter()
        .filter_map(|(_, decision)| match decision {
            Decision::SinkFails(_, why, again) => Some(format!("{why}, again in {again} s")),
            Decision::SinkWaits(_, why, again) => {
                Some(format!("asks to wait: {why}, again in {again} s"))
            }
            Decision::SinkWorks(_) => Some("works".to_owned()),
            _ => None,
        })
        .collect()
}

#[test]
fn that_messages_arrive_again_is_logged_only_when_one_has_and_silence_is_logged_at_once() {
    let silent = || DeliveryOutcome::Unknown("the sink answered 500".to_owned());
    let mut rig = started(watching(vec![named("oncall", &[])]));
    let mut outcomes = vec![rejected(), rejected()];
    outcomes.extend(std::iter::repeat_n(silent(), 1000));
    answers(&mut rig, "oncall", outcomes);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(HOUR));
    let lines = logged(&rig);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with("the sink answered 400"), "{lines:?}");
    assert!(lines[1].starts_with("the sink answered 500"), "{lines:?}");
    rig.sink.clear();
    rig.run(seconds(HOUR));
    assert_eq!(logged(&rig).last().map(String::as_str), Some("works"));
    assert_eq!(logged(&rig).len(), 3);
}

#[test]
fn that_a_sink_asks_to_wait_is_logged_once_until_it_takes_a_message() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    let busy = |wait| DeliveryOutcome::Paused {
        wait: Some(seconds(wait)),
        reason: format!("the sink answered 429, retry after {wait} s"),
    };
    answers(&mut rig, "oncall", [busy(45), busy(30), refused(), busy(20), refused()]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(4 * HOUR));
    assert_eq!(
        logged(&rig),
        [
            "asks to wait: the sink answered 429, retry after 45 s, again in 45 s",
            "the sink answered 404, again in 60 s",
            "works",
        ]
    );
    // And anew after that, also where nothing else was wrong.
    answers(&mut rig, "oncall", [busy(60)]);
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(4 * HOUR));
    let said = logged(&rig);
    assert_eq!(said.len(), 5, "{said:?}");
    assert!(said[3].starts_with("asks to wait: ") && said[4] == "works", "{said:?}");
}

#[test]
fn that_nothing_arrives_is_logged_when_its_words_change() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    answers(&mut rig, "oncall", [refused(), refused(), unready(), refused()]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(4 * HOUR));
    let said = logged(&rig);
    assert_eq!(
        said,
        [
            "the sink answered 404, again in 60 s",
            "secret could not be read from file `/etc/x`, again in 60 s",
            "the sink answered 404, again in 900 s",
            "works",
        ]
    );
}

#[test]
fn others_hear_once_that_a_sink_fails_and_that_it_works_again_over_a_restart_of_ours() {
    let mut rig =
        started(watching(vec![named("oncall", &[]), named("other", &[Severity::Notice])]));
    answers(&mut rig, "oncall", std::iter::repeat_n(refused(), 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(10 * MINUTE));
    let opened = ("other", MessageKind::Opened, Severity::Page);
    assert_eq!(of_kind(&rig, IncidentKind::SinkFailing), [opened], "whatever it takes");
    rig.crash();
    rig.run(seconds(30 * MINUTE));
    assert_eq!(of_kind(&rig, IncidentKind::SinkFailing), [opened]);
    rig.sink.clear();
    rig.run(seconds(3 * HOUR));
    let told = of_kind(&rig, IncidentKind::SinkFailing);
    assert_eq!(
        told.last().map(|(sink, kind, _)| (*sink, *kind)),
        Some(("other", MessageKind::Resolved))
    );
    assert!(told.iter().all(|(sink, ..)| *sink == "other"), "{told:?}");
}

#[test]
fn a_sink_that_can_not_be_reached_is_told_of_after_ten_minutes() {
    let mut rig = started(watching(vec![named("oncall", &[]), named("other", &[])]));
    let silent = DeliveryOutcome::Unknown("no answer in time".to_owned());
    answers(&mut rig, "oncall", std::iter::repeat_n(silent, 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(9 * MINUTE));
    assert!(of_kind(&rig, IncidentKind::SinkFailing).is_empty());
    rig.run(seconds(3 * MINUTE));
    let told = of_kind(&rig, IncidentKind::SinkFailing);
    assert_eq!(told, [("other", MessageKind::Opened, Severity::Ticket)], "pages arrive there");
}

/// After a relapse that a sink heard nothing of, and that is over: nothing is owed to it.
fn silent_until_nothing_is_owed(outcome: DeliveryOutcome) -> Rig {
    let mut policy = policy(vec![probed("web")]);
    policy.sinks = vec![named("oncall", &[]), named("other", &[])];
    let mut rig = started(policy);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(4 * MINUTE));
    let told = of_kind(&rig, IncidentKind::Unhealthy);
    let recovered = ("oncall", MessageKind::Recovered, Severity::Notice);
    assert!(told.contains(&recovered), "{told:?}");
    answers(&mut rig, "oncall", std::iter::repeat_n(outcome, 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(20));
    assert_eq!(status(&rig).0.sinks[0].waiting, 1, "a reminder");
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(20 * MINUTE));
    rig.sink.clear();
    rig
}

#[test]
fn whoever_may_have_heard_of_a_relapse_hears_that_it_is_well_however_long_no_answer_comes() {
    let silent = DeliveryOutcome::Unknown("no answer in time".to_owned());
    let mut rig = silent_until_nothing_is_owed(silent);
    assert_eq!(status(&rig).0.sinks[0].waiting, 1, "the relapse may have arrived");
    rig.run(seconds(10 * MINUTE));
    let told = of_kind(&rig, IncidentKind::Unhealthy);
    let last = told.iter().rfind(|told| told.0 == "oncall");
    assert_eq!(last, Some(&("oncall", MessageKind::Resolved, Severity::Page)), "{told:?}");
}

#[test]
fn that_a_sink_fails_is_told_only_where_one_still_does() {
    let mut rig = started(watching(vec![named("oncall", &[]), named("other", &[])]));
    answers(&mut rig, "oncall", std::iter::repeat_n(unready(), 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(MINUTE));
    // Before the first one has failed for long enough nobody else can be told of it any more.
    let silent = DeliveryOutcome::Unknown("no answer in time".to_owned());
    answers(&mut rig, "other", std::iter::repeat_n(silent, 1000));
    rig.behave("web", Behaviour::Fine);
    let opened = |rig: &Rig| {
        let mut incidents = rig.view().incidents.into_iter();
        incidents.any(|incident| incident.key.kind == IncidentKind::SinkFailing)
    };
    rig.until(opened);
    rig.sink.remove(&SinkName::new("oncall"));
    rig.run(seconds(2 * MINUTE));
    assert!(of_kind(&rig, IncidentKind::SinkFailing).is_empty(), "{:?}", rig.told());
    rig.run(seconds(12 * MINUTE));
    let told = of_kind(&rig, IncidentKind::SinkFailing);
    assert_eq!(told, [("oncall", MessageKind::Opened, Severity::Ticket)]);
}

#[test]
fn how_a_sink_once_was_is_not_told_of_before_what_is_owed_now_was_tried() {
    let pauses = DeliveryOutcome::Paused { wait: None, reason: "429".to_owned() };
    for outcome in [pauses, refused()] {
        let mut rig = silent_until_nothing_is_owed(outcome.clone());
        assert_eq!(status(&rig).0.sinks[0].waiting, 0);
        rig.run(seconds(3 * 24 * HOUR));
        let before = of_kind(&rig, IncidentKind::SinkFailing).len();
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(5 * MINUTE));
        let told = of_kind(&rig, IncidentKind::Unhealthy);
        assert_eq!(told.last().map(|told| told.1), Some(MessageKind::Recovered));
        let told = of_kind(&rig, IncidentKind::SinkFailing);
        assert_eq!(told.len(), before, "{outcome:?}: {told:?}");
    }
}

#[test]
fn that_a_message_was_given_up_is_told_with_since_when_it_was_refused() {
    let mut rig = started(watching(vec![named("oncall", &[]), named("other", &[])]));
    answers(&mut rig, "oncall", std::iter::repeat_n(rejected(), 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(90));
    assert!(of_kind(&rig, IncidentKind::SinkFailing).is_empty(), "not for 90 s yet");
    let refused_at = rig.observed.last().unwrap().0.wall.0;
    // Nobody watches for a day, at the end of which it is given up.
    rig.now += 25 * HOUR * 1000;
    rig.crash();
    rig.run(seconds(5 * MINUTE));
    let mut latest = rig.sent.iter().rev().map(|(_, _, message)| message);
    let message = latest.find(|message| message.incident_kind == IncidentKind::SinkFailing);
    let message = message.expect("the other sink is told");
    assert!(message.members[0].contains("it was not told, and will not be"), "{message:?}");
    let since = message.since.0;
    assert!((refused_at - 90_000..=refused_at).contains(&since), "{since} and {refused_at}");
}

#[test]
fn others_are_told_when_what_waits_is_tried_again_and_it_is() {
    let silent = DeliveryOutcome::Unknown("no answer in time".to_owned());
    let busy = DeliveryOutcome::Paused { wait: Some(seconds(45)), reason: "429".to_owned() };
    let hourly = "after 1, 5 and 15 minutes, then hourly";
    for (outcome, when, at_most) in [
        (refused(), hourly, 3600),
        (rejected(), hourly, 3600),
        (unready(), "each minute", MINUTE),
        (silent, "with waits that grow to 5 minutes", 5 * MINUTE),
        (busy, "when the time is over for which it asks to be left alone", 45),
    ] {
        let mut rig = started(watching(vec![named("oncall", &[]), named("other", &[])]));
        answers(&mut rig, "oncall", std::iter::repeat_n(outcome, 2000));
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(4 * HOUR));
        let told = |(_, _, message): &&(_, _, defib::domain::message::Message)| {
            message.incident_kind == IncidentKind::SinkFailing
        };
        let message = &rig.sent.iter().find(told).expect("the other sink is told").2;
        let done = format!("oncall: what it is owed is kept, and tried again {when}");
        assert_eq!(message.done, [done]);
        let after = attempts(&rig, "oncall");
        let longest = after.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!((at_most / 2..=at_most + 1).contains(&longest), "{when}: {longest} s");
        let steps = message.next_steps.join("\n");
        assert!(steps.contains("$ sudo pkill -HUP -f '^[^ ]*defib run'"), "{steps}");
    }
}

#[test]
fn a_config_that_is_read_again_has_what_was_refused_tried_at_once() {
    let named_web = |name| ServicePolicy { restart: RestartMode::Never, ..probed(name) };
    let mut policy = policy(vec![named_web("web"), named_web("api")]);
    policy.sinks = vec![named("oncall", &[])];
    let mut rig = started(policy.clone());
    rig.add("api");
    rig.run(seconds(90));
    answers(&mut rig, "oncall", std::iter::repeat_n(rejected(), 4));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(2 * MINUTE));
    // That it takes another message meanwhile says nothing of the one that it refuses.
    rig.behave("api", Behaviour::Hangs);
    rig.run(seconds(MINUTE));
    assert_eq!(of_kind(&rig, IncidentKind::Unhealthy).len(), 1);
    rig.reload(policy);
    rig.run(seconds(1));
    assert_eq!(of_kind(&rig, IncidentKind::Unhealthy).len(), 2);
}

#[test]
fn a_sink_that_asked_to_be_left_alone_is_also_when_the_config_is_read_again() {
    let mut rig = started(watching(vec![named("oncall", &[])]));
    let pauses = DeliveryOutcome::Paused { wait: Some(seconds(HOUR)), reason: "429".to_owned() };
    answers(&mut rig, "oncall", [pauses]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(MINUTE));
    for _ in 0..3 {
        rig.reload(rig.policy.clone());
        rig.run(seconds(MINUTE));
    }
    assert_eq!(attempts(&rig, "oncall"), Vec::<u64>::new(), "none after the first");
    let mut elsewhere = rig.policy.clone();
    elsewhere.sinks[0].definition = 2;
    rig.reload(elsewhere);
    rig.run(seconds(MINUTE));
    assert_eq!(attempts(&rig, "oncall").len(), 1, "that was another one");
}

#[test]
fn a_secret_that_is_gone_for_a_moment_costs_a_sink_no_proof_and_what_arrives_says_that_it_is_back()
{
    let mut rig = started(watching(vec![named("oncall", &[])]));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(MINUTE));
    assert!(status(&rig).0.sinks[0].proven);
    let mut without = rig.policy.clone();
    (without.sinks[0].definition, without.sinks[0].lacks) = (7, Some("no such file".to_owned()));
    let with = rig.policy.clone();
    rig.reload(without);
    rig.run(seconds(5));
    assert!(status(&rig).0.sinks[0].proven && rig.view().sinks[0].lacks.is_some());
    // It is there again before it is looked for.
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(MINUTE));
    assert_eq!(rig.view().sinks[0].lacks, None, "{:?}", rig.told());
    rig.reload(with);
    rig.run(seconds(5));
    assert!(status(&rig).0.sinks[0].proven);
}

#[test]
fn a_sink_whose_attempts_never_come_back_hides_no_other_that_refuses() {
    let sinks = ["desk", "mute", "oncall"].map(|name| named(name, &[]));
    let mut rig = started(watching(sinks.into()));
    rig.mute_sink = Some(SinkName::new("mute"));
    answers(&mut rig, "oncall", std::iter::repeat_n(refused(), 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(4 * MINUTE));
    let told = of_kind(&rig, IncidentKind::SinkFailing);
    assert_eq!(told, [("desk", MessageKind::Opened, Severity::Ticket)]);
}

#[test]
fn time_in_which_nothing_was_tried_is_no_time_of_a_sinks_silence() {
    let mut rig = started(watching(vec![named("oncall", &[]), named("other", &[])]));
    let silent = DeliveryOutcome::Unknown("no answer in time".to_owned());
    answers(&mut rig, "oncall", std::iter::repeat_n(silent, 1000));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(2 * MINUTE));
    rig.stall(seconds(15 * MINUTE));
    rig.run(seconds(MINUTE));
    assert!(of_kind(&rig, IncidentKind::SinkFailing).is_empty(), "{:?}", rig.told());
    rig.run(seconds(10 * MINUTE));
    assert_eq!(of_kind(&rig, IncidentKind::SinkFailing).len(), 1, "{:?}", rig.told());
}

#[test]
fn what_came_and_went_while_a_sink_takes_nothing_does_not_pile_up_for_ever() {
    let mut rig = Rig::new(Policy { sinks: vec![named("oncall", &[])], ..policy(Vec::new()) });
    rig.run(seconds(90));
    answers(&mut rig, "oncall", std::iter::repeat_n(refused(), 100_000));
    for n in 0..230 {
        let name = format!("job-{n}");
        rig.add_with(&name, |container| {
            container.healthcheck = Some(healthcheck());
            container.behaviour = Behaviour::Hangs;
        });
        rig.run(seconds(200));
        rig.remove(&name);
        rig.run(seconds(900));
    }
    let incidents = rig.view().incidents;
    assert!((100..=201).contains(&incidents.len()), "{}", incidents.len());
    let given_up = |(_, decision): &&(u64, Decision)| matches!(decision, Decision::Undeliverable(_, _, why) if why.contains("200"));
    assert!(rig.decisions.iter().filter(given_up).count() > 20);
}

#[test]
fn what_an_incident_is_called_and_how_far_it_is_agree_in_every_moment() {
    let mut policy = policy(vec![probed("web")]);
    policy.limits.brake = None;
    let mut rig = started(policy);
    let (mut failing, mut recovered) = (0, 0);
    for round in 0..12 {
        rig.behave("web", if round % 2 == 0 { Behaviour::Hangs } else { Behaviour::Fine });
        for _ in 0..60 {
            rig.run(seconds(1));
            for incident in status(&rig).0.incidents {
                let well = incident.headline.contains("healthy again");
                assert_eq!(well, incident.stage == "recovered", "{incident:?}");
                failing += u32::from(!well);
                recovered += u32::from(well);
            }
        }
    }
    assert!(failing > 0 && recovered > 0);
}

#[test]
fn a_probe_that_has_never_passed_is_the_cause_in_status() {
    let mut rig = Rig::new(watching(vec![named("oncall", &[])]));
    rig.add("web").behaviour = Behaviour::Hangs;
    rig.run(seconds(120));
    let (snapshot, text) = status(&rig);
    assert_eq!(snapshot.replicas[0].trouble, None);
    let line = text.lines().find(|line| line.starts_with("  web ")).unwrap();
    assert!(line.contains("health: ") && line.contains("has never passed"), "{text}");
}

#[test]
fn a_sink_that_can_not_send_says_why_before_there_is_a_message() {
    let lacking = |lacks: Option<&str>| {
        let lacks = lacks.map(str::to_owned);
        watching(vec![SinkPolicy { lacks, ..named("oncall", &[]) }])
    };
    let mut rig = started(lacking(None));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    assert!(status(&rig).0.pages_reach_somebody);
    rig.reload(lacking(Some("secret could not be read from file `/etc/x`")));
    rig.run(seconds(1));
    let (snapshot, text) = status(&rig);
    assert!(!snapshot.is_well() && !snapshot.pages_reach_somebody);
    assert!(text.starts_with("MESSAGES REACH NOBODY: oncall: secret could not be read"), "{text}");
    assert!(text.contains("nothing can be sent: secret could not be read"), "{text}");
    rig.reload(lacking(None));
    rig.run(seconds(1));
    assert!(status(&rig).0.pages_reach_somebody);
}
