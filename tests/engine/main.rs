//! defib as a whole on a real container engine: the binary, a config file, containers that misbehave, a webhook receiver.
//!
//! Read a scenario first (`healing.rs`), then `case.rs`: a case is one scenario's own corner of the host. `host.rs` says
//! which engine is used and what happens where there is none. What defib did is never taken from defib: the
//! [`engine::Witness`] listens to the engine itself, the [`proxy::Proxy`] to what was asked, the
//! [`receiver::Receiver`] to what people would have heard. `stage.rs` shows that these can be trusted: that containers
//! really hang and proxies really stall.
//!
//! Refuses: sleeps as synchronisers, containers that it did not make, images that are not made here.

#![allow(
    clippy::disallowed_methods,
    reason = "these tests watch real time pass, beside processes that know nothing of a clock of ours"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a stage that breaks shall end the test at that place"
)]

mod case;
mod config;
mod container;
mod daemon;
mod engine;
mod host;
mod http;
#[path = "../shared/left_out.rs"]
mod left_out;
mod proxy;
mod receiver;
mod wait;

mod bad_engine;
mod healing;
mod killed;
mod left_alone;
mod stage;
