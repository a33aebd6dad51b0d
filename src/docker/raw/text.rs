//! Text from outside: valid, without secrets, without control characters, no longer than wanted.
//!
//! What a healthcheck prints, or an engine says, ends in logs, journals and messages. Secrets are hidden here once
//! ([`crate::redact`]), before anything is cut in two; terminal escapes and characters that turn the direction of writing or can't be
//! seen are replaced; what a sink must escape for itself stays the sink's work.

use crate::redact::{self, unseen::is_invisible};
use serde::Deserialize;

/// Longest message of an engine that is kept.
const LONGEST_MESSAGE: usize = 500;

/// Cleans `text`, hides its secrets and keeps at most `limit` bytes of it, cut between characters. Newlines and tabs stay.
pub(in crate::docker) fn cleaned(text: &str, limit: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(limit));
    for character in redact::beginning(text, limit).chars() {
        let character = match character {
            '\n' | '\t' => character,
            '\r' => continue,
            other if other.is_control() || is_invisible(other) => char::REPLACEMENT_CHARACTER,
            other => other,
        };
        if kept.len() + character.len_utf8() > limit {
            break;
        }
        kept.push(character);
    }
    kept
}

/// The message of an error's body: Docker's and Podman's `{"message": …}`, or the body itself where it is something else.
pub(in crate::docker) fn error_message(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Said {
        message: String,
    }
    let body = String::from_utf8_lossy(body);
    let said = serde_json::from_str::<Said>(&body).map(|said| said.message);
    cleaned(said.as_deref().unwrap_or(&body).trim(), LONGEST_MESSAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_cut_between_characters() {
        assert_eq!(cleaned("aé€", 5), "aé");
        assert_eq!(cleaned("aé€", 6), "aé€");
        assert_eq!(cleaned("€", 2), "");
    }

    #[test]
    fn a_secret_is_hidden_before_it_is_cut() {
        assert_eq!(cleaned("password=hunter2 x", 99), "password=[redacted] x");
        assert_eq!(cleaned("a postgres://app:hunter2@db", 20), "a postgres://app:[re");
        assert_eq!(
            error_message(br#"{"message":"pull of https://u:hunter2@hub/x denied"}"#),
            "pull of https://u:[redacted]@hub/x denied"
        );
    }

    #[test]
    fn escapes_and_turned_writing_are_replaced_and_lines_stay() {
        assert_eq!(cleaned("\u{1b}[31mred\r\n\tnext\0", 99), "\u{fffd}[31mred\n\tnext\u{fffd}");
        assert_eq!(cleaned("a\u{202e}b\u{2066}", 99), "a\u{fffd}b\u{fffd}");
        assert_eq!(cleaned("a\u{2028}b\u{e0041}❤\u{fe0f}", 99), "a\u{fffd}b\u{fffd}❤\u{fe0f}");
    }

    #[test]
    fn an_error_is_what_the_engine_said_or_the_page_a_proxy_gave() {
        assert_eq!(error_message(br#"{"message":"No such container: x"}"#), "No such container: x");
        assert_eq!(
            error_message(br#"{"cause":"c","message":"m","response":404}"#),
            "m",
            "Podman's has more fields"
        );
        assert_eq!(error_message(b"<html>403 Forbidden</html>\n"), "<html>403 Forbidden</html>");
        assert_eq!(error_message(br#"{"message":7}"#), r#"{"message":7}"#);
        assert_eq!(error_message(&[b'a', 0xff, b'b']), "a\u{fffd}b");
        assert_eq!(error_message("ü".repeat(4000).as_bytes()).len(), 500);
        assert_eq!(error_message(b""), "");
    }
}
