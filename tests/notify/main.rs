//! Telling's adapters: what people read, and what a receiver gets and answers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::let_underscore_must_use,
    reason = "the helpers of tests fail a test by panicking; clippy excuses only the test functions themselves"
)]

mod docs;
mod names;
mod receiver;
mod rendering;
mod samples;
mod secrecy;
mod strict;
mod terminal;
mod tls;
mod transport;
