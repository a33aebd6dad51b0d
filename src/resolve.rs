//! Turning names into addresses, within bounds.
//!
//! `getaddrinfo` blocks, obeys its own timeouts (tens of seconds) and cannot be cancelled. So each lookup runs on a thread
//! of its own (`threads`), and what is bounded is how many of those may exist: probes and sinks each have a lane, so that
//! thirty targets behind a dead resolver never keep a page from leaving. A caller waits only as long as it says; its lookup
//! goes on without it, and keeps its place in the lane until the system lets go of it.
//!
//! The last good addresses of each name that a sink asked for are kept, so that a page can leave while DNS is down (P4). Probes
//! do not use them: for a probe, a name that no longer resolves is something to report. Their names are not kept either,
//! because hundreds of them would push out the sinks'. Nothing is cached otherwise, nothing is retried.

use crate::threads::{Threads, Unanswered};
use std::{
    collections::BTreeMap,
    fmt, io,
    net::{IpAddr, ToSocketAddrs},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// Threads for probes at a time. More names than this that hang at once wait for each other, and say so as `dns`.
const PROBE_THREADS: usize = 16;
/// Threads for sinks at a time: there are few sinks, and each has a thread to itself.
const SINK_THREADS: usize = 8;
/// Names of sinks whose last good addresses are kept. Hundreds fit; what is past it is forgotten, oldest first.
const KEPT_NAMES: usize = 512;
/// Addresses taken from one answer. Nobody tries more within a deadline of seconds.
const KEPT_ADDRESSES: usize = 16;

/// Who asks. Lanes do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Probes of URLs.
    Probes,
    /// Delivery of messages.
    Sinks,
}

/// Why a name has no addresses. Never evidence against whoever stands behind the name (S5).
#[derive(Clone, Debug)]
pub enum ResolveFailure {
    /// The resolver answered with an error.
    Failed {
        /// Which name.
        name: Arc<str>,
        /// What the resolver said.
        source: Arc<io::Error>,
    },
    /// The resolver knows the name, and no address for it.
    NoAddress {
        /// Which name.
        name: Arc<str>,
    },
    /// The resolver did not answer in time.
    TimedOut {
        /// Which name.
        name: Arc<str>,
        /// How long it was waited for.
        after: Duration,
    },
    /// All threads of the lane were busy with other names all the time.
    Busy {
        /// Which name.
        name: Arc<str>,
        /// How long a place was waited for.
        after: Duration,
    },
    /// The system could not start a thread: our own trouble, and not the resolver's.
    NoThread {
        /// Which name.
        name: Arc<str>,
        /// What the system said.
        source: Arc<io::Error>,
    },
}

impl fmt::Display for ResolveFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { name, .. } => write!(f, "failed to resolve `{name}`"),
            Self::NoAddress { name } => write!(f, "`{name}` has no address"),
            Self::TimedOut { name, after } => {
                write!(f, "the resolver did not answer for `{name}` within {after:?}")
            }
            Self::Busy { name, after } => {
                write!(f, "`{name}` waited {after:?} behind other names that do not resolve")
            }
            Self::NoThread { name, .. } => write!(f, "no thread could be had to resolve `{name}`"),
        }
    }
}

impl std::error::Error for ResolveFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { source, .. } | Self::NoThread { source, .. } => Some(source.as_ref()),
            Self::NoAddress { .. } | Self::TimedOut { .. } | Self::Busy { .. } => None,
        }
    }
}

type Answer = Result<Vec<IpAddr>, ResolveFailure>;
type Lookup = dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync;

/// Resolves names. Shared by all who need it.
pub struct Resolver {
    lookup: Arc<Lookup>,
    probes: LaneState,
    sinks: LaneState,
    kept: Arc<Mutex<Kept>>,
}

/// One lane: its threads, one a name, and where good answers are kept.
struct LaneState {
    threads: Threads<Arc<str>, Answer>,
    keeps: Option<Arc<Mutex<Kept>>>,
}

/// The last good addresses, with a count that says which name was refreshed last.
#[derive(Default)]
struct Kept {
    names: BTreeMap<Arc<str>, (u64, Vec<IpAddr>)>,
    refreshed: u64,
}

