//! Masks what may be a secret in a config's text, so that an error can show the line it is about (P7).
//!
//! It reads the text by itself and not the parsed file, since the lines most often shown are those that could not be
//! parsed: a webhook's URL without its quotes is just the line that somebody pastes into a chat. So it knows little and
//! masks much. A value is masked where any part of its key's path sounds secret (`url`, `token`, `headers`, …), and under
//! `[sink]` unless the key is known to be harmless; what is left is masked where it looks like an address or a signing
//! secret. A note is masked where it holds what is hidden in text from outside. A key that names where a secret is shows its value where that has the form of such a name, and else the secret
//! itself was pasted there. Comments are blanked. Only in `http`, `runbook` and `address` are addresses shown, without their credentials and their query.
//!
//! `scanner` finds keys and values, and of which keys they are; `mode` knows how much of a value is shown.
//!
//! The masked text has the same length in bytes and the same line ends. Refuses to guess what a text means: it never
//! fails, and where it is lost it masks more.

mod mode;
mod scanner;

use mode::Mode;

/// The text with every secret masked.
pub(super) fn masked(text: &str) -> String {
    String::from_utf8_lossy(&scanner::masked(text.as_bytes())).into_owned()
}

/// A value or a key by itself, in which only what looks like an address or a signing secret is masked.
pub(super) fn masked_word(word: &str) -> String {
    let mut out = word.as_bytes().to_vec();
    Mode::Looks.mask(&mut out, word.as_bytes(), 0, word.len());
    String::from_utf8_lossy(&out).into_owned()
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
        hides("runbook = \"https://hooks.slack.com/services/T0/B0/hunter2\"");
        hides("runbook = \"https://wiki.example.org/a#token=hunter2\"");
        hides("runbook = \"https://a:hunter2@wiki.example.org/a?b\"");
        hides("note = \"log in as root, password: hunter2\"");
        hides("note = log in as root, password: hunter2");
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
