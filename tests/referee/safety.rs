//! The S rules and L1.

use crate::account::{Condition, Fact, Rules, Who};
use crate::book::{Book, MINUTE, SECOND, healthcheck, pass, service, timeout};
use defib::domain::{
    effect::Primitive,
    observation::{ActOutcome, ContainerState, EventAction, HealthResult, ProbeOutcome},
};

/// One service, well and probed for a minute, then hanging for good.
fn hangs(at: u64) -> Book {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, at, "web", &pass());
    book.turned(at, "web", Condition::Failing);
    book
}

#[test]
fn a_restart_on_three_failures_that_cures_breaks_nothing() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.restart(75 * SECOND, "web", true);
    book.samples(80 * SECOND, 3 * MINUTE, "web", &pass());
    assert_eq!(book.broken(3 * MINUTE), Vec::<&str>::new());
}

#[test]
fn s1_starting_what_defib_stopped_is_right() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.restart(75 * SECOND, "web", false);
    book.died(75_200, "web", Who::Defib, 137);
    book.call(76 * SECOND, "web", Primitive::Start, Some(77 * SECOND));
    assert_eq!(book.broken(78 * SECOND), Vec::<&str>::new());
}

#[test]
fn s1_starting_what_somebody_stopped_is_seen() {
    let mut book = hangs(MINUTE);
    book.at(60_500, Fact::Stopping { container: "web".to_owned(), by: Who::Somebody });
    book.died(61 * SECOND, "web", Who::Somebody, 143);
    book.call(70 * SECOND, "web", Primitive::Start, Some(71 * SECOND));
    assert_eq!(book.broken(72 * SECOND), vec!["S1"]);
}

#[test]
fn s1_starting_what_ended_by_itself_is_seen() {
    let mut book = hangs(MINUTE);
    book.died(61 * SECOND, "web", Who::Itself, 1);
    book.call(70 * SECOND, "web", Primitive::Start, Some(71 * SECOND));
    assert_eq!(book.broken(72 * SECOND), vec!["S1"]);
}

#[test]
fn s2_restarting_without_a_look_right_before_is_seen() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.commit(74 * SECOND);
    book.bare_restart(75 * SECOND, "web");
    assert_eq!(book.broken(76 * SECOND), vec!["S2"]);
}

#[test]
fn s2_restarting_what_was_seen_paused_is_seen() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.seen(74_900, "web", ContainerState::Paused);
    book.commit(74_950);
    book.bare_restart(75 * SECOND, "web");
    assert_eq!(book.broken(76 * SECOND), vec!["S2"]);
}

#[test]
fn s2_an_event_that_was_not_heeded_is_seen() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.seen(75 * SECOND, "web", ContainerState::Running);
    book.commit(75_100);
    let action = EventAction::Paused;
    book.at(75_500, Fact::EventTold { container: "web".to_owned(), action });
    book.bare_restart(79 * SECOND, "web");
    assert_eq!(book.broken(80 * SECOND), vec!["S2"]);
}

#[test]
fn s2_what_changed_between_the_look_and_the_act_is_no_harm() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.seen(74_900, "web", ContainerState::Running);
    book.commit(74_950);
    book.at(74_950, Fact::Paused { container: "web".to_owned() });
    book.bare_restart(75 * SECOND, "web");
    assert_eq!(book.broken(76 * SECOND), Vec::<&str>::new());
}

#[test]
fn s10_a_restart_without_an_event_stream_is_seen() {
    let restarted = |lost: u64, opened: u64| {
        let mut book = hangs(MINUTE);
        book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
        book.at(lost, Fact::EventStream { open: false });
        book.at(opened, Fact::EventStream { open: true });
        book.seen(74_900, "web", ContainerState::Running);
        book.commit(74_950);
        book.bare_restart(75 * SECOND, "web");
        book.broken(76 * SECOND)
    };
    assert_eq!(restarted(70 * SECOND, 76 * SECOND), vec!["S10"]);
    assert_eq!(restarted(70 * SECOND, 74 * SECOND), Vec::<&str>::new());
    assert_eq!(restarted(74 * SECOND, 76 * SECOND), Vec::<&str>::new(), "it may not know yet");
}

