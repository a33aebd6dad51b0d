//! The journal as the loop sees it: one call that never blocks.
//!
//! A thread of its own writes, as for the store and for the same reason. Where it does not keep up, entries are dropped
//! and counted, and the journal itself says how many are missing where. A disk that refuses is left alone for a while.

use super::{
    coalesce::Coalescer,
    entry::{Entry, Origin},
    segment::{self, Bounds, LINE_BYTES, Segments},
};
use crate::{
    domain::{
        moment::{AwakeMs, Moment, Spoken},
        observation::Observation,
    },
    tasks,
    tasks::Pending,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    time::Duration,
};
use tokio::sync::oneshot;

/// Observations that may wait for the disk: two turns of the loop at their largest.
const QUEUE: usize = 512;

/// What one observation gave to write. It takes one place in the queue however much that is, so that what is told of runs
/// costs no observation its place.
type Piece = Vec<Entry>;

/// After a refusal the disk is left alone for this long, in the time of the entries.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// Takes observations. Dropping it ends the thread as [`Journal::close`] does, without waiting.
pub struct Journal {
    queue: SyncSender<Piece>,
    /// For what is held back at the end. Beside the queue, which may be full then.
    rest: oneshot::Sender<Piece>,
    coalescer: Coalescer,
    missing: Missing,
    ended: oneshot::Receiver<()>,
}

/// Entries that are not in the journal: the disk did not keep up or refused, or the entry was too large. Counted on both
/// sides of the queue.
#[derive(Clone, Default)]
struct Missing(Arc<AtomicU64>);

impl Missing {
    fn one_more(&self) {
        self.more(1);
    }

    fn more(&self, entries: usize) {
        self.0.fetch_add(u64::try_from(entries).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Journal {
    /// Begins a journal in `dir`, which is made where it is missing; whatever is wrong with it is counted and logged, and
    /// tried again. Segments of earlier lives are kept within the bounds.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub fn begin(dir: &Path, origin: Origin, bounds: Bounds) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE);
        let (rest, last) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let missing = Missing::default();
        let mut writer = Writer::new(dir, origin, bounds, missing.clone());
        tasks::thread("journal", move || {
            writer.write_until_closed(&waiting, last);
            drop(end);
        })?;
        Ok(Self { queue, rest, coalescer: Coalescer::default(), missing, ended })
    }

    /// Notes that this was observed. Returns at once.
    pub fn note(&mut self, at: Moment, observation: &Observation) {
        let piece = self.coalescer.take(at, observation);
        if piece.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(piece) | TrySendError::Disconnected(piece)) =
            self.queue.try_send(piece)
        {
            self.missing.more(piece.len());
        }
    }

    /// Writes what is still held back, and ends. The caller bounds the wait.
    pub fn close(self) -> Pending<'static, ()> {
        let Self { queue, rest, mut coalescer, ended, .. } = self;
        // Nobody takes it where the thread has ended before, and then nothing can be written.
        drop(rest.send(coalescer.flush()));
        drop(queue);
        Box::pin(async move {
            // Only its end matters: nothing is ever sent.
            drop(ended.await);
        })
    }
}

struct Writer {
    segments: Segments,
    dir: PathBuf,
    missing: Missing,
    /// How many of the missing the journal has told of.
    missing_said: u64,
    left_alone_until: AwakeMs,
    /// The last refusal's text, so that the same is logged once.
    said: Option<String>,
}

impl Writer {
    fn new(dir: &Path, origin: Origin, bounds: Bounds, missing: Missing) -> Self {
        Self {
            segments: Segments::new(dir.to_owned(), bounds, origin),
            dir: dir.to_owned(),
            missing,
            missing_said: 0,
            left_alone_until: AwakeMs(0),
            said: None,
        }
    }

    fn write_until_closed(
        &mut self,
        waiting: &Receiver<Piece>,
        mut rest: oneshot::Receiver<Piece>,
    ) {
        while let Ok(piece) = waiting.recv() {
            piece.iter().for_each(|entry| self.write(entry));
        }
        // It was handed over before the queue was closed, or never is.
        rest.try_recv().unwrap_or_default().iter().for_each(|entry| self.write(entry));
        self.say_what_is_missing();
    }

    fn write(&mut self, entry: &Entry) {
        let now = entry.at().map_or(AwakeMs(0), |at| at.awake);
        if now < self.left_alone_until {
            self.missing.one_more();
            return;
        }
        self.say_what_is_missing();
        match segment::line(entry) {
            Ok(line) if line.len() <= LINE_BYTES => {
                if !self.append(&line) {
                    self.missing.one_more();
                    self.left_alone_until = now + LEFT_ALONE;
                }
            }
            Ok(line) => {
                tracing::warn!(
                    bytes = line.len(),
                    "an observation is too large for the journal; left out"
                );
                self.missing.one_more();
            }
            Err(error) => {
                tracing::warn!(%error, "an observation can't be encoded for the journal; left out");
                self.missing.one_more();
            }
        }
    }

    fn say_what_is_missing(&mut self) {
        let missing = self.missing.so_far();
        let count = missing - self.missing_said;
        if count > 0
            && let Ok(line) = segment::line(&Entry::Lost { count })
            && self.append(&line)
        {
            self.missing_said = missing;
        }
    }

