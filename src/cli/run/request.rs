//! What `defib run` was asked for, on its command line and by its environment. The two are kept apart, since the config stands
//! between them.

use crate::cli::places::{self, Place, Systemd};
use std::path::{Path, PathBuf};

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The config; `None`: every container with a healthcheck, told to the terminal.
    pub config: Option<PathBuf>,
    /// Decide, record and tell; touch nothing.
    pub dry_run: bool,
    /// The engine's address, where said.
    pub engine: Option<String>,
    /// `--state-dir`.
    pub state_dir: Option<PathBuf>,
    /// `--runtime-dir`.
    pub runtime_dir: Option<PathBuf>,
    /// `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// Where systemd has directories for this.
    pub systemd: Systemd,
}

impl Request {
    /// Where state is kept, with what the config says.
    pub fn state_place(&self, config: Option<&Path>) -> Place {
        places::state_dir(self.state_dir.as_deref(), config, &self.systemd)
    }

    /// Where the control socket and the `hold` file are.
    pub fn runtime_place(&self) -> Place {
        let (argument, state) = (self.runtime_dir.as_deref(), self.state_dir.as_deref());
        places::runtime_dir(argument, state, &self.systemd)
    }
}
