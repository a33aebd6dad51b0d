//! P4: that nothing arrives at a sink; and what one is owed that does not take everything.

use crate::account::{Fact, Ms};
use crate::book::{Book, MINUTE, SECOND, fails_for_good, message, pass, service};
use defib::domain::{
    message::{IncidentKind, Message, MessageKind, Severity},
    moment::WallMs,
    name::IncidentId,
    observation::DeliveryOutcome,
};

fn sink_failing(kind: MessageKind, id: u64) -> Message {
    Message {
        incident: IncidentId(2),
        key: "fleet/host/-/sink_failing".to_owned(),
        incident_kind: IncidentKind::SinkFailing,
        service: None,
        ..message("web", kind, Severity::Ticket, id)
    }
}

/// A service is well and its notice is tried at `a` at these moments, each with the same answer.
fn tried(moments: &[Ms], answer: &DeliveryOutcome) -> Book {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, 20 * MINUTE, "web", &pass());
    let what = "broken".to_owned();
    book.at(30 * SECOND, Fact::SinkWeather { sink: "a".to_owned(), fine: false, what });
    for at in moments {
        let decided = WallMs(i64::try_from(moments[0]).unwrap_or(i64::MAX));
        let opened =
            Message { decided, ..message("web", MessageKind::Opened, Severity::Notice, 1) };
        book.send(*at, "a", opened, false, Some(answer.clone()));
    }
    book
}

fn refused() -> DeliveryOutcome {
    DeliveryOutcome::Broken("404".to_owned())
}

fn silent() -> DeliveryOutcome {
    DeliveryOutcome::Unknown("no answer in time".to_owned())
}

fn told(mut book: Book, at: Ms) -> Vec<&'static str> {
    let message = sink_failing(MessageKind::Opened, 2);
    book.send(at, "b", message, true, Some(DeliveryOutcome::Delivered));
    book.broken(20 * MINUTE)
}

#[test]
fn p4_a_sink_that_refuses_and_of_which_nobody_hears_is_seen() {
    let long = || tried(&[MINUTE, 2 * MINUTE, 7 * MINUTE], &refused());
    assert_eq!(long().broken(20 * MINUTE), vec!["P4"]);
    assert_eq!(told(long(), 151 * SECOND), Vec::<&str>::new());
    assert_eq!(told(long(), 5 * MINUTE), vec!["P4"], "too late");
    let short = tried(&[MINUTE, 2 * MINUTE], &refused());
    assert_eq!(
        short.broken(20 * MINUTE),
        Vec::<&str>::new(),
        "owed for a minute, as far as is known"
    );
}

#[test]
fn p4_a_sink_that_can_not_be_reached_has_ten_minutes() {
    let moments: Vec<Ms> = (1..18).map(|minute| minute * MINUTE).collect();
    let until = |minutes: usize| tried(&moments[..minutes], &silent());
    assert_eq!(until(10).broken(20 * MINUTE), Vec::<&str>::new());
    assert_eq!(until(16).broken(20 * MINUTE), vec!["P4"]);
    assert_eq!(told(until(16), 661 * SECOND), Vec::<&str>::new());
}

#[test]
fn p4_one_rejection_is_a_hiccup_and_two_are_not() {
    let rejected = DeliveryOutcome::Rejected("400".to_owned());
    let twice = tried(&[MINUTE, 61 * SECOND, 2 * MINUTE, 7 * MINUTE], &rejected);
    assert_eq!(twice.broken(20 * MINUTE), vec!["P4"]);
    assert_eq!(tried(&[MINUTE], &rejected).broken(20 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p4_one_that_does_not_work_itself_need_not_hear_of_it() {
    let mut book = tried(&[MINUTE, 2 * MINUTE, 7 * MINUTE], &refused());
    let what = "broken".to_owned();
    book.at(0, Fact::SinkWeather { sink: "b".to_owned(), fine: false, what });
    assert_eq!(book.broken(20 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p4_that_a_sink_fails_while_all_work_is_seen() {
    let mut working = Book::of(vec![service("web")]);
    working.samples(SECOND, 20 * MINUTE, "web", &pass());
    assert_eq!(told(working, 5 * MINUTE), vec!["P4"]);
    let once = || tried(&[MINUTE], &silent());
    assert_eq!(told(once(), 70 * SECOND), vec!["P4"], "too soon");
    assert_eq!(told(once(), 19 * MINUTE), vec!["P4"], "how it was long ago");
}

#[test]
fn p9_a_sink_that_takes_no_notices_is_owed_the_page_alone() {
    let broken = |is_paged: bool| {
        let mut book = fails_for_good();
        book.rules.choosy.insert("b".to_owned(), vec![Severity::Page, Severity::Ticket]);
        let mut tell = |at, sink: &str, kind, severity, id| {
            let delivered = Some(DeliveryOutcome::Delivered);
            book.send(at, sink, message("web", kind, severity, id), true, delivered);
        };
        tell(85 * SECOND, "a", MessageKind::Opened, Severity::Notice, 1);
        tell(3 * MINUTE, "a", MessageKind::Raised, Severity::Page, 2);
        if is_paged {
            tell(3 * MINUTE, "b", MessageKind::Opened, Severity::Page, 3);
        }
        book.broken(12 * MINUTE)
    };
    assert_eq!(broken(true), Vec::<&str>::new());
    assert_eq!(broken(false), vec!["P9"]);
}

#[test]
fn p4_who_hears_late_that_a_sink_fails_hears_of_what_is_still_so() {
    let told_late = |rejected_again: bool| {
        let mut book = tried(&[MINUTE, 2 * MINUTE, 7 * MINUTE], &refused());
        let delivered = || Some(DeliveryOutcome::Delivered);
        book.send(151 * SECOND, "b", sink_failing(MessageKind::Opened, 2), true, delivered());
        if rejected_again {
            let page = message("web", MessageKind::Raised, Severity::Page, 3);
            let rejected = DeliveryOutcome::Rejected("400".to_owned());
            book.send(479 * SECOND, "a", page, false, Some(rejected));
        }
        let other = message("api", MessageKind::Opened, Severity::Notice, 4);
        book.send(480 * SECOND, "a", other, true, delivered());
        book.send(482 * SECOND, "a", sink_failing(MessageKind::Opened, 5), true, delivered());
        book.broken(20 * MINUTE)
    };
    assert!(!told_late(true).contains(&"P4"));
    assert!(told_late(false).contains(&"P4"));
}