    fn append(&mut self, line: &[u8]) -> bool {
        match self.segments.append(line) {
            Ok(()) => {
                if self.said.take().is_some() {
                    tracing::info!(dir = %self.dir.display(), "the journal is written again");
                }
                true
            }
            Err(error) => {
                let text = error.to_string();
                if self.said.as_ref() != Some(&text) {
                    tracing::warn!(
                        dir = %self.dir.display(),
                        error = text,
                        "the journal can't be written; trying again in {}, what is observed until then is missing in it",
                        Spoken(LEFT_ALONE)
                    );
                    self.said = Some(text);
                }
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{
            moment::{BootId, BootMs, WallMs},
            name::{HostName, ProbeName, ReplicaName, ServiceName},
            observation::{Phases, ProbeOutcome, Sample, Target},
        },
        journal::reader::Reader,
    };
    use std::fs;

    fn at(ms: u64) -> Moment {
        Moment { awake: AwakeMs(ms), boot: BootMs(ms), wall: WallMs(ms as i64) }
    }

    #[test]
    fn a_directory_that_cannot_be_made_costs_entries_that_are_counted_and_told_of_later() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("journal");
        fs::write(&dir, "in the way").unwrap();
        let origin = Origin {
            host: HostName::new("db-1"),
            boot_id: BootId(Arc::from("boot")),
            started: at(0),
        };
        let mut writer = Writer::new(&dir, origin, Bounds::default(), Missing::default());
        let seen = |ms| Entry::Seen { at: at(ms), observation: Observation::HoldFile(true) };
        writer.write(&seen(1_000));
        writer.write(&seen(2_000));
        fs::remove_file(&dir).unwrap();
        writer.write(&seen(3_000));
        writer.write(&seen(6_000));
        let read: Result<Vec<_>, _> =
            Reader::of(&dir).unwrap().map(|one| one.map(|(_, entry)| entry)).collect();
        let [Entry::Began(_), rest @ ..] = read.as_deref().unwrap() else { panic!("{read:?}") };
        assert_eq!(rest, [Entry::Lost { count: 3 }, seen(6_000)], "left alone for 5 s");
    }

    /// A journal whose disk takes nothing until it is asked to.
    fn without_a_thread() -> (Journal, Receiver<Piece>, oneshot::Receiver<Piece>) {
        let (queue, waiting) = sync_channel(QUEUE);
        let (rest, last) = oneshot::channel();
        let (_, ended) = oneshot::channel();
        let (coalescer, missing) = (Coalescer::default(), Missing::default());
        (Journal { queue, rest, coalescer, missing, ended }, waiting, last)
    }

    fn sampled(target: usize, outcome: ProbeOutcome) -> Observation {
        Observation::Sampled(Sample {
            target: Target {
                replica: ReplicaName::new(format!("web-{target}")),
                probe: ProbeName::new("up"),
            },
            service: ServiceName::new("web"),
            instance: None,
            outcome,
            phases: Phases::default(),
            address: None,
            lag: Duration::ZERO,
            skipped: 0,
        })
    }

    fn pass(target: usize) -> Observation {
        sampled(target, ProbeOutcome::Ok { status: None })
    }

    /// A journal in which so many targets have passed for so long that their runs are due, and whose queue is empty.
    fn with_due_runs(targets: usize) -> (Journal, Receiver<Piece>, oneshot::Receiver<Piece>) {
        let (mut journal, waiting, last) = without_a_thread();
        for ms in (0..340_000).step_by(10_000) {
            for target in 0..targets {
                journal.note(at(ms), &pass(target));
                waiting.try_iter().for_each(drop);
            }
        }
        assert_eq!(journal.missing.so_far(), 0);
        (journal, waiting, last)
    }

    #[test]
    fn ten_thousand_runs_that_fall_due_together_cost_no_failing_sample() {
        const TARGETS: usize = 10_000;
        let (mut journal, waiting, _last) = with_due_runs(TARGETS);
        // Meanwhile the disk takes nothing at all.
        for target in 0..TARGETS {
            let seen = if target % 100 == 0 {
                sampled(target, ProbeOutcome::Refused)
            } else {
                pass(target)
            };
            journal.note(at(360_000), &seen);
        }
        let entries: Vec<Entry> = waiting.try_iter().flatten().collect();
        let told = entries.iter().filter(|entry| matches!(entry, Entry::Repeated { .. })).count();
        assert_eq!((told, entries.len() - told), (TARGETS, TARGETS / 100));
        assert_eq!(journal.missing.so_far(), 0);
    }

    #[test]
    fn what_is_held_back_at_the_end_needs_no_place_in_the_queue() {
        let (mut journal, _waiting, mut last) = with_due_runs(1_000);
        for _ in 0..=QUEUE {
            journal.note(at(340_000), &Observation::Woke);
        }
        let missing = journal.missing.clone();
        assert_eq!(missing.so_far(), 1, "the queue is full");
        drop(journal.close());
        assert_eq!((last.try_recv().unwrap().len(), missing.so_far()), (1_000, 1));
    }
}
