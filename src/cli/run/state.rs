//! What the start takes out of the state directory, and how it goes on without: the directory may be damaged, refuse, or lie
//! on a disk that hangs. None of that keeps defib from watching, so nothing here waits for the disk without an end.

use super::RunProblem;
use crate::{
    clock::Clock,
    domain::{
        name::{HostName, Seq},
        observation::Observation,
        record::Record,
    },
    journal::{entry::Origin, segment::Bounds, writer::Journal},
    notify::salt::Salt,
    store::{
        absent::AbsentStore,
        port::Store,
        sqlite::{Damaged, Opened, SqliteStore},
    },
    tasks,
};
use std::{error::Error, io, path::Path, sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Reading a small file, or writing one, takes no time; a disk that is busy may take a second for it.
const SALT_WITHIN: Duration = Duration::from_secs(5);

/// What the store had.
pub(super) struct Kept {
    pub(super) store: Box<dyn Store>,
    pub(super) records: Vec<Record>,
    pub(super) last: Seq,
}

pub(super) fn open_store(
    dir: &Path,
    clock: &Arc<dyn Clock>,
    answers: mpsc::Sender<Observation>,
) -> Result<Kept, RunProblem> {
    match SqliteStore::open(dir, Arc::clone(clock), answers.clone()) {
        Ok(opened) => {
            for record in &opened.undecodable {
                tracing::error!(
                    "the record {}/{} could not be read and was put aside in the state file: {}",
                    record.key.kind,
                    record.key.id,
                    record.reason
                );
            }
            if let Some(why) = lost(dir, &opened) {
                // Nobody reads the lane yet, and it has room: the daemon takes this first.
                if answers.try_send(Observation::MemoryLost(why.clone())).is_err() {
                    tracing::error!("{why}");
                }
            }
            Ok(Kept {
                store: Box::new(opened.store),
                records: opened.records,
                last: opened.last_seq,
            })
        }
        Err(problem) if problem.another_daemon_owns_it() => Err(RunProblem::AnotherDaemon(problem)),
        Err(problem) => {
            let reason = match problem.source() {
                Some(source) => format!("{problem}: {source}"),
                None => problem.to_string(),
            };
            tracing::error!("{reason}; watching and telling go on, nothing is restarted");
            Ok(Kept {
                store: Box::new(AbsentStore::because(reason, answers)),
                records: Vec::new(),
                last: Seq(0),
            })
        }
    }
}

/// What of the state was damaged or is gone, in words. A store that nothing was ever committed to, in a directory where the salt
/// of an earlier start lies, is no first start: budgets begin anew, and somebody has to hear of it (S4).
fn lost(dir: &Path, opened: &Opened) -> Option<String> {
    let is_empty = opened.records.is_empty() && opened.last_seq == Seq(0);
    let was_there = || {
        let dir = dir.to_owned();
        let looked = tasks::within("salt", SALT_WITHIN, move || Salt::is_kept_in(&dir));
        looked.unwrap_or(false)
    };
    if is_empty && opened.damaged.is_none() && was_there() {
        return Some(format!(
            "the state in {} is empty, and defib has run there before",
            dir.display()
        ));
    }
    match (&opened.damaged, opened.undecodable.len()) {
        (Some(Damaged { kept, why }), _) => {
            Some(format!("the state was damaged ({why}); it is kept as {}", kept.display()))
        }
        (None, 0) => None,
        (None, 1) => Some("1 record could not be read; it is kept in the state file".to_owned()),
        (None, some) => {
            Some(format!("{some} records could not be read; they are kept in the state file"))
        }
    }
}

pub(super) fn begin_journal(
    state_dir: &Path,
    host: &HostName,
    clock: &Arc<dyn Clock>,
) -> Option<Journal> {
    let origin = Origin { host: host.clone(), boot_id: clock.boot_id(), started: clock.now() };
    let begun = Journal::begin(&state_dir.join("journal"), origin, Bounds::default());
    begun
        .inspect_err(|error| {
            tracing::error!("the journal can't be written: {error}; what is observed is not kept, until defib is started again")
        })
        .ok()
}

/// Without a salt that lasts, no sink is known again.
///
/// # Errors
/// Where the system has no random numbers.
pub(super) fn salt(state_dir: &Path) -> io::Result<Salt> {
    let dir = state_dir.to_owned();
    salt_kept_by(move || Salt::kept_in(&dir), SALT_WITHIN, state_dir)
}

fn salt_kept_by(
    keep: impl FnOnce() -> io::Result<Salt> + Send + 'static,
    within: Duration,
    state_dir: &Path,
) -> io::Result<Salt> {
    let kept = tasks::within("salt", within, keep).unwrap_or_else(|not_back| Err(not_back.into()));
    kept.or_else(|error| {
        tracing::error!(
            "the salt of the sinks' definitions can't be kept in {}: {error}; after each start every sink has to be proven \
             anew, until it can",
            state_dir.display()
        );
        Salt::random()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[tokio::test]
    async fn a_state_that_is_gone_is_no_first_start() {
        let dir = tempfile::tempdir().unwrap();
        let clock: Arc<dyn Clock> = Arc::new(crate::clock::HostClock::new());
        for (started_before, is_lost) in [(false, false), (true, true)] {
            if started_before {
                salt(dir.path()).unwrap();
            }
            let (answers, mut told) = mpsc::channel(8);
            open_store(dir.path(), &clock, answers).unwrap().store.close().await;
            let said = matches!(told.try_recv(), Ok(Observation::MemoryLost(_)));
            assert_eq!(said, is_lost, "started before: {started_before}");
        }
    }

    #[test]
    fn a_salt_on_a_disk_that_hangs_is_gone_without() {
        // Beside, so that a start that hangs fails the test and does not hang it.
        let (came, coming) = sync_channel(1);
        let (disk_is_mended, hangs) = sync_channel::<()>(0);
        tasks::thread("start", move || {
            let keep = move || {
                hangs.recv().ok();
                Salt::random()
            };
            let salt = salt_kept_by(keep, Duration::from_millis(50), Path::new("/state"));
            came.send(salt.is_ok()).unwrap();
        })
        .unwrap();
        assert_eq!(coming.recv_timeout(Duration::from_secs(20)), Ok(true));
        drop(disk_is_mended);
    }

    #[test]
    fn a_salt_that_can_not_be_kept_is_gone_without() {
        assert!(salt(Path::new("/dev/null/nowhere")).is_ok());
    }
}
