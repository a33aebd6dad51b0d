//! A daemon goes on and ends as it should, whatever becomes of its log.

use crate::program::{Daemon, closed_pipe, defib, ended, full_disk, full_pipe, read_until};

#[test]
fn a_log_that_nobody_reads_holds_nothing_up() {
    let (reader, writer) = full_pipe();
    let mut daemon = Daemon::start(writer, "trace");
    daemon.answers();
    daemon.answers();
    // Read again, it has what was said meanwhile.
    let log = read_until(reader, "watching");
    assert!(log.contains("watching"), "{log}");
    assert!(daemon.end().success());
}

#[test]
fn a_log_that_nobody_reads_does_not_keep_it_from_ending() {
    let (_reader, writer) = full_pipe();
    let mut daemon = Daemon::start(writer, "trace");
    daemon.answers();
    assert!(daemon.end().success());
}

#[test]
fn a_log_without_room_ends_nothing() {
    let mut daemon = Daemon::start(full_disk(), "trace");
    daemon.answers();
    daemon.answers();
    assert!(daemon.end().success());
}

#[test]
fn a_log_whose_reader_was_killed_ends_nothing() {
    let mut daemon = Daemon::start(closed_pipe(), "trace");
    daemon.answers();
    daemon.answers();
    assert!(daemon.end().success());
}

#[test]
fn what_is_wrong_with_the_filter_is_said_in_the_log_and_ends_nothing() {
    let mut daemon = Daemon::start(full_disk(), "info,defib=loud");
    daemon.answers();
    assert!(daemon.end().success());

    let (reader, writer) = std::io::pipe().unwrap();
    let mut daemon = Daemon::start(writer, "info,defib=loud");
    daemon.answers();
    let log = read_until(reader, "`defib=loud` in DEFIB_LOG is passed over");
    assert!(log.contains(" WARN `defib=loud` in DEFIB_LOG"), "{log}");
    assert!(daemon.end().success());
}

#[test]
fn a_daemon_that_cannot_start_ends_with_its_code_whatever_reads_the_log() {
    let (_reader, full) = full_pipe();
    for stderr in [full_disk().into(), std::process::Stdio::from(closed_pipe()), full.into()] {
        let mut process =
            defib(&["run", "--config", "/nowhere/defib.toml"]).stderr(stderr).spawn().unwrap();
        assert_eq!(ended(&mut process).code(), Some(2));
    }
}

#[test]
fn a_runtime_directory_that_was_removed_is_made_anew_and_said() {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut daemon = Daemon::start(writer, "info");
    daemon.answers();
    std::fs::remove_dir_all(daemon.runtime_dir()).unwrap();
    daemon.answers();
    let log = read_until(reader, "it is made anew");
    assert!(
        log.contains("control.sock was removed or replaced while this daemon ran; it is made anew"),
        "{log}"
    );
    assert!(daemon.end().success());
}
