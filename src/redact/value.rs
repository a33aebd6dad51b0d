//! Where a value ends, once it is known where it begins: by its quotes, by its brackets, with its line, or at the first sign
//! that no password has before a blank. In doubt later rather than sooner: half a secret is one.

use super::{BEGIN, Place, Word, until_end, window};

/// What comes before the secret itself behind `Authorization:`.
const SCHEMES: &[&str] = &["basic ", "bearer ", "token ", "apikey ", "negotiate ", "ntlm "];

/// Schemes with several values, each of which may be a secret.
const LONG_SCHEMES: &[&str] = &["digest ", "aws4-", "hmac ", "signature "];

impl Word<'_> {
    /// The value that begins where `rest` does, which is a tail of the text.
    pub(super) fn value(&self, name: &str, rest: &str) -> Option<Place> {
        let from = self.text.len() - rest.len();
        let line = match self.text.get(from..self.line_end) {
            Some(line) => line,
            // It stands on a line further down.
            None => until_end(rest, |c| c == '\n'),
        };
        let unquoted = rest.trim_start_matches(['"', '\'', '`', '\\']);
        if unquoted.starts_with(BEGIN)
            && let Some((_, to)) =
                self.private_key_titled(self.text.len() - unquoted.len() + BEGIN.len())
        {
            return Some((from, to));
        }
        let opening = rest.chars().next()?;
        let escaped = rest.strip_prefix('\\').and_then(|quoted| quoted.chars().next());
        if let Some(quote) = escaped.filter(|c| "\"'".contains(*c)) {
            // The quotes themselves are escaped: the next escaped one ends it.
            let inner = line.get(2..)?;
            let length = inner.find(&format!("\\{quote}")).unwrap_or(inner.len());
            return Some((from + 2, from + 2 + length));
        }
        if "\"'`".contains(opening) {
            let inner = line.get(1..)?;
            return Some((from + 1, from + 1 + closing(inner, opening).unwrap_or(inner.len())));
        }
        if let Some(closer) = ["[]", "{}", "()"].iter().find_map(|pair| pair.strip_prefix(opening))
        {
            let length = line.find(closer).map_or(line.len(), |at| at + closer.len());
            return Some((from, from + length));
        }
        if name.ends_with("cookie") {
            return Some((from, from + until_end(line, |c| "\"'".contains(c)).len()));
        }
        let begin = window(line).to_ascii_lowercase();
        if LONG_SCHEMES.iter().any(|scheme| begin.starts_with(scheme)) {
            return Some((from, from + line.trim_end().len()));
        }
        let scheme = SCHEMES.iter().find(|scheme| begin.starts_with(**scheme));
        let scheme = scheme.map_or(0, |scheme| scheme.len());
        Some((from, from + scheme + bare(line.get(scheme..)?).len()))
    }
}

/// What stands on the next line where nothing, or YAML's sign for a text of several lines, ends this one. In text that is
/// escaped, a line ends with the letters `\n`.
pub(super) fn below(value: &str) -> Option<&str> {
    let sign = value.trim_start_matches(['|', '>', '-', '+', ' ', '\t']);
    let line = sign.strip_prefix('\r').unwrap_or(sign);
    let line = line.strip_prefix("\\r").unwrap_or(line);
    let line = line.strip_prefix('\n').or_else(|| line.strip_prefix("\\n"))?;
    let line = line.trim_start_matches([' ', '\t']);
    Some(line.strip_prefix("- ").unwrap_or(line).trim_start_matches(' '))
}

/// Below a name may also stand what belongs to it, with names of its own.
pub(super) fn begins_with_a_name(line: &str) -> bool {
    let word = until_end(window(line), |c| c.is_whitespace() || c == '\\');
    // Base64 ends with such a sign, and names nothing.
    word.ends_with(':') || word.trim_end_matches('=').contains('=')
}

/// A value without quotes: up to a blank, or to a sign that ends it.
pub(super) fn bare(line: &str) -> &str {
    for (at, c) in line.char_indices() {
        let next = line.get(at + c.len_utf8()..).unwrap_or_default();
        let ends = match c {
            c if c.is_whitespace() => true,
            '<' | '>' => true,
            // As in JSON within a text.
            '\\' => next.starts_with(['"', '\'', 'n', 'r', 't']),
            // They may be in a password; not where a blank, an end or another name comes next.
            '"' | '\'' | '`' | '&' | ',' | ';' | ')' | ']' | '}' => is_end(window(next)),
            _ => false,
        };
        if ends {
            return line.get(..at).unwrap_or_default();
        }
    }
    line
}

/// Whether a value has ended before this: nothing comes, a blank, more signs that close, or `name=`.
fn is_end(rest: &str) -> bool {
    let rest = rest.trim_start_matches([',', ';', ':', ')', ']', '}', '"', '\'', '`']);
    let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || "_-".contains(c));
    let has_name = after.len() < rest.len()
        && after.trim_start_matches(['"', '\'', '\\']).starts_with(['=', ':']);
    has_name || rest.is_empty() || rest.starts_with(char::is_whitespace)
}

/// Where a quoted value ends; `None` where it is not closed.
fn closing(inner: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}
