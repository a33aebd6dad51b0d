//! One suite of behaviours that everything behind the engine port has to show.
//!
//! `suite` says what must hold, in terms of the port and of a [`driver::Driver`], which is the person at the engine: makes
//! containers, stops them, breaks their healthchecks. Each engine has a file of its own that drives it and runs every
//! behaviour as a test. The real engine runs where `DEFIB_TEST_ENGINE` names its address (tests/run.sh does).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "all of this is a test; clippy only knows functions that are marked as one"
)]

mod driver;
#[path = "../shared/left_out.rs"]
mod left_out;
mod real;
mod simulated;
mod suite;
