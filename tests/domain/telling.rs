//! That a person hears of it, once.

use crate::rig::*;
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    name::SinkName,
    observation::{ContainerState, DeliveryOutcome, EventAction, Observation},
    policy::{RestartMode, ServicePolicy, SinkPolicy, Threshold},
    record::Decision,
};
use std::time::Duration;

fn watched_only() -> Rig {
    let mut rig =
        Rig::new(policy(vec![ServicePolicy { restart: RestartMode::Never, ..probed("web") }]));
    rig.add("web");
    rig.run(seconds(90));
    rig
}

fn sink() -> SinkName {
    SinkName::new("oncall")
}

fn kinds(rig: &Rig) -> Vec<MessageKind> {
    rig.told().into_iter().map(|(kind, ..)| kind).collect()
}

#[test]
fn a_page_at_the_threshold_and_a_resolve_when_it_has_stayed_well() {
    let mut rig = watched_only();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    assert_eq!(rig.told()[0].1, Severity::Page);
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(900));
    assert_eq!(kinds(&rig), [MessageKind::Opened, MessageKind::Recovered, MessageKind::Resolved]);
}

#[test]
fn an_attempt_of_which_nothing_is_known_is_made_again_under_the_same_key() {
    let mut rig = watched_only();
    rig.sink.entry(sink()).or_default().extend([
        DeliveryOutcome::Unknown("timeout".to_owned()),
        DeliveryOutcome::Unknown("503".to_owned()),
    ]);
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(120));
    assert_eq!(rig.sent.len(), 1);
    assert_eq!(kinds(&rig), [MessageKind::Opened]);
}

#[test]
fn a_sink_that_was_down_hears_once_of_what_came_and_went() {
    let mut rig = watched_only();
    let outcomes = rig.sink.entry(sink()).or_default();
    outcomes.extend(std::iter::repeat_n(DeliveryOutcome::Unknown("refused".to_owned()), 14));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(7200));
    assert_eq!(kinds(&rig), [MessageKind::Missed], "{:?}", rig.told());
    assert!(rig.sent[0].2.until.is_some());
}

#[test]
fn a_sink_that_asks_to_be_left_alone_is() {
    let mut rig = watched_only();
    rig.sink.entry(sink()).or_default().push_back(DeliveryOutcome::Paused {
        wait: Some(Duration::from_secs(30)),
        reason: "429".to_owned(),
    });
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(26));
    rig.run(seconds(25));
    assert!(rig.sent.is_empty(), "{:?}", rig.told());
    rig.run(seconds(30));
    assert_eq!(rig.sent.len(), 1);
}

#[test]
fn a_slow_sink_delays_no_other() {
    let mut policy = policy(vec![ServicePolicy { restart: RestartMode::Never, ..probed("web") }]);
    policy.sinks.push(SinkPolicy {
        name: SinkName::new("other"),
        severities: Vec::new(),
        deadline: seconds(10),
        definition: 1,
        lacks: None,
    });
    let mut rig = Rig::new(policy);
    rig.sink
        .entry(sink())
        .or_default()
        .extend(std::iter::repeat_n(DeliveryOutcome::Broken("404".to_owned()), 50));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(40));
    assert_eq!(rig.sent.len(), 1);
    assert_eq!(rig.sent[0].1, SinkName::new("other"));
}

#[test]
fn a_crash_before_the_answer_repeats_under_the_same_key_and_loses_nothing() {
    let mut rig = watched_only();
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| !rig.sent.is_empty());
    rig.crash();
    rig.run(seconds(60));
    assert_eq!(rig.sent.len(), 2);
    assert_eq!(rig.sent[0].2.idempotency_key(), rig.sent[1].2.idempotency_key());
    rig.crash();
    rig.run(seconds(60));
    assert_eq!(rig.sent.len(), 2);
}

#[test]
fn what_stays_open_is_reminded_of() {
    let mut rig = watched_only();
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(26 * 3600));
    let reminders = kinds(&rig).iter().filter(|kind| **kind == MessageKind::Reminder).count();
    assert_eq!(reminders, 3, "{:?}", rig.told());
}

#[test]
fn a_flapping_service_is_not_told_of_every_time() {
    let mut rig = watched_only();
    for _ in 0..20 {
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(40));
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(40));
    }
    rig.run(seconds(900));
    assert!(rig.sent.len() <= 4, "{:?}", rig.told());
    assert_eq!(kinds(&rig).last(), Some(&MessageKind::Resolved));
}

