//! Probing from outside, with hard timeouts, on a bounded pool.
//!
//! `port` says what one run of a probe is; `http` runs it; `scheduler` decides when, from the pace that the domain ordered:
//! `ticks` is one target's rhythm, `pool` who may run and who waits, `timetable` all targets together, `stats` how it goes.

pub mod http;
mod pool;
pub mod port;
pub mod scheduler;
pub mod stats;
mod ticks;
mod timetable;
