//! Masks what may be a secret in a config's text, so that an error can show the line it is about (P7).
//!
//! It reads the text by itself and not the parsed file, since the lines most often shown are those that could not be
//! parsed: a webhook's URL without its quotes is just the line that somebody pastes into a chat. So it knows little and
//! masks much. A value is masked where any part of its key's path sounds secret (`url`, `token`, `headers`, …), and under
//! `[sink]` unless the key is known to be harmless; what is left is masked where it looks like an address or a signing
//! secret. A key that names where a secret is shows its value where that has the form of such a name, and else the secret
//! itself was pasted there. Comments are blanked. Only in `http`, `runbook` and `address` are addresses shown, without their credentials and their query.
//!
//! The masked text has the same length in bytes and the same line ends. Refuses to guess what a text means: it never
//! fails, and where it is lost it masks more.

use super::pointer::Pointer;

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

/// The text with every secret masked.
pub(super) fn masked(text: &str) -> String {
    let mut scanner =
        Scanner { text: text.as_bytes(), out: text.as_bytes().to_vec(), at: 0, line_end: 0 };
    scanner.lines(&mut Where::default(), text.len());
    let Scanner { out, .. } = scanner;
    String::from_utf8_lossy(&out).into_owned()
}

/// A value or a key by itself, in which only what looks like an address or a signing secret is masked.
pub(super) fn masked_word(word: &str) -> String {
    let mut out = word.as_bytes().to_vec();
    mask(&mut out, word.as_bytes(), 0, word.len(), Mode::Looks);
    String::from_utf8_lossy(&out).into_owned()
}

/// No config is nested deeper; what is, is masked.
const DEEPEST: usize = 16;

/// How much of a value is masked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// All of it.
    Whole,
    /// All of it, unless it names the place of a secret.
    Place(Pointer),
    /// Credentials and query of an address.
    Address,
    /// What looks like an address or a signing secret.
    Looks,
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
        if ADDRESSES.contains(&last.as_str()) { Mode::Address } else { Mode::Looks }
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
        mask(&mut self.out, self.text, from.min(to), to, mode);
    }
}

fn mask(out: &mut [u8], text: &[u8], from: usize, to: usize, mode: Mode) {
    let part = &text[from..to];
    let mut cover = |start: usize, end: usize| {
        for byte in &mut out[start..end] {
            if *byte != b'\n' && *byte != b'\r' {
                *byte = MASK;
            }
        }
    };
    match mode {
        Mode::Whole => cover(from, to),
        Mode::Place(pointer) if is_place(pointer, part) => {}
        Mode::Place(_) => cover(from, to),
        Mode::Address => {
            if let Some(query) = part.iter().position(|byte| *byte == b'?') {
                cover(from + query + 1, to);
            }
            let start = find(part, b"://").map_or(0, |at| at + 3);
            let authority = &part[start..];
            let length = authority.iter().position(|byte| b"/?#".contains(byte));
            let authority = &authority[..length.unwrap_or(authority.len())];
            if let Some(at) = authority.iter().rposition(|byte| *byte == b'@') {
                cover(from + start, from + start + at);
            }
        }
        Mode::Looks => {
            for sign in [&b"://"[..], &b"whsec_"[..]] {
                let mut searched = 0;
                while let Some(at) = find(&part[searched..], sign) {
                    let start = searched + at + sign.len();
                    let length = part[start..].iter().position(|byte| b" \t\"'\n\r".contains(byte));
                    let stop = length.map_or(part.len(), |length| start + length);
                    cover(from + start, from + stop);
                    searched = stop;
                }
            }
        }
    }
}

fn is_place(pointer: Pointer, value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|value| pointer.may_be_shown(value.trim()))
}

fn find(text: &[u8], sign: &[u8]) -> Option<usize> {
    text.windows(sign.len()).position(|window| window == sign)
}

