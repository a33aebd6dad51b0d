//! The store in production: SQLite on a thread of its own.
//!
//! A disk can be full, slow, or hang for a minute in one fsync, and nothing of defib but this thread may wait for it. So
//! `submit` only puts a batch in a bounded queue; the thread takes all that has gathered, writes it in one transaction
//! (group commit: under load a batch costs a share of an fsync), and answers once. While the disk hangs no answer comes,
//! and the domain's own deadline decides. After an error it goes on with the next group.
//!
//! It refuses to share a state directory, to write what a later version or another program wrote, and to overwrite what is
//! damaged: that is kept aside under a name of its own and reported.

use super::{
    batch::{QUEUE, Waiting},
    place::Place,
    port::{NotTaken, Store},
    problem::StoreProblem,
    schema::{self, Found},
    writer::{self, Kept, Writer},
};
use crate::{
    clock::Clock,
    domain::{moment::WallMs, name::Seq, observation::Observation, record::Record},
    tasks,
    tasks::Pending,
};
use rusqlite::Connection;
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

pub use super::writer::Undecodable;

/// Room that the answers' channel needs so that a full queue never makes the store busy for want of it: one for each batch
/// that waits, as many again in the group being written, and as many for a loop that has not read yet.
pub const ANSWERS: usize = 3 * QUEUE;

/// Opening waits so long for the disk. systemd's own limit for a start is 90 s; a disk that takes 10 s for a few pages hangs.
const OPEN_WITHIN: Duration = Duration::from_secs(10);

/// A store in a directory of its own.
pub struct SqliteStore {
    hand: Hand,
    answers: mpsc::Sender<Observation>,
    clock: Arc<dyn Clock>,
}

/// Who writes.
enum Hand {
    /// A thread, which ends when the queue is dropped and says so.
    Thread { queue: SyncSender<Waiting>, ended: oneshot::Receiver<()> },
    /// Whoever submits, before `submit` returns. For tests that want SQLite without a thread.
    Inline(Box<Writer>),
}

/// A store that was opened, and what it held.
pub struct Opened {
    /// Takes batches from now on.
    pub store: SqliteStore,
    /// The state as it was committed last, in the order of kind and ID.
    pub records: Vec<Record>,
    /// The last batch that was ever committed; numbers go on after it.
    pub last_seq: Seq,
    /// A file that was damaged. A person should hear of it: what it held is not in `records`.
    pub damaged: Option<Damaged>,
    /// Records that were moved out of the way, because this version can't read them.
    pub undecodable: Vec<Undecodable>,
}

/// A store that was damaged when it was opened. Whoever opened it tells of it, and nobody else does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// Where its file was moved to.
    pub kept: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl SqliteStore {
    /// Opens the store in `dir`, which is made where it is missing. Answers will go to `answers`, whose capacity should be
    /// [`ANSWERS`]. Blocks for the disk, at most 10 s: for the start, before the loop runs.
    ///
    /// # Errors
    /// See [`StoreProblem`]. A damaged file is none: it is kept aside.
    pub fn open(
        dir: &Path,
        clock: Arc<dyn Clock>,
        answers: mpsc::Sender<Observation>,
    ) -> Result<Opened, StoreProblem> {
        let (queue, waiting) = sync_channel(QUEUE);
        let (ready, opened) = sync_channel(1);
        let (end, ended) = oneshot::channel();
        let (path, now) = (dir.to_owned(), clock.now().wall);
        tasks::thread("store", move || {
            let (found, writer) = match open_directory(&path, now) {
                Ok((found, writer)) => (Ok(found), Some(writer)),
                Err(problem) => (Err(problem), None),
            };
            // Nobody waits any more: the directory is given up again.
            if ready.send(found).is_ok()
                && let Some(writer) = writer
            {
                write_until_closed(writer, &waiting);
            }
            drop(end);
        })
        .map_err(|source| StoreProblem::Thread { source })?;
        let found = opened.recv_timeout(OPEN_WITHIN).map_err(|error| match error {
            RecvTimeoutError::Timeout => {
                StoreProblem::Hangs { dir: dir.to_owned(), waited: OPEN_WITHIN }
            }
            RecvTimeoutError::Disconnected => {
                StoreProblem::Thread { source: io::Error::other("it ended while opening") }
            }
        })??;
        Ok(found.with(Self { hand: Hand::Thread { queue, ended }, answers, clock }))
    }

    /// The same without a thread: `submit` writes and answers before it returns.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_inline(
        dir: &Path,
        clock: Arc<dyn Clock>,
        answers: mpsc::Sender<Observation>,
    ) -> Result<Opened, StoreProblem> {
        let (found, writer) = open_directory(dir, clock.now().wall)?;
        Ok(found.with(Self { hand: Hand::Inline(Box::new(writer)), answers, clock }))
    }
}

