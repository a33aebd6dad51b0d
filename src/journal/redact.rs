//! Takes secrets out of what goes to the journal (P7), and cuts what is long.
//!
//! Works on the encoded form and not on the types, so that a field that is added one day is covered before anyone thinks of
//! it. Only texts are replaced, by texts: an entry still decodes. It errs on the side of hiding: a label called `sort_key`
//! loses its value too. What it can't know is a secret without a name; those must not be observed in the first place.

use serde_json::Value;

const HIDDEN: &str = "[redacted]";

/// What a healthcheck printed is kept so far: enough for an error and its first lines.
const OUTPUT_KEPT: usize = 1024;

/// Any other text.
const TEXT_KEPT: usize = 4096;

/// In the name of a label, header or variable.
const SECRET_NAMES: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "pwd",
    "key",
    "credential",
    "authorization",
    "basicauth",
    "cookie",
];

/// In the name of a field of ours, and in running text. Not `key`, which is an everyday word there.
const SECRET_WORDS: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "pwd",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "private_key",
    "authorization",
    "credential",
];

/// What the place says about the names in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Fields,
    /// Labels and headers: somebody else chose the names.
    Names,
}

/// Takes secrets out of an encoded entry.
pub(super) fn redact(value: &mut Value) {
    walk(value, Around::Fields, TEXT_KEPT);
}