#[test]
fn s3_two_calls_at_once_for_one_replica_are_seen() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.seen(74_900, "web", ContainerState::Running);
    book.commit(74_950);
    let stop_timeout = std::time::Duration::from_secs(10);
    book.call(75 * SECOND, "web", Primitive::Restart { stop_timeout }, None);
    book.call(76 * SECOND, "web", Primitive::Kill, None);
    assert_eq!(only("S3", &book.broken(77 * SECOND)), vec!["S3"]);
}

#[test]
fn s3_a_restart_while_an_earlier_one_is_still_open_is_seen() {
    let again = |answered: u64, new_life: bool| {
        let mut book = hangs(MINUTE);
        book.samples(61 * SECOND, 4 * MINUTE, "web", &timeout());
        for (call, at) in [(1, 75 * SECOND), (2, 4 * MINUTE)] {
            book.seen(at - 100, "web", ContainerState::Running);
            book.commit(at - 50);
            let stop_timeout = std::time::Duration::from_secs(10);
            book.call(at, "web", Primitive::Restart { stop_timeout }, None);
            let outcome = ActOutcome::Unreachable("hung up".to_owned());
            book.at(at + answered, Fact::ActAnswered { call, outcome });
        }
        if new_life {
            book.died(76 * SECOND, "web", Who::Defib, 137);
            book.begun(77 * SECOND, "web", Who::Defib);
        }
        only("S3", &book.broken(7 * MINUTE))
    };
    assert_eq!(again(170 * SECOND, false), vec!["S3"]);
    assert_eq!(again(170 * SECOND, true), Vec::<&str>::new(), "it was carried out");
    assert_eq!(again(32 * SECOND, false), Vec::<&str>::new(), "it is over");
}

/// A restart that does nothing, and a kill after it.
fn killed(was_told_to_stop: bool) -> Vec<&'static str> {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 108 * SECOND, "web", &timeout());
    book.seen(74_900, "web", ContainerState::Running);
    book.commit(74_950);
    let stop_timeout = std::time::Duration::from_secs(10);
    book.call(75 * SECOND, "web", Primitive::Restart { stop_timeout }, None);
    if was_told_to_stop {
        book.at(76 * SECOND, Fact::Stopping { container: "web".to_owned(), by: Who::Defib });
    }
    book.seen(107 * SECOND, "web", ContainerState::Running);
    book.call(108 * SECOND, "web", Primitive::Kill, None);
    book.broken(109 * SECOND)
}

#[test]
fn s3_a_kill_after_the_restart_wedged_is_right() {
    assert_eq!(killed(true), Vec::<&str>::new());
}

#[test]
fn s2_a_kill_of_what_was_never_told_to_stop_is_seen() {
    assert_eq!(killed(false), vec!["S2"]);
}

/// Two replicas of one service that hang at once; the second is restarted `apart` after the first, which is cured or not.
fn two_replicas(apart: u64, cures: bool) -> Vec<&'static str> {
    let mut pair = service("web");
    pair.replicas = vec!["web/1".to_owned(), "web/2".to_owned()];
    let mut book = Book::of(vec![pair]);
    let end = 75 * SECOND + apart + SECOND;
    for replica in ["web/1", "web/2"] {
        book.samples(SECOND, MINUTE, replica, &pass());
        book.turned(MINUTE, replica, Condition::Failing);
        book.samples(61 * SECOND, 76 * SECOND, replica, &timeout());
    }
    book.restart(75 * SECOND, "web/1", cures);
    book.samples(80 * SECOND, end, "web/1", &if cures { pass() } else { timeout() });
    book.samples(80 * SECOND, end, "web/2", &timeout());
    book.restart(75 * SECOND + apart, "web/2", true);
    book.broken(end)
}

