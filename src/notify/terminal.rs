//! Messages for whoever looks at defib's own output.
//!
//! A terminal can stand still (a paused screen, a full pipe), so writing is done by a thread of its own, and an attempt
//! waits for it no longer than its deadline. An attempt that was given up is not written later: the domain will make
//! another. Bounded: a few blocks wait, more are turned away; and there is one thread, also for the sinks of every config
//! that is read later, or each reload while the terminal stands still would leave one more behind.

use super::{
    http::Deadline,
    plain::{Style, block},
    port::Sink,
    wording::word,
};
use crate::{
    domain::{effect::SendOrder, observation::DeliveryOutcome},
    tasks,
    tasks::Pending,
};
use jiff::tz::TimeZone;
use std::{
    io::{self, Write},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
};
use tokio::sync::oneshot;

/// Blocks that wait for the terminal. The domain has one delivery of a sink in flight, a few with a storm.
const WAITING: usize = 16;

/// The one writer of all terminal sinks. Cheap to clone.
#[derive(Clone)]
pub struct Terminal {
    open: Arc<dyn Fn() -> Box<dyn Write + Send> + Send + Sync>,
    blocks: Arc<Mutex<Option<SyncSender<Block>>>>,
}

impl Terminal {
    /// Opened when the first sink needs it.
    pub fn opened_by(open: impl Fn() -> Box<dyn Write + Send> + Send + Sync + 'static) -> Self {
        Self { open: Arc::new(open), blocks: Arc::default() }
    }

    /// The way to its thread, which ends when the last one has let go of it.
    fn blocks(&self) -> io::Result<SyncSender<Block>> {
        let mut blocks = self.blocks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(blocks) = &*blocks {
            return Ok(blocks.clone());
        }
        let (started, waiting) = sync_channel(WAITING);
        let writer = (self.open)();
        tasks::thread("terminal", move || write_all(writer, &waiting))?;
        *blocks = Some(started.clone());
        Ok(started)
    }
}

/// Writes each message as one block.
pub struct TerminalSink {
    blocks: SyncSender<Block>,
    style: Style,
    tz: TimeZone,
}

struct Block {
    text: String,
    written: oneshot::Sender<io::Result<()>>,
}

impl TerminalSink {
    /// A sink on this terminal.
    ///
    /// # Errors
    /// Where it is the first one, and the system cannot start another thread.
    pub fn on(terminal: &Terminal, style: Style, tz: TimeZone) -> io::Result<Self> {
        Ok(Self { blocks: terminal.blocks()?, style, tz })
    }
}

fn write_all(mut writer: Box<dyn Write + Send>, waiting: &Receiver<Block>) {
    while let Ok(Block { text, written }) = waiting.recv() {
        if written.is_closed() {
            continue;
        }
        let result = writer.write_all(text.as_bytes()).and_then(|()| writer.flush());
        // Nobody waits any more: the attempt was given up while we wrote, and may come twice.
        let _gone = written.send(result);
    }
}

impl Sink for TerminalSink {
    fn deliver(&self, order: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        Box::pin(async move {
            let deadline = Deadline::within(order.deadline);
            let text = block(&word(&order, &self.tz), self.style);
            let (written, result) = oneshot::channel();
            match self.blocks.try_send(Block { text, written }) {
                Ok(()) => {}
                Err(TrySendError::Full(_)) => {
                    return DeliveryOutcome::Unknown("the terminal stands still".to_owned());
                }
                Err(TrySendError::Disconnected(_)) => {
                    return DeliveryOutcome::NotSent("the terminal's thread has ended".to_owned());
                }
            }
            match deadline.bound(result).await {
                Some(Ok(Ok(()))) => DeliveryOutcome::Delivered,
                Some(Ok(Err(error))) => {
                    DeliveryOutcome::NotSent(format!("the terminal cannot be written to: {error}"))
                }
                Some(Err(_)) => {
                    DeliveryOutcome::NotSent("the terminal's thread has ended".to_owned())
                }
                None => DeliveryOutcome::Unknown("the terminal did not take it in time".to_owned()),
            }
        })
    }
}
