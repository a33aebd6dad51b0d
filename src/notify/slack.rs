//! Slack's incoming webhook: a message as blocks, within Slack's limits.
//!
//! Text from outside stands in `plain_text` objects, which know no mentions, links or formatting, and is escaped all the
//! same. Only two things are markup: lines to be pasted, in a code block, so that nothing in them is turned into
//! something else by the client; and the config's own runbook, as a link. All blocks together have to stay under 13,000
//! characters, whatever Slack counts as one: so everything is measured in bytes of the JSON that is sent, which is never
//! less. The last resort, where Slack refuses the blocks, is one plain text: a page that is ugly beats one that is lost.

use super::{
    address::{self, read_secret},
    answer::{Dialect, classify},
    config::Surroundings,
    http::{Deadline, HttpClient, Post, Reads},
    plain::{Style, block},
    port::Sink,
    secret::SecretSource,
    text::{Room, cut, fitting},
    wording::{Line, Part, Topic, Wording, word},
};
use crate::{
    clock::Clock,
    domain::{effect::SendOrder, observation::DeliveryOutcome},
    tasks::Pending,
};
use jiff::tz::TimeZone;
use reqwest::header::HeaderMap;
use serde_json::{Value, json};
use std::sync::Arc;

/// Slack's limit of a header's text.
const HEADER: usize = 150;
/// The preview on a phone's lock screen shows about a third of this.
const PREVIEW: usize = 400;
/// Of the part that is the head: the title where the header had no room for it, the times, what is asked.
const HEAD_LINE: usize = 700;
const FOOTER: usize = 400;
/// The whole message where it goes as plain text. Slack cuts at 40,000; nobody reads so much.
const PLAIN: usize = 3000;

/// Together with head, footer and the JSON around them under 13,000, with something to spare.
fn room(topic: Topic) -> Room {
    match topic {
        Topic::Shown => Room { lines: 10, each: 400, total: 1500 },
        Topic::Done => Room { lines: 12, each: 400, total: 1800 },
        Topic::Found => Room { lines: 12, each: 500, total: 2200 },
        Topic::Next => Room { lines: 8, each: 500, total: 1500 },
        Topic::Runbook => Room { lines: 1, each: 500, total: 500 },
        Topic::Note => Room { lines: 8, each: 400, total: 800 },
    }
}

/// The body of a request: the message as blocks, or as text alone where there is only a headline.
pub fn payload(order: &SendOrder, tz: &TimeZone) -> Value {
    let wording = word(order, tz);
    if wording.parts.is_empty() {
        let text = format!("{} {}", wording.tone.sign(), block(&wording, Style::Plain));
        return text_alone(text.trim_end(), PLAIN);
    }
    let mut blocks = head(&wording);
    for part in &wording.parts {
        blocks.extend(sections(part));
    }
    let footer = json!({"type": "context", "elements": [plain_text(&wording.footer, FOOTER)]});
    blocks.push(footer);
    let preview = format!("{}. {}", greeting(&wording, &wording.host), wording.when);
    let mut payload = text_alone(&preview, PREVIEW);
    payload["blocks"] = Value::Array(blocks);
    payload
}

/// Text in which nothing is looked for: no markup, no names, no URLs.
fn text_alone(text: &str, room: usize) -> Value {
    json!({
        "text": escaped(text, room),
        "mrkdwn": false,
        "parse": "none",
        "link_names": false,
        "unfurl_links": false,
        "unfurl_media": false,
    })
}

fn greeting(wording: &Wording, place: &str) -> String {
    let place = if place.is_empty() { String::new() } else { format!(" {place}") };
    format!("{} {}{place}: {}", wording.tone.sign(), wording.tone.badge(), wording.title)
}

fn head(wording: &Wording) -> Vec<Value> {
    let greeting = greeting(wording, "");
    let header = plain_text(&greeting, HEADER);
    let mut lines = Vec::new();
    if greeting.chars().map(width).sum::<usize>() > HEADER {
        lines.push(cut(&wording.title, HEAD_LINE, width).into_owned());
    }
    lines.push(cut(&wording.when, HEAD_LINE, width).into_owned());
    lines.extend(wording.asks.iter().cloned());
    vec![json!({"type": "header", "text": header}), plain_section(&lines)]
}

