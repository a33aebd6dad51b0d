//! What the operator says while a run goes on: the `hold` file, a config that is read again, thresholds by time, reminders.

use crate::account::{Condition, Fact, Ms, ServiceRule};
use crate::book::{Book, MINUTE, SECOND, fails_for_good, message, pass, service, timeout};
use defib::domain::{
    effect::Primitive,
    message::{MessageKind, Severity},
    observation::DeliveryOutcome,
};

/// One service that hangs at one minute and is restarted at 1:15; some other fact of that time.
fn restarted(fact: Option<(Ms, Fact)>) -> Book {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    if let Some((at, fact)) = fact {
        book.at(at, fact);
    }
    book.restart(75 * SECOND, "web", true);
    book.samples(80 * SECOND, 3 * MINUTE, "web", &pass());
    book
}

fn never_act() -> Fact {
    Fact::Reloaded { removed: None, hands_off: true }
}

#[test]
fn s7_a_restart_while_the_hold_file_exists_is_seen() {
    let held = |from: Ms, to: Ms| {
        let mut book = restarted(Some((from, Fact::HoldFile { exists: true })));
        book.at(to, Fact::HoldFile { exists: false });
        book.broken(2 * MINUTE)
    };
    assert_eq!(held(74_999, 80 * SECOND), vec!["S7"]);
    assert_eq!(held(30 * SECOND, 74_999), Vec::<&str>::new());
    assert_eq!(held(75_001, 80 * SECOND), Vec::<&str>::new());
}

#[test]
fn s7_a_config_that_has_come_to_say_never_counts_at_once() {
    assert_eq!(restarted(Some((74_999, never_act()))).broken(2 * MINUTE), vec!["S7"]);
    assert_eq!(restarted(Some((75_001, never_act()))).broken(2 * MINUTE), Vec::<&str>::new());
}

#[test]
fn s7_only_the_start_that_pairs_with_a_stop_of_before_is_finished() {
    // Held in the middle of a restart: a kill is an act, the start is owed, and owed once.
    let acts = |acts: &[(Primitive, bool)]| {
        let hold = (75_500, Fact::HoldFile { exists: true });
        let mut book = restarted(Some(hold));
        for (number, (primitive, answered)) in acts.iter().enumerate() {
            let at = 80 * SECOND + number as Ms * 10 * SECOND;
            book.seen(at - 100, "web", defib::domain::observation::ContainerState::Running);
            book.call(at, "web", *primitive, answered.then_some(at + 100));
        }
        let found = book.broken(3 * MINUTE);
        found.into_iter().filter(|rule| *rule == "S7").count()
    };
    assert_eq!(acts(&[(Primitive::Start, true)]), 0);
    assert_eq!(acts(&[(Primitive::Kill, true)]), 1);
    assert_eq!(acts(&[(Primitive::Start, true), (Primitive::Start, true)]), 1);
    // The answer was lost in a crash.
    assert_eq!(acts(&[(Primitive::Start, false), (Primitive::Start, true)]), 0);
}

/// A service that hangs for good, with the hold file there until a moment; never restarted.
fn held_until(gone: Ms, end: Ms) -> Vec<&'static str> {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, 5 * MINUTE, "web", &pass());
    book.turned(5 * MINUTE, "web", Condition::Failing);
    book.samples(301 * SECOND, end, "web", &timeout());
    book.at(4 * MINUTE, Fact::HoldFile { exists: true });
    book.at(gone, Fact::HoldFile { exists: false });
    let found = book.broken(end);
    found.into_iter().filter(|rule| *rule == "CURE").collect()
}

#[test]
fn cure_what_was_held_is_done_when_nobody_holds_it_any_more() {
    assert_eq!(held_until(20 * MINUTE, 12 * MINUTE), Vec::<&str>::new());
    assert_eq!(held_until(8 * MINUTE, 12 * MINUTE), vec!["CURE"]);
}

/// A service that fails and is told of, which the config does not name from 3:00 on; and what is said after that.
fn removed(kind: Option<MessageKind>, at: Ms) -> Vec<&'static str> {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book.at(3 * MINUTE, Fact::Reloaded { removed: Some("web".to_owned()), hands_off: false });
    if let Some(kind) = kind {
        book.tell(at, "web", kind, Severity::Page, 2);
    }
    book.broken(12 * MINUTE)
}