impl Store for SqliteStore {
    fn submit(&mut self, seq: Seq, records: Vec<Record>) -> Result<(), NotTaken> {
        let wall = self.clock.now().wall;
        let waiting = Waiting::reserve(seq, records, wall, &self.answers)?;
        match &mut self.hand {
            Hand::Thread { queue, .. } => {
                queue.try_send(waiting).map_err(|refused| match refused {
                    TrySendError::Full(_) => NotTaken::Busy,
                    TrySendError::Disconnected(_) => NotTaken::Ended,
                })
            }
            Hand::Inline(writer) => {
                writer.commit(vec![waiting]);
                Ok(())
            }
        }
    }

    fn close(self: Box<Self>) -> Pending<'static, ()> {
        match self.hand {
            Hand::Inline(writer) => {
                drop(writer);
                Box::pin(std::future::ready(()))
            }
            Hand::Thread { queue, ended } => {
                drop(queue);
                Box::pin(async move {
                    // Only its end matters: nothing is ever sent.
                    drop(ended.await);
                })
            }
        }
    }
}

/// What lay in the directory.
struct Contents {
    kept: Kept,
    damaged: Option<Damaged>,
}

impl Contents {
    fn with(self, store: SqliteStore) -> Opened {
        let Contents { kept: Kept { records, last_seq, undecodable }, damaged } = self;
        Opened { store, records, last_seq, damaged, undecodable }
    }
}

fn open_directory(dir: &Path, now: WallMs) -> Result<(Contents, Writer), StoreProblem> {
    let place = Place::take(dir)?;
    match read(&place, now)? {
        Readable::Yes(connection, kept) => {
            Ok((Contents { kept, damaged: None }, writer(connection, place)?))
        }
        Readable::No(why) => {
            let damaged = Damaged { kept: place.keep_aside()?, why };
            match read(&place, now)? {
                Readable::Yes(connection, kept) => {
                    Ok((Contents { kept, damaged: Some(damaged) }, writer(connection, place)?))
                }
                Readable::No(why) => Err(StoreProblem::from_io(
                    "begin anew in",
                    dir,
                    io::Error::other(format!("also the new store is damaged: {why}")),
                )),
            }
        }
    }
}

enum Readable {
    Yes(Connection, Kept),
    No(String),
}

fn read(place: &Place, now: WallMs) -> Result<Readable, StoreProblem> {
    let mut connection = match schema::open(place)? {
        Found::Sound(connection) => connection,
        Found::Damaged(why) => return Ok(Readable::No(why)),
    };
    match writer::load(&mut connection, now) {
        Ok(kept) => Ok(Readable::Yes(connection, kept)),
        // An error without a code is not the disk's: the file holds what cannot stand there.
        Err(error) if schema::is_damage(&error) || error.sqlite_error_code().is_none() => {
            Ok(Readable::No(error.to_string()))
        }
        Err(error) => Err(StoreProblem::from_sqlite("read", place.database(), error)),
    }
}

fn writer(connection: Connection, place: Place) -> Result<Writer, StoreProblem> {
    let file = place.database();
    Writer::new(connection, place).map_err(|source| StoreProblem::from_io("look at", file, source))
}

fn write_until_closed(mut writer: Writer, waiting: &Receiver<Waiting>) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(QUEUE - 1));
        writer.commit(group);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::HostClock;

    #[test]
    fn a_thread_that_has_ended_is_not_told_as_one_that_is_behind() {
        let (answers, _answered) = mpsc::channel(ANSWERS);
        let (queue, waiting) = sync_channel(1);
        let (_, ended) = oneshot::channel();
        let hand = Hand::Thread { queue, ended };
        let mut store = SqliteStore { hand, answers, clock: Arc::new(HostClock::new()) };
        assert_eq!(store.submit(Seq(1), Vec::new()), Ok(()));
        assert_eq!(store.submit(Seq(2), Vec::new()), Err(NotTaken::Busy));
        drop(waiting);
        assert_eq!(store.submit(Seq(3), Vec::new()), Err(NotTaken::Ended));
    }
}
