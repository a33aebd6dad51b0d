//! What may lie where the store should be, and what becomes of it.

use crate::{
    given::{self, history, open, open_inline, start, state},
    left_out::left_out,
};
use defib::{
    cli::log,
    domain::{moment::WallMs, name::Seq, observation::Observation},
    store::{history::read_history, port::Store, problem::StoreProblem},
};
use std::{
    error::Error,
    fs, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};
use tracing_subscriber::EnvFilter;

/// A directory with a closed store in it that holds two state records.
async fn with_two_records() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let (mut opened, _answers) = open_inline(dir.path()).unwrap();
    opened.store.submit(Seq(7), vec![state("slack", 1), state("slack", 2), history("x")]).unwrap();
    Box::new(opened.store).close().await;
    dir
}

fn files(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("defib.pid") && !path.to_string_lossy().ends_with("-shm"))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn a_missing_directory_is_made_for_its_owner_alone() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("a/state");
    let (opened, _answers) = open(&dir).unwrap();
    assert!(opened.records.is_empty() && opened.damaged.is_none());
    assert_eq!(opened.last_seq, Seq(0));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    assert_eq!(mode(&dir.join("state.db")), 0o600);
    assert_eq!(mode(&dir.join("state.db-wal")), 0o600);
    Box::new(opened.store).close().await;
}

#[tokio::test]
async fn what_was_committed_is_there_again_with_its_last_number() {
    let dir = with_two_records().await;
    let (opened, _answers) = open(dir.path()).unwrap();
    assert_eq!(opened.records, vec![state("slack", 1), state("slack", 2)]);
    assert_eq!(opened.last_seq, Seq(7));
    assert!(opened.undecodable.is_empty());
}

#[test]
fn a_second_daemon_is_told_whose_the_directory_is_also_when_files_were_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (_opened, _answers) = open(dir.path()).unwrap();
    let problem = open(dir.path()).err().unwrap();
    assert!(problem.another_daemon_owns_it());
    assert!(
        matches!(&problem, StoreProblem::InUse { pid: Some(pid), .. } if *pid == std::process::id())
    );
    assert!(problem.to_string().contains(&std::process::id().to_string()), "{problem}");

    for (path, _) in files(dir.path()) {
        fs::remove_file(path).unwrap();
    }
    fs::remove_file(dir.path().join("defib.pid")).unwrap();
    let problem = open(dir.path()).err().unwrap();
    assert!(matches!(&problem, StoreProblem::InUse { pid: None, .. }), "{problem}");
}

#[tokio::test]
async fn the_directory_is_free_again_once_the_store_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let (opened, _answers) = open(dir.path()).unwrap();
        Box::new(opened.store).close().await;
    }
}

#[tokio::test]
async fn a_later_version_is_refused_and_left_as_it_is_with_its_log() {
    let dir = tempfile::tempdir().unwrap();
    // A crash image: the database of a store that was never closed, so that there is a log.
    {
        let source = tempfile::tempdir().unwrap();
        let (mut opened, _answers) = open_inline(source.path()).unwrap();
        opened.store.submit(Seq(1), vec![state("slack", 1)]).unwrap();
        let later = rusqlite::Connection::open(source.path().join("state.db")).unwrap();
        later.execute_batch("PRAGMA user_version = 99; CREATE TABLE more (x)").unwrap();
        for name in ["state.db", "state.db-wal"] {
            fs::copy(source.path().join(name), dir.path().join(name)).unwrap();
        }
    }
    let before = files(dir.path());
    assert_eq!(before.len(), 2);
    for _ in 0..2 {
        let problem = open(dir.path()).err().unwrap();
        assert!(
            matches!(problem, StoreProblem::Newer { found: 99, known: 1, .. }),
            "{problem}: {:?}",
            problem.source()
        );
        assert!(matches!(
            read_history(dir.path(), 10, None),
            Err(StoreProblem::Newer { found: 99, .. })
        ));
    }
    assert_eq!(files(dir.path()), before);
}

#[test]
fn somebody_elses_database_is_refused_and_left_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    other.execute_batch("CREATE TABLE accounts (x); INSERT INTO accounts VALUES (1)").unwrap();
    drop(other);
    let before = files(dir.path());
    assert!(matches!(open(dir.path()), Err(StoreProblem::Foreign { .. })));
    assert_eq!(files(dir.path()), before);
}