#[test]
fn an_engine_that_is_away_is_told_of_after_a_minute_and_when_it_is_back() {
    let mut rig = watched_only();
    rig.engine_works = false;
    rig.run(seconds(50));
    assert!(rig.sent.is_empty());
    rig.run(seconds(60));
    assert_eq!(rig.sent.len(), 1, "{:?}", rig.told());
    rig.engine_works = true;
    rig.run(seconds(60));
    assert_eq!(kinds(&rig), [MessageKind::Opened, MessageKind::Resolved]);
    assert!(rig.acts.is_empty());
}

#[test]
fn a_disk_that_is_full_does_not_keep_a_page_back() {
    let mut rig = watched_only();
    rig.store_works = false;
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    let pages = rig.sent.iter().filter(|(_, _, message)| message.service.is_some()).count();
    assert_eq!(pages, 1, "{:?}", rig.told());
    rig.store_works = true;
    rig.run(seconds(60));
    rig.crash();
    rig.run(seconds(60));
    let pages = rig
        .sent
        .iter()
        .filter(|(_, _, message)| message.kind == MessageKind::Opened && message.service.is_some());
    assert_eq!(pages.count(), 1, "written again when the disk could: {:?}", rig.told());
}

#[test]
fn a_wall_clock_that_jumps_changes_no_decision() {
    let run = |jump: i64| {
        let mut rig = watched_only();
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(10));
        rig.wall_offset = jump;
        rig.run(seconds(60));
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(900));
        let decided: Vec<_> =
            rig.decisions.iter().map(|(at, d)| (*at, matches!(d, Decision::Opened(..)))).collect();
        (decided, rig.told())
    };
    let still = run(0);
    assert_eq!(run(6 * 3_600_000), still);
    assert_eq!(run(-6 * 3_600_000), still);
}

#[test]
fn that_memory_was_lost_is_told_for_a_day_and_once() {
    let mut rig = Rig::new(policy(Vec::new()));
    rig.put(1, Observation::MemoryLost("the state was damaged".to_owned()));
    rig.run(seconds(120));
    assert_eq!(rig.told().len(), 1, "{:?}", rig.told());
    rig.crash();
    rig.run(seconds(120));
    assert_eq!(rig.told().len(), 1, "{:?}", rig.told());
    rig.run(seconds(25 * 3600));
    assert_eq!(kinds(&rig).last(), Some(&MessageKind::Resolved));
}

/// Services `s0-` and so on that may not be restarted, all of which are well.
fn never_restarted(count: u32) -> Rig {
    let never = |n| ServicePolicy { restart: RestartMode::Never, ..probed(&format!("s{n:02}-")) };
    let mut rig = Rig::new(policy((0..count).map(never).collect()));
    for n in 0..count {
        rig.add(&format!("s{n:02}-"));
    }
    rig.run(seconds(400));
    rig
}

fn all_hang(rig: &mut Rig, which: std::ops::Range<u32>) {
    for n in which {
        rig.behave(&format!("s{n:02}-"), Behaviour::Hangs);
    }
}

/// What was said of the brake: the kind, and the members without what their probes show.
fn of_brake(rig: &Rig) -> Vec<(MessageKind, Vec<String>)> {
    let of_brake = rig.sent.iter().filter(|sent| sent.2.incident_kind == IncidentKind::Brake);
    let name = |line: &String| line.split(": probe ").next().unwrap_or_default().to_owned();
    let names = |members: &[String]| members.iter().map(name).collect();
    of_brake.map(|(_, _, message)| (message.kind, names(&message.members))).collect()
}

#[test]
fn what_fails_at_once_is_one_word_and_what_joins_later_one_more_that_names_it_first() {
    let mut rig = never_restarted(20);
    all_hang(&mut rig, 0..13);
    rig.run(seconds(200));
    assert_eq!(of_brake(&rig).len(), 1, "{:?}", rig.told());
    all_hang(&mut rig, 18..20);
    rig.run(seconds(200));
    let told = of_brake(&rig);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[1].0, MessageKind::Grown);
    assert_eq!(told[1].1[..2], ["s18- (new)".to_owned(), "s19- (new)".to_owned()]);
}

#[test]
fn what_goes_down_while_the_brake_is_on_is_told_with_it() {
    let mut rig = never_restarted(8);
    all_hang(&mut rig, 0..4);
    rig.run(seconds(200));
    let exited = [EventAction::Died { exit_code: Some(1) }];
    rig.by_hand("s06-", ContainerState::Exited, &exited);
    rig.run(seconds(180));
    let told = of_brake(&rig);
    assert_eq!(told.last().unwrap().1[0], "s06- (new): down", "{told:?}");
}

