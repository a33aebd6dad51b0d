//! The command line, as clap reads it. What stands here as documentation is what `--help` prints.

use super::demo::patient::Mode;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// A watchdog for Docker hosts: notices what hangs, restarts it without harm, and tells a person.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    /// Watch this host.
    Run {
        /// The config; without one every container with a healthcheck is watched, the terminal is told, and only what has
        /// the label defib.restart=true is restarted.
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Decide, record and tell, but touch nothing.
        #[arg(long)]
        dry_run: bool,
        /// Where the engine is, as unix:///path; default: the config, DOCKER_HOST, the usual sockets.
        #[arg(long, value_name = "ADDRESS")]
        engine: Option<String>,
        /// Where state is kept; default: the config, systemd's, /var/lib/defib.
        #[arg(long, value_name = "DIR")]
        state_dir: Option<PathBuf>,
        /// Where the control socket and the `hold` file are; default: systemd's, run/ in a given state directory,
        /// /run/defib.
        #[arg(long, value_name = "DIR")]
        runtime_dir: Option<PathBuf>,
    },
    /// Say everything that is wrong with a config.
    Check {
        /// The config.
        file: PathBuf,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Say how things stand. Exit code 0: all is well; 1: something needs looking at; 2: the daemon could not be asked.
    Status {
        /// For programs.
        #[arg(long)]
        json: bool,
        /// The running daemon's state directory, where it was given one.
        #[arg(long, value_name = "DIR")]
        state_dir: Option<PathBuf>,
        /// The running daemon's runtime directory, where it was given one.
        #[arg(long, value_name = "DIR")]
        runtime_dir: Option<PathBuf>,
    },
    /// Show in a minute what defib does, on four containers made for it and removed again.
    Demo {
        /// Where the engine is, as unix:///path; default: DOCKER_HOST, the usual sockets. A simulated one where none answers.
        #[arg(long, value_name = "ADDRESS")]
        engine: Option<String>,
        /// Leave this host's engine alone and take a simulated one.
        #[arg(long, conflicts_with = "engine")]
        simulated: bool,
    },
    /// What the demo's containers run.
    #[command(hide = true)]
    DemoPatient {
        /// What to be.
        mode: Mode,
    },
}
