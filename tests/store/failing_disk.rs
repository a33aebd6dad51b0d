//! A disk whose fsync fails or hangs. `strace` plays the disk; where it is missing or not allowed, these say so and pass.

use crate::{
    given::{history, open, open_inline, start, state},
    left_out::left_out,
};
use defib::{
    domain::{name::Seq, observation::Observation},
    store::port::Store,
};
use std::{
    path::Path,
    process::{Command, Stdio},
};

const CHILD: &str = "DEFIB_TEST_STORE_FAILING_DISK";

/// Runs `child` of this binary on a state directory, with this done to its calls of fsync. Its output, or `None` after saying
/// that `test` is left out.
fn on_a_disk_that(fault: &str, test: &str, child: &str, dir: &Path) -> Option<String> {
    let traced =
        start(Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()));
    if !traced.and_then(|mut child| child.wait()).is_ok_and(|status| status.success()) {
        left_out(test, "a failing disk needs strace, and the right to trace");
        return None;
    }
    let mut command = Command::new("strace");
    command
        .args(["-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"])
        .args(["-e", &format!("inject=fsync,fdatasync:{fault}")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", child, "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = start(&mut command).unwrap().wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    Some(text)
}

/// Not a test of its own: commits thirty batches, one after the other, and prints what became of each.
#[test]
fn child_that_prints_its_answers() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let (mut opened, mut answers) = open_inline(Path::new(&dir)).unwrap();
    println!();
    for n in 1..=30 {
        opened.store.submit(Seq(n), vec![state("slack", n), history("x")]).unwrap();
        match answers.try_recv().unwrap() {
            Observation::Committed(Seq(seq)) => println!("committed {seq}"),
            Observation::Refused { seq: Seq(seq), reason } => println!("refused {seq} {reason}"),
            other => panic!("{other:?}"),
        }
    }
}

/// With one failure in the midst of a commit, several, and so many that the file is opened again.
#[test]
fn after_an_fsync_that_failed_it_goes_on_and_what_was_refused_does_not_come_back() {
    let test = "after_an_fsync_that_failed_it_goes_on_and_what_was_refused_does_not_come_back";
    for failing in ["12", "12..13", "12..14", "13..15", "12..17", "12..18", "12..25", "12..26"] {
        let dir = tempfile::tempdir().unwrap();
        drop(open_inline(dir.path()).unwrap());
        let child = "failing_disk::child_that_prints_its_answers";
        let fault = format!("error=EIO:when={failing}");
        let Some(text) = on_a_disk_that(&fault, test, child, dir.path()) else { return };
        let answered = |word: &str| -> Vec<u64> {
            let lines = text.lines().filter_map(|line| line.strip_prefix(word));
            lines.map(|rest| rest.split(' ').nth(1).unwrap().parse().unwrap()).collect()
        };
        let (committed, refused) = (answered("committed"), answered("refused"));
        assert!(!refused.is_empty() && text.contains("the disk failed: check it"), "{text}");
        assert_eq!(committed.len() + refused.len(), 30, "{text}");
        assert_eq!(committed.last(), Some(&30), "{text}");
        let (opened, _answers) = open_inline(dir.path()).unwrap();
        assert_eq!(opened.damaged, None);
        let held: Vec<_> =
            (1..=30).filter(|n| opened.records.contains(&state("slack", *n))).collect();
        assert_eq!(held, committed, "fsync {failing} failed: {text}");
    }
}

/// Ends as a killed process does right after the first refusal.
#[test]
fn what_was_refused_does_not_come_back_after_a_crash() {
    let test = "what_was_refused_does_not_come_back_after_a_crash";
    for failing in ["12", "12..13", "12..14"] {
        let dir = tempfile::tempdir().unwrap();
        drop(open_inline(dir.path()).unwrap());
        let child = "failing_disk::child_that_stops_dead_when_refused";
        let fault = format!("error=EIO:when={failing}");
        let Some(text) = on_a_disk_that(&fault, test, child, dir.path()) else { return };
        let last = text.lines().filter_map(|line| line.strip_prefix("committed ")).next_back();
        let (opened, _answers) = open_inline(dir.path()).unwrap();
        assert_eq!(opened.last_seq.0.to_string(), last.unwrap(), "fsync {failing} failed: {text}");
    }
}

/// Not a test of its own: commits until it is refused, and ends without closing anything.
#[test]
fn child_that_stops_dead_when_refused() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let (mut opened, mut answers) = open_inline(Path::new(&dir)).unwrap();
    println!();
    for n in 1.. {
        opened.store.submit(Seq(n), vec![state("slack", n), history("x")]).unwrap();
        match answers.try_recv().unwrap() {
            Observation::Committed(Seq(seq)) => println!("committed {seq}"),
            _ => std::process::exit(0),
        }
    }
}

/// Not a test of its own: submits to a store whose third commit hangs.
#[tokio::test]
async fn child_that_submits_meanwhile() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let (mut opened, mut answers) = open(Path::new(&dir)).unwrap();
    let (mut hung, mut last) = (0, Seq(0));
    let mut note = |answer: Observation| match answer {
        Observation::Committed(seq) => last = seq,
        other => panic!("{other:?}"),
    };
    for n in 1..=6 {
        opened.store.submit(Seq(n), vec![state("slack", n)]).unwrap();
        let soon = std::time::Duration::from_millis(500);
        match tokio::time::timeout(soon, answers.recv()).await {
            Ok(answer) => note(answer.unwrap()),
            Err(_) => hung += 1,
        }
    }
    Box::new(opened.store).close().await;
    std::iter::from_fn(|| answers.try_recv().ok()).for_each(note);
    assert_eq!(last, Seq(6));
    println!("\nhung {hung}");
}

#[test]
fn while_an_fsync_hangs_batches_are_taken_and_no_answer_comes() {
    let test = "while_an_fsync_hangs_batches_are_taken_and_no_answer_comes";
    let dir = tempfile::tempdir().unwrap();
    drop(open_inline(dir.path()).unwrap());
    let child = "failing_disk::child_that_submits_meanwhile";
    let Some(text) = on_a_disk_that("delay_enter=1700000:when=4", test, child, dir.path()) else {
        return;
    };
    let hung = text.lines().find_map(|line| line.strip_prefix("hung ")).unwrap();
    assert!((2..=4).contains(&hung.parse::<u32>().unwrap()), "{text}");
    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.records.len(), 6);
}
