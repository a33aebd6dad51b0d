//! Takes secrets out of running text (P7).
//!
//! What a healthcheck prints, an engine answers or a server says goes to logs, messages, the status, the store and the
//! journal, and people let their checks print whole connection strings. So text from outside is redacted once, where it
//! comes in, by the adapters; behind them nothing has to remember it. The journal asks a second time, field by field, since
//! it also knows the names of fields.
//!
//! A secret is known by the name in front of it (`password=…`, `"token": "…"`, `Authorization: Basic …`, `--password …`), by
//! its place in a URL, or by a form that nothing else has. In doubt it is hidden: a lost hint costs less than a leaked key.
//! But what is hidden without need makes a page useless, so a name counts only by its end (`tokenizer: ready` stays), and
//! everyday answers are no secrets (`token: expired` stays).
//!
//! How it is read: this file finds the words that are, name or announce a secret; `words` knows the names; `url` the places in
//! URLs; `value` where what was found ends. `unseen` is another matter of text from outside: what nobody sees.
//!
//! One pass from left to right; what is looked at ahead is either hidden, and so passed, or bounded: text that was made to be
//! slow costs no more than other text. What it can't know is a secret that is neither named nor formed like one.

pub mod unseen;
mod url;
mod value;
mod words;

use std::borrow::Cow;
use value::{bare, begins_with_a_name, below};
use words::{Client, client, is_own_word, is_set_by_tight_colon, is_worth_hiding, name};

pub use words::{is_secret_field, is_secret_name};

/// What stands in the place of a secret.
pub const HIDDEN: &str = "[redacted]";

/// How secrets begin that say so themselves, and how much must follow.
const FORMS: &[(&str, usize)] = &[
    ("AKIA", 16),
    ("ASIA", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 16),
    ("xoxb-", 10),
    ("xoxp-", 10),
    ("xoxa-", 10),
    ("xapp-", 10),
    ("sk_live_", 10),
    ("sk_test_", 10),
    ("rk_live_", 10),
    ("sk-ant-", 16),
    ("sk-proj-", 16),
    ("sk-svcacct-", 16),
    ("AIza", 35),
    // Two parts, joined by a dot.
    ("SG.", 50),
    ("eyJ", 30),
];

/// The same where only letters and digits follow: names of variables and functions begin so as well.
const PLAIN_FORMS: &[(&str, usize)] = &[("npm_", 36), ("hf_", 30)];

/// How long the secret of a Telegram bot is. In front of it stand the bot's number and a colon.
const BOT_SECRET: usize = 35;

/// How a signing secret of a webhook begins (Standard Webhooks), in base64 behind it, and how much of that must follow.
const SIGNING: (&str, usize) = ("whsec_", 10);

/// What a key in PEM, or of PGP, begins with.
const BEGIN: &str = "-----BEGIN";

/// How far ahead the end of what may be no secret is looked for.
const LOOK_AHEAD: usize = 1024;

/// The text without its secrets.
pub fn text(text: &str) -> Cow<'_, str> {
    let (mut clean, mut done) = (String::new(), 0);
    let mut words = Words { text, at: 0, line_end: 0, client: None };
    while let Some(word) = words.next() {
        let Some((from, to)) = word.secret(done).filter(|(from, to)| *from >= done && from < to)
        else {
            continue;
        };
        clean.push_str(text.get(done..from).unwrap_or_default());
        clean.push_str(HIDDEN);
        done = to;
        words.at = words.at.max(to);
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    clean.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(clean)
}

/// The text without its secrets, for a place that will keep at most `limit` bytes of it: what is far behind that is not even
/// looked at. Ends between words where it can, since the beginning of a secret can't be told for one.
pub fn beginning(whole: &str, limit: usize) -> Cow<'_, str> {
    let most = limit.saturating_mul(4);
    if whole.len() <= most {
        return text(whole);
    }
    let cut = whole.get(..whole.floor_char_boundary(most)).unwrap_or_default();
    let last = cut.ceil_char_boundary(cut.len().saturating_sub(LOOK_AHEAD));
    let blank = cut.get(last..).and_then(|end| end.rfind(char::is_whitespace));
    text(blank.and_then(|at| cut.get(..last + at)).unwrap_or(cut))
}

/// The runs of letters, digits and what joins them in names.
struct Words<'a> {
    text: &'a str,
    at: usize,
    /// Found once a line, and not once a word.
    line_end: usize,
    /// The last program on this line that is given passwords by a short flag.
    client: Option<Client>,
}

