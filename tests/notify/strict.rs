//! What the real receivers would refuse, written from their documentation and not from our renderers.

use crate::{receiver::Received, samples::SINCE};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;

pub(crate) const FIRST_SECRET: [u8; 24] = [1; 24];
pub(crate) const SECOND_SECRET: [u8; 64] = [2; 64];

pub(crate) fn whsec(secret: &[u8]) -> String {
    format!("whsec_{}", STANDARD.encode(secret))
}

fn need(holds: bool, what: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what.to_owned()) }
}

/// Slack's incoming webhook.
pub(crate) fn slack(request: &Received) -> Result<(), String> {
    let content_type = request.headers.get("content-type").map(String::as_str).unwrap_or_default();
    need(content_type.starts_with("application/json"), "content type")?;
    let text = std::str::from_utf8(&request.body).map_err(|_| "not UTF-8")?;
    let json: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    slack_payload(&json)
}

pub(crate) fn slack_payload(json: &Value) -> Result<(), String> {
    let known = ["text", "blocks", "mrkdwn", "parse", "link_names", "unfurl_links", "unfurl_media"];
    let fields = json.as_object().ok_or("not an object")?;
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(format!("unknown field {unknown}"));
    }
    let top = json["text"].as_str().ok_or("no top-level text")?;
    need(!top.trim().is_empty() && top.chars().count() <= 4000, "top-level text")?;
    escaped(top)?;
    let Some(blocks) = json.get("blocks") else { return Ok(()) };
    let blocks_list = blocks.as_array().ok_or("blocks")?;
    need((1..=50).contains(&blocks_list.len()), "number of blocks")?;
    need(blocks.to_string().len() < 13_000, "msg_blocks_too_long")?;
    for block in blocks_list {
        match block["type"].as_str() {
            Some("header") => {
                need(block["text"]["type"] == "plain_text", "a header is plain text")?;
                text_object(&block["text"], 150)?;
            }
            Some("section") => text_object(&block["text"], 3000)?,
            Some("context") => {
                let elements = block["elements"].as_array().ok_or("elements")?;
                need((1..=10).contains(&elements.len()), "number of elements")?;
                elements.iter().try_for_each(|element| text_object(element, 3000))?;
            }
            other => return Err(format!("unknown block {other:?}")),
        }
    }
    Ok(())
}

fn text_object(object: &Value, most: usize) -> Result<(), String> {
    let text = object["text"].as_str().ok_or("a text object without text")?;
    // Slack does not say what a character is: neither reading may be over.
    let length = text.encode_utf16().count();
    need(
        !text.trim().is_empty() && length <= most,
        &format!("{length} of {most} characters: {text}"),
    )?;
    need(!text.chars().any(|c| c.is_control() && c != '\n'), "control characters")?;
    match object["type"].as_str() {
        Some("plain_text") => escaped(text),
        Some("mrkdwn") => {
            need(object["verbatim"] == true, "automatic parsing")?;
            if let Some(code) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) {
                need(!code.contains('`'), "a code block that ends early")?;
                return escaped(code);
            }
            // Apart from code: labels of ours, and the runbook of the config.
            let is_label = text.starts_with('*')
                && text.chars().all(|c| c.is_ascii_alphabetic() || "* ".contains(c));
            let is_link = text.starts_with("<https://wiki.example.org/")
                && escaped(text.trim_matches(['<', '>'])).is_ok();
            need(is_label || is_link, &format!("markup that nobody asked for: {text}"))
        }
        other => Err(format!("unknown text {other:?}")),
    }
}

/// No markup can be in here: every `<`, `>` and `&` is written as its entity.
fn escaped(text: &str) -> Result<(), String> {
    need(!text.contains(['<', '>']), &format!("a bare < or >: {text}"))?;
    let bare = text.replace("&amp;", "").replace("&lt;", "").replace("&gt;", "");
    need(!bare.contains('&'), &format!("a bare &: {text}"))
}

/// A receiver of defib's own webhook, who verifies by the first secret.
pub(crate) fn webhook(request: &Received) -> Result<(), String> {
    verify(request, &FIRST_SECRET)?;
    webhook_payload(&request.json())?;
    need(request.json()["id"] == request.headers["webhook-id"].as_str(), "the ids differ")
}

/// One who still has, or already has, the other secret.
pub(crate) fn webhook_of_the_second_secret(request: &Received) -> Result<(), String> {
    verify(request, &SECOND_SECRET)
}

fn verify(request: &Received, secret: &[u8]) -> Result<(), String> {
    let header = |name: &str| request.headers.get(name).ok_or(format!("no {name}"));
    let (id, timestamp) = (header("webhook-id")?, header("webhook-timestamp")?);
    let sent: i64 = timestamp.parse().map_err(|_| "timestamp")?;
    need((sent - SINCE / 1000).abs() <= 300, "outside of five minutes")?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).unwrap();
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(&request.body);
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let signatures = header("webhook-signature")?;
    need(signatures.split(' ').any(|signature| signature == expected), "no signature verifies")
}

pub(crate) fn webhook_payload(json: &Value) -> Result<(), String> {
    need(json["version"] == 1, "version")?;
    need(json.to_string().len() <= 64 * 1024, "larger than 64 KiB")?;
    for field in ["id", "kind", "severity", "fleet", "host", "headline", "decided"] {
        need(json[field].is_string(), field)?;
    }
    for field in ["members", "done", "findings", "next_steps"] {
        let lines = json[field].as_array().ok_or(field)?;
        need(
            lines.iter().all(|line| line.as_str().is_some_and(|line| !line.contains('\n'))),
            field,
        )?;
    }
    for field in ["service", "runbook", "note"] {
        need(json[field].is_string() || json[field].is_null(), field)?;
    }
    need(json["durable"].is_boolean(), "durable")?;
    let incident = &json["incident"];
    need(incident["id"].is_u64() && incident["key"].is_string(), "incident")?;
    need(incident["kind"].is_string() && incident["since"].is_string(), "incident")?;
    need(incident["until"].is_string() || incident["until"].is_null(), "incident.until")
}
