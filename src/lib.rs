//! defib: a host-resident watchdog for Docker hosts.

pub mod action;
pub mod clock;
pub mod daemon;
pub mod docker;
pub mod domain;
pub mod evidence;
pub mod journal;
pub mod notify;
pub mod probe;
pub mod resolve;
pub mod store;
pub mod tasks;
mod turn;
