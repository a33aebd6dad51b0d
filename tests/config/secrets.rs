//! No error carries a secret, whatever is wrong with the line that holds it (P7).

use crate::problems;
use defib::config::problem::Style;
use proptest::prelude::*;

const SECRET: &str = "hunter2";

/// Lines that people write, each with a secret in it.
const LINES: [&str; 12] = [
    "slack = { url = \"https://hooks.example.org/hunter2\" }",
    "slack = { url = https://hooks.example.org/hunter2 }",
    "slack = \"https://hooks.example.org/hunter2\"",
    "webhook = { url = \"https://hooks.example.org/hunter2\", secret = \"hunter2\" }",
    "webhook = { url_file = \"https://hooks.example.org/hunter2\" }",
    "webhook = { secret_files = [\"whsec_hunter2\", 3] }",
    "password = \"hunter2\"",
    "headers = { authorization = \"Bearer hunter2\", x = 3 }",
    "http = \"http://user:hunter2@host/\"",
    "http = \":80/?token=hunter2\"",
    "token = 'hunter2' # hunter2 is \"hunter2\", see https://hunter2",
    "# password = \"hunter2\"",
];

const HEADERS: [&str; 7] =
    ["", "[sink.a]", "[[service]]", "[[service.probe]]", "[sink.a.slack]", "[snik.a]", "[fleet"];

fn hidden(text: &str) {
    let Err(defib::config::ConfigError::Invalid(problems)) =
        defib::config::parse("defib.toml", text, &crate::host())
    else {
        return;
    };
    for style in [Style::Plain, Style::Coloured] {
        let told = problems.render(style);
        assert!(!told.contains(SECRET), "of\n{text}\nis told\n{told}");
    }
    for problem in problems.iter() {
        let words = [&problem.title, &problem.cause].into_iter().chain(&problem.hint);
        assert!(words.into_iter().all(|words| !words.contains(SECRET)), "{problem:?}");
    }
}

#[test]
fn whatever_stands_around_the_line() {
    for header in HEADERS {
        for line in LINES {
            for broken in ["", "x = ", "x = [", "y = \"", "= 3"] {
                hidden(&format!("{header}\n{line}\n{broken}\n"));
                hidden(&format!("{header}\n{broken}\n{line}\n"));
                hidden(&format!("{header}\n{line} {broken}\n"));
            }
        }
    }
}

#[test]
fn the_lines_around_are_still_shown() {
    let told =
        problems("[sink.a]\nslack = { url = 'https://hooks.example.org/hunter2' }\n").to_string();
    assert!(told.contains("slack = { url = '*"), "{told}");
    assert!(told.contains("2 |"), "{told}");
}

/// Secrets as people have them, pasted where their place is to be named.
const PASTED: [&str; 5] = [
    "C2FVsBQI/pO5+z1n",
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "https://hooks.example.org/services/T0/B0/MfKQ9r8GKY",
    "/services/T00000000/B00000000/MfKQ9r8GKYqrTwjUPD8ILPZI",
];

#[test]
fn a_secret_that_was_pasted_where_its_place_is_named() {
    for secret in PASTED {
        for key in ["secret_env", "secret_file", "secret_files", "secret_credential"] {
            for value in [format!("\"{secret}\""), format!("\"{secret}"), secret.to_owned()] {
                for wrong in ["", "timeuot = 3", "url = 3"] {
                    let text = format!(
                        "[sink.a.webhook]\nurl = \"https://h/\"\n{key} = {value}\n{wrong}\n"
                    );
                    let told = match defib::config::parse("defib.toml", &text, &crate::host()) {
                        Ok(loaded) => loaded.warnings.to_string(),
                        Err(error) => error.to_string(),
                    };
                    assert!(!told.contains(&secret[8..]), "of\n{text}\nis told\n{told}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn however_a_line_is_cut(header in 0..HEADERS.len(), line in 0..LINES.len(), from in 0usize..20, other in 0..LINES.len()) {
        let line = LINES[line];
        let start = (0..=from.min(line.find(SECRET).unwrap())).rev().find(|at| line.is_char_boundary(*at)).unwrap();
        // What is cut may be the very word that says that it is a secret; what is left of the key still stands in a sink.
        let whole = LINES[other];
        hidden(&format!("{}\n{whole}\n[sink.b]\nx = {}\n", HEADERS[header], &line[start..]));
    }
}

#[test]
fn no_message_carries_a_secret_of_the_config() {
    let sections = ["[defaults]", "[[service]]\nname = 'web'\ncontainers = { name = 'web' }"];
    for (key, value) in [
        ("runbook", "https://wiki.example.org/x?token=hunter2"),
        ("runbook", "https://hooks.slack.com/services/T0/B0/hunter2"),
        ("note", "log in as root, password: hunter2"),
        ("note", "curl https://root:hunter2@db.example.org/"),
    ] {
        for section in sections {
            let text = format!("{section}\n{key} = '{value}'\n[sink.a]\nterminal = {{}}\n");
            let told = problems(&text).to_string();
            assert!(told.contains(&format!("`{key}` must not hold a secret")), "{told}");
            hidden(&text);
        }
    }
    for line in [
        "runbook = 'https://wiki.example.org/web?page=2#restart'",
        "note = 'the password is in the vault; \"token: expired\" in the log is harmless'",
    ] {
        crate::loaded(&format!("[defaults]\n{line}\n[sink.a]\nterminal = {{}}\n"));
    }
}
