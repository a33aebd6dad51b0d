//! What is logged while a test runs.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tracing::subscriber::DefaultGuard;

/// A log that is kept.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    /// What was logged by now.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What this thread logs, for as long as this lives.
pub(crate) struct LogOf {
    kept: Kept,
    _logging: DefaultGuard,
}

impl LogOf {
    /// From now on.
    pub(crate) fn here() -> Self {
        let kept = Kept::default();
        let writer = kept.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        Self { kept, _logging: tracing::subscriber::set_default(subscriber) }
    }

    /// What was logged by now.
    pub(crate) fn text(&self) -> String {
        self.kept.text()
    }
}