/// One run.
struct Word<'a> {
    text: &'a str,
    from: usize,
    to: usize,
    line_end: usize,
    client: Option<Client>,
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.".contains(&byte)
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<Word<'a>> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let from = self.at + rest.iter().position(|byte| is_of_name(*byte))?;
        let run = self.text.as_bytes().get(from..)?;
        let to = from + run.iter().position(|byte| !is_of_name(*byte)).unwrap_or(run.len());
        self.at = to;
        if self.line_end < to {
            let rest = self.text.get(to..).unwrap_or_default();
            self.line_end = to + rest.find('\n').unwrap_or(rest.len());
            self.client = None;
        }
        if let Some(client) = client(self.text.get(from..to)?) {
            self.client = client;
        }
        Some(Word { text: self.text, from, to, line_end: self.line_end, client: self.client })
    }
}

/// Where a secret begins and ends.
type Place = (usize, usize);

impl<'a> Word<'a> {
    /// The secret that this word is or names, in what is not hidden yet.
    fn secret(&self, done: usize) -> Option<Place> {
        let word = self.text.get(self.from..self.to)?;
        self.formed(word)
            .or_else(|| self.of_a_bot(word))
            .or_else(|| self.in_url())
            .or_else(|| self.in_escaped_url())
            .or_else(|| self.before_driver(word, done))
            .or_else(|| self.private_key(word))
            .or_else(|| self.named(word))
            .or_else(|| self.behind_flag(word))
            .or_else(|| self.behind_short_flag(word))
            .or_else(|| self.behind_scheme(word))
    }

