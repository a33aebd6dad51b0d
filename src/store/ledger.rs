//! The store in simulation: memory that at a crash keeps exactly what was committed.
//!
//! The [`Disk`] is what survives, and what a simulation holds to make it slow, full, or hang; a [`Ledger`] is one daemon's
//! hold on it, until [`Disk::crash`]. As in production, one group is written at a time, in order, and answered once; a crash
//! may fall between the write and its answer. Everything takes virtual time from the clock it is given, so a run is the
//! same every time. Records are kept encoded: one that can't be read back fails here as it would there.

use super::{
    batch::{self, QUEUE, Waiting},
    port::{NotTaken, Store},
};
use crate::{
    clock::Clock,
    domain::{
        moment::WallMs,
        name::Seq,
        observation::Observation,
        record::{Record, RecordKey, Shelf},
    },
    tasks::{Pending, Tasks},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot, watch,
    },
    task::AbortHandle,
};

/// History records kept, as in production.
const HISTORY_ROWS: usize = 100_000;

/// How the disk behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mood {
    /// It takes what it is given.
    Well,
    /// Every write fails with this text.
    Refusing(String),
    /// No write ends until the mood changes.
    Hanging,
}

/// How long one group takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// From taking the group to its being on the disk.
    pub write: Duration,
    /// From there to its answer: a crash in between has committed what nobody was told of.
    pub answer: Duration,
}

/// A simulated disk. Cheap to clone; every clone is the same disk.
#[derive(Clone)]
pub struct Disk {
    kept: Arc<Mutex<Kept>>,
    mood: watch::Sender<Mood>,
}

struct Kept {
    state: BTreeMap<RecordKey, String>,
    history: VecDeque<(WallMs, String)>,
    last_seq: Seq,
    pace: Pace,
    commits: u64,
    /// Counts the ledgers that were opened. Only the latest may write.
    life: u64,
    writer: Option<AbortHandle>,
}

/// One daemon's store.
pub struct Ledger {
    queue: mpsc::Sender<Waiting>,
    ended: oneshot::Receiver<()>,
    answers: mpsc::Sender<Observation>,
    clock: Arc<dyn Clock>,
}

/// A ledger that was opened, and what the disk held.
pub struct Reopened {
    /// Takes batches from now on.
    pub ledger: Ledger,
    /// The state as it was committed last, in the order of kind and ID.
    pub records: Vec<Record>,
    /// The last batch that was ever committed.
    pub last_seq: Seq,
}

impl Disk {
    /// An empty disk.
    pub fn new(pace: Pace) -> Self {
        let kept = Kept {
            state: BTreeMap::new(),
            history: VecDeque::new(),
            last_seq: Seq(0),
            pace,
            commits: 0,
            life: 0,
            writer: None,
        };
        Self { kept: Arc::new(Mutex::new(kept)), mood: watch::Sender::new(Mood::Well) }
    }

    /// Opens the disk, for the first time or again. A ledger that has it open is cut off, as at [`Disk::crash`].
    ///
    /// # Errors
    /// Where a record that was committed can't be decoded: a fault of the record's own type.
    pub fn open(
        &self,
        clock: Arc<dyn Clock>,
        tasks: &Tasks,
        answers: mpsc::Sender<Observation>,
    ) -> Result<Reopened, serde_json::Error> {
        self.crash();
        let (queue, waiting) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel();
        let mut kept = self.kept();
        let records =
            kept.state.values().map(|text| serde_json::from_str(text)).collect::<Result<_, _>>()?;
        let writer = LedgerWriter {
            disk: self.clone(),
            life: kept.life,
            clock: clock.clone(),
            mood: self.mood.subscribe(),
        };
        let work = tasks.spawn("ledger", async move {
            writer.write_until_closed(waiting).await;
            drop(end);
        });
        kept.writer = Some(work.abort_handle());
        let last_seq = kept.last_seq;
        Ok(Reopened { ledger: Ledger { queue, ended, answers, clock }, records, last_seq })
    }

    /// The process ends here and now: nothing that is not on the disk will be, and no further answer comes.
    pub fn crash(&self) {
        let mut kept = self.kept();
        kept.life += 1;
        if let Some(writer) = kept.writer.take() {
            writer.abort();
        }
    }

    /// From now on, also for the group that is being written.
    pub fn set_mood(&self, mood: Mood) {
        self.mood.send_replace(mood);
    }

