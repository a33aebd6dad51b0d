//! What a sink's HTTP answer means for the delivery. A table, in `docs/PAGING.md` too; what follows from an outcome (wait,
//! try again, use the fallback) is the domain's.
//!
//! The status alone misleads in both directions: Slack says what is wrong in the body, and a captive portal says 200. So
//! the body is looked at first where the sink has words of its own. Where the status is in no row, the kinder reading
//! wins: whatever may be cured by trying again is `Unknown`, never dropped.

use super::redaction::Redaction;
use crate::domain::{moment::WallMs, observation::DeliveryOutcome};
use serde_json::Value;
use std::time::{Duration, UNIX_EPOCH};

pub use crate::domain::telling::answer::LONGEST_PAUSE;

/// The shortest pause. A pause costs no attempt, so "0 seconds" for ever would be a request storm against a sink that
/// has just asked for less; Slack's own rate is one message a second.
pub const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// As much of a sink's answer as matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Retry-After` header as sent.
    pub retry_after: Option<String>,
    /// The body, as far as it was read.
    pub body: Vec<u8>,
    /// How the reading ended.
    pub end: BodyEnd,
}

/// How the reading of an answer's body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it was read.
    Whole,
    /// There was more than is read.
    TooLarge,
    /// It had not ended at the deadline.
    TimedOut,
    /// The connection broke.
    Broke,
    /// Nobody wanted it.
    Unread,
}

/// Whose words the body is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Slack's: delivered only where it says `ok`.
    Slack,
    /// Any server's: the status says it all.
    Plain,
}

/// What the answer means. `now` is for a `Retry-After` that is a date.
pub fn classify(
    answer: &Answer,
    dialect: Dialect,
    redaction: &Redaction,
    now: WallMs,
) -> DeliveryOutcome {
    let body = Body::of(answer);
    let said = redaction.quote(&body.said()).map(|said| format!(": {said}")).unwrap_or_default();
    let reason = format!("the sink answered {}{said}", answer.status);
    if let Some(outcome) = by_words(answer, dialect, &body, now, &reason) {
        return outcome;
    }
    let asked = asked_pause(answer, &body, now);
    match answer.status {
        200..=299 => match dialect {
            Dialect::Plain => DeliveryOutcome::Delivered,
            Dialect::Slack => DeliveryOutcome::Unknown(format!(
                "{reason}; it did not say `ok` ({})",
                answer.end.words()
            )),
        },
        // Wherever it leads, it is not where the config says; no other message would be taken there either.
        300..=399 => DeliveryOutcome::Broken(format!("{reason}; redirects are not followed")),
        429 => DeliveryOutcome::Paused { wait: asked, reason },
        503 if asked.is_some() => DeliveryOutcome::Paused { wait: asked, reason },
        // The far end's own locks and timeouts: the next attempt may pass.
        408 | 409 | 421 | 423 | 425 => DeliveryOutcome::Unknown(reason),
        // No message would be taken: wrong URL, wrong credentials, not paid for, not allowed.
        401..=405 | 407 | 410 | 451 => DeliveryOutcome::Broken(reason),
        400..=499 => DeliveryOutcome::Rejected(reason),
        _ => DeliveryOutcome::Unknown(reason),
    }
}

impl BodyEnd {
    fn words(self) -> &'static str {
        match self {
            BodyEnd::Whole => "the answer was read whole",
            BodyEnd::TooLarge => "the answer was too large to be read whole",
            BodyEnd::TimedOut => "the answer had not ended at the deadline",
            BodyEnd::Broke => "the connection broke within the answer",
            BodyEnd::Unread => "the answer was not read",
        }
    }
}

/// An answer's body, understood as far as it can be.
struct Body {
    text: String,
    json: Option<Value>,
}

impl Body {
    fn of(answer: &Answer) -> Self {
        Self {
            text: String::from_utf8_lossy(&answer.body).trim().to_owned(),
            json: serde_json::from_slice(&answer.body).ok(),
        }
    }

    /// What it says to people: the usual fields of JSON, else its first words unless it is a web page.
    fn said(&self) -> String {
        match &self.json {
            Some(json) => ["error", "message", "detail", "description"]
                .iter()
                .find_map(|field| json.get(field)?.as_str())
                .unwrap_or_default()
                .to_owned(),
            None if self.text.starts_with('<') => String::new(),
            None => self.text.clone(),
        }
    }

    /// The sink's word for an error: all of the text, or JSON's `error`.
    fn word(&self) -> &str {
        match &self.json {
            Some(json) => json.get("error").and_then(Value::as_str).unwrap_or_default(),
            None => &self.text,
        }
    }

