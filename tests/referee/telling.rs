//! The P rules.

use crate::account::{Condition, Fact};
use crate::book::{Book, MINUTE, SECOND, fails_for_good, message, pass, service, timeout};
use defib::domain::{
    message::{IncidentKind, Message, MessageKind, Severity},
    moment::WallMs,
    observation::DeliveryOutcome,
};

#[test]
fn p2_a_trouble_that_nobody_hears_of_is_seen() {
    assert_eq!(fails_for_good().broken(12 * MINUTE), vec!["P2", "P9"]);
}

#[test]
fn p2_a_page_in_each_sink_is_right() {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    assert_eq!(book.broken(12 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p2_each_sink_counts_by_itself() {
    let mut book = fails_for_good();
    let opened = message("web", MessageKind::Opened, Severity::Page, 1);
    book.send(85 * SECOND, "a", opened, true, Some(DeliveryOutcome::Delivered));
    assert_eq!(book.broken(12 * MINUTE), vec!["P2", "P9"]);
}

#[test]
fn p2_a_sink_that_does_not_work_is_owed_nothing() {
    let mut book = fails_for_good();
    let opened = message("web", MessageKind::Opened, Severity::Page, 1);
    book.send(85 * SECOND, "a", opened, true, Some(DeliveryOutcome::Delivered));
    let what = "broken".to_owned();
    book.at(0, Fact::SinkWeather { sink: "b".to_owned(), fine: false, what });
    assert_eq!(book.broken(12 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p9_a_notice_that_never_becomes_a_page_is_seen() {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Notice, 1);
    assert_eq!(book.broken(12 * MINUTE), vec!["P9"]);

    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Notice, 1);
    book.tell(3 * MINUTE, "web", MessageKind::Raised, Severity::Page, 2);
    assert_eq!(book.broken(12 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p9_a_notice_where_a_page_was_asked_for_is_seen() {
    let mut book = fails_for_good();
    book.rules.services[0].page_at_once = true;
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Notice, 1);
    book.tell(90 * SECOND, "web", MessageKind::Raised, Severity::Page, 2);
    assert_eq!(book.broken(12 * MINUTE), vec!["P9"]);
}

/// A service that hangs after ten minutes and is cured by its first restart.
fn cured(first: Severity) -> Book {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, 10 * MINUTE, "web", &pass());
    book.turned(10 * MINUTE, "web", Condition::Failing);
    book.samples(601 * SECOND, 616 * SECOND, "web", &timeout());
    book.restart(615 * SECOND, "web", true);
    // A person hears when the restart is paid for, before the engine does.
    book.tell(614 * SECOND, "web", MessageKind::Opened, first, 1);
    book.samples(620 * SECOND, 17 * MINUTE, "web", &pass());
    book
}

#[test]
fn p9_nobody_is_woken_for_what_is_being_cured() {
    let ended = |mut book: Book| {
        book.tell(11 * MINUTE, "web", MessageKind::Recovered, Severity::Notice, 2);
        book.tell(12 * MINUTE, "web", MessageKind::Resolved, Severity::Notice, 3);
        book.broken(17 * MINUTE)
    };
    assert_eq!(ended(cured(Severity::Notice)), Vec::<&str>::new());
    assert_eq!(ended(cured(Severity::Page)), vec!["P9"]);
}

#[test]
fn p3_an_open_that_never_ends_is_seen() {
    assert_eq!(cured(Severity::Notice).broken(17 * MINUTE), vec!["P3", "P9"]);
}

#[test]
fn p3_a_resolve_of_what_was_never_told_is_seen() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.tell(30 * SECOND, "web", MessageKind::Resolved, Severity::Notice, 1);
    assert_eq!(book.broken(MINUTE), vec!["P3"]);
}

#[test]
fn p1_a_second_attempt_under_another_key_is_seen() {
    let attempts = |second_id: u64| {
        let mut book = Book::of(vec![service("web")]);
        book.samples(SECOND, MINUTE, "web", &pass());
        let lost = DeliveryOutcome::Unknown("timed out".to_owned());
        let answers = [(20, 1, lost), (25, second_id, DeliveryOutcome::Delivered)];
        for (at, id, answer) in answers {
            let opened = message("web", MessageKind::Opened, Severity::Notice, id);
            let opened = Message { decided: WallMs(19_000), ..opened };
            book.send(at * SECOND, "a", opened, true, Some(answer));
        }
        book.broken(MINUTE)
    };
    assert_eq!(attempts(1), Vec::<&str>::new());
    assert_eq!(attempts(2), vec!["P1"]);
}

#[test]
fn p3_a_resolve_after_an_open_that_may_have_arrived_is_right() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    for sink in ["a", "b"] {
        let lost = Some(DeliveryOutcome::Unknown("timed out".to_owned()));
        let opened = message("web", MessageKind::Opened, Severity::Notice, 1);
        book.send(20 * SECOND, sink, opened, false, lost);
    }
    book.tell(30 * SECOND, "web", MessageKind::Resolved, Severity::Notice, 2);
    assert_eq!(book.broken(MINUTE), Vec::<&str>::new());
}

#[test]
fn p3_a_resolve_while_it_fails_is_seen() {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book.tell(8 * MINUTE, "web", MessageKind::Resolved, Severity::Page, 2);
    assert!(book.broken(8 * MINUTE + SECOND).contains(&"P3"));
}

#[test]
fn p3_missed_is_not_said_to_who_did_not_miss_it() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.tell(20 * SECOND, "web", MessageKind::Opened, Severity::Notice, 1);
    book.tell(40 * SECOND, "web", MessageKind::Missed, Severity::Notice, 2);
    assert_eq!(book.broken(MINUTE), vec!["P3"]);
}

#[test]
fn p3_a_reminder_before_its_hour_is_seen() {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book.tell(8 * MINUTE, "web", MessageKind::Reminder, Severity::Page, 2);
    assert_eq!(book.broken(12 * MINUTE), vec!["P3"]);
}

/// The same message twice to one sink; the first answer was this.
fn twice(outcome: Option<DeliveryOutcome>, crash: bool, committed: bool) -> Vec<&'static str> {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book.send(
        2 * MINUTE,
        "a",
        message("web", MessageKind::Raised, Severity::Page, 7),
        true,
        outcome,
    );
    if committed {
        book.commit(121 * SECOND);
    }
    if crash {
        book.crash(122 * SECOND, 125 * SECOND);
    }
    let raised = message("web", MessageKind::Raised, Severity::Page, 7);
    book.send(130 * SECOND, "a", raised, true, Some(DeliveryOutcome::Delivered));
    let found = book.broken(12 * MINUTE);
    found.into_iter().filter(|rule| *rule == "P1").collect()
}

