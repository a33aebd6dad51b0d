//! The world behind HTTP/1.1 on a unix socket, speaking as much of Docker's API as defib and the `docker` command's
//! simplest words use, with the bodies of Engine 20.10 (API 1.41).
//!
//! For contract, fault and scale tests, and for `demo` where no engine answers: what the typed stand-in cannot show
//! (decoding, bounds, broken bodies, connections) is shown here, by the same model. It runs in real time.
//!
//! One task serves all connections, at most 512 at once; the rest wait in the socket's own queue. Restart,
//! start and SIGKILL count as defib's in the truth; everything else that comes by the socket as somebody's.

mod answer;
mod events;
mod faults;
mod query;
mod route;
mod shape;

pub use faults::{Misbehaviour, WireCount, WireEndpoint, WireFault, WireFaults};

use super::live::LiveWorld;
use crate::tasks::Tasks;
use futures_util::{StreamExt, stream::FuturesUnordered};
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};

/// Served at once. A watchdog needs a few dozen; more than this is a leak that a test should see as waiting.
const CONNECTIONS: usize = 512;

/// Without descriptors, nothing can be taken until something is closed: long enough not to spin, short enough for tests.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// A world that is being served. Dropped, it closes all connections and removes its socket.
pub struct WireEngine {
    path: PathBuf,
    faults: Arc<WireFaults>,
    serving: JoinHandle<()>,
}

impl WireEngine {
    /// Begins to serve at `path`, which must not exist.
    ///
    /// # Errors
    /// Where the socket cannot be made.
    pub fn serve(
        world: Arc<LiveWorld>,
        path: impl Into<PathBuf>,
        tasks: &Tasks,
    ) -> Result<Self, WireError> {
        let path = path.into();
        let listener =
            UnixListener::bind(&path).map_err(|source| WireError { path: path.clone(), source })?;
        let faults = Arc::new(WireFaults::default());
        let serving = tasks.spawn("simulated engine", accept(listener, world, Arc::clone(&faults)));
        Ok(Self { path, faults, serving })
    }

    /// Where it is, as engines' addresses are written.
    pub fn address(&self) -> String {
        format!("unix://{}", self.path.display())
    }

    /// Where its socket is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What goes wrong on the wire, to be set while it runs, and what was asked so far.
    pub fn faults(&self) -> &WireFaults {
        &self.faults
    }
}

impl Drop for WireEngine {
    fn drop(&mut self) {
        self.serving.abort();
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "left the simulated engine's socket behind");
        }
    }
}

/// The simulated engine could not be served.
#[derive(Debug)]
pub struct WireError {
    path: PathBuf,
    source: io::Error,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to serve the simulated engine at `{}`", self.path.display())
    }
}

impl std::error::Error for WireError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

async fn accept(listener: UnixListener, world: Arc<LiveWorld>, faults: Arc<WireFaults>) {
    let mut connections = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = connections.next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.push(converse(stream, Arc::clone(&world), Arc::clone(&faults)));
                }
                Err(error) => {
                    tracing::warn!(%error, "the simulated engine could not take a connection; trying again in 100 ms");
                    tokio::time::sleep(REFUSED_PAUSE).await;
                }
            },
        }
    }
}

/// One connection, request after request. A client that leaves drops what it waits for.
async fn converse(stream: UnixStream, world: Arc<LiveWorld>, faults: Arc<WireFaults>) {
    let service = service_fn(|request| {
        let (world, faults) = (Arc::clone(&world), Arc::clone(&faults));
        async move { route::answer(request, &world, &faults).await }
    });
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    if let Err(error) = served {
        tracing::trace!(%error, "a connection to the simulated engine broke");
    }
}