#[test]
fn what_is_over_and_fails_again_while_the_brake_is_on_is_told_again() {
    let mut rig = never_restarted(8);
    all_hang(&mut rig, 0..5);
    rig.run(seconds(200));
    rig.behave("s00-", Behaviour::Fine);
    rig.run(seconds(1200));
    all_hang(&mut rig, 0..1);
    rig.run(seconds(180));
    let told = of_brake(&rig);
    assert_eq!(told.last().unwrap().1[0], "s00- (new)", "{told:?}");
}

#[test]
fn what_joined_the_brake_before_a_boot_is_told_after_it() {
    let mut rig = never_restarted(8);
    all_hang(&mut rig, 0..4);
    rig.run(seconds(200));
    all_hang(&mut rig, 5..6);
    rig.run(seconds(40));
    assert_eq!(of_brake(&rig).len(), 1);
    rig.reboot();
    rig.run(seconds(400));
    let told = of_brake(&rig);
    assert!(told.iter().any(|(_, members)| members[0] == "s05- (new)"), "{told:?}");
}

#[test]
fn what_can_never_fail_does_not_keep_the_brake_off() {
    let mut all = policy((0..12).map(|n| probed(&format!("s{n:02}-"))).collect());
    all.unlisted = defib::domain::policy::Unlisted::All;
    let mut rig = Rig::new(all);
    for n in 0..12 {
        rig.add(&format!("s{n:02}-"));
    }
    for n in 0..20 {
        rig.add_with(&format!("old-{n}"), |container| {
            (container.state, container.exit_code) =
                (defib::domain::observation::ContainerState::Exited, Some(0));
        });
    }
    rig.run(seconds(400));
    all_hang(&mut rig, 0..3);
    rig.run(seconds(30));
    assert!(rig.view().brake && rig.acts.is_empty(), "{:?}", rig.acts);
}

#[test]
fn where_nothing_may_be_restarted_the_brake_promises_no_trial() {
    let mut rig = never_restarted(4);
    all_hang(&mut rig, 0..4);
    rig.run(seconds(200));
    let (_, _, message) =
        rig.sent.iter().find(|sent| sent.2.incident_kind == IncidentKind::Brake).unwrap();
    assert!(message.done[1].starts_with("no trial is made"), "{:?}", message.done);
}

/// May be restarted twice and is not cured by that; then it fails on.
fn not_cured_by_two() -> Rig {
    let mut web = probed("web");
    web.budget.restarts = 2;
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web").after_restart.extend([Behaviour::Hangs]);
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| kinds(rig).contains(&MessageKind::GivenUp));
    rig
}

#[test]
fn a_recovery_from_what_was_told_louder_is_told_at_once_though_an_earlier_one_did_not_hold() {
    let mut rig = Rig::new(policy(vec![ServicePolicy {
        page_after: Threshold { failures: Some(30), failing_for: None },
        ..probed("web")
    }]));
    rig.add("web").after_restart.extend([Behaviour::Fine, Behaviour::Hangs]);
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| kinds(rig).last() == Some(&MessageKind::Recovered));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| kinds(rig).last() == Some(&MessageKind::Raised));
    rig.run(seconds(60));
    let paged = rig.sent.len();
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    let told = kinds(&rig);
    assert_eq!(told[paged..], [MessageKind::Recovered], "{:?}", rig.told());
}

#[test]
fn what_fails_again_after_a_told_recovery_says_so_as_loudly_as_it_was_told() {
    let mut rig = not_cured_by_two();
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    rig.behave("web", Behaviour::Hangs);
    rig.run(seconds(60));
    let (kind, severity, _) = rig.told().pop().unwrap();
    assert_eq!((kind, severity), (MessageKind::Relapsed, Severity::Page), "{:?}", rig.told());
    let told = rig.sent.len();
    // What flaps from here on disturbs nobody more than it has.
    for _ in 0..5 {
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(60));
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(60));
    }
    assert_eq!(rig.sent.len(), told, "{:?}", rig.told());
}