#[test]
fn p1_a_repeat_of_what_was_confirmed_is_seen() {
    let unknown = DeliveryOutcome::Unknown("500".to_owned());
    assert_eq!(twice(Some(DeliveryOutcome::Delivered), false, true), vec!["P1"]);
    assert_eq!(twice(Some(unknown), false, true), Vec::<&str>::new());
}

#[test]
fn p1_a_crash_before_the_answer_was_safe_explains_one_repeat() {
    assert_eq!(twice(Some(DeliveryOutcome::Delivered), true, false), Vec::<&str>::new());
    assert_eq!(twice(None, true, false), Vec::<&str>::new());
    assert_eq!(twice(Some(DeliveryOutcome::Delivered), true, true), vec!["P1"]);
}

#[test]
fn p1_a_second_open_of_what_is_open_is_seen() {
    let mut book = fails_for_good();
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book.tell(3 * MINUTE, "web", MessageKind::Opened, Severity::Page, 2);
    assert_eq!(book.broken(12 * MINUTE), vec!["P1"]);
}

/// The brake's incident, which names these.
fn brake(book: &mut Book, at: u64, kind: MessageKind, id: u64, names: &[&str]) {
    for sink in ["a", "b"] {
        let mut brake = message("web", kind, Severity::Page, id);
        brake.service = None;
        brake.incident_kind = IncidentKind::Brake;
        brake.key = "fleet/host/-/brake".to_owned();
        brake.members = names.iter().map(|name| (*name).to_owned()).collect();
        book.send(at, sink, brake, true, Some(DeliveryOutcome::Delivered));
    }
}