    fn is_ok(&self) -> bool {
        match &self.json {
            Some(json) => json.get("ok").and_then(Value::as_bool) == Some(true),
            None => self.text == "ok",
        }
    }

    /// `retry_after`, in seconds.
    fn retry_after(&self) -> Option<Duration> {
        let value = self.json.as_ref()?.get("retry_after")?;
        let seconds = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())?;
        seconds_of(seconds)
    }
}

/// What Slack's own words mean, before any status is looked at.
fn by_words(
    answer: &Answer,
    dialect: Dialect,
    body: &Body,
    now: WallMs,
    reason: &str,
) -> Option<DeliveryOutcome> {
    if dialect == Dialect::Plain {
        return None;
    }
    if (200..=299).contains(&answer.status) && answer.end == BodyEnd::Whole && body.is_ok() {
        return Some(DeliveryOutcome::Delivered);
    }
    match body.word() {
        "rate_limited" | "ratelimited" | "message_limit_exceeded" => {
            let wait = asked_pause(answer, body, now);
            Some(DeliveryOutcome::Paused { wait, reason: reason.to_owned() })
        }
        "invalid_payload"
        | "invalid_blocks"
        | "invalid_blocks_format"
        | "invalid_attachments"
        | "msg_blocks_too_long"
        | "msg_too_long"
        | "no_text"
        | "too_many_attachments" => Some(DeliveryOutcome::Rejected(reason.to_owned())),
        // No other message would be taken either, whatever the status.
        "user_not_found"
        | "channel_not_found"
        | "channel_is_archived"
        | "no_service"
        | "no_service_id"
        | "no_active_hooks"
        | "no_team"
        | "team_disabled"
        | "invalid_token"
        | "token_revoked"
        | "account_inactive"
        | "action_prohibited"
        | "posting_to_general_channel_denied" => Some(DeliveryOutcome::Broken(reason.to_owned())),
        "rollup_error"
        | "internal_error"
        | "fatal_error"
        | "service_unavailable"
        | "request_timeout" => Some(DeliveryOutcome::Unknown(reason.to_owned())),
        _ => None,
    }
}

/// How long the sink asks to be left alone: the longer one, where header and body differ.
fn asked_pause(answer: &Answer, body: &Body, now: WallMs) -> Option<Duration> {
    let header = answer.retry_after.as_deref().and_then(|value| header_pause(value.trim(), now));
    header.max(body.retry_after()).map(|wait| wait.clamp(SHORTEST_PAUSE, LONGEST_PAUSE))
}

/// Seconds or an HTTP date.
fn header_pause(value: &str, now: WallMs) -> Option<Duration> {
    if let Ok(seconds) = value.parse::<f64>() {
        return seconds_of(seconds);
    }
    let date = httpdate::parse_http_date(value).ok()?.duration_since(UNIX_EPOCH).ok()?;
    let now = Duration::from_millis(u64::try_from(now.0).unwrap_or(0));
    Some(date.saturating_sub(now))
}

