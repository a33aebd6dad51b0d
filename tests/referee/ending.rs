//! P3 and S6: what is called over is, and what is not said by a restart of defib.

use crate::account::{Condition, Fact, Who};
use crate::book::{Book, MINUTE, SECOND, fails_for_good, message, pass, service, timeout};
use defib::domain::{
    message::{MessageKind, Severity},
    moment::WallMs,
    observation::DeliveryOutcome,
};

/// A page of the first life, and its end told so long after the second life's start, in these words; `decided`: when.
fn ended_after_our_start(
    kind: MessageKind,
    told_before: bool,
    after: u64,
    decided: Option<u64>,
    change: Option<Fact>,
) -> Vec<&'static str> {
    let mut book = fails_for_good();
    if told_before {
        book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    }
    book.crash(2 * MINUTE + SECOND, 2 * MINUTE + 3 * SECOND);
    if let Some(change) = change {
        book.at(122 * SECOND, change);
    }
    let at = 2 * MINUTE + 3 * SECOND + after;
    for sink in ["a", "b"] {
        let mut ended = message("web", kind, Severity::Page, 2);
        ended.since = WallMs(71_000);
        ended.decided = WallMs(i64::try_from(decided.unwrap_or(at)).unwrap_or(0));
        book.send(at, sink, ended, true, Some(DeliveryOutcome::Delivered));
    }
    let found = book.broken(at + SECOND);
    found.into_iter().filter(|rule| *rule == "S6").collect()
}

#[test]
fn s6_a_restart_of_ours_resolves_nothing() {
    let turned = Fact::Turned { container: "web".to_owned(), condition: Condition::Well };
    for kind in [MessageKind::Resolved, MessageKind::Recovered] {
        assert_eq!(ended_after_our_start(kind, true, 500, None, None), vec!["S6"]);
        let changed = Some(turned.clone());
        assert_eq!(ended_after_our_start(kind, true, 500, None, changed), Vec::<&str>::new());
    }
}

#[test]
fn s6_what_was_decided_before_our_start_is_owed_after_it() {
    for (kind, told_before) in [(MessageKind::Resolved, true), (MessageKind::Missed, false)] {
        let ended = |decided| ended_after_our_start(kind, told_before, 500, Some(decided), None);
        assert_eq!(ended(2 * MINUTE), Vec::<&str>::new());
        assert_eq!(ended(2 * MINUTE + 3_200), vec!["S6"]);
    }
}

#[test]
fn s6_a_change_that_only_its_lives_tell_of_is_one() {
    let instance = "web@again".to_owned();
    let begun = Fact::Started { container: "web".to_owned(), instance, by: Who::Somebody };
    let died = Fact::Died { container: "web".to_owned(), by: Who::Itself, exit_code: 1 };
    for change in [begun, died] {
        let ended = ended_after_our_start(MessageKind::Resolved, true, 500, None, Some(change));
        assert_eq!(ended, Vec::<&str>::new());
    }
}

#[test]
fn s6_setting_the_wall_clock_hides_nothing() {
    // Set forward by an hour before, and the message says so.
    let told = |decided: u64| {
        let mut book = fails_for_good();
        book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
        book.at(100 * SECOND, Fact::WallStepped(3_600_000));
        book.crash(2 * MINUTE + SECOND, 2 * MINUTE + 3 * SECOND);
        let mut ended = message("web", MessageKind::Resolved, Severity::Page, 2);
        ended.decided = WallMs(i64::try_from(decided + 3_600_000).unwrap_or(0));
        book.send(123_500, "a", ended, true, Some(DeliveryOutcome::Delivered));
        book.broken(125 * SECOND).contains(&"S6")
    };
    assert!(told(123_400));
    assert!(!told(119_000));
}

/// Told of from memory in a life that ends; the next one knows nothing of it. It is well from 2:00 on.
fn told_from_memory(durable: bool, recorded_later: bool) -> Vec<&'static str> {
    let mut book = Book::of(vec![service("web")]);
    book.rules.services[0].may_act = false;
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 2 * MINUTE, "web", &timeout());
    for sink in ["a", "b"] {
        let opened = message("web", MessageKind::Opened, Severity::Page, 1);
        book.attempt(85 * SECOND, sink, opened, durable, true, Some(DeliveryOutcome::Delivered));
    }
    if recorded_later {
        book.commit(90 * SECOND);
    }
    book.turned(2 * MINUTE, "web", Condition::Well);
    book.crash(2 * MINUTE + SECOND, 2 * MINUTE + 3 * SECOND);
    book.samples(2 * MINUTE + 4 * SECOND, 10 * MINUTE, "web", &pass());
    book.broken(10 * MINUTE)
}

#[test]
fn p3_what_was_told_from_memory_and_lost_in_a_crash_can_t_be_ended() {
    assert_eq!(told_from_memory(false, false), Vec::<&str>::new());
    assert_eq!(told_from_memory(false, true), vec!["P3"]);
    assert_eq!(told_from_memory(true, false), vec!["P3"]);
}

