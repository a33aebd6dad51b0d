//! `defib check FILE`.

use crate::host;
use defib::{
    cli::check::{Checked, Format, check},
    config::problem::Style,
};
use std::{fs, path::Path};

fn answer(text: Option<&str>, format: Format) -> (Checked, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("defib.toml");
    if let Some(text) = text {
        fs::write(&path, text).unwrap();
    }
    let mut out = Vec::new();
    let checked = check(&path, &host(), format, &mut out).unwrap().unwrap();
    let folder = format!("{}/", folder.path().display());
    (checked, String::from_utf8(out).unwrap().replace(&folder, ""))
}

const TEXT: Format = Format::Text(Style::Plain);

#[test]
fn a_good_file_says_what_it_would_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/defib.toml");
    let mut out = Vec::new();
    assert_eq!(check(&path, &host(), TEXT, &mut out).unwrap().unwrap().exit_code(), 0);
    let out = String::from_utf8(out).unwrap();
    let said = out.split_once("defib.toml: ").unwrap().1.trim_end();
    // Whether this machine has the files of its sinks is not what is asked here.
    let said = said
        .rsplit_once(" (")
        .map_or(said, |(before, last)| if last.contains("warning") { before } else { said });
    insta::assert_snapshot!(said, @"good: 3 services, 2 may be restarted where they match a container (not looked at here); 2 probes; 2 sinks; other containers: those with a healthcheck");
}

#[test]
fn a_file_with_warnings_is_good() {
    let (checked, said) = answer(Some(""), TEXT);
    assert_eq!(checked.exit_code(), 0);
    insta::assert_snapshot!(said);
}

#[test]
fn a_file_with_errors_ends_with_1_and_says_all_of_them() {
    let (checked, said) = answer(Some("[fleet]\nname = ''\n[sink.a]\nseverities = []\n"), TEXT);
    assert_eq!(checked.exit_code(), 1);
    insta::assert_snapshot!(said);
}

#[test]
fn a_file_that_is_not_there_ends_with_2() {
    let (checked, said) = answer(None, TEXT);
    assert_eq!(checked.exit_code(), 2);
    insta::assert_snapshot!(said);
}

#[test]
fn json_says_the_same_to_a_program() {
    let (checked, said) =
        answer(Some("[fleet]\nname = ''\n[sink.a]\nterminal = {}\n"), Format::Json);
    assert_eq!(checked, Checked::Wrong);
    insta::assert_snapshot!(said);
    let (checked, said) = answer(None, Format::Json);
    assert_eq!(checked, Checked::Unreadable);
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(said["usable"], false);
}

#[test]
fn colours_are_for_terminals_only() {
    let wrong = Some("[fleet]\nname = ''\n");
    assert!(answer(wrong, Format::Text(Style::Coloured)).1.contains('\u{1b}'));
    assert!(!answer(wrong, TEXT).1.contains('\u{1b}'));
}

#[test]
fn a_file_of_a_sink_that_can_not_be_read_or_used_here_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let url = folder.path().join("url");
    let text = format!(
        "[sink.a]\nslack = {{ url_file = '{}' }}\n[sink.b]\nslack = {{ url_env = 'DEFIB_NONE' }}\n\
         [sink.c]\nterminal = {{}}\n",
        url.display()
    );
    let warned = |text: &str| {
        let (checked, said) = answer(Some(text), TEXT);
        assert_eq!(checked, Checked::Good);
        said.contains("`url_file` of sink `a` can't be used from here")
    };
    assert!(warned(&text), "missing");
    fs::write(&url, "ftp://hooks.example.org/s3cret").unwrap();
    assert!(warned(&text), "not to be used");
    assert!(!answer(Some(&text), TEXT).1.contains("s3cret"));
    fs::write(&url, "https://hooks.example.org/s3cret").unwrap();
    assert!(!warned(&text));
    // What the service manager gives says nothing here.
    assert!(!answer(Some(&text), TEXT).1.contains("sink `b`"));
}

#[test]
fn each_file_that_a_sink_needs_is_told_at_its_place_beside_all_other_problems() {
    let text = "[fleet]\nname = ''\n\
                [sink.a]\nslack = { url_file = '/none/a', allow_htp = true }\n\
                [sink.b]\nwebhook = { url_file = '/none/b', secret_files = ['/none/c', '/none/d'] }\n\
                [sink.c]\nwebhook = { url = 'https://c.example/', secret_file = '/none/e' }\n\
                severities = []\n";
    let (checked, said) = answer(Some(text), TEXT);
    assert_eq!(checked, Checked::Wrong);
    insta::assert_snapshot!(said);
}
