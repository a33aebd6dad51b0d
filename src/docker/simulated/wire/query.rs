//! Queries and filters, read as the engine reads them, its leniency included.

use crate::domain::moment::EngineMs;
use serde_json::Value;
use std::collections::BTreeMap;

/// A query, decoded. The last of several values counts.
pub(super) struct Query(BTreeMap<String, String>);

impl Query {
    pub(super) fn of(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescaped(key), unescaped(value))
        });
        Self(pairs.collect())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The engine takes everything for true but these.
    pub(super) fn is_true(&self, key: &str) -> bool {
        let value = self.get(key).unwrap_or("").trim().to_ascii_lowercase();
        !matches!(value.as_str(), "" | "0" | "no" | "false" | "none")
    }

    /// A time as `seconds` or `seconds.nanoseconds`.
    pub(super) fn moment(&self, key: &str) -> Result<Option<EngineMs>, String> {
        let Some(text) = self.get(key).filter(|text| !text.is_empty()) else { return Ok(None) };
        let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
        let wrong = || format!("strconv.ParseInt: parsing \"{text}\": invalid syntax");
        let seconds: i64 = seconds.parse().map_err(|_| wrong())?;
        let digits = format!("{fraction:0<9}");
        let nanos: i64 = digits.get(..9).unwrap_or("0").parse().map_err(|_| wrong())?;
        Ok(Some(EngineMs(seconds.saturating_mul(1000).saturating_add(nanos / 1_000_000))))
    }
}

/// Filters, in both forms that the engine takes: lists of words, and words with `true`.
#[derive(Debug, Default)]
pub(super) struct Filters(BTreeMap<String, Vec<String>>);

impl Filters {
    pub(super) fn of(query: &Query) -> Result<Self, String> {
        let Some(text) = query.get("filters").filter(|text| !text.is_empty()) else {
            return Ok(Self::default());
        };
        let read: BTreeMap<String, Value> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let words = |value: Value| match value {
            Value::Array(words) => {
                words.into_iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
            }
            Value::Object(words) => words.into_iter().map(|(word, _)| word).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        };
        Ok(Self(read.into_iter().map(|(key, value)| (key, words(value))).collect()))
    }

    pub(super) fn values(&self, key: &str) -> &[String] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// One of the words fits, or there are none.
    pub(super) fn fit(&self, key: &str, fits: impl Fn(&str) -> bool) -> bool {
        let values = self.values(key);
        values.is_empty() || values.iter().any(|word| fits(word))
    }
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (byte, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(escaped)) => {
                bytes.push(escaped);
                rest = after.get(2..).unwrap_or(&[]);
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
