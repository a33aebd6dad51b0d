//! What a message says, in plain words and in order, the same for every sink.
//!
//! The reader was asleep a minute ago. So: what is wrong and since when, whether they have to do anything, what defib did
//! and whether it helped, what was found, what to do next with the line to paste, runbook, note, host. No jargon that the
//! config did not bring, no sentence that can be left out. All text from outside comes out of here clean
//! ([`super::text`]); markup and limits are each sink's own. This file refuses to claim more than the message does.

use super::{
    text::{cut, one_line, several_lines},
    times,
};
use crate::domain::{
    effect::SendOrder,
    message::{IncidentKind, Message, MessageKind, Severity},
    moment::Spoken,
};
use jiff::tz::TimeZone;
use std::{borrow::Cow, time::Duration};

/// What was decided so long ago may not be so any more, and the message says how old it is.
const LATE: Duration = Duration::from_secs(60);

/// A message in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wording {
    /// What the reader sees first.
    pub tone: Tone,
    /// What is wrong, in one line, with the service's name.
    pub title: String,
    /// Where and since when.
    pub when: String,
    /// What is asked of the reader, and what is unusual about this message; one sentence each.
    pub asks: Vec<String>,
    /// The rest, in order; none of them empty.
    pub parts: Vec<Part>,
    /// Who says this, about which incident.
    pub footer: String,
    /// The host, for previews.
    pub host: String,
}

/// How a message greets its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// It began or was raised, and disturbs this much.
    New(Severity),
    /// It is open still, and disturbs this much.
    Still(Severity),
    /// Well again, watched for a while.
    Recovered,
    /// Over.
    Resolved,
    /// Began and ended unsaid; would have disturbed this much.
    Missed(Severity),
}

impl Tone {
    /// The first word of the message.
    pub fn badge(self) -> &'static str {
        match self {
            Tone::New(Severity::Page) => "PAGE",
            Tone::New(Severity::Ticket) => "TICKET",
            Tone::New(Severity::Notice) => "NOTICE",
            Tone::Still(Severity::Page) => "STILL OPEN, PAGE",
            Tone::Still(Severity::Ticket) => "STILL OPEN, TICKET",
            Tone::Still(Severity::Notice) => "STILL OPEN, NOTICE",
            Tone::Recovered => "RECOVERED",
            Tone::Resolved => "RESOLVED",
            Tone::Missed(Severity::Page) => "MISSED PAGE",
            Tone::Missed(Severity::Ticket) => "MISSED TICKET",
            Tone::Missed(Severity::Notice) => "MISSED NOTICE",
        }
    }

    /// The same as a coloured sign, for a list that is only skimmed.
    pub fn sign(self) -> &'static str {
        match self {
            Tone::New(Severity::Page) | Tone::Still(Severity::Page) => "🔴",
            Tone::New(Severity::Ticket) | Tone::Still(Severity::Ticket) => "🟡",
            Tone::New(Severity::Notice) | Tone::Still(Severity::Notice) => "🔵",
            Tone::Recovered => "🟢",
            Tone::Resolved => "✅",
            Tone::Missed(_) => "⚪",
        }
    }
}

/// A few lines under a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which of the message's parts.
    pub topic: Topic,
    /// At least one.
    pub lines: Vec<Line>,
}

/// What a part is about. The order is the message's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// What each member shows.
    Shown,
    /// What defib did and whether it helped.
    Done,
    /// What was found.
    Found,
    /// What to do.
    Next,
    /// Where the service's own instructions are.
    Runbook,
    /// What its owners wrote down.
    Note,
}

impl Topic {
    /// The label above the part.
    pub fn label(self) -> &'static str {
        match self {
            Topic::Shown => "What it shows",
            Topic::Done => "What defib did",
            Topic::Found => "What was found",
            Topic::Next => "What to do next",
            Topic::Runbook => "Runbook",
            Topic::Note => "Note",
        }
    }
}

/// One line of a part, cleaned, without markup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// To be read.
    Said(String),
    /// To be pasted into a shell, without a prompt.
    Paste(String),
    /// An http or https URL out of the config: nothing but this is ever made a link.
    Link(String),
}

impl Line {
    /// Its text.
    pub fn text(&self) -> &str {
        match self {
            Line::Said(text) | Line::Paste(text) | Line::Link(text) => text,
        }
    }
}

/// Says a message in words, as it leaves now.
pub fn word(order: &SendOrder, tz: &TimeZone) -> Wording {
    let message = &order.message;
    let tone = tone(message);
    let host = short(message.host.as_str());
    Wording {
        tone,
        title: title(message),
        when: when(message, &host, tz),
        asks: asks(order, tone),
        parts: parts(message),
        footer: footer(message, &host),
        host,
    }
}

fn tone(message: &Message) -> Tone {
    match message.kind {
        MessageKind::Opened
        | MessageKind::Raised
        | MessageKind::GivenUp
        | MessageKind::Grown
        | MessageKind::Relapsed => Tone::New(message.severity),
        MessageKind::Reminder => Tone::Still(message.severity),
        MessageKind::Recovered => Tone::Recovered,
        MessageKind::Resolved => Tone::Resolved,
        MessageKind::Missed => Tone::Missed(message.severity),
    }
}