#[test]
fn s3_a_sibling_while_the_first_is_unverified_is_seen() {
    assert_eq!(two_replicas(10 * SECOND, false), vec!["S3"]);
}

#[test]
fn s3_a_sibling_after_the_first_is_well_is_right() {
    assert_eq!(two_replicas(15 * SECOND, true), Vec::<&str>::new());
}

#[test]
fn s3_what_was_shown_to_be_well_is_verified_before_its_truth_was_looked_at() {
    for (shown, broken) in [(true, vec![]), (false, vec!["S3"])] {
        let mut pair = service("web");
        pair.replicas = vec!["web/1".to_owned(), "web/2".to_owned()];
        let mut book = Book::of(vec![pair]);
        for replica in ["web/1", "web/2"] {
            book.samples(SECOND, MINUTE, replica, &pass());
            book.turned(MINUTE, replica, Condition::Failing);
            book.samples(61 * SECOND, 76 * SECOND, replica, &timeout());
        }
        book.restart(75 * SECOND, "web/1", false);
        if shown {
            book.sample(75_400, "web/1", pass());
        }
        book.restart(76 * SECOND, "web/2", true);
        assert_eq!(book.broken(77 * SECOND), broken);
    }
}

/// A replica that never recovers, restarted so often, three minutes apart, with an end of defib in between.
fn restarted(times: u64) -> Book {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 75 * SECOND, "web", &timeout());
    for time in 0..times {
        let at = 75 * SECOND + time * 3 * MINUTE;
        book.restart(at, "web", false);
        book.samples(at + 5 * SECOND, at + 3 * MINUTE, "web", &timeout());
        if time == 1 {
            book.crash(at + MINUTE, at + 61 * SECOND);
        }
    }
    book
}

fn only<'a>(rule: &'static str, found: &[&'a str]) -> Vec<&'a str> {
    found.iter().copied().filter(|other| *other == rule).collect()
}

#[test]
fn s4_the_budget_is_one_troubles_also_across_a_crash() {
    assert_eq!(only("S4", &restarted(3).broken(10 * MINUTE)), Vec::<&str>::new());
    assert_eq!(only("S4", &restarted(4).broken(12 * MINUTE)), vec!["S4"]);
}

#[test]
fn s4_health_for_long_enough_refills() {
    let mut book = restarted(3);
    book.turned(10 * MINUTE, "web", Condition::Well);
    book.samples(10 * MINUTE, 41 * MINUTE, "web", &pass());
    book.turned(41 * MINUTE, "web", Condition::Failing);
    book.samples(41 * MINUTE + 1, 42 * MINUTE, "web", &timeout());
    book.restart(42 * MINUTE, "web", true);
    assert_eq!(only("S4", &book.broken(42 * MINUTE + 200)), Vec::<&str>::new());
}

#[test]
fn s4_the_host_budget_counts_all_replicas() {
    let mut book = restarted(3);
    book.rules.host_budget = (2, 30 * MINUTE);
    assert_eq!(only("S4", &book.broken(10 * MINUTE)), vec!["S4"]);
}

#[test]
fn s4_a_restart_that_was_not_recorded_is_seen() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.seen(74_900, "web", ContainerState::Running);
    book.bare_restart(75 * SECOND, "web");
    assert_eq!(book.broken(76 * SECOND), vec!["S4"]);
}

/// What was recorded when, and whether that was for the restart at 75 s, of what was looked at at 74.9 s.
fn recorded(submitted: u64, covers: u64, committed: u64) -> Vec<&'static str> {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.at(submitted, Fact::Submitted { seq: 7, records: 2 });
    book.seen(74_900, "web", ContainerState::Running);
    book.at(committed, Fact::Committed { seq: covers });
    book.bare_restart(75 * SECOND, "web");
    book.broken(76 * SECOND)
}

