//! How much of a value is masked, by the path of its key and by how the value looks.

use crate::{config::pointer::Pointer, redact};

const MASK: u8 = b'*';

/// Parts of key names that make the value a secret.
const SECRET: [&str; 13] = [
    "url",
    "secret",
    "token",
    "passw",
    "key",
    "headers",
    "auth",
    "cookie",
    "credential",
    "webhook",
    "slack",
    "pagerduty",
    "smtp",
];

/// Keys under `[sink]` whose values are harmless.
const HARMLESS_IN_SINK: [&str; 4] = ["severities", "timeout", "terminal", "allow_http"];

/// Keys whose values are whole secrets by their name alone.
const WHOLE: [&str; 2] = ["body", "send"];

/// Keys whose values are addresses that help to understand an error.
const ADDRESSES: [&str; 3] = ["http", "runbook", "address"];

/// The key whose value is prose of people, who may write a password into it.
const PROSE: &str = "note";

/// How much of a value is masked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// All of it.
    Whole,
    /// All of it, unless it names the place of a secret.
    Place(Pointer),
    /// Credentials and query of an address.
    Address,
    /// All of it where it holds what would be hidden in text from outside, else what looks like an address.
    Prose,
    /// What looks like an address or a signing secret.
    Looks,
}

impl Mode {
    /// Of a value whose key stands at this path.
    pub(super) fn of(path: &[&String]) -> Self {
        let Some(last) = path.last() else { return Mode::Looks };
        if let Some(pointer) = Pointer::of(last) {
            return Mode::Place(pointer);
        }
        let in_sink = path.first().is_some_and(|first| *first == "sink");
        let named_after_sink = if in_sink { 2 } else { 0 };
        let names = path.iter().skip(named_after_sink);
        let harmless = in_sink && HARMLESS_IN_SINK.contains(&last.as_str());
        if harmless {
            return Mode::Looks;
        }
        let sounds = |name: &str| SECRET.iter().any(|word| name.contains(word));
        if in_sink || names.into_iter().any(|name| sounds(name)) || WHOLE.contains(&last.as_str()) {
            return Mode::Whole;
        }
        match last.as_str() {
            PROSE => Mode::Prose,
            last if ADDRESSES.contains(&last) => Mode::Address,
            _ => Mode::Looks,
        }
    }

    /// Masks `text[from..to]` in `out`, which is as long as the text.
    pub(super) fn mask(self, out: &mut [u8], text: &[u8], from: usize, to: usize) {
        let part = &text[from..to];
        let mut cover = |start: usize, end: usize| {
            for byte in &mut out[start..end] {
                if *byte != b'\n' && *byte != b'\r' {
                    *byte = MASK;
                }
            }
        };
        match self {
            Mode::Whole => cover(from, to),
            Mode::Place(pointer) if is_place(pointer, part) => {}
            Mode::Place(_) => cover(from, to),
            Mode::Address => {
                let query = part.iter().position(|byte| *byte == b'?').unwrap_or(part.len());
                let scheme = find(part, b"://").map_or(0, |at| at + 3).min(query);
                let authority = part[scheme..query].split(|byte| b"/#".contains(byte)).next();
                let user = authority.and_then(|text| text.iter().rposition(|byte| *byte == b'@'));
                let host = user.map_or(scheme, |at| scheme + at);
                if looks_secret(&[&part[..scheme], &part[host..query]].concat()) {
                    cover(from, to);
                } else {
                    cover(from + scheme, from + host);
                    cover(from + (query + 1).min(part.len()), to);
                }
            }
            Mode::Prose if looks_secret(part) => cover(from, to),
            Mode::Prose | Mode::Looks => {
                for sign in [&b"://"[..], &b"whsec_"[..]] {
                    let mut searched = 0;
                    while let Some(at) = find(&part[searched..], sign) {
                        let start = searched + at + sign.len();
                        let length =
                            part[start..].iter().position(|byte| b" \t\"'\n\r".contains(byte));
                        let stop = length.map_or(part.len(), |length| start + length);
                        cover(from + start, from + stop);
                        searched = stop;
                    }
                }
            }
        }
    }
}

/// Whether it has the form of the name of a secret's place.
pub(super) fn is_place(pointer: Pointer, value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|value| pointer.may_be_shown(value.trim()))
}

/// Whether there is a secret in it by its form, as in the path of a webhook's address.
pub(super) fn looks_secret(text: &[u8]) -> bool {
    let text = String::from_utf8_lossy(text);
    redact::text(&text) != text
}

fn find(text: &[u8], sign: &[u8]) -> Option<usize> {
    text.windows(sign.len()).position(|window| window == sign)
}
