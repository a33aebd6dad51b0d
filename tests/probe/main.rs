//! Probing as a whole: real sockets against servers that misbehave in one way each, and the schedule in virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "a test's own helpers may fail as its tests do"
)]

mod bench;
mod cases;
mod classes;
mod footprint;
mod schedule;
mod servers;
mod virtual_time;
mod watches;
