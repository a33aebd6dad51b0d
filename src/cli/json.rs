//! What a command answers to programs, which people look at all the same.
//!
//! JSON escapes what stands below U+0020 and nothing else. But names come from whoever runs the containers, and a terminal
//! heeds U+009B as it heeds an escape; so what acts on a screen is escaped here too, in every string there is and will be. A
//! program reads the same either way.

use crate::notify::text::acts_on_a_screen;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Writes `value` and a line break.
///
/// # Errors
/// Where it can't be written.
pub(super) fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    let escaping = Escaping(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(&mut *out, escaping))?;
    writeln!(out)
}

struct Escaping(PrettyFormatter<'static>);

impl Formatter for Escaping {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| acts_on_a_screen(*c)) {
            writer.write_all(rest.get(..at).unwrap_or_default().as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = rest.get(at + c.len_utf8()..).unwrap_or_default();
        }
        writer.write_all(rest.as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::snapshot::{
        IncidentStatus, ProbingStatus, RefusedReload, ReplicaStatus, SinkStatus, Snapshot,
    };
    use serde_json::Value;

    const HOSTILE: &str = "größe \"\\\u{9b}2J\u{7f}\u{85}\u{202e}\u{200b}\u{e0041}\u{1b}[2J\u{feff}\u{2028}\u{1d173} 👩\u{200d}🚒";

    fn written(value: &impl Serialize) -> String {
        let mut out = Vec::new();
        write(value, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// In each text of it stands what acts.
    fn hostile_snapshot() -> Snapshot {
        let text = || HOSTILE.to_owned();
        Snapshot {
            version: text(),
            at_ms: 1,
            host: text(),
            messages_reach_somebody: false,
            pages_reach_somebody: false,
            problems: vec![text()],
            notes: vec![text()],
            restarts_nothing: false,
            hold_file: Some(text()),
            refused_reload: Some(RefusedReload { since_ms: 1, why: text() }),
            replicas: vec![ReplicaStatus {
                service: text(),
                name: text(),
                verdict: text(),
                verdict_for_ms: 1,
                state: text(),
                trouble: Some(text()),
                failures: 1,
                failing: vec![text()],
                begins_to_fail: vec![text()],
                nothing_to_judge_by: false,
                hold: Some(text()),
                hold_for_ms: Some(1),
                in_hand: false,
                recovery_awaited: false,
                restarts_spent: 1,
                restarts_allowed: 1,
                could_not_look: Some(text()),
                doubles: vec![text()],
            }],
            replicas_not_shown: 0,
            unmatched: vec![text()],
            probing: ProbingStatus::default(),
            incidents: vec![IncidentStatus {
                id: 1,
                service: Some(text()),
                kind: text(),
                severity: text(),
                stage: text(),
                headline: text(),
                since_ms: 1,
                ended_ms: Some(1),
            }],
            sinks: vec![SinkStatus {
                name: text(),
                takes_pages: false,
                proven: false,
                works: false,
                broken: Some(text()),
                lacks: Some(text()),
                broken_for_ms: Some(1),
                waiting: 1,
                next_attempt_ms: Some(1),
                undeliverable: vec![text()],
            }],
        }
    }

    #[test]
    fn no_text_of_a_snapshot_acts_on_a_screen_and_a_program_reads_all_of_it() {
        let snapshot = hostile_snapshot();
        let json = written(&snapshot);
        let acts = |c: &char| acts_on_a_screen(*c) && *c != '\n';
        assert_eq!(json.chars().find(acts), None, "{json:?}");
        assert!(json.contains("größe") && json.contains("👩"), "what can be seen stays: {json}");
        assert_eq!(serde_json::from_str::<Snapshot>(&json).unwrap(), snapshot);
    }

    #[test]
    fn it_is_laid_out_as_usual() {
        let value: Value = serde_json::from_str(r#"{"a":[],"b":{},"c":[1,{"d":null}]}"#).unwrap();
        assert_eq!(written(&value), format!("{value:#}\n"));
    }

    #[test]
    fn a_key_acts_no_more_than_a_value() {
        let value = Value::Object([(HOSTILE.to_owned(), Value::Null)].into_iter().collect());
        let json = written(&value);
        assert!(!json.contains('\u{9b}'), "{json:?}");
        assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), value);
    }
}
