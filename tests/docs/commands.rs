//! The commands in the README are there, with their options, and its config can be used.

use crate::{
    markdown::{blocks, documents},
    source::{self, ROOT},
};
use assert_cmd::Command;
use std::{collections::BTreeSet, process};

fn help(arguments: &[&str]) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_defib")).args(arguments).arg("--help").output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The words behind `defib`, in each line of a shell block that calls it.
fn calls(text: &str) -> Vec<Vec<String>> {
    let lines = blocks(text, "sh").into_iter().flat_map(|block| {
        let lines: Vec<String> = block.lines().map(str::to_owned).collect();
        lines
    });
    let mut found = Vec::new();
    for line in lines {
        let line = line.split(" #").next().unwrap();
        let line = line.strip_prefix("sudo ").unwrap_or(line);
        for begin in ["defib ", "cargo run --release -- "] {
            if let Some(rest) = line.strip_prefix(begin) {
                found.push(rest.split_whitespace().map(str::to_owned).collect());
            }
        }
    }
    found
}

#[test]
fn every_command_and_option_is_there() {
    let general = help(&[]);
    let mut commands = BTreeSet::new();
    for document in documents() {
        for call in calls(&document.text) {
            let command = call[0].as_str();
            let known =
                general.lines().any(|line| line.trim_start().starts_with(&format!("{command} ")));
            assert!(known, "{}: no `defib {command}`", document.path);
            let special = help(&[command]);
            for option in call.iter().filter(|word| word.starts_with("--")) {
                assert!(
                    special.split_whitespace().any(|word| word == option),
                    "{}: {call:?}: {option}",
                    document.path
                );
            }
            commands.insert(command.to_owned());
        }
    }
    let wanted = ["check", "demo", "run", "status"].map(str::to_owned);
    assert!(wanted.iter().all(|wanted| commands.contains(wanted)), "{commands:?}");
}

#[test]
fn every_way_to_run_the_tests_is_there() {
    let output =
        process::Command::new("bash").arg("tests/run.sh").arg("--help").current_dir(ROOT).output();
    let help = String::from_utf8(output.unwrap().stdout).unwrap();
    let mut ways = 0;
    for document in documents() {
        for (at, _) in document.text.match_indices("tests/run.sh ") {
            let rest = &document.text[at + "tests/run.sh ".len()..];
            let word: String = rest.chars().take_while(char::is_ascii_alphabetic).collect();
            if ["engine", "simulate", "mutants", "bench"].contains(&word.as_str()) {
                assert!(help.contains(&format!("tests/run.sh {word}")), "{word}");
                ways += 1;
            }
        }
    }
    assert!(ways > 3, "only {ways} ways");
}

#[test]
fn every_config_in_the_readme_can_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let configs = blocks(&source::read("README.md"), "toml");
    assert!(!configs.is_empty());
    for (index, config) in configs.iter().enumerate() {
        let file = folder.path().join(format!("{index}.toml"));
        std::fs::write(&file, config).unwrap();
        Command::new(env!("CARGO_BIN_EXE_defib")).arg("check").arg(&file).assert().success();
    }
}