#[test]
fn s4_only_what_was_handed_over_after_the_look_records_the_restart() {
    assert_eq!(recorded(74_910, 7, 74_950), Vec::<&str>::new());
    assert_eq!(recorded(74_910, 9, 74_950), Vec::<&str>::new(), "a group is safe together");
    assert_eq!(recorded(74_890, 7, 74_950), vec!["S4"], "the trouble's own record");
    assert_eq!(recorded(74_910, 6, 74_950), vec!["S4"], "the batch before it");
    assert_eq!(recorded(74_910, 7, 75_020), vec!["S4"], "too late");
}

#[test]
fn s5_a_restart_on_what_could_not_be_looked_at_is_seen() {
    let mut book = hangs(MINUTE);
    let dns = ProbeOutcome::Dns("no answer".to_owned());
    book.samples(61 * SECOND, 76 * SECOND, "web", &dns);
    book.restart(75 * SECOND, "web", true);
    assert_eq!(book.broken(76 * SECOND), vec!["S5"]);
}

#[test]
fn s5_a_healthcheck_that_could_not_run_is_no_failure() {
    for (result, broken) in
        [(HealthResult::CouldNotRun, vec!["S5"]), (HealthResult::Failed, vec![])]
    {
        let mut checked = service("web");
        checked.probes.clear();
        checked.healthcheck = Some(healthcheck());
        let mut book = Book::of(vec![checked]);
        for time in 1..=3 {
            let container = "web".to_owned();
            let instance = "web@0".to_owned();
            book.at(time * 10 * SECOND, Fact::HealthChecked { container, instance, result });
        }
        book.seen_unhealthy(31 * SECOND, "web", 3);
        book.restart(40 * SECOND, "web", true);
        assert_eq!(book.broken(41 * SECOND), broken);
    }
}

#[test]
fn s6_too_few_failures_of_this_life_are_seen() {
    let mut book = hangs(MINUTE);
    book.rules.services[0].restart_after = 4;
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.restart(75 * SECOND, "web", true);
    assert_eq!(book.broken(76 * SECOND), vec!["S6"]);
}

#[test]
fn s6_failures_of_an_earlier_life_do_not_count() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.died(77 * SECOND, "web", Who::Itself, 1);
    book.begun(78 * SECOND, "web", Who::Docker);
    book.turned(78 * SECOND, "web", Condition::Well);
    book.samples(79 * SECOND, 86 * SECOND, "web", &timeout());
    book.restart(90 * SECOND, "web", true);
    assert_eq!(book.broken(91 * SECOND), vec!["S6"]);
}

#[test]
fn s6_failures_in_its_grace_do_not_count() {
    let mut book = hangs(MINUTE);
    book.rules.services[0].start_grace = 5 * MINUTE;
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.restart(75 * SECOND, "web", true);
    assert_eq!(book.broken(76 * SECOND), vec!["S6"]);
}

#[test]
fn s7_what_may_not_be_touched_is_not() {
    for change in [(|rules: &mut Rules| rules.hands_off = true) as fn(&mut Rules), |rules| {
        rules.services[0].may_act = false
    }] {
        let mut book = hangs(MINUTE);
        change(&mut book.rules);
        book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
        book.restart(75 * SECOND, "web", true);
        assert_eq!(book.broken(76 * SECOND), vec!["S7"]);
    }
}

/// Five services that hang at once; the last two of these are restarted so far apart.
fn storm(restarts: &[(&str, u64)]) -> Vec<&'static str> {
    let names = ["a", "b", "c", "d", "e"];
    let mut book = Book::of(names.iter().map(|name| service(name)).collect());
    for name in names {
        book.samples(SECOND, MINUTE, name, &pass());
        book.turned(MINUTE, name, Condition::Failing);
        let restart = restarts.iter().find(|restart| restart.0 == name);
        let until = restart.map_or(10 * MINUTE, |restart| restart.1);
        book.samples(61 * SECOND, until, name, &timeout());
        if let Some((name, at)) = restart {
            book.restart(*at, name, false);
            book.samples(at + 5 * SECOND, 10 * MINUTE, name, &timeout());
        }
    }
    only("S8", &book.broken(10 * MINUTE))
}

