//! What goes wrong on the wire, and what was asked. Set while the engine runs; each takes effect with the next request.

use crate::domain::name::ContainerId;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Different paths that are counted; further ones are not.
const COUNTED_PATHS: usize = 4096;

/// Something wrong on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireFault {
    /// List and inspect show this word for this container's state.
    StateWord {
        /// Which container.
        container: ContainerId,
        /// A word that no engine has said before.
        word: String,
    },
    /// Before each event comes one of a type that nobody knows.
    UnknownEventType,
    /// An endpoint misbehaves.
    At(WireEndpoint, Misbehaviour),
}

/// Which requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WireEndpoint {
    /// All of them.
    Any,
    /// `/version` and `/_ping`.
    Version,
    /// `/containers/json`, with and without filters.
    List,
    /// Inspecting this container.
    Inspect(ContainerId),
    /// Start, stop, restart, kill of any container.
    Act,
    /// `/events`.
    Events,
}

/// What becomes of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misbehaviour {
    /// None comes.
    Silent,
    /// 403, as a socket proxy says it. Nothing reaches the engine.
    Denied,
    /// 500 with this message. Nothing reaches the engine.
    Fails(String),
    /// A page of somebody else's in place of JSON.
    Garbled,
    /// Head and half of the body, then nothing more.
    StalledBody,
    /// Head and half of the body, then blanks without end.
    EndlessBody,
    /// Head and half of the body, then the connection ends.
    CutBody,
}

/// How often a path was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCount {
    /// In all.
    pub asked: u64,
    /// Without an answer yet. An answer counts as given with its head.
    pub waiting: u64,
    /// The most that ever waited at once.
    pub most_waiting: u64,
}

/// The faults of one served engine, and its counts.
#[derive(Debug, Default)]
pub struct WireFaults {
    faults: Mutex<Arc<[WireFault]>>,
    counts: Mutex<BTreeMap<String, WireCount>>,
}

impl WireFaults {
    /// These faults from now on, in place of those before.
    pub fn set(&self, faults: Vec<WireFault>) {
        *self.faults.lock().unwrap_or_else(PoisonError::into_inner) = faults.into();
    }

    /// How often `method path` was asked for, without version prefix and query: `GET /containers/json`.
    pub fn count(&self, request: &str) -> WireCount {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(request).copied().unwrap_or_default()
    }

    pub(super) fn current(&self) -> Arc<[WireFault]> {
        Arc::clone(&self.faults.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn misbehaviour(&self, endpoint: &WireEndpoint) -> Option<Misbehaviour> {
        self.current().iter().find_map(|fault| match fault {
            WireFault::At(at, misbehaviour) if at == endpoint || *at == WireEndpoint::Any => {
                Some(misbehaviour.clone())
            }
            WireFault::At(..) | WireFault::StateWord { .. } | WireFault::UnknownEventType => None,
        })
    }

    pub(super) fn state_word(&self, container: &ContainerId) -> Option<String> {
        self.current().iter().find_map(|fault| match fault {
            WireFault::StateWord { container: of, word } if of == container => Some(word.clone()),
            WireFault::StateWord { .. } | WireFault::At(..) | WireFault::UnknownEventType => None,
        })
    }

    pub(super) fn unknown_event_type(&self) -> bool {
        self.current().contains(&WireFault::UnknownEventType)
    }

    /// Counts a request until the returned guard is dropped.
    pub(super) fn begin(&self, request: String) -> Waiting<'_> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() < COUNTED_PATHS || counts.contains_key(&request) {
            let count = counts.entry(request.clone()).or_default();
            count.asked += 1;
            count.waiting += 1;
            count.most_waiting = count.most_waiting.max(count.waiting);
        }
        Waiting { faults: self, request }
    }
}

pub(super) struct Waiting<'a> {
    faults: &'a WireFaults,
    request: String,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut counts = self.faults.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.request) {
            count.waiting = count.waiting.saturating_sub(1);
        }
    }
}