#[test]
fn who_hears_that_one_more_restart_did_not_help_hears_at_once_that_it_is_well() {
    let mut web = probed("web");
    (web.budget.restarts, web.budget.refill_after_healthy) = (1, seconds(120));
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web").after_restart.extend([Behaviour::Hangs, Behaviour::Hangs]);
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    let last = |rig: &Rig| kinds(rig).last().copied();
    rig.until(|rig| last(rig) == Some(MessageKind::Raised));
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(200));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| last(rig) == Some(MessageKind::GivenUp));
    assert_eq!(rig.acts.len(), 2, "a healthy while had refilled its budget");
    rig.behave("web", Behaviour::Fine);
    rig.run(seconds(60));
    assert_eq!(last(&rig), Some(MessageKind::Recovered), "{:?}", rig.told());
}

#[test]
fn nobody_is_reminded_of_what_is_well_and_told_to_be_so_later() {
    let mut web = ServicePolicy { restart: RestartMode::Never, ..probed("web") };
    web.stable_for = seconds(3 * 3600);
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web");
    rig.run(seconds(90));
    for _ in 0..2 {
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(60));
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(60));
    }
    rig.run(seconds(2 * 3600));
    assert_eq!(kinds(&rig).last(), Some(&MessageKind::Relapsed), "{:?}", rig.told());
    rig.run(seconds(2 * 3600));
    assert_eq!(kinds(&rig).last(), Some(&MessageKind::Resolved), "{:?}", rig.told());
}

#[test]
fn a_sink_that_is_new_hears_of_nothing_that_was_well_before_it() {
    let mut rig = watched_only();
    for _ in 0..2 {
        rig.behave("web", Behaviour::Hangs);
        rig.run(seconds(60));
        rig.behave("web", Behaviour::Fine);
        rig.run(seconds(60));
    }
    let mut policy = rig.policy.clone();
    let other = SinkPolicy { name: SinkName::new("other"), ..policy.sinks[0].clone() };
    policy.sinks.push(other.clone());
    rig.reload(policy);
    rig.run(seconds(1200));
    assert!(rig.sent.iter().all(|(_, to, _)| *to != other.name), "{:?}", rig.told());
}

#[test]
fn what_the_brake_has_told_and_is_well_is_not_told_once_more() {
    let mut rig = never_restarted(8);
    all_hang(&mut rig, 0..5);
    rig.run(seconds(200));
    for n in 0..5 {
        rig.behave(&format!("s{n:02}-"), Behaviour::Fine);
    }
    rig.run(seconds(1800));
    let told: Vec<_> = rig.sent.iter().map(|(_, _, m)| (m.kind, m.incident_kind)).collect();
    assert_eq!(
        told,
        [(MessageKind::Opened, IncidentKind::Brake), (MessageKind::Resolved, IncidentKind::Brake)]
    );
}

#[test]
fn what_is_told_before_a_restart_is_due_says_that_one_follows() {
    let mut web = probed("web");
    web.page_after = Threshold { failures: Some(3), failing_for: None };
    web.restart_after = Threshold { failures: Some(20), failing_for: None };
    let mut rig = Rig::new(policy(vec![web]));
    rig.add("web");
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| !rig.sent.is_empty());
    let done = &rig.sent[0].2.done;
    assert_eq!(*done, ["not restarted yet: that is due after 20 failures"]);
}

#[test]
fn a_message_says_which_restart_it_is_of_how_many() {
    let mut rig = not_cured_by_two();
    rig.run(seconds(10));
    let done: Vec<&str> =
        rig.sent.iter().flat_map(|(_, _, m)| m.done.iter().map(String::as_str)).collect();
    assert!(done.contains(&"restart 1 of 2 is under way"), "{done:#?}");
    let given_up = &rig.sent.last().unwrap().2;
    assert!(
        given_up.done.last().unwrap().contains("all of its 2 restarts are spent"),
        "{given_up:#?}"
    );
}

#[test]
fn a_recovery_in_a_life_that_no_restart_began_is_credited_to_none() {
    let mut rig = Rig::new(policy(vec![probed("web")]));
    rig.add("web").after_restart.extend([Behaviour::Hangs]);
    rig.run(seconds(90));
    rig.behave("web", Behaviour::Hangs);
    rig.until(|rig| kinds(rig).contains(&MessageKind::Raised));
    rig.remove("web");
    rig.run(seconds(1));
    rig.add("web");
    rig.until(|rig| kinds(rig).contains(&MessageKind::Recovered));
    let headline = &rig.sent.last().unwrap().2.headline;
    assert!(headline.contains("not seen to help") || headline.contains("were seen"), "{headline}");
}
