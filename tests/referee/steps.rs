//! What a message tells people to paste.

use crate::account::{Condition, Fact, Who};
use crate::book::{Book, MINUTE, SECOND, message, pass, service, timeout};
use defib::domain::{
    message::{Message, MessageKind, Severity},
    observation::DeliveryOutcome,
};

/// A service of two replicas; the first fails for a while, the second from two minutes on. Tells of it at 2:30.
fn told_to(step: &str, change: impl FnOnce(&mut Book)) -> Vec<&'static str> {
    let mut api = service("api");
    api.may_act = false;
    api.replicas = vec!["api-1".to_owned(), "api-2".to_owned()];
    api.wanted = Some(2);
    let mut book = Book::of(vec![api]);
    book.samples(SECOND, MINUTE, "api-1", &timeout());
    book.samples(61 * SECOND, 3 * MINUTE, "api-1", &pass());
    book.samples(SECOND, 2 * MINUTE, "api-2", &pass());
    book.turned(2 * MINUTE, "api-2", Condition::Failing);
    book.samples(121 * SECOND, 3 * MINUTE, "api-2", &timeout());
    change(&mut book);
    let opened = message("api", MessageKind::Opened, Severity::Page, 1);
    let opened = Message { next_steps: vec![step.to_owned()], ..opened };
    book.send(150 * SECOND, "a", opened, true, Some(DeliveryOutcome::Delivered));
    let mut broken = book.broken(3 * MINUTE);
    broken.retain(|rule| *rule == "TELL");
    broken
}

#[test]
fn a_step_about_what_is_well_is_seen() {
    assert_eq!(told_to("$ docker restart api-1", |_| ()), ["TELL"]);
    assert_eq!(told_to("$ docker logs --tail 50 api-1", |_| ()), ["TELL"]);
}

#[test]
fn a_step_about_what_fails_is_right() {
    assert_eq!(told_to("$ docker restart api-2", |_| ()), [""; 0]);
    assert_eq!(told_to("see to `api-1` first", |_| ()), [""; 0], "no line to paste");
}

#[test]
fn a_step_about_what_was_well_only_for_a_moment_or_could_not_be_seen_is_right() {
    let fails_once = |book: &mut Book| book.sample(147 * SECOND, "api-1", timeout());
    assert_eq!(told_to("$ docker restart api-1", fails_once), [""; 0]);
    let unseen = |book: &mut Book| {
        let what = "refused".to_owned();
        book.at(MINUTE, Fact::EngineWeather { fine: false, what });
    };
    assert_eq!(told_to("$ docker restart api-1", unseen), [""; 0]);
}

#[test]
fn a_step_about_what_was_removed_is_seen() {
    let removed = |at, again: bool| {
        move |book: &mut Book| {
            book.died(at, "api-2", Who::Itself, 0);
            let container = "api-2".to_owned();
            book.at(at, Fact::Destroyed { container, by: Who::Docker });
            if again {
                let (container, replica) = ("api-2/2".to_owned(), "api-2".to_owned());
                book.at(at + SECOND, Fact::Created { container, replica });
            }
        }
    };
    let step = "$ docker start api-2";
    assert_eq!(told_to(step, removed(140 * SECOND, false)), ["TELL"]);
    assert_eq!(told_to(step, removed(149 * SECOND, false)), [""; 0], "a moment ago");
    assert_eq!(told_to(step, removed(140 * SECOND, true)), [""; 0], "made anew");
}
