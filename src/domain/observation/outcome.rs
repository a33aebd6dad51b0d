//! What an act and a delivery came to.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How one primitive of an action ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ActOutcome {
    /// The engine says that it is done.
    Done,
    /// The engine refused: the set-up does not allow it (403).
    Denied(String),
    /// No such container.
    NoSuchContainer,
    /// The engine answered with an error. What state it left is found out by inspecting.
    Failed {
        /// The HTTP status.
        status: u16,
        /// The engine's message, cut.
        message: String,
    },
    /// No answer within the deadline. The call may still be at work: it is never sent again blindly.
    TimedOut(Duration),
    /// The engine could not be reached, or the connection broke on the way; it may have arrived or not.
    Unreachable(String),
}

/// What came of one attempt at delivery (`docs/PAGING.md`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryOutcome {
    /// The sink confirmed it.
    Delivered,
    /// It may or may not have arrived: network, timeout, 408, 425, 5xx. The same key again.
    Unknown(String),
    /// The sink wants to be left alone for so long (429, or 503 with `Retry-After`); `None` where it did not say.
    Paused {
        /// For how long.
        wait: Option<Duration>,
        /// What it said.
        reason: String,
    },
    /// This message is not taken (400, 413).
    Rejected(String),
    /// The sink itself is broken (401, 403, 404, 410, 3xx).
    Broken(String),
    /// Nothing was sent: this host lacks what it takes (a secret that can't be read or used).
    NotSent(String),
}
