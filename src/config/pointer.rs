//! What names the place of a secret: an absolute path, a variable's name, a systemd credential's name.
//!
//! Such a key is where people paste the secret itself. So each has a form that its value must have, and what has another is
//! refused, and never shown. Some secrets have the form of a name all the same; what looks like one of those is refused as a
//! variable's or a credential's name, since names are shown wherever something can't be read, and long before that is no
//! longer shown in an error (P7). Refuses to know whether there is such a file, variable or credential.

use crate::redact::{self, unseen::hides_something};

/// What a key takes that names the place of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    /// `…_file`, `…_files`.
    File,
    /// `…_env`.
    Variable,
    /// `…_credential`.
    Credential,
}

/// How such keys end.
const KEYS: [(&str, Pointer); 4] = [
    ("_file", Pointer::File),
    ("_files", Pointer::File),
    ("_env", Pointer::Variable),
    ("_credential", Pointer::Credential),
];

/// Longer than any name that somebody gives, shorter than most signing keys.
const LONGEST_NAME: usize = 64;

/// Letters and digits in a row, of three kinds, that nobody chose: 20 are 119 bits.
const SURELY_RANDOM: usize = 20;

/// The same where a mistake only hides a word in an error.
const PERHAPS_RANDOM: usize = 16;

/// An MD5 sum, and half a SHA-256 sum: keys in hex are no shorter.
const HEX_KEY: usize = 32;

impl Pointer {
    /// What a key of this name takes, where it names the place of a secret.
    pub(super) fn of(key: &str) -> Option<Self> {
        KEYS.iter().find(|(end, _)| key.ends_with(end)).map(|(_, pointer)| *pointer)
    }

    /// Whether an error may show this value: it has the form of a place, and does not look like a secret.
    pub(super) fn may_be_shown(self, value: &str) -> bool {
        let fits = match self {
            Self::File => no_path(value).is_none() && !value.contains(['+', '=', '\\']),
            Self::Variable => no_variable(value).is_none(),
            Self::Credential => no_credential(value).is_none(),
        };
        let is_random = |run: &str| {
            let (upper, lower, digit) = kinds(run);
            // A path may hold a sum of its own, as in `/nix/store`.
            let is_mixed = match self {
                Self::File => upper && lower && digit,
                Self::Variable | Self::Credential => (upper && lower) || digit,
            };
            run.len() >= PERHAPS_RANDOM && is_mixed
        };
        fits && !is_of_a_secrets_form(value) && !runs(value).any(is_random)
    }
}

/// Why it is no absolute path.
pub(super) fn no_path(path: &str) -> Option<&'static str> {
    if path.is_empty() {
        Some("it is empty")
    } else if path.contains("://") {
        Some("this is an address, and no path")
    } else if !path.starts_with('/') {
        Some(
            "it does not begin with `/`: where it leads would depend on the folder defib is started in",
        )
    } else if hides_something(path) {
        Some("it holds characters that can't be seen")
    } else {
        None
    }
}

/// Why it is no variable's name.
pub(super) fn no_variable(name: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if !name.chars().all(fits) || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Some("letters, digits and `_`, and no digit first");
    }
    no_given_name(name)
}

/// Why it is no credential's name.
pub(super) fn no_credential(name: &str) -> Option<&'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(fits) || name.starts_with('.') {
        return Some("letters, digits, `_`, `-` and `.`");
    }
    no_given_name(name)
}

/// Why nobody gave this name.
fn no_given_name(name: &str) -> Option<&'static str> {
    if name.len() > LONGEST_NAME {
        return Some("it is longer than 64 characters");
    }
    let is_key = |run: &str| {
        let (upper, lower, digit) = kinds(run);
        let is_hex = run.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_random = upper && lower && digit && run.len() >= SURELY_RANDOM;
        is_random || (is_hex && digit && (upper || lower) && run.len() >= HEX_KEY)
    };
    let is_secret = is_of_a_secrets_form(name) || runs(name).any(is_key);
    is_secret.then_some("this looks like a secret, and a name is shown")
}

/// Whether it begins as secrets do that say so themselves.
fn is_of_a_secrets_form(value: &str) -> bool {
    value.contains("whsec_") || redact::text(value) != value
}

/// Letters and digits in a row.
fn runs(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| !c.is_ascii_alphanumeric())
}

/// Whether there are capital letters, small letters, digits.
fn kinds(run: &str) -> (bool, bool, bool) {
    let has = |is: fn(&u8) -> bool| run.as_bytes().iter().any(is);
    (has(u8::is_ascii_uppercase), has(u8::is_ascii_lowercase), has(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Pointer::{Credential, File, Variable};

    #[test]
    fn places_are_shown() {
        for (pointer, value) in [
            (File, "/etc/defib/slack.url"),
            (File, "/run/secrets/webhook_2"),
            (File, "/nix/store/0c9x2r7f6kq1b8v5m3n4p0s7d2g6h9j1-defib/slack.url"),
            (Variable, "SLACK_URL"),
            (Variable, "_x2"),
            (Variable, "DEFIB_PRODUCTION_SLACK_WEBHOOK_URL_2"),
            (Credential, "slack-url"),
            (Credential, "defib.webhook_2.secret"),
        ] {
            assert!(pointer.may_be_shown(value), "{value}");
        }
    }

    #[test]
    fn what_has_another_form_or_looks_like_a_secret_is_not() {
        for pointer in [File, Variable, Credential] {
            for value in [
                "",
                "C2FVs+BQI",
                "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "/9j/4AAQSkZJRgABAQEASABIAAD",
                "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                "https://hooks.example.org/T0/B0/x",
                "AKIAIOSFODNN7EXAMPLE",
                "hunter 2",
            ] {
                assert!(!pointer.may_be_shown(value), "{value}");
            }
        }
        assert!(!Variable.may_be_shown("d41d8cd98f00b204e9800998ecf8427e"));
        assert!(!Credential.may_be_shown("d41d8cd98f00b204e9800998ecf8427e"));
    }

    #[test]
    fn a_secret_with_the_form_of_a_name_is_no_name() {
        for secret in [
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "AKIAIOSFODNN7EXAMPLE",
            "d41d8cd98f00b204e9800998ecf8427e",
            &"A".repeat(65),
        ] {
            assert!(no_variable(&format!("x{secret}")).is_some() || no_variable(secret).is_some());
            assert!(no_credential(secret).is_some(), "{secret}");
        }
        assert_eq!(no_variable("DEFIB_WEBHOOK_SECRET_2026"), None);
        assert_eq!(no_variable("DefibProductionSlackWebhookUrl"), None);
        assert_eq!(no_credential("webhook-secret.2026-11"), None);
    }
}
