//! The store and the journal, as the daemon uses them: opening, committing, crashing, reading back.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    unreachable_pub,
    reason = "this is a test binary: its helpers may fail as its tests may"
)]

mod committing;
mod crashing;
mod failing_disk;
mod fixture;
mod given;
mod journal;
mod ledger;
#[path = "../shared/left_out.rs"]
mod left_out;
mod opening;
