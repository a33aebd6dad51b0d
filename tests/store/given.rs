//! What the tests of this binary start from.

use defib::{
    clock::Clock,
    domain::{
        moment::{AwakeMs, BootId, BootMs, Moment, Stamp, WallMs},
        name::{Seq, SinkName},
        observation::Observation,
        record::{Decision, DecisionRecord, Record, Shelf, SinkRecord},
    },
    store::{
        problem::StoreProblem,
        sqlite::{ANSWERS, Opened, SqliteStore},
    },
    tasks::Pending,
};
use std::{
    io,
    path::Path,
    process::{Child, Command},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};
use tokio::sync::mpsc;

/// Always the same moment.
pub struct Still;

pub const WALL: WallMs = WallMs(1_790_000_000_000);

impl Clock for Still {
    fn now(&self) -> Moment {
        Moment { awake: AwakeMs(5_000), boot: BootMs(6_000), wall: WALL }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from("boot"))
    }

    fn sleep_until(&self, _until: AwakeMs) -> Pending<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A state record, told apart by `name` and `number`.
pub fn state(name: &str, number: u64) -> Record {
    let sink = SinkName::new(format!("{name}/{number}"));
    Record::Sink(SinkRecord { sink, proven: true, definition: 0 })
}

/// A record that removes `state`.
pub fn removed(state: &Record) -> Record {
    match state.shelf() {
        Shelf::State(key) => Record::Forgotten(key),
        Shelf::Removed(_) | Shelf::AllRemoved | Shelf::History => panic!("not a state record"),
    }
}

/// A history record, told apart by `reason`.
pub fn history(reason: impl Into<String>) -> Record {
    Record::Decided(Box::new(DecisionRecord {
        at: Stamp { boot_id: BootId(Arc::from("boot")), moment: Still.now() },
        service: None,
        replica: None,
        decision: Decision::BrakeReleased(reason.into()),
    }))
}

/// The reasons of history records.
pub fn reasons(records: &[(WallMs, Record)]) -> Vec<String> {
    records
        .iter()
        .map(|(_, record)| match record {
            Record::Decided(decided) => match &decided.decision {
                Decision::BrakeReleased(reason) => reason.clone(),
                other => panic!("not made here: {other:?}"),
            },
            other => panic!("not a history record: {other:?}"),
        })
        .collect()
}

pub type Answers = mpsc::Receiver<Observation>;

/// Until a process that is being started has become what it is to be, it holds copies of all that this one has open, and so of
/// locks that a test has just given back: nothing is opened meanwhile.
static STARTING: RwLock<()> = RwLock::new(());

/// Starts a process.
pub fn start(command: &mut Command) -> io::Result<Child> {
    let _starting = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    command.spawn()
}

pub fn open(dir: &Path) -> Result<(Opened, Answers), StoreProblem> {
    let _nobody_starts = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let (answers, read) = mpsc::channel(ANSWERS);
    SqliteStore::open(dir, Arc::new(Still), answers).map(|opened| (opened, read))
}

pub fn open_inline(dir: &Path) -> Result<(Opened, Answers), StoreProblem> {
    let _nobody_starts = STARTING.read().unwrap_or_else(PoisonError::into_inner);
    let (answers, read) = mpsc::channel(ANSWERS);
    SqliteStore::open_inline(dir, Arc::new(Still), answers).map(|opened| (opened, read))
}

/// The next answer, within a deadline that only a broken store reaches.
pub async fn answer(answers: &mut Answers) -> Observation {
    tokio::time::timeout(Duration::from_secs(20), answers.recv())
        .await
        .expect("the store answers")
        .expect("the store is there")
}

/// Reads answers until one that is about `seq` or later.
pub async fn answers_up_to(answers: &mut Answers, seq: Seq) -> Vec<Observation> {
    let mut read = Vec::new();
    loop {
        let next = answer(answers).await;
        let about = match &next {
            Observation::Committed(seq) | Observation::Refused { seq, .. } => *seq,
            other => panic!("not an answer of a store: {other:?}"),
        };
        read.push(next);
        if about >= seq {
            return read;
        }
    }
}

/// Whether the tests run as root, which file modes do not stop.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
