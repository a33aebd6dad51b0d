//! The simulated store: what it keeps over crashes, whatever happened before.

use crate::given::{history, removed, state};
use defib::{
    clock::Clock,
    domain::{
        moment::{AwakeMs, BootId, BootMs, Moment, WallMs},
        name::Seq,
        observation::Observation,
        record::{Record, RecordKey, Shelf},
    },
    store::{
        ledger::{Disk, Ledger, Mood, Pace, Reopened},
        port::{NotTaken, Store},
    },
    tasks::{Pending, Tasks},
};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::{runtime, sync::mpsc, time::Instant};

/// The runtime's paused clock.
struct Virtual(Instant);

#[allow(clippy::disallowed_methods, reason = "this is the tests' clock")]
fn now() -> Instant {
    Instant::now()
}

impl Clock for Virtual {
    fn now(&self) -> Moment {
        let ms = (now() - self.0).as_millis() as u64;
        Moment { awake: AwakeMs(ms), boot: BootMs(ms), wall: WallMs(ms as i64) }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from("boot"))
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        Box::pin(tokio::time::sleep_until(self.0 + Duration::from_millis(until.0)))
    }
}

fn paused<T>(work: impl Future<Output = T>) -> T {
    let mut builder = runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap().block_on(work)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn open(disk: &Disk) -> (Reopened, mpsc::Receiver<Observation>) {
    let (answers, read) = mpsc::channel(256);
    let tasks = Tasks::on(runtime::Handle::current());
    (disk.open(Arc::new(Virtual(now())), &tasks, answers).unwrap(), read)
}

fn drain(answers: &mut mpsc::Receiver<Observation>) -> Vec<Observation> {
    std::iter::from_fn(|| answers.try_recv().ok()).collect()
}

const PACE: Pace = Pace { write: Duration::from_millis(8), answer: Duration::from_millis(4) };

#[test]
fn a_crash_before_the_write_keeps_nothing_after_it_keeps_what_nobody_was_told_of() {
    paused(async {
        let disk = Disk::new(PACE);
        let (mut opened, mut answers) = open(&disk);
        opened.ledger.submit(Seq(1), vec![state("slack", 1)]).unwrap();
        tokio::time::sleep(ms(7)).await;
        disk.crash();
        tokio::time::sleep(ms(100)).await;
        assert_eq!(drain(&mut answers), []);

        let (mut opened, mut answers) = open(&disk);
        assert_eq!((opened.records, opened.last_seq), (vec![], Seq(0)));
        opened.ledger.submit(Seq(1), vec![state("slack", 1)]).unwrap();
        tokio::time::sleep(ms(9)).await;
        disk.crash();
        tokio::time::sleep(ms(100)).await;
        assert_eq!(drain(&mut answers), []);

        let (opened, _answers) = open(&disk);
        assert_eq!((opened.records, opened.last_seq), (vec![state("slack", 1)], Seq(1)));
    });
}

#[test]
fn one_group_at_a_time_and_one_answer_for_each() {
    paused(async {
        let disk = Disk::new(PACE);
        let (mut opened, mut answers) = open(&disk);
        opened.ledger.submit(Seq(1), vec![history("1")]).unwrap();
        tokio::time::sleep(ms(1)).await;
        for n in 2..=9 {
            opened.ledger.submit(Seq(n), vec![history(n.to_string())]).unwrap();
        }
        tokio::time::sleep(ms(12)).await;
        assert_eq!(drain(&mut answers), [Observation::Committed(Seq(1))]);
        tokio::time::sleep(ms(12)).await;
        assert_eq!(drain(&mut answers), [Observation::Committed(Seq(9))]);
        assert_eq!((disk.commits(), disk.history().unwrap().len()), (2, 9));
        Box::new(opened.ledger).close().await;
    });
}

#[test]
fn a_disk_that_refuses_answers_so_and_one_that_hangs_does_not_answer() {
    paused(async {
        let disk = Disk::new(PACE);
        let (mut opened, mut answers) = open(&disk);
        disk.set_mood(Mood::Refusing("full".to_owned()));
        opened.ledger.submit(Seq(1), vec![state("slack", 1)]).unwrap();
        tokio::time::sleep(ms(20)).await;
        let refused = Observation::Refused { seq: Seq(1), reason: "full".to_owned() };
        assert_eq!(drain(&mut answers), [refused]);

        disk.set_mood(Mood::Hanging);
        opened.ledger.submit(Seq(2), vec![state("slack", 2)]).unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(drain(&mut answers), []);
        let busy =
            (3..).map(Seq).find(|seq| opened.ledger.submit(*seq, vec![]) == Err(NotTaken::Busy));
        assert_eq!(busy, Some(Seq(3 + 64)));

        disk.set_mood(Mood::Well);
        tokio::time::sleep(ms(100)).await;
        let (first, last) = (Observation::Committed(Seq(2)), Observation::Committed(Seq(66)));
        assert_eq!(drain(&mut answers), [first, last]);
        assert_eq!(disk.state().unwrap(), [state("slack", 2)]);
    });
}

#[test]
fn closing_writes_what_was_submitted() {
    paused(async {
        let disk = Disk::new(PACE);
        let (mut opened, answers) = open(&disk);
        drop(answers);
        opened.ledger.submit(Seq(4), vec![state("slack", 1)]).unwrap();
        Box::new(opened.ledger).close().await;
        assert_eq!((disk.state().unwrap(), disk.last_seq()), (vec![state("slack", 1)], Seq(4)));
    });
}

#[derive(Clone, Debug)]
enum Step {
    Submit(Vec<(u8, u64)>),
    Wait(u64),
    Mood(u8),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => prop::collection::vec((0..3_u8, 0..4_u64), 0..4).prop_map(Step::Submit),
        4 => (0..30_u64).prop_map(Step::Wait),
        1 => (0..3_u8).prop_map(Step::Mood),
        1 => Just(Step::Crash),
    ]
}