    /// From the next group on.
    pub fn set_pace(&self, pace: Pace) {
        self.kept().pace = pace;
    }

    /// The last batch that was committed.
    pub fn last_seq(&self) -> Seq {
        self.kept().last_seq
    }

    /// How many groups were committed.
    pub fn commits(&self) -> u64 {
        self.kept().commits
    }

    /// The committed state, in the order of kind and ID.
    ///
    /// # Errors
    /// Where a record can't be decoded.
    pub fn state(&self) -> Result<Vec<Record>, serde_json::Error> {
        self.kept().state.values().map(|text| serde_json::from_str(text)).collect()
    }

    /// The committed history, oldest first.
    ///
    /// # Errors
    /// Where a record can't be decoded.
    pub fn history(&self) -> Result<Vec<(WallMs, Record)>, serde_json::Error> {
        let kept = self.kept();
        kept.history
            .iter()
            .map(|(wall, text)| serde_json::from_str(text).map(|record| (*wall, record)))
            .collect()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // No code that holds it can stop half-way: what a panicking thread left is whole.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Store for Ledger {
    fn submit(&mut self, seq: Seq, records: Vec<Record>) -> Result<(), NotTaken> {
        let waiting = Waiting::reserve(seq, records, self.clock.now().wall, &self.answers)?;
        self.queue.try_send(waiting).map_err(|refused| match refused {
            TrySendError::Full(_) => NotTaken::Busy,
            TrySendError::Closed(_) => NotTaken::Ended,
        })
    }

    fn close(self: Box<Self>) -> Pending<'static, ()> {
        let Ledger { queue, ended, .. } = *self;
        drop(queue);
        Box::pin(async move {
            // Only its end matters: nothing is ever sent.
            drop(ended.await);
        })
    }
}

struct LedgerWriter {
    disk: Disk,
    life: u64,
    clock: Arc<dyn Clock>,
    mood: watch::Receiver<Mood>,
}

impl LedgerWriter {
    async fn write_until_closed(mut self, mut waiting: mpsc::Receiver<Waiting>) {
        let mut group = Vec::new();
        while waiting.recv_many(&mut group, QUEUE).await > 0 {
            let pace = self.disk.kept().pace;
            self.wait(pace.write).await;
            let Some(written) = self.write(&group).await else { return };
            self.wait(pace.answer).await;
            if self.disk.kept().life != self.life {
                return;
            }
            let group = std::mem::take(&mut group);
            match written {
                Ok(()) => batch::committed(group),
                Err(reason) => batch::refused(group, reason),
            }
        }
    }

    async fn wait(&self, span: Duration) {
        if !span.is_zero() {
            self.clock.sleep_until(self.clock.now().awake + span).await;
        }
    }

    /// `None` where the disk is another's by now.
    async fn write(&mut self, group: &[Waiting]) -> Option<Result<(), String>> {
        loop {
            let mood = self.mood.borrow_and_update().clone();
            match mood {
                Mood::Hanging => self.mood.changed().await.ok()?,
                Mood::Refusing(reason) => return Some(Err(reason)),
                Mood::Well => {
                    let mut kept = self.disk.kept();
                    return (kept.life == self.life).then(|| kept.write(group));
                }
            }
        }
    }
}

impl Kept {
    /// All of `group` or nothing.
    fn write(&mut self, group: &[Waiting]) -> Result<(), String> {
        let records = || {
            group
                .iter()
                .flat_map(|waiting| waiting.records.iter().map(|record| (waiting.wall, record)))
        };
        let encoded = records()
            .map(|(_, record)| serde_json::to_string(record))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| format!("a record can't be written: {error}"))?;
        for ((wall, record), text) in records().zip(encoded) {
            match record.shelf() {
                Shelf::State(key) => {
                    self.state.insert(key, text);
                }
                Shelf::Removed(key) => {
                    self.state.remove(&key);
                }
                Shelf::AllRemoved => self.state.clear(),
                Shelf::History => self.history.push_back((wall, text)),
            }
        }
        let surplus = self.history.len().saturating_sub(HISTORY_ROWS);
        self.history.drain(..surplus);
        self.last_seq = group.iter().map(|waiting| waiting.seq).fold(self.last_seq, Seq::max);
        self.commits += 1;
        Ok(())
    }
}