#[test]
fn s8_one_trial_in_five_minutes() {
    assert_eq!(storm(&[("a", 90 * SECOND)]), Vec::<&str>::new());
    assert_eq!(storm(&[("a", 90 * SECOND), ("b", 391 * SECOND)]), Vec::<&str>::new());
    assert_eq!(storm(&[("a", 90 * SECOND), ("b", 100 * SECOND)]), vec!["S8"]);
}

#[test]
fn s11_what_no_restart_cures_is_not_restarted() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &ProbeOutcome::Status(404));
    book.restart(75 * SECOND, "web", true);
    assert_eq!(book.broken(76 * SECOND), vec!["S11"]);
}

#[test]
fn s11_a_probe_that_has_never_passed_restarts_nothing() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, 20 * SECOND, "web", &timeout());
    book.restart(20 * SECOND, "web", true);
    assert_eq!(book.broken(21 * SECOND), vec!["S11"]);
}

#[test]
fn s12_what_holds_data_is_restarted_once_and_never_killed() {
    let mut book = restarted(2);
    book.rules.services[0].stateful = true;
    assert_eq!(only("S12", &book.broken(7 * MINUTE)), vec!["S12"]);

    let mut book = hangs(MINUTE);
    book.rules.services[0].stateful = true;
    book.seen(74_900, "web", ContainerState::Running);
    book.call(75 * SECOND, "web", Primitive::Kill, None);
    assert_eq!(only("S12", &book.broken(76 * SECOND)), vec!["S12"]);
}

#[test]
fn s12_what_the_engine_would_remove_is_never_killed() {
    let mut book = hangs(MINUTE);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    book.rules.services[0].auto_remove = true;
    book.seen(74_900, "web", ContainerState::Running);
    book.call(75 * SECOND, "web", Primitive::Kill, None);
    assert_eq!(only("S12", &book.broken(76 * SECOND)), vec!["S12"]);
}

#[test]
fn s12_nothing_is_restarted_while_things_settle() {
    for change in [
        (|book: &mut Book| book.rules.own_start = 2 * MINUTE) as fn(&mut Book),
        |book| {
            book.rules.host_boot = 5 * MINUTE;
            book.at(0, Fact::HostBooted);
        },
        |book| book.rules.services[0].settle = 20 * SECOND,
    ] {
        let mut book = hangs(MINUTE);
        change(&mut book);
        book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
        book.restart(75 * SECOND, "web", true);
        assert_eq!(book.broken(76 * SECOND), vec!["S12"]);
    }
}

#[test]
fn l1_a_target_that_is_no_longer_probed_is_seen() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, 2 * MINUTE, "web", &pass());
    assert_eq!(book.broken(2 * MINUTE), Vec::<&str>::new());

    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    assert_eq!(book.broken(2 * MINUTE), vec!["L1"]);
}

#[test]
fn the_main_job_left_undone_is_seen() {
    let mut book = hangs(2 * MINUTE);
    book.samples(121 * SECOND, 4 * MINUTE, "web", &timeout());
    assert_eq!(only("CURE", &book.broken(4 * MINUTE)), vec!["CURE"]);

    let mut book = hangs(2 * MINUTE);
    book.samples(121 * SECOND, 136 * SECOND, "web", &timeout());
    book.restart(135 * SECOND, "web", true);
    book.samples(140 * SECOND, 4 * MINUTE, "web", &pass());
    assert_eq!(book.broken(4 * MINUTE), Vec::<&str>::new());
}
