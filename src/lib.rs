//! defib: a host-resident watchdog for Docker hosts.

pub mod clock;
pub mod docker;
pub mod domain;
pub mod journal;
pub mod notify;
pub mod probe;
pub mod store;
pub mod tasks;