fn segments(path: &str) -> Vec<String> {
    let trim = |part: &str| part.trim_matches([' ', '\t', '"', '\'']).to_lowercase();
    path.split('.').map(trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn hides(text: &str) {
        let masked = masked(text);
        assert!(!masked.contains("hunter2"), "shown: {masked}");
        assert_eq!(masked.len(), text.len());
    }

    #[test]
    fn values_of_secret_keys_are_masked_however_they_are_written() {
        hides("[sink.a]\nslack = { url = \"https://hooks.example.org/hunter2\" }");
        hides("[sink.a]\nslack = { url = https://hooks.example.org/hunter2 }");
        hides("[sink.a]\nslack = { url = \"https://hooks.example.org/hunter2 }");
        hides("[sink.a]\nslack = \"hunter2\"");
        hides("sink.a.slack.url = 'hunter2'");
        hides("[sink.a.webhook]\nsecrets = [\n  \"x\",\n  \"hunter2\", # and \"hunter2\"\n]");
        hides("[sink.a]\nulr = \"hunter2\"");
        hides("[[service.probe]]\nheaders = { authorization = \"Bearer hunter2\" }");
        hides("[service.probe.headers]\nx = \"hunter2\"");
        hides("password = \"hun\"hunter2\"");
        hides("password = \"\"\"\nhunter2\n\"\"\"");
        hides("password = \"\"\"\nx\\\"\"\"\nhunter2\n\"\"\"");
        hides("note = \"\"\"never closed\npassword = \"hunter2\"");
        hides("list = [ \"never closed\"\n[sink.x]\nfoo = \"hunter2\"");
    }

    #[test]
    fn a_secret_in_the_place_of_its_name_is_masked_however_it_is_written() {
        for key in ["secret_env", "url_file", "secret_files", "url_credential", "x_file"] {
            for value in ["C2FV/hunter2+BQI=", "whsec_hunter2", "https://a/hunter2", "T0 hunter2"] {
                for header in ["[sink.a.webhook]", "[[service]]", ""] {
                    hides(&format!("{header}\n{key} = \"{value}\""));
                    hides(&format!("{header}\n{key} = '{value}'"));
                    hides(&format!("{header}\n{key} = {value}"));
                    hides(&format!("{header}\n{key} = \"{value}"));
                    hides(&format!("{header}\n{key} = \"\"\"\n{value}\n\"\"\""));
                    hides(&format!("{header}\n{key} = [\"/a\", \"{value}\"]"));
                    hides(&format!("{header}\na = {{ {key} = \"{value}\", allow_http = true }}"));
                }
            }
        }
        hides("secret_env = \"hunter2\"BQI");
        hides("secret_env = \"hunter2\" \"BQI\"");
        hides("secret_env = C2FV+#hunter2");
    }

    #[test]
    fn the_name_of_a_secrets_place_is_shown() {
        for text in [
            "[sink.a]\nslack = { url_env = \"SLACK_URL\", allow_http = true }",
            "[sink.a]\nslack.url_credential = 'slack-url' ",
            "[sink.a]\nwebhook = { secret_files = [\"/etc/new\", \"/etc/old\"], url_file = \"/u\" }",
            "[sink.a]\nslack = { url_env = SLACK_URL, allow_http = true }",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn comments_are_blanked() {
        hides("# password = \"hunter2\"");
        hides("[sink.a] # was: slack = { url = \"https://hunter2\" }");
        hides("x = 1 # https://hooks.example.org/hunter2");
    }

    #[test]
    fn what_looks_like_a_secret_is_masked_under_any_key() {
        hides("colour = \"https://hooks.example.org/hunter2\"");
        hides("\"https://hooks.example.org/hunter2\"");
        hides("colour = \"whsec_hunter2\"");
        hides("http = \"http://admin:hunter2@host/\"");
        hides("http = \":80/health?token=hunter2\"");
        assert!(!masked_word("https://hooks.example.org/hunter2").contains("hunter2"));
    }

    #[test]
    fn what_is_harmless_is_shown() {
        for text in [
            "[sink.a]\nslack = { url_file = \"/etc/defib/slack.url\" }\nseverities = [\"page\"]",
            "[[service]]\nname = \"url shortener\"\nhttp = \"http://host:80/health\"\nbody_cap = \"1MiB\"",
            "runbook = \"https://wiki.example.org/a\"",
            "budget = { restarts = 3, refill_after_healthy = \"30m\" }",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    proptest! {
        #[test]
        fn any_text_keeps_its_length_and_its_lines(text in "([a-z\\[\\]{}=\"'#,.\\\\ \néü€]|url|\"\"\"|://){0,60}") {
            let masked = masked(&text);
            prop_assert_eq!(masked.len(), text.len());
            let ends = |text: &str| -> Vec<usize> { text.match_indices('\n').map(|(at, _)| at).collect() };
            prop_assert_eq!(ends(&masked), ends(&text));
        }
    }
}
