//! `defib demo` as its users meet it: the program, what it prints, its exit code, and what it leaves behind.
//!
//! The simulated stage needs nothing. The real one is played where `DEFIB_TEST_ENGINE` names an engine, as `tests/run.sh`
//! sets it; without, each test says what it leaves out.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test shall end where its stage breaks, and watches real time pass"
)]

mod interrupted;
#[path = "../shared/left_out.rs"]
mod left_out;
mod no_engine;
mod program;
mod told;