impl Resolver {
    /// The system's resolver.
    pub fn system() -> Self {
        Self::with_lookup(Arc::new(|name: &str| {
            (name, 0_u16).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
        }))
    }

    /// With a lookup of the caller's, which may block.
    pub fn with_lookup(lookup: Arc<Lookup>) -> Self {
        let kept = Arc::default();
        Self {
            lookup,
            probes: LaneState::of(PROBE_THREADS, None),
            sinks: LaneState::of(SINK_THREADS, Some(Arc::clone(&kept))),
            kept,
        }
    }

    /// The addresses of `name`, in the resolver's order; at once where `name` is an address, with or without brackets.
    ///
    /// # Errors
    /// Where there is none within `within`. The lookup goes on without the caller.
    pub async fn resolve(&self, lane: Lane, name: &str, within: Duration) -> Answer {
        let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
        if let Ok(address) = bare.parse() {
            return Ok(vec![address]);
        }
        let name: Arc<str> = Arc::from(name);
        let lane = match lane {
            Lane::Probes => &self.probes,
            Lane::Sinks => &self.sinks,
        };
        // Said by whichever deadline passes: whether the lookup had begun tells a dead resolver from a full lane.
        let mut began = false;
        match tokio::time::timeout(within, self.ask(lane, &name, &mut began)).await {
            Ok(answer) => answer,
            Err(_) if began => Err(ResolveFailure::TimedOut { name, after: within }),
            Err(_) => Err(ResolveFailure::Busy { name, after: within }),
        }
    }

    /// The addresses that `name` had when it last resolved for a sink, for whoever must go on while DNS is down (P4).
    pub fn last_good(&self, name: &str) -> Option<Vec<IpAddr>> {
        lock(&self.kept).names.get(name).map(|(_, addresses)| addresses.clone())
    }

    async fn ask(&self, lane: &LaneState, name: &Arc<str>, began: &mut bool) -> Answer {
        let (lookup, keeps) = (Arc::clone(&self.lookup), lane.keeps.clone());
        let asked = Arc::clone(name);
        let joined = lane.threads.join(name, move || look_up(&*lookup, asked, keeps)).await;
        *began = true;
        let name = Arc::clone(name);
        match joined.answer().await {
            Ok(answer) => answer,
            Err(Unanswered::NoThread(source)) => Err(ResolveFailure::NoThread { name, source }),
            Err(Unanswered::Panicked) => {
                let source = Arc::new(io::Error::other("the lookup ended without an answer"));
                Err(ResolveFailure::Failed { name, source })
            }
        }
    }
}

/// May block for good.
fn look_up(lookup: &Lookup, name: Arc<str>, keeps: Option<Arc<Mutex<Kept>>>) -> Answer {
    match lookup(&name) {
        Ok(mut found) if !found.is_empty() => {
            // getaddrinfo answers once for each socket type.
            found.dedup();
            found.truncate(KEPT_ADDRESSES);
            if let Some(kept) = keeps {
                lock(&kept).keep(name, found.clone());
            }
            Ok(found)
        }
        Ok(_) => Err(ResolveFailure::NoAddress { name }),
        Err(source) => Err(ResolveFailure::Failed { name, source: Arc::new(source) }),
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resolver")
            .field("free_for_probes", &self.probes.threads.free())
            .field("free_for_sinks", &self.sinks.threads.free())
            .field("kept", &lock(&self.kept).names.len())
            .finish_non_exhaustive()
    }
}

impl LaneState {
    fn of(threads: usize, keeps: Option<Arc<Mutex<Kept>>>) -> Self {
        Self { threads: Threads::new("resolve", threads), keeps }
    }
}

impl Kept {
    fn keep(&mut self, name: Arc<str>, addresses: Vec<IpAddr>) {
        self.refreshed += 1;
        self.names.insert(name, (self.refreshed, addresses));
        if self.names.len() > KEPT_NAMES {
            let oldest =
                self.names.iter().min_by_key(|(_, (at, _))| *at).map(|(name, _)| Arc::clone(name));
            if let Some(oldest) = oldest {
                self.names.remove(&oldest);
            }
        }
    }
}

/// Nothing in here panics while it holds a lock; a poisoned one still holds sound data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
