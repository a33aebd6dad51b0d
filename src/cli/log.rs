//! The log of a command: on stderr, so that what a command says is not mixed with it.

use std::io::{self, IsTerminal};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// Begins the log. `DEFIB_LOG` as in `info,defib::docker=debug`, else `default`. What bollard logs at `debug` holds whole
/// bodies, secrets of environments included: it is never let through.
pub fn to_stderr(default: LevelFilter) {
    let filter = EnvFilter::builder()
        .with_default_directive(default.into())
        .with_env_var("DEFIB_LOG")
        .from_env_lossy();
    let said = std::env::var_os("DEFIB_LOG").is_some_and(|said| !said.is_empty());
    let filter = match "bollard=info".parse() {
        // A cap, and not a reason to log where nothing was to be logged.
        Ok(cap) if said || default >= LevelFilter::INFO => filter.add_directive(cap),
        Ok(_) | Err(_) => filter,
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
}