#[test]
fn p2_the_brake_stands_for_those_only_that_it_has_named() {
    let mut named = fails_for_good();
    brake(&mut named, 80 * SECOND, MessageKind::Opened, 1, &["web"]);
    assert_eq!(named.broken(12 * MINUTE), Vec::<&str>::new());
    let mut joins = fails_for_good();
    brake(&mut joins, 60 * SECOND, MessageKind::Opened, 1, &["other"]);
    brake(&mut joins, 150 * SECOND, MessageKind::Grown, 2, &["other", "web"]);
    assert_eq!(joins.broken(12 * MINUTE), Vec::<&str>::new());
    let mut unsaid = fails_for_good();
    brake(&mut unsaid, 60 * SECOND, MessageKind::Opened, 1, &["other"]);
    assert_eq!(unsaid.broken(12 * MINUTE), vec!["P2", "P9"]);
}

/// Much fails from 1:20 on, of which the host's incident tells until this moment, and then each by itself.
fn handed_over(ended: u64, told: Option<u64>, cured: Option<u64>) -> Vec<&'static str> {
    let mut book = fails_for_good();
    brake(&mut book, 80 * SECOND, MessageKind::Opened, 1, &["web"]);
    brake(&mut book, ended, MessageKind::Resolved, 2, &["web"]);
    if let Some(told) = told {
        book.tell(told, "web", MessageKind::Opened, Severity::Page, 3);
    }
    if let Some(cured) = cured {
        book.tell(cured, "web", MessageKind::Missed, Severity::Page, 4);
    }
    book.broken(12 * MINUTE)
}

#[test]
fn p2_what_the_host_s_incident_stood_for_is_told_right_after_it() {
    // Five failures at 1:21, owed by 2:21.
    assert_eq!(handed_over(140_700, Some(141_200), None), Vec::<&str>::new());
    assert_eq!(handed_over(140_700, Some(150_000), None), vec!["P2"]);
    assert_eq!(handed_over(140_700, None, None), vec!["P2", "P9"]);
    // Told, and told to be over within the same seconds.
    assert!(!handed_over(140_700, Some(141_200), Some(142_500)).contains(&"P2"));
}

/// Restarted three times, ever more rarely, and never cured; told as a page after the first.
fn given_up() -> Book {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, 5 * MINUTE, "web", &pass());
    book.turned(5 * MINUTE, "web", Condition::Failing);
    let mut failing_since = 5 * MINUTE;
    for restart in [315 * SECOND, 10 * MINUTE, 15 * MINUTE] {
        book.samples(failing_since + SECOND, restart, "web", &timeout());
        book.restart(restart, "web", false);
        failing_since = restart + 2 * SECOND;
    }
    book.samples(failing_since + SECOND, 30 * MINUTE, "web", &timeout());
    book.tell(330 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book
}

#[test]
fn p9_that_restarts_are_given_up_and_nobody_is_told_is_seen() {
    assert_eq!(given_up().broken(30 * MINUTE), vec!["P9"]);
}

#[test]
fn p9_that_restarts_are_given_up_is_told() {
    let mut book = given_up();
    book.tell(17 * MINUTE, "web", MessageKind::GivenUp, Severity::Page, 2);
    assert_eq!(book.broken(30 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p9_giving_up_with_restarts_left_is_seen() {
    let mut book = given_up();
    book.tell(12 * MINUTE, "web", MessageKind::GivenUp, Severity::Page, 2);
    book.tell(17 * MINUTE, "web", MessageKind::GivenUp, Severity::Page, 3);
    assert_eq!(book.broken(30 * MINUTE), vec!["P9"]);
}