/// Damages the closed store, and checks that it is kept aside as it was, and that a fresh one works.
async fn damaged_is_kept_aside(damage: impl Fn(&mut Vec<u8>)) {
    let dir = with_two_records().await;
    let path = dir.path().join("state.db");
    let mut bytes = fs::read(&path).unwrap();
    damage(&mut bytes);
    fs::write(&path, &bytes).unwrap();

    let (mut opened, mut answers) = open_inline(dir.path()).unwrap();
    let aside = opened.damaged.expect("the damage is reported").kept;
    assert_eq!(aside, dir.path().join("state.db.damaged-1"));
    assert_eq!(fs::read(&aside).unwrap(), bytes);
    assert!(opened.records.is_empty());
    opened.store.submit(Seq(1), vec![state("pager", 3)]).unwrap();
    assert_eq!(answers.try_recv().unwrap(), Observation::Committed(Seq(1)));
    Box::new(opened.store).close().await;

    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!((opened.damaged, opened.records), (None, vec![state("pager", 3)]));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_kept_aside() {
    damaged_is_kept_aside(|bytes| bytes[..16].copy_from_slice(b"not a database!\n")).await;
}

#[tokio::test]
async fn a_file_with_a_page_overwritten_is_kept_aside() {
    damaged_is_kept_aside(|bytes| bytes[4096..4096 + 512].fill(0xa5)).await;
}

#[tokio::test]
async fn a_file_that_was_cut_off_is_kept_aside() {
    damaged_is_kept_aside(|bytes| bytes.truncate(bytes.len() / 2)).await;
}

#[tokio::test]
async fn a_file_of_zeros_is_kept_aside() {
    damaged_is_kept_aside(|bytes| bytes.fill(0)).await;
}

#[test]
fn a_log_without_its_database_is_kept_and_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    {
        let source = tempfile::tempdir().unwrap();
        let (mut opened, _answers) = open_inline(source.path()).unwrap();
        opened.store.submit(Seq(1), vec![state("slack", 1)]).unwrap();
        fs::copy(source.path().join("state.db-wal"), dir.path().join("state.db-wal")).unwrap();
    }
    let log = fs::read(dir.path().join("state.db-wal")).unwrap();
    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.damaged.unwrap().kept, dir.path().join("state.db.damaged-1"));
    assert_eq!(fs::read(dir.path().join("state.db.damaged-1-wal")).unwrap(), log);
}

#[test]
fn each_damaged_file_keeps_a_name_of_its_own_until_the_disk_is_in_doubt() {
    let dir = tempfile::tempdir().unwrap();
    for n in 1..=16 {
        fs::write(dir.path().join("state.db"), format!("damage {n}")).unwrap();
        let (opened, _answers) = open_inline(dir.path()).unwrap();
        let aside = dir.path().join(format!("state.db.damaged-{n}"));
        assert_eq!(opened.damaged.as_ref().map(|damaged| &damaged.kept), Some(&aside));
        assert_eq!(fs::read_to_string(aside).unwrap(), format!("damage {n}"));
        drop(opened);
        fs::remove_file(dir.path().join("state.db")).unwrap();
    }
    fs::write(dir.path().join("state.db"), "one too many").unwrap();
    assert!(matches!(open_inline(dir.path()), Err(StoreProblem::TooManyDamaged { kept: 16, .. })));
    assert_eq!(fs::read_to_string(dir.path().join("state.db")).unwrap(), "one too many");
}

#[tokio::test]
async fn a_record_that_cannot_be_decoded_costs_only_itself_and_is_kept() {
    let dir = with_two_records().await;
    let file = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    file.execute_batch(
        "INSERT INTO state VALUES
            ('unheard-of', 'x', '{\"FromTheFuture\":{}}', 3),
            ('delivery', 'y', '{\"Delivery\":', 4);
         INSERT INTO state SELECT 'delivery', 'elsewhere', record, 5 FROM state WHERE id = 'slack/1';
         INSERT INTO history (wall_ms, record) VALUES (9, 'no json')",
    )
    .unwrap();
    drop(file);

    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.records, vec![state("slack", 1), state("slack", 2)]);
    assert!(opened.damaged.is_none());
    let ids: Vec<_> = opened.undecodable.iter().map(|lost| lost.key.id.as_str()).collect();
    assert_eq!(ids, ["elsewhere", "y", "x"]);
    assert!(opened.undecodable[2].reason.contains("FromTheFuture"), "{:?}", opened.undecodable);
    drop(opened);

    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert!(opened.undecodable.is_empty());
    let file = rusqlite::Connection::open(dir.path().join("state.db")).unwrap();
    let kept: (String, i64) = file
        .query_row("SELECT record, seq FROM undecodable WHERE id = 'y'", [], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .unwrap();
    assert_eq!(kept, ("{\"Delivery\":".to_owned(), 4));
    let history = read_history(dir.path(), 10, None).unwrap();
    assert_eq!((history.records.len(), history.undecodable), (1, 1));
}

#[tokio::test]
async fn the_history_is_read_beside_a_running_store() {
    let dir = tempfile::tempdir().unwrap();
    assert!(read_history(dir.path(), 1, None).is_err(), "reading makes nothing");
    assert!(files(dir.path()).is_empty());
    let (mut opened, mut answers) = open(dir.path()).unwrap();
    for n in 1..=5 {
        opened.store.submit(Seq(n), vec![history(format!("r{n}"))]).unwrap();
    }
    given::answers_up_to(&mut answers, Seq(5)).await;
    let history = read_history(dir.path(), 3, None).unwrap();
    assert_eq!(given::reasons(&history.records), ["r3", "r4", "r5"]);
    assert!(history.records.iter().all(|(wall, _)| *wall == given::WALL));
    let later = WallMs(given::WALL.0 + 1);
    assert!(read_history(dir.path(), 3, Some(later)).unwrap().records.is_empty());
}

