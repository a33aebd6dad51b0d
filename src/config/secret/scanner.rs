//! Finds keys and values in a config's text, and believes to know under which key a value stands. It reads bytes and no TOML:
//! the lines that have to be masked are often those that are none.

use super::mode::{Mode, is_place, looks_secret};

/// No config is nested deeper; what is, is masked.
const DEEPEST: usize = 16;

/// The text with every secret masked.
pub(super) fn masked(text: &[u8]) -> Vec<u8> {
    let mut scanner = Scanner { text, out: text.to_vec(), at: 0, line_end: 0 };
    scanner.lines(&mut Where::default(), text.len());
    scanner.out
}

/// Where in the file's structure the scanner believes to be.
#[derive(Clone, Default)]
struct Where {
    section: Vec<String>,
    open: Vec<Open>,
    key: Vec<String>,
}

#[derive(Clone)]
struct Open {
    key: Vec<String>,
    array: bool,
}

impl Where {
    fn mode(&self) -> Mode {
        if self.open.len() > DEEPEST {
            return Mode::Whole;
        }
        let open = self.open.iter().flat_map(|open| &open.key);
        let path: Vec<&String> = self.section.iter().chain(open).chain(&self.key).collect();
        Mode::of(&path)
    }
}

struct Scanner<'a> {
    text: &'a [u8],
    out: Vec<u8>,
    at: usize,
    line_end: usize,
}

