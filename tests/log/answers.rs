//! What a command says goes to whoever reads its output; where nobody can, it ends with an ordinary error, or quietly.

use crate::program::{Daemon, PATIENCE, closed_pipe, defib, ended, full_disk, full_pipe};
use rustix::process::{Pid, Signal, kill_process};
use std::{fs, process::Stdio, time::Instant};

/// How `defib` ends with this as its stdout, and what it says on stderr.
fn ends(arguments: &[&str], stdout: impl Into<Stdio>) -> (Option<i32>, String) {
    let mut process = defib(arguments).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    let status = ended(&mut process);
    let output = process.wait_with_output().unwrap();
    (status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn an_answer_that_cannot_be_written_is_an_ordinary_error() {
    let mut daemon = Daemon::start(Stdio::null(), "info");
    daemon.answers();
    let dir = daemon.runtime_dir();
    let dir = dir.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("defib.toml");
    fs::write(&config, "").unwrap();
    let config = config.to_str().unwrap();
    for arguments in [
        &["status", "--runtime-dir", dir][..],
        &["status", "--json", "--runtime-dir", dir],
        &["check", config],
        &["check", "--json", config],
    ] {
        let (code, said) = ends(arguments, full_disk());
        assert_eq!(code, Some(2), "{arguments:?}: {said}");
        assert!(
            said.starts_with("defib: failed to write the answer to standard output: No space"),
            "{said}"
        );
        assert!(!said.contains("panicked"), "{said}");
    }
}

#[test]
fn a_check_that_cannot_look_is_not_told_as_an_answer_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("defib.toml");
    fs::write(&config, "[sink.a]\nslack = { url_file = \"/nowhere/slack.url\" }\n").unwrap();
    // One descriptor beside the three that it begins with: enough to read a file.
    let script = "ulimit -n 4; exec \"$0\" check \"$1\"";
    let output = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_defib"), config.to_str().unwrap()])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.starts_with("defib: failed to look at the files that sinks need"), "{said}");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut daemon = Daemon::start(Stdio::null(), "info");
    daemon.answers();
    let dir = daemon.runtime_dir();
    let dir = dir.to_str().unwrap();
    // No sink has confirmed anything yet: not well, which the code still says.
    assert_eq!(ends(&["status", "--runtime-dir", dir], closed_pipe()), (Some(1), String::new()));
    assert_eq!(
        ends(&["status", "--json", "--runtime-dir", dir], closed_pipe()),
        (Some(1), String::new())
    );
    assert_eq!(ends(&["check", "/nowhere/defib.toml"], closed_pipe()), (Some(2), String::new()));
}

#[test]
fn nothing_panics_where_neither_output_can_be_written() {
    for arguments in [
        &["status", "--runtime-dir", "/nowhere"][..],
        &["check", "/nowhere/defib.toml"],
        &["demo", "--engine", "tcp://nowhere:1"],
        &["no-such-command"],
        &["--help"],
        &["--version"],
        &["run", "--help"],
    ] {
        for gone in [false, true] {
            let end = || if gone { Stdio::from(closed_pipe()) } else { full_disk().into() };
            let mut process = defib(arguments).stdout(end()).stderr(end()).spawn().unwrap();
            let code = ended(&mut process).code();
            assert!(matches!(code, Some(0..=2)), "{arguments:?}: {code:?}");
        }
    }
}

#[test]
fn a_demo_whose_reader_stands_still_can_be_ended_and_leaves_nothing() {
    let (_reader, full) = full_pipe();
    let folder = tempfile::tempdir().unwrap();
    let in_folder = || fs::read_dir(folder.path()).unwrap().count();
    let mut demo = defib(&["demo", "--simulated"])
        .env("TMPDIR", folder.path())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while in_folder() == 0 {
        assert!(begun.elapsed() < PATIENCE, "it does not begin");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&demo), Signal::TERM).unwrap();
    assert_eq!(ended(&mut demo).code(), Some(143));
    assert_eq!(in_folder(), 0);
}
