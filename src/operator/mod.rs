//! Orders of people to a running daemon, over a unix socket whose mode is the permission.
//!
//! One connection, one request, one answer, each a line of JSON; both bounded, both with a deadline. A client that sends
//! garbage, or nothing, costs one slot for some seconds and nothing else. For now there is one order: to show how things
//! stand.

pub mod client;
pub mod hold;
pub mod socket;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The socket's name in the runtime directory.
pub const SOCKET: &str = "control.sock";

/// The switch's name in the runtime directory, which needs neither daemon nor disk: while it is there, nothing is acted on.
pub const HOLD: &str = "hold";

/// A request is a few words.
pub const REQUEST_BYTES: u64 = 4096;

/// The largest answer is the status of 1,000 containers of which all fail. What it may hold of each text and list is bounded
/// (`status/bounds.rs`), so that it stays below this whatever they print.
pub const ANSWER_BYTES: u64 = 8 * 1024 * 1024;

/// Both sides give up after this.
pub const WITHIN: Duration = Duration::from_secs(5);

/// What can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// How things stand.
    Status,
}
