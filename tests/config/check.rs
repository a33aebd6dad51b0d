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
    let checked = check(&path, &host(), format, &mut out).unwrap();
    let folder = format!("{}/", folder.path().display());
    (checked, String::from_utf8(out).unwrap().replace(&folder, ""))
}

const TEXT: Format = Format::Text(Style::Plain);

#[test]
fn a_good_file_says_what_it_would_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/defib.toml");
    let mut out = Vec::new();
    assert_eq!(check(&path, &host(), TEXT, &mut out).unwrap().exit_code(), 0);
    let out = String::from_utf8(out).unwrap();
    let said = out.split_once("defib.toml: ").unwrap().1.trim_end();
    insta::assert_snapshot!(said, @"good: 3 services, 3 may be restarted; 2 probes; 2 sinks; other containers: those with a healthcheck");
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
