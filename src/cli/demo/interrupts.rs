//! Ctrl-C and its like. They end the story, never the clearing up: what was made is removed first.

use crate::tasks::Tasks;
use std::{fmt, io};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

/// Who ended the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// Ctrl-C.
    Interrupt,
    /// `kill`.
    Terminate,
    /// The terminal is gone.
    Hangup,
}

impl Interrupt {
    /// As shells report a process that ended by it.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Hangup => 129,
            Self::Interrupt => 130,
            Self::Terminate => 143,
        }
    }
}

impl fmt::Display for Interrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Interrupt => "Ctrl-C",
            Self::Terminate => "SIGTERM",
            Self::Hangup => "SIGHUP",
        })
    }
}

/// Whether somebody wants it to end.
#[derive(Clone, Debug)]
pub struct Interrupts(watch::Receiver<Option<Interrupt>>);

impl Interrupts {
    /// From now on such a signal ends nothing by itself.
    ///
    /// # Errors
    /// Where the system refuses.
    pub fn heed(tasks: &Tasks) -> io::Result<Self> {
        let (mut interrupt, mut terminate, mut hangup) = (
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        );
        let (came, receiver) = watch::channel(None);
        tasks.spawn("signals", async move {
            loop {
                let which = tokio::select! {
                    _ = interrupt.recv() => Interrupt::Interrupt,
                    _ = terminate.recv() => Interrupt::Terminate,
                    _ = hangup.recv() => Interrupt::Hangup,
                };
                if came.send(Some(which)).is_err() {
                    return;
                }
            }
        });
        Ok(Self(receiver))
    }

    /// The latest that came.
    pub fn came(&self) -> Option<Interrupt> {
        *self.0.borrow()
    }

    /// Waits until one has come.
    pub async fn next(&mut self) -> Interrupt {
        match self.0.wait_for(Option::is_some).await.map(|which| *which) {
            Ok(Some(which)) => which,
            // The task that heeds signals ends with the runtime.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}
