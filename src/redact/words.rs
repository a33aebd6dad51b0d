//! Which names and values speak of secrets, and which only look so.

/// How names end whose values are secrets, without what separates their words. Not `key`, which is an everyday word.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "passwort",
    "passphrase",
    "passcode",
    "dbpass",
    "pwd",
    "token",
    "secret",
    "credential",
    "authorization",
    "cookie",
    "sessionid",
    "cliauth",
    "apikey",
    "accesskey",
    "accesskeyid",
    "accountkey",
    "authkey",
    "encryptionkey",
    "masterkey",
    "privatekey",
    "secretkey",
    "signingkey",
];

/// Words that may follow in a name and change nothing: `PASSWORD_OLD`, `SECRET_KEY_BASE`.
const TAILS: &[&str] =
    &["base", "base64", "b64", "hash", "new", "next", "old", "prod", "value", "plain"];

/// Names that are everyday words, and secrets before `=`; of these, [`PASSWORDS`] also before a colon and a blank.
const SECRETS_IF_SET: &[&str] = &["pass", "pw", "sig", "signature"];

/// Short for a password, where it is not a count or a stage of some work ([`NO_PASSWORDS`]).
const PASSWORDS: &[&str] = &["pass", "pw"];

/// What a pass or its outcome is told with.
const NO_PASSWORDS: &[&str] = &[
    "all",
    "any",
    "check",
    "checks",
    "complete",
    "completed",
    "done",
    "each",
    "every",
    "fail",
    "finished",
    "pass",
    "passed",
    "skip",
    "skipped",
    "some",
    "started",
    "starting",
    "test",
    "tests",
];

/// In the name of a label, header or variable, wherever. Somebody chose such a name for one value, so here `key` counts too.
const IN_NAMES: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "pwd",
    "key",
    "credential",
    "authorization",
    "basicauth",
    "cookie",
];

/// In the name of a field of ours, wherever.
const IN_FIELDS: &[&str] = &[
    "secret",
    "token",
    "password",
    "passwd",
    "pwd",
    "api_key",
    "api-key",
    "apikey",
    "access_key",
    "private_key",
    "authorization",
    "credential",
];

/// Values that tell something and guard nothing.
const EVERYDAY: &[&str] = &[
    "absent",
    "and",
    "are",
    "denied",
    "down",
    "empty",
    "error",
    "expired",
    "failed",
    "failure",
    "false",
    "for",
    "found",
    "has",
    "healthy",
    "invalid",
    "is",
    "missing",
    "must",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "ok",
    "or",
    "present",
    "ready",
    "rejected",
    "required",
    "revoked",
    "set",
    "the",
    "true",
    "undefined",
    "unauthorized",
    "unhealthy",
    "unknown",
    "unset",
    "up",
    "valid",
    "was",
    "wrong",
    "yes",
];

/// Tags of images that are called like a secret.
const TAGS: &[&str] = &[
    "alpine", "canary", "dev", "edge", "latest", "lts", "main", "master", "nightly", "slim",
    "stable", "staging", "test",
];

/// The last words of variables that hold secrets. `KEY` is here and not in [`SECRETS`]: a variable is named for one value.
const IN_VARIABLES: &[&str] = &["PASS", "PW", "PWD", "KEY", "TOKEN", "SECRET"];

/// The longest name whose beginning matters.
const LONGEST_NAME: usize = 64;

/// Whether a label, header or variable of this name is hidden whole.
pub fn is_secret_name(name: &str) -> bool {
    has_word(name, IN_NAMES)
}

/// Whether a field of this name is hidden whole.
pub fn is_secret_field(name: &str) -> bool {
    has_word(name, IN_FIELDS)
}

fn has_word(name: &str, words: &[&str]) -> bool {
    let name = name.to_ascii_lowercase();
    words.iter().any(|word| name.contains(word))
}

/// The name's letters and digits alone, in lower case, without tails that mean nothing: `X-Api-Keys_OLD` is `xapikey`.
pub(super) fn name(word: &str) -> String {
    let begin = word.len().saturating_sub(LONGEST_NAME);
    let word = word.get(begin..).unwrap_or_default().to_ascii_lowercase();
    let mut parts: Vec<&str> =
        word.split(['_', '-', '.']).filter(|part| !part.is_empty()).collect();
    while parts.len() > 1
        && parts
            .last()
            .is_some_and(|part| TAILS.contains(part) || part.bytes().all(|b| b.is_ascii_digit()))
    {
        parts.pop();
    }
    let name = parts.concat();
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.strip_suffix('s').filter(|one| ends_with_any(one, SECRETS)).unwrap_or(name).to_owned()
}

