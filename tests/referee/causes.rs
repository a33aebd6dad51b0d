//! S9: a dependent is restarted only after what it needs was seen well, and is not told of while that is.

use crate::account::{Condition, Fact};
use crate::book::{Book, MINUTE, SECOND, about, message, pass, service, timeout};
use defib::domain::{
    message::{IncidentKind, MessageKind, Severity},
    observation::{ContainerState, DeliveryOutcome, HealthResult, HealthStatus},
};

/// `web` needs `db`. `web` hangs from 1:00 on and is restarted at 1:15.
fn restarted_while(needed: impl FnOnce(&mut Book)) -> Vec<&'static str> {
    let mut web = service("web");
    web.depends_on = vec!["db".to_owned()];
    let mut book = Book::of(vec![service("db"), web]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
    needed(&mut book);
    book.restart(75 * SECOND, "web", true);
    let mut broken = book.broken(76 * SECOND);
    broken.retain(|rule| *rule == "S9");
    broken
}

#[test]
fn s9_a_restart_after_what_it_needs_passed_is_right() {
    assert_eq!(restarted_while(|book| book.samples(SECOND, 76 * SECOND, "db", &pass())), [""; 0]);
    let only_once = |book: &mut Book| {
        book.samples(SECOND, 50 * SECOND, "db", &pass());
        book.sample(66 * SECOND, "db", pass());
    };
    assert_eq!(restarted_while(only_once), [""; 0]);
}

#[test]
fn s9_a_restart_while_what_it_needs_passed_only_before_is_seen() {
    assert_eq!(restarted_while(|book| book.samples(SECOND, MINUTE, "db", &pass())), ["S9"]);
    let fails_too = |book: &mut Book| {
        book.samples(SECOND, MINUTE, "db", &pass());
        book.samples(61 * SECOND, 66 * SECOND, "db", &timeout());
    };
    assert_eq!(restarted_while(fails_too), ["S9"], "one failure is no health");
}

#[test]
fn s9_a_restart_while_what_it_needs_has_fallen_since_is_seen() {
    assert_eq!(
        restarted_while(|book| {
            book.samples(SECOND, 62 * SECOND, "db", &pass());
            for at in [63, 65, 67, 69] {
                book.sample(at * SECOND, "db", timeout());
            }
        }),
        ["S9"]
    );
}

#[test]
fn s9_a_healthcheck_that_passed_will_do() {
    for (at, broken) in [(62, vec![]), (58, vec!["S9"])] {
        let checked = restarted_while(|book| {
            let (container, instance) = ("db".to_owned(), "db@0".to_owned());
            let result = HealthResult::Passed;
            book.at(at * SECOND, Fact::HealthChecked { container, instance, result });
        });
        assert_eq!(checked, broken, "at {at} s");
    }
    let looked = restarted_while(|book| {
        let seen = crate::account::Seen {
            state: ContainerState::Running,
            instance: "db@0".to_owned(),
            health: Some((HealthStatus::Healthy, 0)),
        };
        book.at(70 * SECOND, Fact::Inspected { container: "db".to_owned(), seen });
    });
    assert_eq!(looked, ["S9"], "a look says nothing of since when it has been well");
}

#[test]
fn s9_the_streak_counts_and_not_the_trouble() {
    // Restarted once, in vain; what it needs passed last before the new life began to fail.
    for (last_pass, broken) in [(100, vec!["S9"]), (122, vec![])] {
        let mut web = service("web");
        web.depends_on = vec!["db".to_owned()];
        let mut book = Book::of(vec![service("db"), web]);
        book.samples(SECOND, MINUTE, "web", &pass());
        book.turned(MINUTE, "web", Condition::Failing);
        book.samples(61 * SECOND, 76 * SECOND, "web", &timeout());
        book.samples(SECOND, 90 * SECOND, "db", &pass());
        book.restart(75 * SECOND, "web", false);
        book.samples(2 * MINUTE, 136 * SECOND, "web", &timeout());
        book.sample(last_pass * SECOND, "db", pass());
        book.restart(180 * SECOND, "web", true);
        let mut found = book.broken(181 * SECOND);
        found.retain(|rule| *rule == "S9");
        assert_eq!(found, broken, "passed last at {last_pass} s");
    }
}

/// `web` fails for good and is told of by nobody; `db`, which it needs, is told of or not.
fn untold(needs: bool, told: Option<Severity>) -> Vec<&'static str> {
    let mut web = service("web");
    web.may_act = false;
    if needs {
        web.depends_on = vec!["db".to_owned()];
    }
    let mut book = Book::of(vec![service("db"), web]);
    book.turned(30 * SECOND, "db", Condition::Failing);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 12 * MINUTE, "web", &timeout());
    if let Some(severity) = told {
        book.tell(70 * SECOND, "db", MessageKind::Opened, severity, 1);
    }
    let mut broken = book.broken(12 * MINUTE);
    broken.retain(|rule| matches!(*rule, "P2" | "P9"));
    broken
}

#[test]
fn s9_what_it_needs_stands_for_it_where_that_is_told_of_as_loudly() {
    assert_eq!(untold(true, None), ["P2", "P9"]);
    assert_eq!(untold(false, Some(Severity::Page)), ["P2", "P9"]);
    assert_eq!(untold(true, Some(Severity::Notice)), ["P9"]);
    assert_eq!(untold(true, Some(Severity::Page)), [""; 0]);
}

#[test]
fn s9_when_what_it_needs_is_well_again_it_is_told_of_itself() {
    let mut web = service("web");
    web.may_act = false;
    web.depends_on = vec!["db".to_owned()];
    let mut book = Book::of(vec![service("db"), web]);
    book.samples(SECOND, 12 * MINUTE, "db", &pass());
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 12 * MINUTE, "web", &timeout());
    book.tell(40 * SECOND, "db", MessageKind::Opened, Severity::Page, 1);
    for sink in ["a", "b"] {
        let over = message("db", MessageKind::Resolved, Severity::Page, 2);
        let over = about(IncidentKind::Unhealthy, over);
        book.send(65 * SECOND, sink, over, true, Some(DeliveryOutcome::Delivered));
    }
    assert!(book.broken(12 * MINUTE).contains(&"P9"));
}
