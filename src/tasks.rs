//! The only spawner. Every task and thread has a name, and every task belongs to a runtime that `daemon` owns and ends with it.

use crate::domain::moment::Spoken;
use std::{
    error::Error,
    fmt,
    future::Future,
    io,
    pin::Pin,
    sync::mpsc::{RecvTimeoutError, sync_channel},
    thread,
    time::Duration,
};
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
    #[expect(clippy::disallowed_methods, reason = "this is the only spawner")]
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
#[expect(clippy::disallowed_methods, reason = "this is the only spawner")]
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
#[expect(clippy::disallowed_methods, reason = "this is the only spawner")]
pub fn thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Why work that may hang has no result.
#[derive(Debug)]
pub enum NotBack {
    /// The system could not start a thread for it.
    NoThread(io::Error),
    /// It did not come back in time.
    TimedOut(Duration),
    /// Its thread ended without a result, which only a panic does.
    Panicked,
}

impl fmt::Display for NotBack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoThread(_) => f.write_str("no thread could be had for it"),
            Self::TimedOut(within) => write!(f, "it did not come back within {}", Spoken(*within)),
            Self::Panicked => f.write_str("its thread ended without a result"),
        }
    }
}

impl Error for NotBack {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoThread(source) => Some(source),
            Self::TimedOut(_) | Self::Panicked => None,
        }
    }
}

impl From<NotBack> for io::Error {
    fn from(not_back: NotBack) -> Self {
        match not_back {
            NotBack::NoThread(source) => source,
            NotBack::TimedOut(_) => Self::new(io::ErrorKind::TimedOut, not_back),
            NotBack::Panicked => Self::other(not_back),
        }
    }
}

/// Does what may hang on a thread of its own, and waits for it no longer than this. What is not back by then is left behind:
/// its result goes nowhere. Blocks, so it is for commands and for the start, before anything turns.
///
/// # Errors
/// See [`NotBack`].
pub fn within<T: Send + 'static>(
    name: &str,
    within: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, NotBack> {
    let (came, coming) = sync_channel(1);
    // Whoever waited may be gone, and soon the process with it.
    thread(name, move || drop(came.send(work()))).map_err(NotBack::NoThread)?;
    coming.recv_timeout(within).map_err(|error| match error {
        RecvTimeoutError::Timeout => NotBack::TimedOut(within),
        RecvTimeoutError::Disconnected => NotBack::Panicked,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_was_waited_is_said_as_people_say_it() {
        let not_back = NotBack::TimedOut(Duration::from_secs(90));
        assert_eq!(not_back.to_string(), "it did not come back within 1m 30s");
    }
}