#[test]
fn p3_what_is_no_longer_configured_is_over() {
    assert_eq!(removed(None, 0), vec!["P3"]);
    assert_eq!(removed(Some(MessageKind::Resolved), 181 * SECOND), Vec::<&str>::new());
    assert_eq!(removed(Some(MessageKind::Raised), 10 * MINUTE), vec!["P3"]);
}

#[test]
fn s6_a_reload_resolves_nothing() {
    let resolved = |at: Ms| {
        let mut book = fails_for_good();
        book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
        book.at(2 * MINUTE, Fact::Reloaded { removed: None, hands_off: false });
        book.tell(at, "web", MessageKind::Resolved, Severity::Page, 2);
        book.broken(at + SECOND).contains(&"S6")
    };
    assert!(resolved(2 * MINUTE + 10));
    assert!(!resolved(2 * MINUTE - 10));
}

fn by_time() -> ServiceRule {
    ServiceRule {
        page_after: u32::MAX,
        page_after_ms: Some(60 * SECOND),
        restart_after: u32::MAX,
        restart_after_ms: Some(12 * SECOND),
        ..service("web")
    }
}

#[test]
fn s6_a_restart_before_it_has_been_failing_for_long_enough_is_seen() {
    // Failing since 1:01.
    for (span, broken) in [(12, vec![]), (15, vec!["S6"])] {
        let mut book = restarted(None);
        book.rules.services =
            vec![ServiceRule { restart_after_ms: Some(span * SECOND), ..by_time() }];
        assert_eq!(book.broken(2 * MINUTE), broken);
    }
}

#[test]
fn p2_a_threshold_by_time_is_owed_too() {
    for (told, broken) in [(None, vec!["P2", "P9"]), (Some(125 * SECOND), vec![])] {
        let mut book = fails_for_good();
        book.rules.services = vec![ServiceRule { may_act: false, ..by_time() }];
        if let Some(told) = told {
            book.tell(told, "web", MessageKind::Opened, Severity::Page, 1);
        }
        assert_eq!(book.broken(12 * MINUTE), broken);
    }
}

/// Open from 1:25 on, and reminded of so many minutes after that.
fn reminded(minutes: &[u64], ended: Option<u64>) -> Vec<&'static str> {
    let mut book = fails_for_good();
    book.rules.services[0].probes.clear();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    for (number, after) in minutes.iter().enumerate() {
        let at = 85 * SECOND + after * MINUTE;
        book.tell(at, "web", MessageKind::Reminder, Severity::Page, 2 + number as u64);
    }
    if let Some(after) = ended {
        book.tell(after * MINUTE, "web", MessageKind::Resolved, Severity::Page, 9);
    }
    book.broken(80 * MINUTE)
}

#[test]
fn p3_what_is_open_for_an_hour_is_said_again_and_once() {
    assert_eq!(reminded(&[60], None), Vec::<&str>::new());
    assert_eq!(reminded(&[], None), vec!["P3"]);
    assert_eq!(reminded(&[60, 70], None), vec!["P3"]);
    assert_eq!(reminded(&[], Some(40)), Vec::<&str>::new());
}

#[test]
fn p3_who_heard_of_it_late_is_reminded_with_the_others() {
    let mut book = fails_for_good();
    book.rules.services[0].probes.clear();
    book.at(0, Fact::SinkWeather { sink: "b".to_owned(), fine: false, what: "gone".to_owned() });
    let opened = message("web", MessageKind::Opened, Severity::Page, 1);
    book.send(85 * SECOND, "a", opened.clone(), true, Some(DeliveryOutcome::Delivered));
    book.send(50 * MINUTE, "b", opened, true, Some(DeliveryOutcome::Delivered));
    book.tell(85 * SECOND + 60 * MINUTE, "web", MessageKind::Reminder, Severity::Page, 2);
    assert_eq!(book.broken(70 * MINUTE), Vec::<&str>::new());
}