/// A span, as far as the number is one; endless ones are [`LONGEST_PAUSE`].
fn seconds_of(seconds: f64) -> Option<Duration> {
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    Some(Duration::from_secs_f64(seconds.min(LONGEST_PAUSE.as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::Url;

    /// 2026-09-02 12:02:11 UTC.
    const NOW: WallMs = WallMs(1_788_350_531_000);

    fn answer(status: u16, body: &str) -> Answer {
        Answer { status, retry_after: None, body: body.into(), end: BodyEnd::Whole }
    }

    fn read(answer: &Answer, dialect: Dialect) -> DeliveryOutcome {
        let url = Url::parse("https://hooks.slack.com/services/T00/B00/sEcReT").unwrap();
        classify(answer, dialect, &Redaction::of(&url), NOW)
    }

    fn word(outcome: &DeliveryOutcome) -> &'static str {
        match outcome {
            DeliveryOutcome::Delivered => "delivered",
            DeliveryOutcome::Unknown(_) => "unknown",
            DeliveryOutcome::Paused { .. } => "paused",
            DeliveryOutcome::Rejected(_) => "rejected",
            DeliveryOutcome::Broken(_) => "broken",
            DeliveryOutcome::NotSent(_) => "not sent",
        }
    }

    #[test]
    fn every_status_has_one_meaning() {
        for status in 100..600 {
            let expected = match status {
                200..=299 => "delivered",
                429 => "paused",
                300..=399 | 401..=405 | 407 | 410 | 451 => "broken",
                408 | 409 | 421 | 423 | 425 => "unknown",
                400..=499 => "rejected",
                _ => "unknown",
            };
            assert_eq!(word(&read(&answer(status, ""), Dialect::Plain)), expected, "{status}");
            let by_slack = if expected == "delivered" { "unknown" } else { expected };
            assert_eq!(word(&read(&answer(status, ""), Dialect::Slack)), by_slack, "{status}");
        }
    }

    #[test]
    fn slack_is_read_by_its_words_before_its_status() {
        for (status, body, expected) in [
            (200, "ok", "delivered"),
            (200, "ok\n", "delivered"),
            (200, r#"{"ok":true}"#, "delivered"),
            (500, "ok", "unknown"),
            (200, "<html>Sign in to the hotel's network</html>", "unknown"),
            (200, r#"{"ok":false,"error":"invalid_blocks"}"#, "rejected"),
            (200, r#"{"ok":false,"error":"channel_is_archived"}"#, "broken"),
            (400, "invalid_payload", "rejected"),
            (400, "user_not_found", "broken"),
            (403, "action_prohibited", "broken"),
            (404, "no_active_hooks", "broken"),
            (410, "channel_is_archived", "broken"),
            (500, "rollup_error", "unknown"),
            (200, r#"{"retry_after":1,"ok":false,"error":"rate_limited"}"#, "paused"),
        ] {
            assert_eq!(word(&read(&answer(status, body), Dialect::Slack)), expected, "{body}");
        }
    }

    #[test]
    fn an_ok_that_was_not_read_to_its_end_is_no_ok() {
        for end in [BodyEnd::TooLarge, BodyEnd::TimedOut, BodyEnd::Broke, BodyEnd::Unread] {
            let answer = Answer { end, ..answer(200, "ok") };
            assert_eq!(word(&read(&answer, Dialect::Slack)), "unknown");
        }
    }

    fn pause(status: u16, header: Option<&str>, body: &str) -> Option<Option<f64>> {
        let answer = Answer { retry_after: header.map(str::to_owned), ..answer(status, body) };
        match read(&answer, Dialect::Plain) {
            DeliveryOutcome::Paused { wait, .. } => Some(wait.map(|wait| wait.as_secs_f64())),
            _ => None,
        }
    }

    #[test]
    fn a_pause_is_read_in_all_its_forms() {
        assert_eq!(pause(429, Some("3"), ""), Some(Some(3.0)));
        assert_eq!(pause(429, Some(" 2.5 "), ""), Some(Some(2.5)));
        assert_eq!(pause(429, Some("Wed, 02 Sep 2026 12:02:41 GMT"), ""), Some(Some(30.0)));
        assert_eq!(pause(429, Some("Wednesday, 02-Sep-26 12:02:41 GMT"), ""), Some(Some(30.0)));
        assert_eq!(pause(429, Some("Wed Sep  2 12:02:41 2026"), ""), Some(Some(30.0)));
        assert_eq!(pause(429, None, r#"{"retry_after":2.5}"#), Some(Some(2.5)));
        assert_eq!(pause(429, Some("1"), r#"{"retry_after":2.5}"#), Some(Some(2.5)));
        assert_eq!(pause(429, None, ""), Some(None));
        assert_eq!(pause(503, Some("7"), ""), Some(Some(7.0)));
        assert_eq!(pause(503, None, r#"{"retry_after":7}"#), Some(Some(7.0)));
        assert_eq!(pause(503, None, ""), None);
        assert_eq!(pause(500, Some("7"), ""), None);
    }

    #[test]
    fn a_pause_is_never_a_storm_and_never_a_day() {
        for short in ["0", "0.1", "Wed, 02 Sep 2026 12:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"]
        {
            assert_eq!(pause(429, Some(short), ""), Some(Some(1.0)), "{short}");
        }
        let endless = "9".repeat(400);
        for long in ["86400", "inf", &endless, "Fri, 01 Jan 2100 00:00:00 GMT"] {
            assert_eq!(pause(429, Some(long), ""), Some(Some(3600.0)), "{long}");
        }
        for garbled in ["soon", "-5", "NaN", ""] {
            assert_eq!(pause(429, Some(garbled), ""), Some(None), "{garbled}");
        }
    }

    #[test]
    fn the_reason_quotes_the_sink_but_never_its_address() {
        let said = read(&answer(404, "no_active_hooks"), Dialect::Slack);
        assert_eq!(
            said,
            DeliveryOutcome::Broken("the sink answered 404: no_active_hooks".to_owned())
        );
        let echo = read(&answer(404, "Cannot POST /services/T00/B00/sEcReT"), Dialect::Plain);
        assert_eq!(echo, DeliveryOutcome::Broken("the sink answered 404".to_owned()));
        let page = read(&answer(502, "<html><h1>Bad gateway</h1></html>"), Dialect::Plain);
        assert_eq!(page, DeliveryOutcome::Unknown("the sink answered 502".to_owned()));
    }
}
