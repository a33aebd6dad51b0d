//! One file a command. What they share: where things are (`places.rs`), and what this host is called.

pub mod arguments;
pub mod check;
pub mod demo;
mod json;
pub mod log;
pub mod output;
pub mod places;
mod reload;
pub mod run;
pub mod status;
mod workers;

use crate::domain::name::HostName;

/// What this host is called, by the kernel.
pub fn host_name() -> HostName {
    let system = rustix::system::uname();
    HostName::new(system.nodename().to_string_lossy().into_owned())
}
