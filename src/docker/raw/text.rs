//! Text from outside: valid, without secrets, without control characters, no longer than wanted; and names, which stay what
//! tells one thing from another.
//!
//! What a healthcheck prints, or an engine says, ends in logs, journals and messages. Secrets are hidden here once
//! ([`crate::redact`]), before anything is cut in two; terminal escapes and characters that turn the direction of writing or can't be
//! seen are replaced; what a sink must escape for itself stays the sink's work.

use crate::redact::{self, unseen::is_invisible};
use serde::Deserialize;
use sha2::{Digest, Sha256};

/// Longest name that is kept whole, in bytes. An image's, with host, tag and digest, has at most 460.
const LONGEST_NAME: usize = 512;

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

/// A name, as it stands in every line that is about what it names. By names containers are matched, known again and told
/// apart, so that a good one stays as it is, nothing in it is taken for a secret, and different ones stay different: what can't
/// be seen or acts on a screen is written out, and of what is too long the end is a hash of the whole.
pub(in crate::docker) fn name(given: &str) -> String {
    let mut name = String::with_capacity(given.len().min(LONGEST_NAME));
    for character in given.chars() {
        if character.is_control() || is_invisible(character) {
            name.extend(character.escape_unicode());
        } else {
            name.push(character);
        }
        if name.len() > LONGEST_NAME {
            let hash = format!("…{:.16x}", Sha256::digest(given.as_bytes()));
            name.truncate(name.floor_char_boundary(LONGEST_NAME - hash.len()));
            name.push_str(&hash);
            break;
        }
    }
    name
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
    fn a_good_name_stays_as_it_is() {
        let image = format!(
            "host.example:5000/{}:{}@sha256:{}",
            "a".repeat(230),
            "t".repeat(128),
            "0".repeat(64)
        );
        for good in ["web-1", "größe", "👩\u{200d}🚒", "acme/password:16", "token_1", "", &image]
        {
            assert_eq!(name(good), good);
        }
    }

    #[test]
    fn other_names_can_be_seen_are_cut_and_stay_different() {
        assert_eq!(name("web\u{1b}[2J\n\u{202e}1"), "web\\u{1b}[2J\\u{a}\\u{202e}1");
        let (one, other) =
            (name(&format!("{}1", "é".repeat(400))), name(&format!("{}2", "é".repeat(400))));
        assert!(one.len() <= LONGEST_NAME && other.len() <= LONGEST_NAME, "{one}");
        assert_ne!(one, other);
        assert_ne!(name("web\u{200b}"), name("web\u{200e}"));
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
