//! Keeps a sink's address out of what is said about it (P7).
//!
//! A webhook's URL is a password, and servers like to repeat it: "Cannot POST /services/T0/B0/…". So what a sink or the
//! network says is quoted only if no piece of the URL is in it, whatever was done to case, escapes and punctuation on the
//! way. In doubt the quote is left out whole: a lost hint costs less than a leaked key. What is quoted loses other secrets by
//! [`crate::redact`], as all text from outside does.

use super::text::{cut, one_line};
use crate::redact;
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};

/// Pieces shorter than this occur by chance in every sentence, and guard nothing.
const SHORTEST_PIECE: usize = 4;

/// The longest quote, in characters.
const LONGEST_QUOTE: usize = 200;

/// Knows what must not be quoted.
pub struct Redaction {
    pieces: Vec<SecretString>,
}

impl Redaction {
    /// Guards the pieces of this URL.
    pub fn of(url: &Url) -> Self {
        let path = url.path_segments().into_iter().flatten();
        let query =
            url.query_pairs().flat_map(|(key, value)| [key.into_owned(), value.into_owned()]);
        let raw_query = url.query().unwrap_or_default().split(['&', '=']).map(str::to_owned);
        let rest = [
            url.username(),
            url.password().unwrap_or_default(),
            url.host_str().unwrap_or_default(),
        ];
        let pieces = path
            .flat_map(|segment| [segment.to_owned(), percent_decoded(segment)])
            .chain(query)
            .chain(raw_query)
            .chain(rest.into_iter().flat_map(|piece| [piece.to_owned(), percent_decoded(piece)]))
            .map(|piece| bare(&piece))
            .filter(|piece| piece.chars().count() >= SHORTEST_PIECE)
            .map(SecretString::from)
            .collect();
        Self { pieces }
    }

    /// Guards this secret too.
    pub fn guard(&mut self, secret: &SecretString) {
        let secret = bare(secret.expose_secret());
        if secret.chars().count() >= SHORTEST_PIECE {
            self.pieces.push(SecretString::from(secret));
        }
    }

    /// The text, cleaned and cut, if nothing that is guarded is in it.
    pub fn quote(&self, text: &str) -> Option<String> {
        let line = one_line(text);
        let bared = (bare(&line), bare(&percent_decoded(&line)));
        let leaks = self.pieces.iter().any(|piece| {
            bared.0.contains(piece.expose_secret()) || bared.1.contains(piece.expose_secret())
        });
        let line = redact::text(&line);
        (!leaks && !line.is_empty()).then(|| cut(&line, LONGEST_QUOTE, |_| 1).into_owned())
    }
}

/// Letters and digits alone, lower case.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let hex = if first == b'%' { behind.get(..2) } else { None };
        let code = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = behind.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(first);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redaction() -> Redaction {
        Redaction::of(
            &Url::parse("https://joe:pa%2Fss-word@hooks.example.org/services/T00/XX-yy_77?sig=a%2Bb%2Bc9&v=1")
                .unwrap(),
        )
    }

    #[test]
    fn what_names_no_piece_of_the_url_is_quoted() {
        assert_eq!(redaction().quote("no such\nchannel").as_deref(), Some("no such ⏎ channel"));
        assert_eq!(redaction().quote(" \0 "), None);
        assert_eq!(redaction().quote("token: abc").as_deref(), Some("token: [redacted]"));
    }

    #[test]
    fn a_piece_of_the_url_in_any_dress_silences_the_quote() {
        for text in [
            "Cannot POST /services/T00/XX-yy_77",
            "no hook xx-YY_77",
            "bad signature a+b+c9",
            "bad signature a%2Bb%2Bc9",
            "bad &quot;sig=a%252Bb&amp;c&quot; XXyy77",
            "joe:pa/ss-word is not allowed",
            "pa%2Fss%2Dword",
            "certificate is not valid for hooks.example.org",
        ] {
            assert_eq!(redaction().quote(text), None, "{text}");
        }
    }

    #[test]
    fn a_long_quote_is_cut() {
        assert_eq!(redaction().quote(&"é".repeat(5000)).unwrap().chars().count(), LONGEST_QUOTE);
    }
}
