//! S6 for every kind: what is told to be over and soon opened again, with nothing changed in between, was not over.

use crate::account::{Condition, Fact, Who};
use crate::book::{Book, MINUTE, SECOND, about, message, pass, service, timeout};
use defib::domain::{
    effect::Primitive,
    message::{IncidentKind, Message, MessageKind, Severity},
    name::IncidentId,
    observation::{ActOutcome, DeliveryOutcome, HealthResult, ProbeOutcome},
};

const END: u64 = 12 * MINUTE;

/// Opened at 3:00, told to be over at 6:00, opened again at 7:00.
fn opened_again(mut book: Book, kind: IncidentKind) -> bool {
    let told =
        [(3, MessageKind::Opened, 1), (6, MessageKind::Resolved, 1), (7, MessageKind::Opened, 2)];
    for (id, (at, said, incident)) in (1..).zip(told) {
        let of_host = matches!(
            kind,
            IncidentKind::ActionsRefused
                | IncidentKind::EngineUnreachable
                | IncidentKind::StoreFailing
        );
        let message = about(kind, message("web", said, Severity::Ticket, id));
        let service = message.service.clone().filter(|_| !of_host);
        let message = Message { incident: IncidentId(incident), service, ..message };
        book.send(at * MINUTE, "a", message, true, Some(DeliveryOutcome::Delivered));
    }
    book.broken(END).contains(&"S6")
}

fn engine_away(book: &mut Book) {
    let weather = |fine| Fact::EngineWeather { fine, what: "EngineUnreachable".to_owned() };
    book.at(5 * MINUTE, weather(false));
    book.at(6 * MINUTE + 30 * SECOND, weather(true));
}

fn well() -> Book {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, END, "web", &pass());
    book
}

#[test]
fn s6_down_goes_on_while_the_engine_can_t_be_asked() {
    for (comes_back, broken) in [(false, true), (true, false)] {
        let mut book = Book::of(vec![service("web")]);
        book.samples(SECOND, 90 * SECOND, "web", &pass());
        book.died(90 * SECOND, "web", Who::Itself, 1);
        engine_away(&mut book);
        if comes_back {
            book.begun(5 * MINUTE + 30 * SECOND, "web", Who::Somebody);
            book.died(5 * MINUTE + 50 * SECOND, "web", Who::Itself, 1);
        }
        assert_eq!(opened_again(book, IncidentKind::Down), broken);
    }
}

#[test]
fn s6_what_could_not_be_looked_at_goes_on() {
    let blind = || ProbeOutcome::Local("no descriptors left".to_owned());
    for (seen, broken) in [(false, true), (true, false)] {
        let mut book = Book::of(vec![service("web")]);
        book.samples(SECOND, MINUTE, "web", &pass());
        book.samples(MINUTE + SECOND, END, "web", &blind());
        engine_away(&mut book);
        if seen {
            book.sample(5 * MINUTE + 59 * SECOND, "web", pass());
        }
        assert_eq!(opened_again(book, IncidentKind::CannotEvaluate), broken);
    }
}

#[test]
fn s6_a_healthcheck_that_can_t_run_goes_on_in_a_new_life() {
    for (passes, broken) in [(false, true), (true, false)] {
        let mut book = well();
        for (number, at) in (MINUTE..END).step_by(20_000).enumerate() {
            let result = if passes && number == 13 {
                HealthResult::Passed
            } else {
                HealthResult::CouldNotRun
            };
            let (container, instance) = ("web".to_owned(), "web@0".to_owned());
            book.at(at, Fact::HealthChecked { container, instance, result });
        }
        book.died(5 * MINUTE + 55 * SECOND, "web", Who::Somebody, 137);
        book.begun(5 * MINUTE + 56 * SECOND, "web", Who::Somebody);
        assert_eq!(opened_again(book, IncidentKind::CannotEvaluate), broken);
    }
}

#[test]
fn s6_a_new_life_of_what_has_never_passed_is_no_pass() {
    for (back_after, passes, broken) in
        [(SECOND, false, true), (SECOND, true, false), (90 * SECOND, false, false)]
    {
        let mut book = Book::of(vec![service("web")]);
        book.samples(SECOND, 5 * MINUTE, "web", &timeout());
        book.died(5 * MINUTE, "web", Who::Somebody, 137);
        book.begun(5 * MINUTE + back_after, "web", Who::Somebody);
        book.turned(5 * MINUTE + back_after, "web", Condition::Failing);
        book.samples(5 * MINUTE + back_after, END, "web", &timeout());
        if passes {
            book.sample(5 * MINUTE + 2 * SECOND, "web", pass());
        }
        assert_eq!(opened_again(book, IncidentKind::NeverPassed), broken);
    }
}

#[test]
fn s6_what_two_services_match_is_so_after_a_start_of_ours() {
    for (rival, broken) in [(Some("rival".to_owned()), true), (None, false)] {
        let mut book = well();
        book.rules.services[0].rival = rival;
        book.crash(5 * MINUTE + 50 * SECOND, 5 * MINUTE + 52 * SECOND);
        assert_eq!(opened_again(book, IncidentKind::Ambiguous), broken);
    }
}

#[test]
fn s6_what_is_removed_from_the_config_is_over() {
    let mut book = well();
    book.rules.services[0].rival = Some("rival".to_owned());
    book.at(6 * MINUTE, Fact::Reloaded { removed: Some("web".to_owned()), hands_off: false });
    assert!(!opened_again(book, IncidentKind::Ambiguous));
}

#[test]
fn s6_refused_is_refused_until_something_is_accepted() {
    let refused = |accepted: bool| {
        let mut book = well();
        for (call, at) in [(101, 2 * MINUTE + 50 * SECOND), (102, 6 * MINUTE + 50 * SECOND)] {
            let (container, primitive) = ("web".to_owned(), Primitive::Start);
            book.at(at, Fact::ActCalled { call, container, primitive });
            book.at(
                at + 5,
                Fact::ActAnswered { call, outcome: ActOutcome::Denied("403".to_owned()) },
            );
        }
        if accepted {
            book.call(5 * MINUTE, "web", Primitive::Start, Some(5 * MINUTE + 5));
        }
        opened_again(book, IncidentKind::ActionsRefused)
    };
    assert!(refused(false));
    assert!(!refused(true));
}

#[test]
fn s6_the_host_s_own_matters_end_when_something_works() {
    assert!(opened_again(well(), IncidentKind::EngineUnreachable));
    let mut book = well();
    book.at(5 * MINUTE, Fact::Listed { failure: None });
    assert!(!opened_again(book, IncidentKind::EngineUnreachable));

    assert!(opened_again(well(), IncidentKind::StoreFailing));
    let mut book = well();
    book.commit(5 * MINUTE);
    assert!(!opened_again(book, IncidentKind::StoreFailing));
}

#[test]
fn s6_one_life_that_fails_all_the_while_is_not_over() {
    for (pass_in_between, broken) in [(false, true), (true, false)] {
        let mut book = Book::of(vec![service("web")]);
        book.samples(SECOND, MINUTE, "web", &pass());
        book.turned(MINUTE, "web", Condition::Failing);
        book.samples(61 * SECOND, END, "web", &timeout());
        if pass_in_between {
            book.sample(5 * MINUTE, "web", pass());
        }
        assert_eq!(opened_again(book, IncidentKind::Unhealthy), broken);
    }
}

#[test]
fn s6_what_is_a_day_s_matter_does_not_end_in_minutes() {
    assert!(opened_again(well(), IncidentKind::Chronic));
}
