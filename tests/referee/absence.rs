//! P8: what is missing, and what only seems to be.

use crate::account::{Condition, Fact, ServiceRule, Who};
use crate::book::{Book, MINUTE, SECOND, message, pass, service};
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    observation::{ContainerState, DeliveryOutcome},
};

#[test]
fn p8_an_absence_that_nobody_hears_of_is_seen() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.died(MINUTE, "web", Who::Itself, 1);
    assert_eq!(book.broken(5 * MINUTE), vec!["P8"]);
}

#[test]
fn p8_a_finished_job_is_owed_nothing() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.died(MINUTE, "web", Who::Itself, 0);
    assert_eq!(book.broken(5 * MINUTE), Vec::<&str>::new());
}

#[test]
fn p8_told_after_a_minute_is_right_and_before_it_is_not() {
    for (at, broken) in [(121 * SECOND, vec![]), (80 * SECOND, vec!["P8"])] {
        let mut book = Book::of(vec![service("web")]);
        book.samples(SECOND, MINUTE, "web", &pass());
        book.died(MINUTE, "web", Who::Itself, 1);
        for sink in ["a", "b"] {
            let mut down = message("web", MessageKind::Opened, Severity::Page, 1);
            down.incident_kind = IncidentKind::Down;
            book.send(at, sink, down, true, Some(DeliveryOutcome::Delivered));
        }
        assert_eq!(book.broken(5 * MINUTE), broken);
    }
}

#[test]
fn p8_what_stood_still_and_was_removed_by_somebody_is_theirs() {
    // Missing since 1:00, told at 2:01 and called over when it is removed at 5:00: owed again ten minutes after that.
    for (removed_by, until, broken) in [
        (Who::Somebody, 14 * MINUTE, vec![]),
        (Who::Somebody, 18 * MINUTE, vec!["P8"]),
        (Who::Docker, 14 * MINUTE, vec!["P8"]),
    ] {
        let mut book = Book::of(vec![ServiceRule { listed: true, ..service("web") }]);
        book.samples(SECOND, MINUTE, "web", &pass());
        book.died(MINUTE, "web", Who::Defib, 137);
        book.seen(61 * SECOND, "web", ContainerState::Exited);
        book.at(5 * MINUTE, Fact::Destroyed { container: "web".to_owned(), by: removed_by });
        for (at, kind, id) in [(121, MessageKind::Opened, 1), (301, MessageKind::Resolved, 2)] {
            for sink in ["a", "b"] {
                let mut down = message("web", kind, Severity::Page, id);
                down.incident_kind = IncidentKind::Down;
                book.send(at * SECOND, sink, down, true, Some(DeliveryOutcome::Delivered));
            }
        }
        assert_eq!(book.broken(until), broken);
    }
}

#[test]
fn p8_what_was_missing_before_somebody_removed_it_was_owed() {
    let mut book = Book::of(vec![service("web")]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.died(MINUTE, "web", Who::Itself, 1);
    let by = Who::Somebody;
    book.at(5 * MINUTE, Fact::Destroyed { container: "web".to_owned(), by });
    assert_eq!(book.broken(6 * MINUTE), vec!["P8"]);
}

/// Three replicas of one service that run for a minute.
fn three() -> Book {
    let mut trio = ServiceRule { listed: true, wanted: Some(3), ..service("web") };
    trio.replicas = vec!["web/1".to_owned(), "web/2".to_owned(), "web/3".to_owned()];
    let mut book = Book::of(vec![trio.clone()]);
    for replica in &trio.replicas {
        book.samples(SECOND, MINUTE, replica, &pass());
    }
    book.rules.services[0].probes.clear();
    book
}

#[test]
fn p8_each_replica_is_missing_for_its_own_reason() {
    // One has finished its work, one is restarted by somebody: neither excuses the third, nor makes it missing.
    for (third, broken) in [(None, vec![]), (Some(1), vec!["P8"])] {
        let mut book = three();
        book.died(MINUTE, "web/1", Who::Itself, 0);
        book.died(2 * MINUTE, "web/2", Who::Somebody, 143);
        book.begun(2 * MINUTE + SECOND, "web/2", Who::Somebody);
        if let Some(code) = third {
            book.died(3 * MINUTE, "web/3", Who::Itself, code);
        }
        assert_eq!(book.broken(20 * MINUTE), broken);
    }
}

/// Told to be down after a minute, called over after another two; removed or stopped by somebody meanwhile, or not.
fn over_again(taken: Option<Fact>, shown: bool) -> Vec<&'static str> {
    let mut book = Book::of(vec![ServiceRule { listed: true, ..service("web") }]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.died(MINUTE, "web", Who::Itself, 1);
    if shown {
        book.seen(61 * SECOND, "web", ContainerState::Restarting);
    }
    if let Some(taken) = taken {
        book.at(239 * SECOND, taken);
    }
    for (at, kind, id) in [(121, MessageKind::Opened, 1), (240, MessageKind::Resolved, 2)] {
        for sink in ["a", "b"] {
            let mut down = message("web", kind, Severity::Page, id);
            down.incident_kind = IncidentKind::Down;
            book.send(at * SECOND, sink, down, true, Some(DeliveryOutcome::Delivered));
        }
    }
    book.broken(5 * MINUTE)
}

#[test]
fn p8_down_is_not_over_while_it_is_missed() {
    let container = || "web".to_owned();
    let stopping = Fact::Stopping { container: container(), by: Who::Somebody };
    let removed = Fact::Destroyed { container: container(), by: Who::Somebody };
    let by_the_engine = Fact::Destroyed { container: container(), by: Who::Docker };
    assert_eq!(over_again(None, true), vec!["P8"]);
    assert_eq!(over_again(Some(by_the_engine), true), vec!["P8"]);
    assert_eq!(over_again(Some(stopping), true), Vec::<&str>::new());
    assert_eq!(over_again(Some(removed), true), Vec::<&str>::new());
    assert_eq!(over_again(None, false), Vec::<&str>::new());
}

#[test]
fn p8_what_nobody_showed_to_be_back_counts_as_missing() {
    // Back after ten seconds; told to be down after a minute, in which it was looked at or not.
    for (looked_at, broken) in [(false, vec![]), (true, vec!["P8"])] {
        let mut book = Book::of(vec![service("web")]);
        book.rules.services[0].probes.clear();
        book.died(MINUTE, "web", Who::Itself, 1);
        book.seen(61 * SECOND, "web", ContainerState::Restarting);
        book.begun(70 * SECOND, "web", Who::Docker);
        book.turned(70 * SECOND, "web", Condition::Well);
        if looked_at {
            book.seen(80 * SECOND, "web", ContainerState::Running);
        }
        for (at, kind, id) in [(121, MessageKind::Opened, 1), (122, MessageKind::Resolved, 2)] {
            for sink in ["a", "b"] {
                let mut down = message("web", kind, Severity::Page, id);
                down.incident_kind = IncidentKind::Down;
                book.send(at * SECOND, sink, down, true, Some(DeliveryOutcome::Delivered));
            }
        }
        assert_eq!(book.broken(5 * MINUTE), broken);
    }
}
