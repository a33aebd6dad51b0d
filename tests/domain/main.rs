//! Timelines of the domain: what is observed, what is decided, in virtual milliseconds, without a runtime.
//!
//! `rig` answers the domain's effects from a table of containers that each test moves by hand. It is a table and not a model:
//! an engine's own behaviour is tested elsewhere, against the real one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test that can't go on fails"
)]

mod acting;
mod ambiguous;
mod by_hand;
mod changes;
mod held;
mod lasting;
mod replay;
mod rig;
mod seeing;
mod sinks;
mod steps;
mod surroundings;
mod telling;
mod words;
