//! Batches on their way to the disk, and the answers.

use crate::given::{answer, answers_up_to, history, open, open_inline, reasons, removed, state};
use defib::{
    domain::{name::Seq, observation::Observation, record::Record},
    store::{
        absent::AbsentStore,
        history::read_history,
        port::{NotTaken, Store},
        sqlite::ANSWERS,
    },
};
use std::{fs, path::Path};
use tokio::sync::mpsc;

/// Somebody else's hold on the database: commits wait until it is dropped, or for a second.
struct Held(rusqlite::Connection);

impl Held {
    fn on(dir: &Path) -> Self {
        let connection = rusqlite::Connection::open(dir.join("state.db")).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(connection)
    }

    fn release(self) {
        self.0.execute_batch("ROLLBACK").unwrap();
    }
}

#[tokio::test]
async fn batches_that_gathered_share_a_commit_and_are_answered_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open(dir.path()).unwrap();
    let held = Held::on(dir.path());
    for n in 1..=40 {
        opened.store.submit(Seq(n), vec![state("slack", n % 7), history(format!("{n}"))]).unwrap();
    }
    held.release();
    let read = answers_up_to(&mut answers, Seq(40)).await;
    assert!(read.len() <= 4, "40 batches took {} commits", read.len());
    let mut last = Seq(0);
    for one in read {
        match one {
            Observation::Committed(seq) if seq > last => last = seq,
            other => panic!("{other:?} after {last}"),
        }
    }
    let history = read_history(dir.path(), 100, None).unwrap();
    let expected: Vec<_> = (1..=40).map(|n| n.to_string()).collect();
    assert_eq!(reasons(&history.records), expected);
    Box::new(opened.store).close().await;
    let (opened, _answers) = open(dir.path()).unwrap();
    let expected: Vec<_> = (0..7).map(|n| state("slack", n)).collect();
    assert_eq!(opened.records, expected);
    assert_eq!(opened.last_seq, Seq(40));
}

#[tokio::test]
async fn a_full_queue_is_busy_at_once_and_never_blocks() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open(dir.path()).unwrap();
    let held = Held::on(dir.path());
    let mut taken = 0;
    let refused = (1..=200).map(Seq).find(|seq| {
        let answer = opened.store.submit(*seq, vec![history("x")]);
        taken += u64::from(answer.is_ok());
        answer == Err(NotTaken::Busy)
    });
    assert!(refused.is_some_and(|seq| seq <= Seq(2 * 64 + 1)), "{refused:?} after {taken}");
    held.release();
    answers_up_to(&mut answers, Seq(taken)).await;
    opened.store.submit(Seq(999), vec![history("y")]).unwrap();
    assert_eq!(answer(&mut answers).await, Observation::Committed(Seq(999)));
}

#[tokio::test]
async fn a_loop_that_reads_no_answers_makes_the_store_busy_and_loses_none() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open_inline(dir.path()).unwrap();
    for n in 1..=ANSWERS as u64 {
        opened.store.submit(Seq(n), Vec::new()).unwrap();
    }
    assert_eq!(opened.store.submit(Seq(1_000), Vec::new()), Err(NotTaken::Busy));
    for n in 1..=ANSWERS as u64 {
        assert_eq!(answers.try_recv().unwrap(), Observation::Committed(Seq(n)));
    }
    opened.store.submit(Seq(1_001), Vec::new()).unwrap();
}

#[tokio::test]
async fn a_group_that_fails_is_refused_and_the_next_is_tried() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open(dir.path()).unwrap();
    let held = Held::on(dir.path());
    opened.store.submit(Seq(1), vec![state("slack", 1)]).unwrap();
    match answer(&mut answers).await {
        Observation::Refused { seq: Seq(1), reason } => {
            assert!(reason.contains("another process holds the store"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    held.release();
    opened.store.submit(Seq(2), vec![state("slack", 2)]).unwrap();
    assert_eq!(answer(&mut answers).await, Observation::Committed(Seq(2)));
    Box::new(opened.store).close().await;
    let (opened, _answers) = open(dir.path()).unwrap();
    assert_eq!(opened.records, vec![state("slack", 2)]);
}

#[tokio::test]
async fn a_batch_that_cannot_be_written_costs_no_other_of_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open(dir.path()).unwrap();
    let held = Held::on(dir.path());
    opened.store.submit(Seq(1), vec![state("slack", 1)]).unwrap();
    opened.store.submit(Seq(2), vec![state("slack", 2)]).unwrap();
    // SQLite counts to half of what a number of ours can be.
    opened.store.submit(Seq(u64::MAX), vec![state("slack", 3)]).unwrap();
    held.release();
    let read = answers_up_to(&mut answers, Seq(u64::MAX)).await;
    assert!(read.contains(&Observation::Committed(Seq(2))), "{read:?}");
    assert!(matches!(read.last(), Some(Observation::Refused { .. })), "{read:?}");
    Box::new(opened.store).close().await;
    let (opened, _answers) = open(dir.path()).unwrap();
    assert_eq!(opened.records, vec![state("slack", 1), state("slack", 2)]);
}

#[test]
fn a_database_that_was_taken_away_is_never_claimed_to_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open_inline(dir.path()).unwrap();
    let mut submit = |seq: Seq| {
        opened.store.submit(seq, vec![state("slack", seq.0)]).unwrap();
        answers.try_recv().unwrap()
    };
    assert_eq!(submit(Seq(1)), Observation::Committed(Seq(1)));
    let (here, away) = (dir.path().join("state.db"), dir.path().join("away"));
    fs::rename(&here, &away).unwrap();
    assert!(matches!(submit(Seq(2)), Observation::Refused { seq: Seq(2), .. }));
    fs::copy(&away, &here).unwrap();
    assert!(matches!(submit(Seq(3)), Observation::Refused { seq: Seq(3), .. }));
    fs::rename(&away, &here).unwrap();
    assert_eq!(submit(Seq(4)), Observation::Committed(Seq(4)));
}

#[test]
fn a_state_record_replaces_and_removes_within_one_batch_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, _answers) = open_inline(dir.path()).unwrap();
    let (a, b) = (state("slack", 1), state("slack", 2));
    let batch: Vec<Record> =
        vec![a.clone(), removed(&a), b.clone(), removed(&b), b.clone(), removed(&state("none", 9))];
    opened.store.submit(Seq(1), batch).unwrap();
    drop(opened);
    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.records, vec![b]);
}

#[test]
fn a_store_that_is_not_there_refuses_every_batch_with_its_reason() {
    let (answers, mut read) = mpsc::channel(2);
    let mut store = AbsentStore::because("no disk", answers);
    store.submit(Seq(5), vec![state("slack", 1)]).unwrap();
    let refused = Observation::Refused { seq: Seq(5), reason: "no disk".to_owned() };
    assert_eq!(read.try_recv().unwrap(), refused);
}
