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
        moment::{AwakeMs, Moment},
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
    missing: Missing,
    ended: oneshot::Receiver<()>,
}

/// Entries that are not in the journal: the disk did not keep up or refused, or the entry was too large. Counted on both
/// sides of the queue.
#[derive(Clone, Default)]
struct Missing(Arc<AtomicU64>);

impl Missing {
    fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
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
        let (end, ended) = oneshot::channel();
        let missing = Missing::default();
        let mut writer = Writer::new(dir, origin, bounds, missing.clone());
        tasks::thread("journal", move || {
            writer.write_until_closed(&waiting);
            drop(end);
        })?;
        Ok(Self { queue, coalescer: Coalescer::default(), missing, ended })
    }

    /// Notes that this was observed. Returns at once.
    pub fn note(&mut self, at: Moment, observation: &Observation) {
        for entry in self.coalescer.take(at, observation) {
            self.send(entry);
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
            self.missing.one_more();
        }
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

    fn write_until_closed(&mut self, waiting: &Receiver<Entry>) {
        while let Ok(entry) = waiting.recv() {
            self.write(&entry);
        }
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
                        "the journal can't be written; trying again in 5 s, replays will have a gap"
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
            name::HostName,
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
}
