//! The engine's event history. The engine replays at most its last 256 events, healthcheck execs included, which is why a
//! busy host forgets within seconds; a reader that falls 1,024 behind is dropped. Both bounds are the engine's own.

use super::truth::WorldTime;
use crate::domain::{
    moment::EngineMs,
    name::ContainerId,
    observation::{EngineEvent, EventAction},
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
};

/// What `since` can replay.
const REPLAYED: usize = 256;
/// How far a reader may fall behind.
const BUFFERED: usize = 1024;

/// One event, as the engine sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldEvent {
    /// Its place in the order of all events of this engine.
    pub seq: u64,
    /// When, in true elapsed time.
    pub at: WorldTime,
    /// When, by the engine's clock.
    pub stamp: EngineMs,
    /// Which container.
    pub container: ContainerId,
    /// Its name, without the leading slash.
    pub name: String,
    /// Its image.
    pub image: String,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// What.
    pub action: WorldAction,
}

/// What an event is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorldAction {
    /// What defib reads.
    Told(EventAction),
    /// Given another name; the old one is told, with its slash.
    Renamed {
        /// The old name, without the slash.
        old_name: String,
    },
    /// A healthcheck's exec was made.
    ExecCreated,
    /// It was started.
    ExecStarted,
    /// It ended.
    ExecDied {
        /// Its exit code.
        exit_code: i64,
    },
}

impl WorldEvent {
    /// As the typed port gives it; `None` for execs, which are filtered out.
    pub fn typed(&self) -> Option<EngineEvent> {
        let action = match &self.action {
            WorldAction::Told(action) => action.clone(),
            WorldAction::Renamed { .. } => EventAction::Renamed,
            WorldAction::ExecCreated | WorldAction::ExecStarted | WorldAction::ExecDied { .. } => {
                return None;
            }
        };
        Some(EngineEvent {
            container: self.container.clone(),
            name: Some(self.name.clone()),
            action,
            at: self.stamp,
        })
    }

    /// Nanoseconds since the epoch by the engine's clock, growing also within one millisecond.
    pub fn nanos(&self) -> i64 {
        let within = i64::try_from(self.seq % 1_000_000).unwrap_or(0);
        self.stamp.0.saturating_mul(1_000_000).saturating_add(within)
    }
}

/// Where a reader of events stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventCursor {
    pub(super) next: u64,
    pub(super) engine_run: u64,
}

/// The reader's place is gone: the engine was restarted, or it fell too far behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CursorLost;

#[derive(Debug, Default)]
pub(super) struct History {
    events: VecDeque<WorldEvent>,
    next: u64,
    engine_run: u64,
}

impl History {
    pub(super) fn next_seq(&self) -> u64 {
        self.next
    }

    pub(super) fn push(&mut self, event: WorldEvent) {
        self.next = event.seq + 1;
        if self.events.len() == BUFFERED {
            self.events.pop_front();
        }
        self.events.push_back(event);
    }

    /// A restarted engine knows nothing of before.
    pub(super) fn forget(&mut self) {
        self.events.clear();
        self.engine_run += 1;
    }

    /// From now on, or from the first event that is replayed for `since`.
    pub(super) fn open(&self, since: Option<EngineMs>) -> EventCursor {
        let replayed = since.and_then(|since| {
            let mut replayed = None;
            for event in self.events.iter().rev().take(REPLAYED) {
                if event.stamp < since {
                    break;
                }
                replayed = Some(event.seq);
            }
            replayed
        });
        EventCursor { next: replayed.unwrap_or(self.next), engine_run: self.engine_run }
    }

    /// The event at the cursor, which moves on.
    pub(super) fn read(&self, cursor: &mut EventCursor) -> Result<Option<WorldEvent>, CursorLost> {
        let first = self.events.front().map_or(self.next, |event| event.seq);
        if cursor.engine_run != self.engine_run || cursor.next < first {
            return Err(CursorLost);
        }
        let place = usize::try_from(cursor.next - first).unwrap_or(usize::MAX);
        let event = self.events.get(place).cloned();
        if event.is_some() {
            cursor.next += 1;
        }
        Ok(event)
    }
}