fn walk(value: &mut Value, around: Around, kept: usize) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (around, name.as_str()) {
                    (Around::Names, name) if has_word(name, SECRET_NAMES) => hide(value),
                    (Around::Names, _) => walk(value, around, kept),
                    (Around::Fields, "labels" | "annotations" | "headers") => {
                        walk(value, Around::Names, kept);
                    }
                    (Around::Fields, "env" | "environment") => hide(value),
                    (Around::Fields, "output") => walk(value, around, OUTPUT_KEPT),
                    (Around::Fields, name) if has_word(name, SECRET_WORDS) => hide(value),
                    (Around::Fields, _) => walk(value, around, kept),
                }
            }
        }
        Value::Array(items) => match (around, items.as_mut_slice()) {
            (Around::Names, [Value::String(name), value @ Value::String(_)])
                if has_word(name, SECRET_NAMES) =>
            {
                hide(value);
            }
            (_, items) => items.iter_mut().for_each(|item| walk(item, around, kept)),
        },
        Value::String(text) => {
            if let Some(clean) = scrub(text) {
                *text = clean;
            }
            cut(text, kept);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Every text in it.
fn hide(value: &mut Value) {
    match value {
        Value::String(text) => HIDDEN.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(hide),
        Value::Object(fields) => fields.values_mut().for_each(hide),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

fn cut(text: &mut String, kept: usize) {
    if text.len() > kept {
        let border = text.floor_char_boundary(kept);
        let more = text.len() - border;
        text.truncate(border);
        text.push_str(&format!(" … ({more} bytes cut)"));
    }
}

/// The text without what follows the name of a secret, and without passwords in URLs; `None` where there is none.
fn scrub(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let mut secrets: Vec<(usize, usize)> = SECRET_WORDS
        .iter()
        .flat_map(|word| lower.match_indices(word).map(|(at, word)| at + word.len()))
        .filter_map(|after| value_after(&lower, after))
        .chain(
            lower.match_indices("bearer ").map(|(at, word)| until_space(&lower, at + word.len())),
        )
        .chain(lower.match_indices("://").filter_map(|(at, _)| password_in_url(&lower, at + 3)))
        .filter(|(from, to)| from < to)
        .collect();
    if secrets.is_empty() {
        return None;
    }
    secrets.sort_unstable();
    let (mut clean, mut done) = (String::with_capacity(text.len()), 0);
    for (from, to) in secrets {
        if to > done {
            // Borders are at ASCII characters, which are the same bytes in both cases.
            clean.push_str(text.get(done..from.max(done)).unwrap_or_default());
            if from >= done {
                clean.push_str(HIDDEN);
            }
            done = to;
        }
    }
    clean.push_str(text.get(done..).unwrap_or_default());
    Some(clean)
}

/// The value behind `name=`, `name: `, `"name":`, where the name's known part ends at `after`.
fn value_after(lower: &str, after: usize) -> Option<(usize, usize)> {
    let rest = lower.get(after..)?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-.".contains(c));
    let unquoted = name.trim_start_matches(['"', '\'', '\\']);
    let sign = unquoted.trim_start_matches(' ');
    let value = sign.strip_prefix(['=', ':'])?;
    // `image/token:1.2` is a name with a version; a value is set off from its colon.
    if sign.starts_with(':') && !value.starts_with([' ', '"', '\'', '\\']) {
        return None;
    }
    let value = value.trim_start_matches([' ', '\\']);
    if let Some(quote) = value.chars().next().filter(|first| "\"'".contains(*first)) {
        let quoted = value.get(1..)?;
        let from = lower.len() - quoted.len();
        let length = quoted.find(quote).unwrap_or(quoted.len());
        // Where the quotes themselves are escaped, the escape belongs to the closing one.
        let value = quoted.get(..length)?.trim_end_matches('\\');
        return Some((from, from + value.len()));
    }
    let from = lower.len() - value.len();
    // `Authorization: Basic dXNlcg==`: the scheme belongs to it.
    let scheme = ["basic ", "bearer "].iter().find(|scheme| value.starts_with(**scheme));
    let (_, to) = until_space(lower, from + scheme.map_or(0, |scheme| scheme.len()));
    Some((from, to))
}

fn until_space(lower: &str, from: usize) -> (usize, usize) {
    let value = lower.get(from..).unwrap_or_default();
    let length = value
        .find(|c: char| c.is_ascii_whitespace() || "\"'&,;<>\\)}]".contains(c))
        .unwrap_or(value.len());
    (from, from + length)
}

/// `user:password` in `://user:password@host`.
fn password_in_url(lower: &str, from: usize) -> Option<(usize, usize)> {
    let (_, end) = until_space(lower, from);
    let authority = lower.get(from..end)?.split(['/', '?', '#']).next()?;
    let at = authority.rfind('@')?;
    let colon = authority.get(..at)?.find(':')?;
    Some((from + colon + 1, from + at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn redacted(mut value: Value) -> Value {
        redact(&mut value);
        value
    }

    #[test]
    fn values_of_labels_and_headers_with_a_telling_name_are_hidden() {
        let value = json!({"labels": {"app": "web", "API_KEY": "k1", "db.Password": "p1"},
            "headers": [["Accept", "a"], ["Authorization", "Bearer t1"], ["X-Api-Key", "k2"]]});
        let expected = json!({"labels": {"app": "web", "API_KEY": HIDDEN, "db.Password": HIDDEN},
            "headers": [["Accept", "a"], ["Authorization", HIDDEN], ["X-Api-Key", HIDDEN]]});
        assert_eq!(redacted(value), expected);
    }

    #[test]
    fn the_environment_is_hidden_whole_and_so_are_fields_with_a_telling_name() {
        let value = json!({"env": ["A=1"], "Environment": 1, "environment": {"a": "b"},
            "webhook_token": "t", "idempotency_key": "kept", "key": "fleet/host"});
        let expected = json!({"env": [HIDDEN], "Environment": 1, "environment": {"a": HIDDEN},
            "webhook_token": HIDDEN, "idempotency_key": "kept", "key": "fleet/host"});
        assert_eq!(redacted(value), expected);
    }

    #[test]
    fn running_text_loses_what_follows_the_name_of_a_secret() {
        for (text, clean) in [
            ("GET /h?token=abc&x=1 failed", "GET /h?token=[redacted]&x=1 failed"),
            ("DB_PASSWORD=hunter2 exit 1", "DB_PASSWORD=[redacted] exit 1"),
            (r#"{"password": "p w", "a":1}"#, r#"{"password": "[redacted]", "a":1}"#),
            (r#"{\"token\":\"p w\",\"a\":1}"#, r#"{\"token\":\"[redacted]\",\"a\":1}"#),
            (r#"{"client_secret":"s"}"#, r#"{"client_secret":"[redacted]"}"#),
            ("authorization: Basic dXNlcg== x", "authorization: [redacted] x"),
            ("sent Bearer abc.def", "sent Bearer [redacted]"),
            ("postgres://app:hunter2@db:5432/x?y=z", "postgres://app:[redacted]@db:5432/x?y=z"),
            ("Ünïcode password=ß!", "Ünïcode password=[redacted]"),
        ] {
            assert_eq!(redacted(json!(text)), json!(clean));
        }
    }

    #[test]
    fn everyday_text_stays_as_it_is() {
        for text in [
            "token-service:1.2",
            "registry/token:1.2",
            "no password given",
            "http://db:5432/a@b",
            "secret",
            "password=",
            "key=value",
            "2026-11-29T10:00:00Z",
        ] {
            assert_eq!(redacted(json!(text)), json!(text));
        }
    }

    #[test]
    fn output_is_cut_on_a_character_with_a_mark() {
        let value = redacted(json!({"output": "é".repeat(2000), "other": "é".repeat(2000)}));
        let output = value["output"].as_str().unwrap();
        assert!(output.starts_with("éé") && output.ends_with("… (2976 bytes cut)"), "{output}");
        assert_eq!(value["other"].as_str().unwrap().chars().count(), 2000);
    }
}
