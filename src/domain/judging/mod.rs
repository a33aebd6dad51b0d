//! Judging: from evidence to a verdict, and from verdicts to a trouble.
//!
//! `health` reads Docker's healthcheck, `probing` defib's own probes; both keep a `streak`. `verdict` is what they amount to;
//! `trouble` is a replica's bad time across its instances; `absence` is what is missing of a service.

pub mod absence;
pub(crate) mod health;
pub(crate) mod probing;
pub mod streak;
pub mod trouble;
pub mod verdict;