#[test]
fn a_file_in_place_of_the_directory_is_a_problem_with_a_remedy() {
    let parent = tempfile::tempdir().unwrap();
    let dir = parent.path().join("state");
    fs::write(&dir, "mine").unwrap();
    let problem = open(&dir).err().unwrap();
    assert!(problem.to_string().contains("not a directory"), "{problem}");
    assert!(problem.source().is_some());
    assert_eq!(fs::read_to_string(&dir).unwrap(), "mine");
}

#[test]
fn a_directory_that_may_not_be_written_is_a_problem_with_a_remedy() {
    let test = "a_directory_that_may_not_be_written_is_a_problem_with_a_remedy";
    let dir = tempfile::tempdir().unwrap();
    if given::is_root() {
        let Some(_mounted) = Mounted::tmpfs(test, dir.path(), "ro,size=1m") else { return };
        let problem = open(dir.path()).err().unwrap();
        assert!(problem.to_string().contains("mounted read-only"), "{problem}");
    } else {
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let problem = open(dir.path()).err().unwrap();
        assert!(problem.to_string().contains("must belong to the user"), "{problem}");
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn a_full_disk_refuses_the_batch_and_takes_the_next_when_there_is_room() {
    let test = "a_full_disk_refuses_the_batch_and_takes_the_next_when_there_is_room";
    if !given::is_root() {
        return left_out(test, "a full disk needs a tmpfs of its own, and mounting one needs root");
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::tmpfs(test, dir.path(), "size=512k") else { return };
    let (mut opened, mut answers) = open_inline(dir.path()).unwrap();
    opened.store.submit(Seq(1), vec![state("slack", 1)]).unwrap();
    assert_eq!(answers.try_recv().unwrap(), Observation::Committed(Seq(1)));

    let filler = dir.path().join("filler");
    fs::write(&filler, vec![0; 1 << 20]).unwrap_err();
    let large = |n: u64| vec![state("slack", n), history("x".repeat(40_000))];
    opened.store.submit(Seq(2), large(2)).unwrap();
    match answers.try_recv().unwrap() {
        Observation::Refused { seq: Seq(2), reason } => {
            assert!(reason.contains("the disk is full"), "{reason}");
        }
        other => panic!("{other:?}"),
    }
    fs::remove_file(filler).unwrap();
    opened.store.submit(Seq(3), large(3)).unwrap();
    assert_eq!(answers.try_recv().unwrap(), Observation::Committed(Seq(3)));
    drop(opened);
    let (opened, _answers) = open_inline(dir.path()).unwrap();
    assert_eq!(opened.records, vec![state("slack", 1), state("slack", 3)]);
    drop(opened);
}

#[test]
fn a_disk_that_is_full_at_the_start_is_a_problem_with_a_remedy() {
    let test = "a_disk_that_is_full_at_the_start_is_a_problem_with_a_remedy";
    if !given::is_root() {
        return left_out(test, "a full disk needs a tmpfs of its own, and mounting one needs root");
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(_mounted) = Mounted::tmpfs(test, dir.path(), "size=64k") else { return };
    fs::write(dir.path().join("filler"), vec![0; 1 << 20]).unwrap_err();
    let problem = open(dir.path()).err().unwrap();
    assert!(matches!(problem, StoreProblem::Full { .. }), "{problem}: {:?}", problem.source());
    assert!(problem.to_string().contains("free some space"), "{problem}");
}

/// A file system that is there until this is dropped.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, and says so, where this root may not mount (a container).
    fn tmpfs(test: &str, dir: &Path, options: &str) -> Option<Self> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "defib-test-store"]).arg(dir);
        let status = start(&mut command).and_then(|mut child| child.wait());
        match status {
            Ok(status) if status.success() => Some(Self(dir.to_owned())),
            other => {
                left_out(test, &format!("mounting a tmpfs is not allowed here ({other:?})"));
                None
            }
        }
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let status =
            start(Command::new("umount").arg("-l").arg(&self.0)).and_then(|mut child| child.wait());
        assert!(status.unwrap().success());
    }
}

/// A writer that keeps what it is given.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whoever reads the answers logs them; said twice, one failure reads as two.
#[tokio::test]
async fn what_the_store_answers_with_it_does_not_log_as_well() {
    let dir = with_two_records().await;
    fs::write(dir.path().join("state.db"), "not a database!\n".repeat(1_000)).unwrap();
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = log::subscriber(EnvFilter::new("info"), false, move || writer.clone());
    tracing::subscriber::with_default(subscriber, || {
        let (mut opened, mut answers) = open_inline(dir.path()).unwrap();
        let why = &opened.damaged.as_ref().expect("the damage is reported").why;
        assert!(why.contains("not a database"), "{why}");
        fs::remove_file(dir.path().join("state.db")).unwrap();
        opened.store.submit(Seq(1), vec![state("pager", 3)]).unwrap();
        assert!(matches!(answers.try_recv(), Ok(Observation::Refused { .. })));
    });
    assert_eq!(String::from_utf8(lines.0.lock().unwrap().clone()).unwrap(), "");
}
