//! What is left when the process or the machine ends at any moment: whole batches, in order, none that was answered
//! missing.

use crate::given::{answer, history, open, open_inline, reasons, start, state};
use defib::{
    domain::{name::Seq, observation::Observation},
    store::{history::read_history, port::Store},
};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

/// Batch `n` of every test here: replaces one state record, adds one, and appends two to the history.
fn batch(n: u64) -> Vec<defib::domain::record::Record> {
    vec![state("latest", 0), state("slack", n), history(format!("{n}a")), history(format!("{n}b"))]
}

/// Opens what a crash left, checks that it holds batches 1 to n whole and nothing else, and returns n.
fn holds_whole_batches(dir: &Path) -> u64 {
    let (opened, _answers) = open_inline(dir).unwrap();
    assert_eq!(opened.damaged, None);
    assert!(opened.undecodable.is_empty());
    let last = opened.last_seq.0;
    let mut expected: Vec<_> = (1..=last).map(|n| state("slack", n)).collect();
    expected.extend((last > 0).then(|| state("latest", 0)));
    let key = |record: &defib::domain::record::Record| serde_json::to_string(record).unwrap();
    expected.sort_by_key(key);
    let mut records = opened.records.clone();
    records.sort_by_key(key);
    assert_eq!(records, expected);
    drop(opened);
    let told = reasons(&read_history(dir, 10_000, None).unwrap().records);
    let expected: Vec<_> = (1..=last).flat_map(|n| [format!("{n}a"), format!("{n}b")]).collect();
    assert_eq!(told, expected);
    last
}

/// Copies the database and the first `length` bytes of its log, as a machine that lost power may leave them.
fn image(from: &Path, to: &Path, length: usize) {
    fs::copy(from.join("state.db"), to.join("state.db")).unwrap();
    let mut log = fs::read(from.join("state.db-wal")).unwrap();
    log.truncate(length);
    fs::write(to.join("state.db-wal"), log).unwrap();
}

#[test]
fn a_log_cut_anywhere_leaves_a_prefix_of_whole_batches() {
    let source = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open_inline(source.path()).unwrap();
    let batches = 20;
    for n in 1..=batches {
        opened.store.submit(Seq(n), batch(n)).unwrap();
        assert_eq!(answers.try_recv().unwrap(), Observation::Committed(Seq(n)));
    }
    let length = fs::metadata(source.path().join("state.db-wal")).unwrap().len() as usize;
    let frame = 4096 + 24;
    let mut reached = Vec::new();
    // At each frame's border, one byte before it, and in the middle of the frame.
    let cuts = (32..length).step_by(frame).flat_map(|border| [border - 1, border, border + 2000]);
    for cut in cuts.chain([0, length]) {
        let copy = tempfile::tempdir().unwrap();
        image(source.path(), copy.path(), cut);
        // A log cut before the schema was made leaves an empty database, which is a sound one.
        reached.push(holds_whole_batches(copy.path()));
    }
    assert_eq!(reached.last(), Some(&batches), "the whole log holds every batch");
    reached.sort_unstable();
    reached.dedup();
    assert_eq!(reached, (0..=batches).collect::<Vec<_>>(), "cuts fell behind every batch");
}

#[test]
fn a_flipped_bit_in_the_log_leaves_a_prefix_of_whole_batches() {
    let source = tempfile::tempdir().unwrap();
    let (mut opened, _answers) = open_inline(source.path()).unwrap();
    for n in 1..=10 {
        opened.store.submit(Seq(n), batch(n)).unwrap();
    }
    let length = fs::metadata(source.path().join("state.db-wal")).unwrap().len() as usize;
    for place in (40..length).step_by(9_973) {
        let copy = tempfile::tempdir().unwrap();
        image(source.path(), copy.path(), length);
        let log = copy.path().join("state.db-wal");
        let mut bytes = fs::read(&log).unwrap();
        bytes[place] ^= 0x10;
        fs::write(&log, bytes).unwrap();
        holds_whole_batches(copy.path());
    }
}

#[tokio::test]
async fn files_copied_while_it_writes_hold_what_was_answered_before() {
    let source = tempfile::tempdir().unwrap();
    let (mut opened, mut answers) = open(source.path()).unwrap();
    for n in 1..=60 {
        opened.store.submit(Seq(n), batch(n)).unwrap();
        let Observation::Committed(answered) = answer(&mut answers).await else { panic!() };
        if n % 6 == 0 {
            // The next batch is on its way while this is copied.
            opened.store.submit(Seq(n + 1_000), Vec::new()).unwrap();
            let copy = tempfile::tempdir().unwrap();
            image(source.path(), copy.path(), usize::MAX);
            let (found, _) = open_inline(copy.path()).unwrap();
            assert!(found.last_seq >= answered && found.damaged.is_none());
            drop(found);
            assert!(matches!(answer(&mut answers).await, Observation::Committed(_)));
        }
    }
}

const CHILD: &str = "DEFIB_TEST_STORE_CHILD";

/// Not a test of its own: the process that the next one kills.
#[tokio::test]
async fn child_that_commits_until_killed() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let (mut opened, mut answers) = open(Path::new(&dir)).unwrap();
    for n in 1.. {
        opened.store.submit(Seq(n), batch(n)).unwrap();
        let Observation::Committed(Seq(answered)) = answer(&mut answers).await else { panic!() };
        println!("committed {answered}");
    }
}

#[test]
fn a_process_killed_while_it_commits_has_lost_nothing_that_was_answered() {
    for kill_after in [1, 7, 40] {
        let dir = tempfile::tempdir().unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "crashing::child_that_commits_until_killed", "--nocapture"])
            .env(CHILD, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = start(&mut command).unwrap();
        let mut answered = 0;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut told = |line: String| {
            let number = line.rsplit_once("committed ").map(|(_, number)| number.to_owned());
            answered = number.map_or(answered, |number| number.parse().unwrap());
            answered
        };
        while told(lines.next().unwrap().unwrap()) < kill_after {}
        child.kill().unwrap();
        child.wait().unwrap();
        // What it printed before it died counts as answered too. The last line may be cut short.
        let rest: Vec<_> = lines.map_while(Result::ok).collect();
        let whole = rest.len().saturating_sub(1);
        let answered = rest.into_iter().take(whole).map(&mut told).last().unwrap_or(kill_after);
        let held = holds_whole_batches(dir.path());
        assert!(held >= answered, "{answered} were answered and {held} are there");
    }
}
