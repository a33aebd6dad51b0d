//! docs/PAGING.md shows real messages: each block behind a `<!-- shown: … -->` line is what the renderer gives.
//! `DEFIB_WRITE_DOCS=1 cargo test --test notify docs` writes them anew.

use crate::samples::{self, berlin};
use defib::notify::{
    answer::{LONGEST_PAUSE, SHORTEST_PAUSE},
    http::LARGEST_ANSWER,
    plain::{Style, block},
    secret, slack, webhook,
    wording::word,
};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/PAGING.md");

fn rendered(what: &str) -> String {
    let (sink, name) = what.split_once(' ').unwrap();
    let (_, message) = samples::all().into_iter().find(|(known, _)| *known == name).unwrap();
    let json = |value: serde_json::Value| serde_json::to_string_pretty(&value).unwrap();
    match sink {
        "plain" => block(&word(&samples::leaving(&message, true), &berlin()), Style::Plain)
            .trim_end()
            .to_owned(),
        "slack" => json(slack::payload(&samples::leaving(&message, true), &berlin())),
        "webhook" => json(serde_json::to_value(webhook::payload(&message, true)).unwrap()),
        other => panic!("unknown sink {other}"),
    }
}

#[test]
fn the_messages_in_the_docs_are_real() {
    let docs = std::fs::read_to_string(DOCS).unwrap();
    let mut parts = docs.split("<!-- shown: ");
    let mut written = parts.next().unwrap().to_owned();
    let mut shown = 0;
    for part in parts {
        let (what, rest) = part.split_once(" -->\n").unwrap();
        let (language, rest) = rest.split_once('\n').unwrap();
        assert!(language.starts_with("```"), "{language}");
        let (_, after) = rest.split_once("\n```\n").unwrap();
        written.push_str(&format!(
            "<!-- shown: {what} -->\n{language}\n{}\n```\n{after}",
            rendered(what)
        ));
        shown += 1;
    }
    assert!(shown >= 6);
    if std::env::var_os("DEFIB_WRITE_DOCS").is_some() {
        std::fs::write(DOCS, written).unwrap();
    } else {
        assert!(docs == written, "docs/PAGING.md shows other messages than the renderer gives");
    }
}

#[test]
fn the_numbers_in_the_docs_are_the_codes() {
    let docs = std::fs::read_to_string(DOCS).unwrap();
    for number in [
        format!("at most {} KiB of an answer", LARGEST_ANSWER / 1024),
        format!(
            "at least {} s and at most {} h",
            SHORTEST_PAUSE.as_secs(),
            LONGEST_PAUSE.as_secs() / 3600
        ),
        format!("`\"version\": {}`", webhook::VERSION),
        format!("text of at most {} bytes", secret::LARGEST),
        format!("longer than {} as", webhook::LONGEST_ID),
    ] {
        assert!(docs.contains(&number), "{number}");
    }
}

/// What somebody who is woken pastes must be there.
#[test]
fn no_message_in_the_docs_names_a_command_that_there_is_not() {
    use clap::CommandFactory as _;
    let commands = defib::cli::arguments::Arguments::command();
    let docs = std::fs::read_to_string(DOCS).unwrap();
    let steps = docs.split(['\n', '`', '"']).map(str::trim).filter_map(|line| {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        line.strip_prefix("sudo ").unwrap_or(line).strip_prefix("defib ")
    });
    for step in steps.filter(|step| !step.starts_with("on ") && !step.starts_with("could ")) {
        let word = step.split_whitespace().next().unwrap_or_default();
        assert!(commands.find_subcommand(word).is_some(), "`defib {step}`");
    }
}
