//! How an event's message and fields are written: one line, whatever is in them.
//!
//! Names and texts come from whoever runs the containers. A line break in a Compose label would begin a line that looks like
//! one of ours, an escape sequence would rewrite the terminal of whoever reads the log. So what acts is escaped here, for
//! every event there is and will be; quotes and letters of all scripts read as they are.

use crate::notify::text::acts_on_a_screen;
use std::fmt::{self, Debug, Write};
use tracing::field::{Field, Visit};
use tracing_subscriber::{
    field::RecordFields,
    fmt::{FormatFields, format::Writer},
};

/// Writes `message name=value …`, each without a character that acts.
#[derive(Clone, Copy, Debug)]
pub struct Fields;

impl<'w> FormatFields<'w> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut line = Line { writer: Escaping(writer), is_begun: false, result: Ok(()) };
        fields.record(&mut line);
        line.result
    }
}

struct Line<'w> {
    writer: Escaping<Writer<'w>>,
    is_begun: bool,
    result: fmt::Result,
}

impl Line<'_> {
    fn put(&mut self, field: &Field, value: fmt::Arguments<'_>) -> fmt::Result {
        if std::mem::replace(&mut self.is_begun, true) {
            self.writer.write_char(' ')?;
        }
        match field.name() {
            "message" => self.writer.write_fmt(value),
            name => {
                self.writer.write_str(name.strip_prefix("r#").unwrap_or(name))?;
                self.writer.write_char('=')?;
                self.writer.write_fmt(value)
            }
        }
    }
}

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        // What `log` says of where it was called is no field of the event.
        if self.result.is_ok() && !field.name().starts_with("log.") {
            self.result = self.put(field, format_args!("{value:?}"));
        }
    }
}

/// Passes text on, with what acts on a screen as `\n` or `\u{202e}`.
struct Escaping<W>(W);

impl<W: Write> Write for Escaping<W> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| acts_on_a_screen(*c)) {
            self.0.write_str(rest.get(..at).unwrap_or_default())?;
            match c {
                '\n' => self.0.write_str("\\n")?,
                '\r' => self.0.write_str("\\r")?,
                '\t' => self.0.write_str("\\t")?,
                other => write!(self.0, "{}", other.escape_unicode())?,
            }
            rest = rest.get(at + c.len_utf8()..).unwrap_or_default();
        }
        self.0.write_str(rest)
    }
}

/// The text with what acts on a screen escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut line = Escaping(String::with_capacity(text.len()));
    match line.write_str(text) {
        Ok(()) => line.0,
        // It does not happen to a String.
        Err(fmt::Error) => String::new(),
    }
}
