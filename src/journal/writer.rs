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
    docker::port::Pending,
    domain::{
        moment::{AwakeMs, Moment},
        observation::Observation,
    },
    tasks,
};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    time::Duration,
};
use tokio::sync::oneshot;

/// Entries that may wait for the disk: two turns of the loop at their largest.
const QUEUE: usize = 512;

/// After a refusal the disk is left alone for this long, in the time of the entries.
const LEFT_ALONE: Duration = Duration::from_secs(5);

/// Takes observations. Dropping it ends the thread as [`Journal::close`] does, without waiting.
pub struct Journal {
    queue: SyncSender<Entry>,
    coalescer: Coalescer,
    counters: Arc<Counters>,
    ended: oneshot::Receiver<()>,
}

/// What became of entries so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Written.
    pub written: u64,
    /// Dropped, because the disk did not keep up or the entry was too large.
    pub dropped: u64,
    /// Lost, because the disk refused.
    pub refused: u64,
}

#[derive(Default)]
struct Counters {
    written: AtomicU64,
    dropped: AtomicU64,
    refused: AtomicU64,
}

impl Journal {
    /// Begins a journal in `dir`, which is made where it is missing; whatever is wrong with it is counted and logged, and
    /// tried again. Segments of earlier lives are kept within the bounds.
    ///
    /// # Errors
    /// Where the thread cannot be started.
    pub fn begin(dir: &Path, origin: Origin, bounds: Bounds) -> io::Result<Self> {
        let (queue, waiting) = sync_channel(QUEUE);
        let (end, ended) = oneshot::channel();
        let counters = Arc::new(Counters::default());
        let mut writer = Writer {
            segments: Segments::new(dir.to_owned(), bounds, origin),
            dir: dir.to_owned(),
            counters: counters.clone(),
            missing_said: 0,
            left_alone_until: AwakeMs(0),
            said: None,
        };
        tasks::thread("journal", move || {
            writer.write_until_closed(&waiting);
            drop(end);
        })?;
        Ok(Self { queue, coalescer: Coalescer::default(), counters, ended })
    }

    /// Notes that this was observed. Returns at once.
    pub fn note(&mut self, at: Moment, observation: &Observation) {
        for entry in self.coalescer.take(at, observation) {
            self.send(entry);
        }
    }

    /// What became of entries so far, for metrics and `status`.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            written: read(&self.counters.written),
            dropped: read(&self.counters.dropped),
            refused: read(&self.counters.refused),
        }
    }

    /// Writes what is still held back, and ends. The caller bounds the wait.
    pub fn close(mut self) -> Pending<'static, ()> {
        for entry in self.coalescer.flush() {
            self.send(entry);
        }
        let Self { queue, ended, .. } = self;
        drop(queue);
        Box::pin(async move {
            // Only its end matters: nothing is ever sent.
            drop(ended.await);
        })
    }

    fn send(&mut self, entry: Entry) {
        if self.queue.try_send(entry).is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

struct Writer {
    segments: Segments,
    dir: PathBuf,
    counters: Arc<Counters>,
    /// How many of the missing the journal has told of.
    missing_said: u64,
    left_alone_until: AwakeMs,
    /// The last refusal's text, so that the same is logged once.
    said: Option<String>,
}

impl Writer {
    fn write_until_closed(&mut self, waiting: &Receiver<Entry>) {
        while let Ok(entry) = waiting.recv() {
            self.write(&entry);
        }
        self.say_what_is_missing();
    }

    fn write(&mut self, entry: &Entry) {
        let now = entry.at().map_or(AwakeMs(0), |at| at.awake);
        if now < self.left_alone_until {
            self.counters.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.say_what_is_missing();
        match segment::line(entry) {
            Ok(line) if line.len() <= LINE_BYTES => {
                if self.append(&line) {
                    self.counters.written.fetch_add(1, Ordering::Relaxed);
                } else {
                    self.counters.refused.fetch_add(1, Ordering::Relaxed);
                    self.left_alone_until = now + LEFT_ALONE;
                }
            }
            Ok(line) => {
                tracing::warn!(
                    bytes = line.len(),
                    "an observation is too large for the journal; left out"
                );
                self.counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                tracing::warn!(%error, "an observation can't be encoded for the journal; left out");
                self.counters.dropped.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn say_what_is_missing(&mut self) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let missing = read(&self.counters.dropped) + read(&self.counters.refused);
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
                        "the journal can't be written; trying again in 5 s, replays will have a gap"
                    );
                    self.said = Some(text);
                }
                false
            }
        }
    }
}