    fn behind(&self) -> &'a str {
        self.text.get(self.to..).unwrap_or_default()
    }

    fn before(&self) -> Option<u8> {
        self.text.as_bytes().get(self.from.checked_sub(1)?).copied()
    }

    /// `AKIA…`, `ghp_…`, `whsec_…`.
    fn formed(&self, word: &str) -> Option<Place> {
        let (begin, more) = SIGNING;
        if word.starts_with(begin) {
            let is_base64 = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
            let key = until_end(self.text.get(self.from + begin.len()..)?, |c| !is_base64(c));
            let to = self.from + begin.len() + key.len();
            return (key.len() >= more).then_some((self.from, to));
        }
        let is_formed = |(begin, more): &(&str, usize)| {
            word.strip_prefix(*begin).is_some_and(|rest| rest.len() >= *more)
        };
        let is_plain = |(begin, more): &(&str, usize)| {
            word.strip_prefix(*begin)
                .is_some_and(|rest| until_end(rest, |c| !c.is_ascii_alphanumeric()).len() >= *more)
        };
        (FORMS.iter().any(is_formed) || PLAIN_FORMS.iter().any(is_plain))
            .then_some((self.from, self.to))
    }

    /// `123456789:AA…`, also as `bot123456789:AA…` in a URL.
    fn of_a_bot(&self, word: &str) -> Option<Place> {
        let number = word.strip_prefix("bot").unwrap_or(word);
        if !(8..=10).contains(&number.len()) || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let secret = self.behind().strip_prefix(':')?;
        let secret = until_end(secret, |c| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
        let from = self.to + 1;
        (secret.len() == BOT_SECRET).then_some((from, from + BOT_SECRET))
    }

    /// `-----BEGIN RSA PRIVATE KEY-----` and what follows. Before it may stand what is left of an escaped line break.
    fn private_key(&self, word: &str) -> Option<Place> {
        if word.ends_with(BEGIN) { self.private_key_titled(self.to) } else { None }
    }

    /// The key whose title begins there.
    fn private_key_titled(&self, from: usize) -> Option<Place> {
        let title = window(self.text.get(from..)?).split("-----").next()?;
        if !title.ends_with("PRIVATE KEY") && !title.ends_with("PRIVATE KEY BLOCK") {
            return None;
        }
        let from = from + title.len() + "-----".len();
        let key = self.text.get(from..)?;
        Some((from, from + key.find("-----END").unwrap_or(key.len())))
    }

    /// The value behind `name=`, `name: `, `"name":`, `<name>`.
    fn named(&self, word: &str) -> Option<Place> {
        let name = name(word);
        let is_secret = words::is_secret(&name) || words::is_secret_variable(word);
        if !is_secret && !words::is_secret_if_set(&name) {
            return None;
        }
        let behind = self.behind();
        if self.before() == Some(b'<') && is_secret && behind.starts_with('>') {
            let from = self.to + 1;
            let value = until_end(self.text.get(from..)?, |c| c == '<');
            return is_worth_hiding(value).then_some((from, from + value.len()));
        }
        let sign =
            behind.trim_start_matches(['"', '\'', '\\', '`', ']']).trim_start_matches([' ', '\t']);
        let set = sign.strip_prefix('=').or_else(|| sign.strip_prefix("%3D"));
        let is_set = set.is_some();
        let value = set.or_else(|| sign.strip_prefix(':'))?;
        let is_password = words::is_password(&name) && is_own_word(word);
        // `/etc/passwd: permission denied` is about a file.
        let is_named = if is_set {
            is_secret || is_own_word(word)
        } else {
            (is_secret || is_password) && self.before() != Some(b'/')
        };
        if !is_named {
            return None;
        }
        let value = value.trim_start_matches(['=', '>']);
        // Between a name that was quoted and its value nothing has to stand.
        let is_tight =
            behind.starts_with([':', ' ']) && value.starts_with(|c: char| !" \t\"'`\\".contains(c));
        let value = value.trim_start_matches([' ', '\t']);
        let below = if is_set { None } else { below(value) };
        if below.is_some_and(begins_with_a_name) {
            return None;
        }
        let (from, to) = self.value(&name, below.unwrap_or(value))?;
        let value = self.text.get(from..to)?;
        let is_number = value.bytes().all(|byte| byte.is_ascii_digit());
        // `pass=12` counts something; `redis_pass=1234` does not.
        let is_count = is_number && (value.len() < 4 || !word.contains(['_', '-', '.']));
        let is_count = is_count && !name.ends_with("pw");
        // `--- PASS: TestQueue` is an outcome: nobody shouts the name of a setting and gives it a plain word.
        let is_outcome = word.ends_with("PASS") && value.bytes().all(|b| b.is_ascii_alphabetic());
        if !is_secret && !is_set && (is_outcome || words::tells_of_a_pass(value)) {
            return None;
        }
        if (!is_secret && is_count) || (!is_set && is_tight && !is_set_by_tight_colon(&name, value))
        {
            return None;
        }
        is_worth_hiding(value).then_some((from, to))
    }

    /// `--password hunter2`, `-u user:hunter2`.
    fn behind_flag(&self, word: &str) -> Option<Place> {
        if !word.starts_with('-') {
            return None;
        }
        let value = self.next_argument()?;
        if words::is_secret(&name(word)) {
            let (from, to) = self.value("", value)?;
            return is_worth_hiding(self.text.get(from..to)?).then_some((from, to));
        }
        if ["-u", "--user", "--proxy-user"].contains(&word) {
            let (from, to) = self.value("", value)?;
            let colon = self.text.get(from..to)?.find(':')?;
            return Some((from + colon + 1, to));
        }
        None
    }

    /// `mysql -phunter2`, `sshpass -p hunter2`, `redis-cli -a hunter2`: what these letters mean only the program knows.
    fn behind_short_flag(&self, word: &str) -> Option<Place> {
        let flag = self.client?.flag();
        if !word.starts_with(flag) {
            return None;
        }
        let tight = self.text.get(self.from + flag.len()..)?;
        let is_tight = tight.starts_with(|c: char| !c.is_whitespace() && !"\"',\\]".contains(c))
            || (word.len() == flag.len()
                && tight.starts_with(['"', '\''])
                && self.before() == Some(b' '));
        let value = if is_tight { tight } else { self.next_argument()? };
        let (from, to) = self.value("", value)?;
        is_worth_hiding(self.text.get(from..to)?).then_some((from, to))
    }

    /// What stands behind this word as the next argument of a command, also where the command is a list of quoted words.
    fn next_argument(&self) -> Option<&'a str> {
        let rest = self.behind();
        let listed = rest
            .trim_start_matches('\\')
            .strip_prefix(['"', '\''])
            .map(|rest| rest.trim_start_matches(' '))
            .and_then(|rest| rest.strip_prefix(','));
        let value = listed.unwrap_or(rest).trim_start_matches(' ');
        if listed.is_none() && value.len() == rest.len() {
            return None;
        }
        let bare = value.trim_start_matches(['\\', '"', '\'']);
        (!bare.starts_with('-')).then_some(value)
    }

    /// `Bearer …`, `Basic …` without a header's name before it.
    fn behind_scheme(&self, word: &str) -> Option<Place> {
        let is_bearer = word.eq_ignore_ascii_case("bearer");
        if !is_bearer && !word.eq_ignore_ascii_case("basic") {
            return None;
        }
        let value = bare(self.behind().strip_prefix(' ')?);
        if value.starts_with("realm=") {
            return None;
        }
        let core = value.trim_end_matches(['.', ':', '!', '?']);
        let is_mixed = core.bytes().any(|byte| byte.is_ascii_digit() || b"._=".contains(&byte));
        let has_upper = core.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
        let from = self.to + 1;
        (core.len() >= 6 && (is_mixed || has_upper)).then_some((from, from + core.len()))
    }
}

fn until_end(text: &str, ends: impl Fn(char) -> bool) -> &str {
    text.get(..text.find(ends).unwrap_or(text.len())).unwrap_or_default()
}

/// As far as is looked ahead.
fn window(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LOOK_AHEAD)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