fn ends_with_any(name: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| name.ends_with(end))
}

/// Whether `pass` or `signature` is a word by itself in this name, and not the end of `bypass`.
pub(super) fn is_own_word(word: &str) -> bool {
    let last = word.rsplit(['_', '-', '.']).next().unwrap_or_default();
    SECRETS_IF_SET.contains(&last.to_ascii_lowercase().as_str())
        || ["Pass", "Pw"].iter().any(|end| word.ends_with(end))
}

/// Whether the name is short for a password.
pub(super) fn is_password(name: &str) -> bool {
    ends_with_any(name, PASSWORDS)
}

/// Whether `pass: …` counts passes, or tells of one: `3 tests`, `2/5`, `98.5%`, `12ms`, `all`.
pub(super) fn tells_of_a_pass(value: &str) -> bool {
    let core = value.trim_matches(|c: char| c.is_ascii_punctuation());
    let unit = core.trim_start_matches(|c: char| c.is_ascii_digit() || "./,%".contains(c));
    let is_number = unit.len() < core.len()
        && ["", "ms", "s", "m", "h", "th", "st", "nd", "rd", "x"].contains(&unit);
    is_number || NO_PASSWORDS.contains(&core.to_ascii_lowercase().as_str())
}

/// `password:hunter2` is a secret; `token:1.2` and `token:latest` are names with a version, `token:12:5` is a place in a text.
pub(super) fn is_set_by_tight_colon(name: &str, value: &str) -> bool {
    if name.contains("pass") || name.contains("pwd") || name.ends_with("pw") {
        return true;
    }
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_place = value.split(':').all(|part| is_digits(part) && part.len() < 4);
    let number = value.strip_prefix('v').unwrap_or(value).split(['-', '+']).next().unwrap_or("");
    let is_version = number.contains('.') && number.split('.').all(is_digits);
    let tag = value.split(['-', ':', ',', ')']).next().unwrap_or_default();
    !(is_place || is_version || TAGS.contains(&tag) || value.starts_with("//"))
}

/// A program that is given a password by a short flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Client {
    /// `-phunter2`, and what its users write by mistake.
    Mysql,
    /// `-p hunter2` and `-phunter2`.
    Sshpass,
    /// `-a hunter2`.
    Redis,
}

impl Client {
    pub(super) fn flag(self) -> &'static str {
        match self {
            Self::Mysql | Self::Sshpass => "-p",
            Self::Redis => "-a",
        }
    }
}

/// Which client a word names; inside `None` where it names a program whose `-p` is a port.
pub(super) fn client(word: &str) -> Option<Option<Client>> {
    match word {
        "mysql" | "mysqladmin" | "mysqldump" | "mysqlshow" | "mysqlcheck" | "mysqlimport"
        | "mariadb" | "mariadb-admin" | "mariadb-dump" => Some(Some(Client::Mysql)),
        "sshpass" => Some(Some(Client::Sshpass)),
        "redis-cli" | "valkey-cli" => Some(Some(Client::Redis)),
        "ssh" | "scp" | "sftp" | "mkdir" | "docker" => Some(None),
        _ => None,
    }
}

/// Whether a value can be a secret, and does not just say how things are.
pub(super) fn is_worth_hiding(value: &str) -> bool {
    let core = value.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
    let lower = core.to_ascii_lowercase();
    // A few ASCII signs alone are a parser's complaint.
    value.chars().any(|c| c.is_alphanumeric() || !c.is_ascii())
        && !EVERYDAY.contains(&lower.as_str())
}

/// Whether the value of this name is a secret, whatever sets it.
pub(super) fn is_secret(name: &str) -> bool {
    ends_with_any(name, SECRETS)
}

/// Whether this is a variable for a secret, as the environment has them: `REDIS_PASS`, `STRIPE_KEY`, `PGPASS`.
pub(super) fn is_secret_variable(word: &str) -> bool {
    let is_variable =
        word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let last = word.rsplit_once('_').map(|(_, last)| last);
    is_variable
        && (last.is_some_and(|last| IN_VARIABLES.contains(&last))
            || (word.ends_with("PASS") && !["PASS", "BYPASS", "COMPASS"].contains(&word)))
}

/// Whether the value of this name may be one behind `=`.
pub(super) fn is_secret_if_set(name: &str) -> bool {
    ends_with_any(name, SECRETS_IF_SET)
}
