//! The file's text as it may be shown: with every secret masked, and with its lines found quickly.
//!
//! The mask keeps the length in bytes, so that places found in the text hold in what is shown.

use super::{problem::Span, secret};
use std::{ops::Range, sync::Arc};

/// A file's name and masked text.
#[derive(Clone, Debug)]
pub struct Source {
    name: Arc<str>,
    masked: Arc<str>,
    line_starts: Arc<[usize]>,
}

impl Source {
    /// Masks the text and finds its lines. The text itself is not kept.
    pub fn new(name: &str, text: &str) -> Self {
        let masked = secret::masked(text);
        let starts = masked.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0).chain(starts.map(|(index, _)| index + 1)).collect();
        Self { name: name.into(), masked: masked.into(), line_starts }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn masked(&self) -> &str {
        &self.masked
    }

    /// The line that holds a byte, from 0.
    pub(super) fn line(&self, byte: usize) -> usize {
        self.line_starts.partition_point(|start| *start <= byte).saturating_sub(1)
    }

    /// The bytes of some lines, counted from 0.
    pub(super) fn lines(&self, lines: Range<usize>) -> Range<usize> {
        let end = self.masked.len();
        let start_of = |line: usize| self.line_starts.get(line).copied().unwrap_or(end);
        start_of(lines.start)..start_of(lines.end)
    }

    /// Line and column of a byte, both from 1, the column in characters.
    pub(super) fn place(&self, byte: usize) -> (usize, usize) {
        let line = self.line(byte);
        let start = self.lines(line..line + 1).start;
        let byte = self.boundary(byte);
        (line + 1, self.masked[start..byte.max(start)].chars().count() + 1)
    }

    /// A span cut to its first line, on whole characters, and at least one wide where the line has anything.
    pub(super) fn on_one_line(&self, at: &Span) -> Span {
        let line = self.line(at.start);
        let whole = self.lines(line..line + 1);
        let text = self.masked[whole.clone()].trim_end_matches(['\n', '\r']);
        let end_of_line = whole.start + text.len();
        let start = self.boundary(at.start).min(end_of_line);
        let end = self.boundary(at.end).clamp(start, end_of_line);
        start..end
    }

    fn boundary(&self, byte: usize) -> usize {
        let byte = byte.min(self.masked.len());
        (0..=byte).rev().find(|at| self.masked.is_char_boundary(*at)).unwrap_or(0)
    }
}
