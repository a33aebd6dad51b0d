//! defib: a host-resident watchdog for Docker hosts.
//!
//! Observation → judgement → decision → action → page. Adapters see and do; [`domain`] thinks; [`daemon`] joins them in one
//! loop. How data flows, in reading order:
//!
//! 1. [`docker`] (lists, looks, events) and [`probe`] (samples) make observations; so do the answers of everything below.
//!    Text from outside loses its secrets there, in [`redact`], before anything else sees it.
//! 2. [`daemon`] takes what came in, turn by turn, through the lanes of `turn`; `events` keeps the event stream open.
//! 3. [`domain`] decides: pure, without clock or I/O. Read `domain/mod.rs` first, then `domain/replicas/mod.rs`.
//! 4. [`store`] keeps what must outlive us; [`journal`] what was seen; [`chronicle`] says in the log what was decided.
//! 5. [`action`] does one thing to a container, [`evidence`] reads why it failed, [`notify`] makes one delivery.
//! 6. [`config`] says what people want; [`operator`] takes their orders while we run; [`status`] shows how things stand.
//!
//! What this crate refuses: to act on what it did not look at right before, to act on what it could not record, to take
//! "could not look" for "it fails", and to wait for anything without a deadline.

pub mod action;
pub mod chronicle;
pub mod cli;
pub mod clock;
pub mod config;
pub mod daemon;
pub mod docker;
pub mod domain;
mod events;
pub mod evidence;
pub mod journal;
#[cfg(test)]
mod log_of;
pub mod notify;
pub mod operator;
pub mod probe;
pub mod redact;
pub mod resolve;
#[cfg(test)]
mod soon;
pub mod status;
pub mod store;
pub mod tasks;
mod threads;
mod turn;
