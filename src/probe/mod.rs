//! Probing from outside, with hard timeouts, on a bounded pool.
//!
//! `port` says what one run of a probe is; `http` runs it; `scheduler` decides when, from the pace that the domain ordered.

pub mod http;
pub mod port;
