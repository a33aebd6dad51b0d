//! One file a command. What they share: where things are, and what this host is called.

pub mod arguments;
pub mod check;
pub mod demo;
pub mod log;
pub mod output;
mod reload;
pub mod run;
pub mod status;

use crate::domain::name::HostName;
use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

/// What this host is called, by the kernel.
pub fn host_name() -> HostName {
    let system = rustix::system::uname();
    HostName::new(system.nodename().to_string_lossy().into_owned())
}

/// Where the control socket and the `hold` file are: as said, else as systemd says, else below a state directory that was
/// said, else `/run/defib`.
pub fn runtime_dir(
    said: Option<&Path>,
    state_dir: Option<&Path>,
    systemd: Option<OsString>,
) -> PathBuf {
    match (said, systemd, state_dir) {
        (Some(said), _, _) => said.to_owned(),
        (None, Some(systemd), _) => PathBuf::from(systemd),
        (None, None, Some(state)) => state.join("run"),
        (None, None, None) => PathBuf::from("/run/defib"),
    }
}
