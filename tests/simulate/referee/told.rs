//! How a matter stands for one sink, by the messages that reached it.

use defib::domain::message::{Message, MessageKind, Severity};

/// How a matter stands for one sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Never told of, or told to its end.
    Closed,
    /// Told of, at most so loudly.
    Open(Severity),
    /// Told to be well again; its end is owed.
    Recovered(Severity),
}

impl Standing {
    /// After one more message.
    pub fn after(self, message: &Message) -> Self {
        let loudest = match self {
            Standing::Closed => message.severity,
            Standing::Open(level) | Standing::Recovered(level) => level.max(message.severity),
        };
        match message.kind {
            // A new incident begins anew, whatever was said of the last one.
            MessageKind::Opened => Standing::Open(message.severity),
            MessageKind::Raised | MessageKind::GivenUp | MessageKind::Reminder => {
                Standing::Open(loudest)
            }
            // A notice that was answered needs no second end (P9). What was raised while nothing could be recorded is a
            // notice again after a crash, and says so.
            MessageKind::Recovered if message.severity == Severity::Notice => Standing::Closed,
            MessageKind::Recovered => Standing::Recovered(loudest),
            MessageKind::Resolved | MessageKind::Missed => Standing::Closed,
        }
    }
}