/// A label, and below it the lines, each run of one kind in a section of its own.
fn sections(part: &Part) -> Vec<Value> {
    let all: Vec<String> = part.lines.iter().map(|line| line.text().to_owned()).collect();
    let kept = fitting(&all, room(part.topic), width);
    let mut sections = vec![markup_section(&format!("*{}*", part.topic.label()))];
    let mut said: Vec<String> = Vec::new();
    let bullet = if part.lines.len() > 1 && part.topic != Topic::Note { "• " } else { "" };
    for (n, text) in kept.iter().enumerate() {
        let is_whole = all.get(n) == Some(text);
        let special = match part.lines.get(n) {
            // A command that was cut would be pasted as it is, and how many more there are is none.
            Some(Line::Paste(_)) if is_whole => Some(markup_section(&code(text))),
            // A URL that was cut leads nowhere.
            Some(Line::Link(_)) if is_whole => {
                Some(markup_section(&format!("<{}>", escaped(text, usize::MAX))))
            }
            Some(Line::Paste(_) | Line::Link(_) | Line::Said(_)) | None => None,
        };
        match special {
            Some(section) => {
                if !said.is_empty() {
                    sections.push(plain_section(&std::mem::take(&mut said)));
                }
                sections.push(section);
            }
            None => said.push(format!("{bullet}{text}")),
        }
    }
    if !said.is_empty() {
        sections.push(plain_section(&said));
    }
    sections
}

/// A code block. A backtick within would end it, and in a line that somebody pastes it would run what it holds.
fn code(command: &str) -> String {
    format!("```{}```", escaped(&command.replace('`', "ˋ"), usize::MAX))
}

fn plain_section(lines: &[String]) -> Value {
    json!({"type": "section", "text": plain_text(&lines.join("\n"), usize::MAX)})
}

/// `verbatim`: nothing but what is written as markup becomes a link.
fn markup_section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": true}})
}

fn plain_text(text: &str, room: usize) -> Value {
    json!({"type": "plain_text", "text": escaped(text, room), "emoji": false})
}

/// Cut to its room and escaped: `&`, `<` and `>`, and nothing else.
fn escaped(text: &str, room: usize) -> String {
    let text = cut(text, room, width);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// What a character takes in the JSON that is sent.
fn width(c: char) -> usize {
    match c {
        '&' => 5,
        '<' | '>' => 4,
        '"' | '\\' | '\n' => 2,
        c => c.len_utf8(),
    }
}

/// Posts messages to a Slack incoming webhook.
pub struct SlackSink {
    url: SecretSource,
    allow_http: bool,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    tz: TimeZone,
}

impl SlackSink {
    /// A sink for the webhook whose URL is kept there. Nothing is read or connected yet.
    pub fn new(url: SecretSource, allow_http: bool, surroundings: &Surroundings) -> Self {
        let Surroundings { clock, http, tz, .. } = surroundings.clone();
        Self { url, allow_http, http, clock, tz }
    }

    async fn attempt(&self, order: &SendOrder) -> Result<DeliveryOutcome, DeliveryOutcome> {
        let deadline = Deadline::within(order.deadline);
        let url = read_secret(&self.url, deadline).await.map_err(DeliveryOutcome::NotSent)?;
        let address = address::of(&url, self.allow_http).map_err(DeliveryOutcome::NotSent)?;
        let body = payload(order, &self.tz).to_string().into_bytes();
        let post =
            Post { url: &address.url, headers: HeaderMap::new(), body, reads: Reads::Always };
        let answer = self
            .http
            .post(post, deadline, &address.redaction)
            .await
            .map_err(DeliveryOutcome::Unknown)?;
        Ok(classify(&answer, Dialect::Slack, &address.redaction, self.clock.now().wall))
    }
}

impl Sink for SlackSink {
    fn deliver(&self, order: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        Box::pin(async move { self.attempt(&order).await.unwrap_or_else(|outcome| outcome) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_blocks(lines: Vec<String>) -> Vec<String> {
        let part = Part { topic: Topic::Next, lines: lines.into_iter().map(Line::Paste).collect() };
        let texts = sections(&part).into_iter();
        texts
            .map(|section| section["text"]["text"].as_str().unwrap().to_owned())
            .filter(|text| text.starts_with("```"))
            .collect()
    }

    #[test]
    fn only_a_whole_command_is_a_code_block() {
        let long = format!("docker logs {}", "x".repeat(600));
        assert_eq!(code_blocks(vec!["docker ps".to_owned(), long]), ["```docker ps```"]);
        let many: Vec<String> = (0..20).map(|n| format!("docker logs web-{n}")).collect();
        let blocks = code_blocks(many);
        assert!(blocks.len() > 5, "{blocks:?}");
        assert!(blocks.iter().all(|block| block.starts_with("```docker logs web-")), "{blocks:?}");
    }
}
