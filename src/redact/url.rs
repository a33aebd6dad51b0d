//! Passwords in URLs, by their place in them: the user part, and the path of webhooks that are known.

use super::{LOOK_AHEAD, Place, Word, until_end, window};

/// Webhooks whose path is their password.
const SECRET_PATHS: &[&str] =
    &["hooks.slack.com/", "discord.com/api/webhooks/", "discordapp.com/api/webhooks/"];

/// A longer user part of a URL is a token.
const LONGEST_USER: usize = 16;

impl Word<'_> {
    /// `user:password` in `scheme://user:password@host`, where the password may hold anything but blanks and quotes.
    pub(super) fn in_url(&self) -> Option<Place> {
        let rest = self.behind().strip_prefix("://")?;
        let from = self.to + "://".len();
        let lower = window(rest).to_ascii_lowercase();
        if let Some(path) = SECRET_PATHS.iter().find(|path| lower.starts_with(**path)) {
            let from = from + path.len();
            return Some((from, self.text.len() - until(self.text.get(from..)?, ends_url).len()));
        }
        let url = until_end(window(rest), ends_url);
        let at = url.rfind('@')?;
        let authority = url.get(..url.find(['/', '?', '#']).unwrap_or(url.len()))?;
        let Some(colon) = url.get(..at)?.find(':') else {
            let user = authority.rfind('@')?;
            return (user >= LONGEST_USER).then_some((from, from + user));
        };
        let in_authority = authority.rfind('@');
        let port = authority.get(colon + 1..).unwrap_or_default();
        // `http://db:5432/a@b` has a port, and no password with a slash in it.
        let has_port = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        match in_authority {
            Some(at) => (colon < at).then(|| (from + colon + 1, from + last_at(url).unwrap_or(at))),
            None if has_port || colon >= authority.len() || authority.starts_with('[') => None,
            None => Some((from + colon + 1, from + at)),
        }
    }

    /// The same where the URL is itself escaped, as a part of another.
    pub(super) fn in_escaped_url(&self) -> Option<Place> {
        const SIGN: usize = "%3A%2F%2F".len();
        let sign = self.behind().get(..SIGN)?;
        if !sign.eq_ignore_ascii_case("%3A%2F%2F") {
            return None;
        }
        let from = self.to + SIGN;
        let rest = self.text.get(from..)?;
        let url = until_end(window(rest), |c| ends_url(c) || c == '&').to_ascii_lowercase();
        let at = url.rfind("%40").or_else(|| url.rfind('@'))?;
        let user = url.get(..at)?;
        let colon = match user.find("%3a") {
            Some(colon) => colon + "%3a".len(),
            None => user.find(':')? + 1,
        };
        Some((from + colon, from + at))
    }

    /// `user:password@tcp(host)`, as some drivers write it.
    pub(super) fn before_driver(&self, word: &str, done: usize) -> Option<Place> {
        let is_driver = ["tcp", "unix", "tcp6"].contains(&word) && self.behind().starts_with('(');
        if !is_driver || self.before() != Some(b'@') {
            return None;
        }
        let at = self.from - 1;
        let mut begin = at.saturating_sub(LOOK_AHEAD).max(done);
        begin = self.text.ceil_char_boundary(begin);
        let head = self.text.get(begin..at)?;
        // A blank may be of several bytes.
        let end = head.char_indices().rfind(|(_, c)| ends_url(*c));
        let word = end.map_or(0, |(end, c)| end + c.len_utf8());
        let head = head.get(word..).unwrap_or_default();
        Some((at - head.len() + head.find(':')? + 1, at))
    }
}

/// Where a password ends that may have an `@` and a slash in it: at the last `@` behind which a host can stand. One in a query
/// is of an address that is asked about.
fn last_at(url: &str) -> Option<usize> {
    let query = url.find('?').filter(|from| url.get(*from..).is_some_and(|it| it.contains('=')));
    let url = url.get(..query.unwrap_or(url.len()))?;
    let is_before_host =
        |(at, sign): &(usize, &str)| url.get(at + sign.len()..).is_some_and(begins_with_a_host);
    // `/@scope/package` and `.git@v1.2` are of a path, behind the host.
    let is_of_path = |(at, _): &(usize, &str)| {
        let before = url.get(..*at).unwrap_or_default();
        before.contains('@') && (before.ends_with('/') || before.ends_with(".git"))
    };
    let mut signs = url.rmatch_indices('@').filter(|sign| !is_of_path(sign));
    signs.find(is_before_host).map(|(at, _)| at)
}

fn begins_with_a_host(text: &str) -> bool {
    let authority = until_end(text, |c| "/?#".contains(c));
    if authority.starts_with('[') {
        return true;
    }
    authority.split(',').all(|one| {
        let (host, port) = one.split_once(':').unwrap_or((one, ""));
        !host.is_empty()
            && host.chars().all(|c| c.is_alphanumeric() || "-._".contains(c))
            && port.bytes().all(|byte| byte.is_ascii_digit())
    })
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || "\"'`<>\\".contains(c)
}

/// What is left of the text where this ends.
fn until(text: &str, ends: impl Fn(char) -> bool) -> &str {
    text.get(text.find(ends).unwrap_or(text.len())..).unwrap_or_default()
}
