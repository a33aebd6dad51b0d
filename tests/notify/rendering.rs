//! What people read, word for word, and that nothing in a message can break it.

use crate::{
    samples::{self, berlin},
    strict,
};
use defib::domain::moment::WallMs;
use defib::notify::{
    plain::{Style, block},
    slack, webhook,
    wording::word,
};
use proptest::prelude::*;
use serde_json::Value;

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[test]
fn people_read_this_in_slack() {
    for (name, message) in samples::all() {
        let payload = slack::payload(&samples::leaving(&message, true), &berlin());
        assert_eq!(strict::slack_payload(&payload), Ok(()), "{name}");
        insta::assert_snapshot!(format!("slack_{name}"), pretty(&payload));
    }
}

#[test]
fn people_read_this_on_a_terminal() {
    for (name, message) in samples::all() {
        let text = block(&word(&samples::leaving(&message, true), &berlin()), Style::Plain);
        insta::assert_snapshot!(format!("plain_{name}"), text);
    }
}

#[test]
fn a_terminal_in_colours_reads_the_same() {
    let wording = word(&samples::leaving(&samples::page(), true), &berlin());
    let coloured = block(&wording, Style::Coloured);
    insta::assert_snapshot!("coloured_page", coloured.replace('\u{1b}', "␛"));
    let bare = ["[31m", "[1m", "[2m", "[0m"]
        .iter()
        .fold(coloured, |text, code| text.replace(&format!("\u{1b}{code}"), ""));
    assert_eq!(bare, block(&wording, Style::Plain));
}

#[test]
fn programs_read_this() {
    for (name, message) in samples::all() {
        let payload = serde_json::to_value(webhook::payload(&message, true)).unwrap();
        assert_eq!(strict::webhook_payload(&payload), Ok(()), "{name}");
        insta::assert_snapshot!(format!("webhook_{name}"), pretty(&payload));
    }
}

#[test]
fn a_message_that_could_not_be_recorded_says_so_everywhere() {
    let says = "could not record this message: it may come twice";
    let message = samples::page();
    assert!(
        slack::payload(&samples::leaving(&message, false), &berlin()).to_string().contains(says)
    );
    assert!(
        slack::payload(&samples::leaving(&samples::bare(&message), false), &berlin())
            .to_string()
            .contains(says)
    );
    assert!(
        block(&word(&samples::leaving(&message, false), &berlin()), Style::Plain).contains(says)
    );
    assert!(!webhook::payload(&message, false).durable);
    assert!(
        !slack::payload(&samples::leaving(&message, true), &berlin()).to_string().contains(says)
    );
}

#[test]
fn a_headline_alone_goes_to_slack_as_text_alone() {
    let payload =
        slack::payload(&samples::leaving(&samples::bare(&samples::page()), true), &berlin());
    assert_eq!(strict::slack_payload(&payload), Ok(()));
    assert!(payload.get("blocks").is_none());
    insta::assert_snapshot!("slack_bare", pretty(&payload));
}

#[test]
fn no_text_from_outside_begins_a_line_of_its_own_at_the_margin() {
    let text = block(&word(&samples::leaving(&samples::hostile(), true), &berlin()), Style::Plain);
    let at_the_margin: Vec<&str> = text.lines().filter(|line| !line.starts_with("  ")).collect();
    assert_eq!(at_the_margin.len(), 1, "{at_the_margin:?}");
}

#[test]
fn the_largest_message_of_anything_fits_everywhere() {
    for stuff in ["x", "&", "<!channel>", "\"\\", "🔥", "👩\u{200d}🚒", "word ", "\n", "`", "ä"]
    {
        fits_everywhere(&samples::largest(stuff)).unwrap_or_else(|why| panic!("{stuff}: {why}"));
    }
    insta::assert_snapshot!(
        "plain_largest",
        block(&word(&samples::leaving(&samples::largest("🔥"), true), &berlin()), Style::Plain)
    );
    insta::assert_snapshot!(
        "slack_largest",
        pretty(&slack::payload(&samples::leaving(&samples::largest("word & "), true), &berlin()))
    );
}

fn fits_everywhere(message: &defib::domain::message::Message) -> Result<(), String> {
    strict::slack_payload(&slack::payload(&samples::leaving(message, false), &berlin()))?;
    strict::slack_payload(&slack::payload(
        &samples::leaving(&samples::bare(message), false),
        &berlin(),
    ))?;
    let payload = webhook::payload(message, false);
    strict::webhook_payload(&serde_json::to_value(payload).map_err(|error| error.to_string())?)?;
    let text = block(&word(&samples::leaving(message, false), &berlin()), Style::Plain);
    if text.chars().count() > 25_000 {
        return Err(format!("{} characters for the terminal", text.chars().count()));
    }
    Ok(())
}

/// Of what can be written as a date: 3,000 years to both sides. Others are shown as impossible.
const IN_RANGE: i64 = 100_000_000_000_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_text_gives_a_valid_payload_in_every_sink(
        text in any::<String>(),
        lines in proptest::collection::vec(any::<String>(), 0..40),
        times in (any::<i64>(), proptest::option::of(any::<i64>())),
    ) {
        let mut message = samples::hostile();
        message.headline = text.clone();
        message.host = defib::domain::name::HostName::new(text.clone());
        message.note = Some(lines.join("\n"));
        message.key = text;
        message.next_steps = lines.iter().map(|line| format!("$ {line}")).collect();
        message.findings = lines;
        let (since, until) = times;
        message.since = WallMs(since % IN_RANGE);
        message.until = until.map(|until| WallMs(until % IN_RANGE));
        prop_assert_eq!(fits_everywhere(&message), Ok(()));
    }

    #[test]
    fn an_id_fits_a_header_and_is_not_shared(a in any::<String>(), b in any::<String>()) {
        let id = |host: &str| {
            let mut message = samples::page();
            message.host = defib::domain::name::HostName::new(host);
            webhook::wire_id(&message)
        };
        prop_assert!(id(&a).bytes().all(|byte| byte.is_ascii_graphic()) && id(&a).len() <= 200);
        prop_assert_eq!(id(&a) == id(&b), a == b);
    }
}

#[test]
fn an_ordinary_id_is_the_idempotency_key() {
    assert_eq!(webhook::wire_id(&samples::page()), samples::page().idempotency_key());
    let long = samples::largest("x");
    assert!(webhook::wire_id(&long).starts_with("sha256-"));
}
