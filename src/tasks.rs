//! The only spawner. Every task and thread has a name, and every task belongs to a runtime that `daemon` owns and ends with it.

use std::{future::Future, io, pin::Pin, thread};
use tokio::{runtime::Handle, task::JoinHandle};

/// An answer that is still under way: what every port gives.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Spawns onto one runtime. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Tasks {
    runtime: Handle,
}

impl Tasks {
    /// Tasks of this runtime.
    pub fn on(runtime: Handle) -> Self {
        Self { runtime }
    }

    /// Starts a task. It ends with its runtime, or when the handle is aborted; dropping the handle detaches it.
    pub fn spawn<F>(&self, name: &'static str, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tracing::trace!(task = name, "spawned");
        self.runtime.spawn(work)
    }
}

/// Does what may block on a thread of the runtime's own pool for that. `None` where it panicked or the runtime ends.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Some(done),
        Err(failure) => {
            tracing::error!("what was to be done beside did not end: {failure}");
            None
        }
    }
}

/// Starts an operating-system thread, for what blocks and cannot be made not to.
///
/// # Errors
/// Where the system cannot start another thread.
pub fn thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}
