//! defib: a host-resident watchdog for Docker hosts.

pub mod cli;
pub mod clock;
pub mod config;
pub mod docker;
pub mod domain;
pub mod notify;
pub mod probe;
pub mod resolve;
pub mod store;
pub mod tasks;