fn title(message: &Message) -> String {
    let mut headline = one_line(&message.headline);
    if headline.is_empty() {
        message.incident_kind.word().replace('_', " ").clone_into(&mut headline);
    }
    match message.service.as_ref().map(|service| one_line(service.as_str())) {
        Some(service) if !service.is_empty() && !headline.contains(&service) => {
            format!("{service}: {headline}")
        }
        Some(_) | None => headline,
    }
}

fn when(message: &Message, host: &str, tz: &TimeZone) -> String {
    let since = times::at(message.since, tz);
    let ended = message.until.unwrap_or(message.decided);
    let took = times::span(message.since, ended);
    let took = |before: &str, after: &str| {
        took.map(|took| format!("{before}{took}{after}")).unwrap_or_default()
    };
    match message.kind {
        MessageKind::Opened
        | MessageKind::Raised
        | MessageKind::GivenUp
        | MessageKind::Grown
        | MessageKind::Relapsed
        | MessageKind::Reminder => {
            format!("On {host} since {since}{}.", took(": ", " so far"))
        }
        MessageKind::Recovered => {
            format!("On {host} from {since}; well again{}.", took(" after ", ""))
        }
        MessageKind::Resolved | MessageKind::Missed => {
            format!("On {host} from {since} to {}{}.", times::at(ended, tz), took(": ", ""))
        }
    }
}

fn asks(order: &SendOrder, tone: Tone) -> Vec<String> {
    let message = &order.message;
    let mut asks: Vec<Cow<'_, str>> = Vec::new();
    match message.kind {
        MessageKind::Raised => asks.push("It was told as less urgent first.".into()),
        MessageKind::GivenUp => {
            asks.push("No restart is left: defib will not try again by itself.".into());
        }
        MessageKind::Grown => asks.push("More has come to it since it was told.".into()),
        MessageKind::Relapsed => {
            asks.push("It was told to be well again, and that did not hold.".into());
        }
        MessageKind::Missed => {
            asks.push("Told late: this sink has confirmed nothing of it while it went on.".into());
        }
        MessageKind::Opened
        | MessageKind::Recovered
        | MessageKind::Reminder
        | MessageKind::Resolved => {}
    }
    if order.late >= LATE && message.kind != MessageKind::Missed {
        let late = Spoken(Duration::from_secs(order.late.as_secs()));
        asks.push(
            format!("This is as of {late} ago: the sink has not confirmed it sooner.").into(),
        );
    }
    let wanted = match tone {
        Tone::New(Severity::Page) | Tone::Still(Severity::Page) => "Somebody has to act now.",
        Tone::New(Severity::Ticket) | Tone::Still(Severity::Ticket) => {
            "Somebody has to act, but not at once."
        }
        Tone::New(Severity::Notice) | Tone::Still(Severity::Notice) => "Nothing to do for now.",
        Tone::Recovered => "Nothing to do; watched until it has stayed well.",
        Tone::Resolved | Tone::Missed(_)
            if message.incident_kind == IncidentKind::Brake && !message.members.is_empty() =>
        {
            "What still fails is told of by itself."
        }
        Tone::Resolved | Tone::Missed(_) => "Nothing to do.",
    };
    asks.push(wanted.into());
    if !order.durable {
        asks.push("defib could not record this message: it may come twice.".into());
    }
    asks.into_iter().map(Cow::into_owned).collect()
}

fn parts(message: &Message) -> Vec<Part> {
    let said = |topic, lines: &[String]| Part {
        topic,
        lines: lines.iter().map(|line| Line::Said(one_line(line))).collect(),
    };
    let next = message.next_steps.iter().map(|step| match step.strip_prefix("$ ") {
        Some(command) => Line::Paste(one_line(command)),
        None => Line::Said(one_line(step)),
    });
    let note = message.note.as_deref().map(several_lines).unwrap_or_default();
    let mut parts = vec![
        said(Topic::Shown, &message.members),
        said(Topic::Done, &message.done),
        said(Topic::Found, &message.findings),
        Part { topic: Topic::Next, lines: next.collect() },
        Part { topic: Topic::Runbook, lines: message.runbook.iter().map(|r| link(r)).collect() },
        Part { topic: Topic::Note, lines: note.lines().map(|l| Line::Said(one_line(l))).collect() },
    ];
    for part in &mut parts {
        part.lines.retain(|line| !line.text().is_empty());
    }
    parts.retain(|part| !part.lines.is_empty());
    parts
}

fn link(runbook: &str) -> Line {
    let runbook = one_line(runbook);
    let is_url = (runbook.starts_with("https://") || runbook.starts_with("http://"))
        && runbook
            .chars()
            .all(|c| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '|' | '"' | '`'));
    if is_url { Line::Link(runbook) } else { Line::Said(runbook) }
}

fn footer(message: &Message, host: &str) -> String {
    let fleet = short(&message.fleet);
    let fleet = if fleet.is_empty() { String::new() } else { format!(", fleet {fleet}") };
    format!("defib on {host}{fleet}. Incident {}: {}", message.incident, one_line(&message.key))
}

/// A name that stands within a sentence: one that is endless must not push the rest of the sentence out.
fn short(name: &str) -> String {
    cut(&one_line(name), 64, |_| 1).into_owned()
}
