//! The program and whoever reads its log and its answers: the real binary with readers that stand still, are gone, or have
//! no room. None of them may hold up the daemon or end it, and no command may panic for one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test that can't go on fails; real processes take real time"
)]

mod answers;
mod daemon;
mod program;
