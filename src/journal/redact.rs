//! Takes secrets out of what goes to the journal (P7), and cuts what is long.
//!
//! Texts were redacted where they came in ([`crate::redact`]); here they are again, with what the names of fields, labels
//! and headers say, since labels come in as they are: some of them name services.
//!
//! Works on the encoded form and not on the types, so that a field that is added one day is covered before anyone thinks of
//! it. Only texts are replaced, by texts: an entry still decodes. It errs on the side of hiding: a label called `sort_key`
//! loses its value too. What it can't know is a secret without a name; those must not be observed in the first place.

use crate::redact::{self, HIDDEN};
use serde_json::Value;
use std::borrow::Cow;

/// What a healthcheck printed is kept so far: enough for an error and its first lines.
const OUTPUT_KEPT: usize = 1024;

/// Any other text.
const TEXT_KEPT: usize = 4096;

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
                    (Around::Names, name) if redact::is_secret_name(name) => hide(value),
                    (Around::Names, _) => walk(value, around, kept),
                    (Around::Fields, "labels" | "annotations" | "headers") => {
                        walk(value, Around::Names, kept);
                    }
                    (Around::Fields, "env" | "environment") => hide(value),
                    (Around::Fields, "output") => walk(value, around, OUTPUT_KEPT),
                    (Around::Fields, name) if redact::is_secret_field(name) => hide(value),
                    (Around::Fields, _) => walk(value, around, kept),
                }
            }
        }
        Value::Array(items) => match (around, items.as_mut_slice()) {
            (Around::Names, [Value::String(name), value @ Value::String(_)])
                if redact::is_secret_name(name) =>
            {
                hide(value);
            }
            (_, items) => items.iter_mut().for_each(|item| walk(item, around, kept)),
        },
        Value::String(text) => {
            if let Cow::Owned(clean) = redact::text(text) {
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

fn cut(text: &mut String, kept: usize) {
    if text.len() > kept {
        let border = text.floor_char_boundary(kept);
        let more = text.len() - border;
        text.truncate(border);
        text.push_str(&format!(" … ({more} bytes cut)"));
    }
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
    fn running_text_loses_its_secrets_in_any_field() {
        let value = json!({"output": "password=hunter2", "why": ["redis://:hunter2@cache"]});
        let expected = json!({"output": format!("password={HIDDEN}"), "why": [format!("redis://:{HIDDEN}@cache")]});
        assert_eq!(redacted(value), expected);
    }

    #[test]
    fn output_is_cut_on_a_character_with_a_mark() {
        let value = redacted(json!({"output": "é".repeat(2000), "other": "é".repeat(2000)}));
        let output = value["output"].as_str().unwrap();
        assert!(output.starts_with("éé") && output.ends_with("… (2976 bytes cut)"), "{output}");
        assert_eq!(value["other"].as_str().unwrap().chars().count(), 2000);
    }
}