#[test]
fn p3_a_new_life_has_to_show_by_itself_that_it_is_well() {
    // Well again at 2:00, re-created at 8:00: over only when that life has been well for long enough.
    for (re_created, broken) in [(true, vec![]), (false, vec!["P3"])] {
        let mut book = Book::of(vec![service("web")]);
        book.rules.services[0].may_act = false;
        book.samples(SECOND, MINUTE, "web", &pass());
        book.turned(MINUTE, "web", Condition::Failing);
        book.samples(61 * SECOND, 2 * MINUTE, "web", &timeout());
        book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
        book.tell(150 * SECOND, "web", MessageKind::Recovered, Severity::Page, 2);
        book.turned(2 * MINUTE, "web", Condition::Well);
        book.samples(2 * MINUTE + SECOND, 10 * MINUTE, "web", &pass());
        if re_created {
            book.died(8 * MINUTE, "web", Who::Somebody, 137);
            book.begun(8 * MINUTE, "web", Who::Somebody);
            book.turned(8 * MINUTE, "web", Condition::Well);
        }
        assert_eq!(book.broken(10 * MINUTE), broken);
    }
}

/// Told to be well again at 3:00 while one of two replicas still shows what it showed.
fn recovered_while(other: impl FnOnce(&mut Book)) -> bool {
    let mut pair = service("web");
    pair.replicas = vec!["web/1".to_owned(), "web/2".to_owned()];
    pair.wanted = Some(2);
    pair.may_act = false;
    let mut book = Book::of(vec![pair]);
    book.samples(SECOND, MINUTE, "web/1", &pass());
    book.turned(MINUTE, "web/1", Condition::Failing);
    book.samples(61 * SECOND, 2 * MINUTE, "web/1", &timeout());
    book.turned(2 * MINUTE, "web/1", Condition::Well);
    book.samples(2 * MINUTE + SECOND, 4 * MINUTE, "web/1", &pass());
    other(&mut book);
    book.tell(85 * SECOND, "web", MessageKind::Opened, Severity::Page, 1);
    book.tell(3 * MINUTE, "web", MessageKind::Recovered, Severity::Page, 2);
    book.broken(3 * MINUTE + SECOND).contains(&"P3")
}

#[test]
fn p3_a_recovery_while_a_replica_fails_is_seen() {
    assert!(recovered_while(|book| {
        book.samples(SECOND, MINUTE, "web/2", &pass());
        book.samples(61 * SECOND, 4 * MINUTE, "web/2", &timeout());
    }));
}

#[test]
fn p3_what_has_never_passed_is_told_of_by_itself() {
    assert!(!recovered_while(|book| book.samples(SECOND, 4 * MINUTE, "web/2", &timeout())));
}

#[test]
fn p3_what_was_shown_before_it_was_frozen_is_stale() {
    let container = || "web/2".to_owned();
    for (thawed, lies) in [(170, false), (100, true)] {
        let told = recovered_while(|book| {
            book.samples(SECOND, MINUTE, "web/2", &pass());
            book.samples(61 * SECOND, 90 * SECOND, "web/2", &timeout());
            book.at(91 * SECOND, Fact::Paused { container: container() });
            book.at(thawed * SECOND, Fact::Unpaused { container: container() });
            book.samples((thawed + 1) * SECOND, 4 * MINUTE, "web/2", &timeout());
        });
        assert_eq!(told, lies, "thawed at {thawed} s");
    }
}

/// Fails at a minute, is told of as a page, and well a minute later; what is told of that follows.
fn well_again(told: &[(u64, MessageKind)]) -> bool {
    let mut web = service("web");
    web.may_act = false;
    web.stable_for = 30 * MINUTE;
    web.budget.0 = 0;
    let mut book = Book::of(vec![web]);
    book.samples(SECOND, MINUTE, "web", &pass());
    book.turned(MINUTE, "web", Condition::Failing);
    book.samples(61 * SECOND, 2 * MINUTE, "web", &timeout());
    book.turned(2 * MINUTE, "web", Condition::Well);
    book.samples(2 * MINUTE + SECOND, 4 * MINUTE, "web", &pass());
    book.turned(4 * MINUTE, "web", Condition::Failing);
    book.samples(4 * MINUTE + SECOND, 5 * MINUTE, "web", &timeout());
    book.turned(5 * MINUTE, "web", Condition::Well);
    book.samples(5 * MINUTE + SECOND, 9 * MINUTE, "web", &pass());
    for (id, (at, kind)) in (1..).zip(told) {
        book.tell(at * SECOND, "web", *kind, Severity::Page, id);
    }
    !book.broken(9 * MINUTE).contains(&"P9")
}

#[test]
fn p9_a_recovery_from_what_woke_somebody_is_owed_soon() {
    use MessageKind::{GivenUp, Opened, Recovered, Relapsed};
    assert!(!well_again(&[(85, Opened)]));
    assert!(well_again(&[(85, Opened), (130, Recovered)]));
    assert!(well_again(&[(85, Opened), (130, Recovered), (260, Relapsed)]), "it flaps");
    let louder = [(85, Opened), (130, Recovered), (260, Relapsed), (280, GivenUp)];
    assert!(!well_again(&louder));
    assert!(well_again(&[&louder[..], &[(310, Recovered)]].concat()));
}