impl Scanner<'_> {
    /// Reads keys and values from here to `end`.
    fn lines(&mut self, place: &mut Where, end: usize) {
        while self.at < end {
            if self.starts_a_line() && self.header(place, end) {
                continue;
            }
            let in_array = place.open.last().is_some_and(|open| open.array);
            let byte = self.text[self.at];
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => self.at += 1,
                b'#' => self.comment(end),
                b'}' | b']' => {
                    place.open.pop();
                    self.at += 1;
                }
                _ if in_array && !self.begins_a_key(end) => self.value(place, end),
                _ if in_array => {
                    // The array was never closed.
                    place.open.clear();
                    self.key(place, end);
                }
                _ => self.key(place, end),
            }
        }
    }

    fn starts_a_line(&self) -> bool {
        self.at == 0 || self.text[self.at - 1] == b'\n'
    }

    /// Looked for once a line, so that a line with a thousand keys is not read a thousand times.
    fn end_of_line(&mut self, end: usize) -> usize {
        if self.at > self.line_end || self.line_end == 0 {
            let rest = &self.text[self.at..];
            let length = rest.iter().position(|byte| *byte == b'\n');
            self.line_end = length.map_or(self.text.len(), |length| self.at + length);
        }
        self.line_end.min(end)
    }

    /// Whether a bare word and `=` come next.
    fn begins_a_key(&mut self, end: usize) -> bool {
        let line_end = self.end_of_line(end);
        let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-. \t".contains(byte);
        let rest = &self.text[self.at..line_end];
        rest.iter().find(|byte| !is_key(byte)) == Some(&b'=')
    }

    /// `[section]` or `[[section]]`; also ends whatever was left open, since no array holds bare words.
    fn header(&mut self, place: &mut Where, end: usize) -> bool {
        let line_end = self.end_of_line(end);
        let line = String::from_utf8_lossy(&self.text[self.at..line_end]).into_owned();
        let line = line.split('#').next().unwrap_or_default().trim();
        let inner = line.trim_start_matches('[').trim_end_matches(']').trim();
        let brackets = line.starts_with('[') && line.ends_with(']');
        if !brackets || !inner.starts_with(|c: char| c.is_ascii_alphabetic()) || inner.contains(',')
        {
            return false;
        }
        *place = Where { section: segments(inner), ..Where::default() };
        // The rest of the line is the header's own text, or a comment.
        while self.at < line_end && self.text[self.at] != b'#' {
            self.at += 1;
        }
        true
    }

    /// A comment is blanked: it helps nobody to see an error, and what was commented out may be a secret.
    fn comment(&mut self, end: usize) {
        let line_end = self.end_of_line(end);
        for byte in &mut self.out[self.at..line_end] {
            *byte = if *byte == b'\r' { b'\r' } else { b' ' };
        }
        self.at = line_end;
    }

    fn key(&mut self, place: &mut Where, end: usize) {
        let line_end = self.end_of_line(end);
        let start = self.at;
        let mut quote = None;
        while self.at < line_end {
            let byte = self.text[self.at];
            match quote {
                Some(open) if byte == open => quote = None,
                Some(_) => {}
                None if byte == b'"' || byte == b'\'' => quote = Some(byte),
                None if byte == b'=' => break,
                None if byte == b'#' || byte == b'}' => break,
                None => {}
            }
            self.at += 1;
        }
        self.mask(start, self.at, Mode::Looks);
        if self.at < line_end && self.text[self.at] == b'=' {
            let text = String::from_utf8_lossy(&self.text[start..self.at]).into_owned();
            place.key = segments(&text);
            self.at += 1;
            self.value(place, end);
        }
    }

    /// One value and whatever follows it up to the next comma, bracket or line end: a secret with a quote in its middle
    /// goes on behind it.
    fn value(&mut self, place: &mut Where, end: usize) {
        while self.at < end {
            match self.text[self.at] {
                b' ' | b'\t' | b'\r' => self.at += 1,
                b'\n' | b',' | b'#' | b']' | b'}' => return,
                quote @ (b'"' | b'\'') => self.string(quote, place.mode(), end),
                opening @ (b'[' | b'{') => {
                    let key = std::mem::take(&mut place.key);
                    place.open.push(Open { key, array: opening == b'[' });
                    self.at += 1;
                    return;
                }
                _ => self.bare(place.mode(), end),
            }
        }
    }

    fn string(&mut self, quote: u8, mode: Mode, end: usize) {
        let start = self.at;
        let line_end = self.end_of_line(end);
        let long = [quote; 3];
        let is_long = self.text[start..end].starts_with(&long);
        let width = if is_long { 3 } else { 1 };
        let limit = if is_long { end } else { line_end };
        let mut at = start + width;
        while at < limit && !self.text[at..limit].starts_with(&long[..width]) {
            at += if quote == b'"' && self.text[at] == b'\\' { 2 } else { 1 };
        }
        if at >= limit {
            // Never closed: it ends with its line, else the keys behind it would be taken for its text.
            self.mask(start + width, line_end.max(start + width), mode);
            self.at = line_end.max(start + width);
            return;
        }
        self.at = at + width;
        // A value with a quote in its middle is not over.
        let behind = self.text[self.at..line_end.max(self.at)].trim_ascii_start().first();
        let is_over = behind.is_none_or(|byte| b",]}#".contains(byte));
        let mode = if matches!(mode, Mode::Place(_)) && !is_over { Mode::Whole } else { mode };
        self.mask(start + width, at, mode);
    }

    /// Text without quotes. Up to the line's end where it is secret, since an address may hold any of the marks that end
    /// a value.
    fn bare(&mut self, mode: Mode, end: usize) {
        let line_end = self.end_of_line(end);
        let line = &self.text[self.at..line_end];
        let word = line.iter().position(|byte| b",]}#".contains(byte)).unwrap_or(line.len());
        let is_shown = match mode {
            Mode::Whole => false,
            Mode::Place(pointer) => is_place(pointer, &line[..word]),
            Mode::Prose => !looks_secret(line),
            Mode::Address | Mode::Looks => true,
        };
        let length = if is_shown {
            word
        } else {
            line.len() - line.iter().rev().take_while(|byte| b" \t\r},]".contains(byte)).count()
        };
        let stop = self.at + length.max(1);
        self.mask(self.at, stop, mode);
        self.at = stop;
    }

    fn mask(&mut self, from: usize, to: usize, mode: Mode) {
        let to = to.min(self.text.len());
        mode.mask(&mut self.out, self.text, from.min(to), to);
    }
}

fn segments(path: &str) -> Vec<String> {
    let trim = |part: &str| part.trim_matches([' ', '\t', '"', '\'']).to_lowercase();
    path.split('.').map(trim).collect()
}
