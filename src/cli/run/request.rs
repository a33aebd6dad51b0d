//! What `defib run` was asked for on its command line and by its environment.

use std::path::PathBuf;

/// What was asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The config; `None`: every container with a healthcheck, told to the terminal.
    pub config: Option<PathBuf>,
    /// Decide, record and tell; touch nothing.
    pub dry_run: bool,
    /// The engine's address, where said.
    pub engine: Option<String>,
    /// `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// Where state is kept, where said; else as the config says, else `/var/lib/defib`.
    pub state_dir: Option<PathBuf>,
    /// Where the control socket and the `hold` file are.
    pub runtime_dir: PathBuf,
}