/// What a store should hold after some batches: the state, and the history's reasons.
type Model = (BTreeMap<RecordKey, Record>, Vec<Record>);

fn apply(model: &mut Model, records: &[Record]) {
    for record in records {
        match record.shelf() {
            Shelf::State(key) => drop(model.0.insert(key, record.clone())),
            Shelf::Removed(key) => drop(model.0.remove(&key)),
            Shelf::AllRemoved => model.0.clear(),
            Shelf::History => model.1.push(record.clone()),
        }
    }
}

fn record((kind, id): &(u8, u64), seq: u64) -> Record {
    match kind {
        0 => state("slack", *id),
        1 => removed(&state("slack", *id)),
        _ => history(format!("{seq}/{id}")),
    }
}

/// Runs the steps against a ledger, and returns every answer, for comparing two runs.
async fn run(steps: &[Step]) -> Result<Vec<Observation>, TestCaseError> {
    let disk = Disk::new(PACE);
    let (opened, mut answers) = open(&disk);
    let mut ledger: Ledger = opened.ledger;
    let (mut seq, mut transcript) = (0, Vec::new());
    // Batches of this life that were neither answered nor given up, oldest first; and what is surely on the disk.
    let mut waiting: Vec<(u64, Vec<Record>)> = Vec::new();
    let mut sure: Model = Model::default();
    for step in steps.iter().chain([&Step::Mood(0), &Step::Wait(1_000), &Step::Crash]) {
        match step {
            Step::Submit(records) => {
                seq += 1;
                let records: Vec<_> = records.iter().map(|one| record(one, seq)).collect();
                if ledger.submit(Seq(seq), records.clone()).is_ok() {
                    waiting.push((seq, records));
                }
            }
            Step::Wait(span) => tokio::time::sleep(ms(*span)).await,
            Step::Mood(0) => disk.set_mood(Mood::Well),
            Step::Mood(1) => disk.set_mood(Mood::Hanging),
            Step::Mood(_) => disk.set_mood(Mood::Refusing("no".to_owned())),
            Step::Crash => disk.crash(),
        }
        for answer in drain(&mut answers) {
            transcript.push(answer.clone());
            let (about, committed) = match answer {
                Observation::Committed(about) => (about.0, true),
                Observation::Refused { seq: about, .. } => (about.0, false),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(waiting.iter().filter(|(seq, _)| *seq == about).count(), 1);
            let answered = waiting.iter().position(|(seq, _)| *seq == about).unwrap() + 1;
            for (_, records) in waiting.drain(..answered) {
                if committed {
                    apply(&mut sure, &records);
                }
            }
        }
        if matches!(step, Step::Crash) {
            // What is there: what was answered, and perhaps the next of what was not, in order and by whole batches.
            let state: Vec<Record> = disk.state().unwrap();
            let told: Vec<Record> = disk.history().unwrap().into_iter().map(|(_, r)| r).collect();
            let holds =
                |model: &Model| model.0.values().eq(state.iter()) && model.1.iter().eq(told.iter());
            let mut candidate = sure.clone();
            let mut found = holds(&candidate).then(|| candidate.clone());
            for (_, records) in &waiting {
                apply(&mut candidate, records);
                found = found.or_else(|| holds(&candidate).then(|| candidate.clone()));
            }
            prop_assert!(found.is_some(), "{state:?} after {sure:?} and {waiting:?}");
            sure = found.unwrap_or_default();
            waiting.clear();
            let (opened, read) = open(&disk);
            prop_assert_eq!(opened.records, state);
            ledger = opened.ledger;
            answers = read;
            seq = seq.max(opened.last_seq.0);
        }
    }
    Ok(transcript)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn over_any_crashes_it_keeps_whole_batches_in_order_and_all_that_was_answered(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let first = paused(run(&steps))?;
        let second = paused(run(&steps))?;
        prop_assert_eq!(first, second, "the same steps give the same answers");
    }
}
