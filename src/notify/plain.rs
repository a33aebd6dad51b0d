//! A message as plain text: one block, the first line at the margin and everything else indented, so that no text from
//! outside can look like the beginning of another message. For the terminal, and for a sink that refuses the rich form.

use super::{
    text::{Room, cut, fitting},
    wording::{Line, Part, Tone, Wording},
};
use crate::domain::message::Severity;

/// Whether the reader's screen takes colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text alone: files, pipes, journals.
    Plain,
    /// With ANSI colours.
    Coloured,
}

/// In characters. A screen holds about 50 lines of 100; more than two screens is not read.
const TITLE: usize = 500;
const PART: Room = Room { lines: 20, each: 500, total: 4000 };

const BOLD: &str = "\u{1b}[1m";
const DIM: &str = "\u{1b}[2m";
const RESET: &str = "\u{1b}[0m";

/// One block of text, a newline at its end.
pub fn block(wording: &Wording, style: Style) -> String {
    let Wording { tone, title, when, asks, parts, footer, host: _ } = wording;
    let mut text = String::new();
    let title = cut(title, TITLE, |_| 1);
    push(&mut text, "", &[colour(*tone), BOLD], &format!("{}: {title}", tone.badge()), style);
    push(&mut text, "  ", &[], &cut(when, TITLE, |_| 1), style);
    push(&mut text, "  ", &[], &asks.join(" "), style);
    for Part { topic, lines } in parts {
        push(&mut text, "  ", &[BOLD], topic.label(), style);
        let lines: Vec<String> = lines
            .iter()
            .map(|line| match line {
                Line::Paste(command) => format!("$ {command}"),
                Line::Said(text) | Line::Link(text) => text.clone(),
            })
            .collect();
        for line in fitting(&lines, PART, |_| 1) {
            push(&mut text, "    ", &[], &line, style);
        }
    }
    push(&mut text, "  ", &[DIM], &cut(footer, TITLE, |_| 1), style);
    text
}

fn push(text: &mut String, indent: &str, colours: &[&str], line: &str, style: Style) {
    text.push_str(indent);
    let is_coloured = style == Style::Coloured && !colours.is_empty();
    if is_coloured {
        text.extend(colours.iter().copied());
    }
    text.push_str(line);
    text.push_str(if is_coloured { RESET } else { "" });
    text.push('\n');
}

fn colour(tone: Tone) -> &'static str {
    match tone {
        Tone::New(Severity::Page) | Tone::Still(Severity::Page) => "\u{1b}[31m",
        Tone::New(Severity::Ticket) | Tone::Still(Severity::Ticket) => "\u{1b}[33m",
        Tone::New(Severity::Notice) | Tone::Still(Severity::Notice) => "\u{1b}[34m",
        Tone::Recovered | Tone::Resolved => "\u{1b}[32m",
        Tone::Missed(_) => "\u{1b}[35m",
    }
}
