//! The command line, as clap reads it. What stands here as documentation is what `--help` prints.

use super::demo::patient::Mode;
use clap::{
    Parser, Subcommand,
    builder::{PathBufValueParser, TypedValueParser},
};
use std::path::PathBuf;

/// A path from where the command is given: the log, the messages and whoever asks later stand elsewhere.
fn absolute() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(std::path::absolute)
}

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
    /// Watch this host until SIGTERM or SIGINT; SIGHUP reads the config again. Exit code 0: told to end; 1: the config has
    /// errors; 2: it could not run.
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
        #[arg(long, value_name = "DIR", value_parser = absolute())]
        state_dir: Option<PathBuf>,
        /// Where the control socket and the `hold` file are; default: run/ in a state directory that is given here,
        /// systemd's, /run/defib.
        #[arg(long, value_name = "DIR", value_parser = absolute())]
        runtime_dir: Option<PathBuf>,
    },
    /// Say everything that is wrong with a config. Exit code 0: good, perhaps with warnings; 1: it has errors, and `run` would
    /// end with 1 too; 2: it can't be read.
    Check {
        /// The config.
        file: PathBuf,
        /// For programs.
        #[arg(long)]
        json: bool,
    },
    /// Say how things stand. Exit code 0: all is well; 1: something needs looking at; 2: the daemon could not be asked. Until a
    /// sink that takes pages has confirmed its first message, that is 1: nobody knows yet whether pages arrive.
    Status {
        /// For programs.
        #[arg(long)]
        json: bool,
        /// The running daemon's state directory, where it was given one.
        #[arg(long, value_name = "DIR", value_parser = absolute())]
        state_dir: Option<PathBuf>,
        /// The running daemon's runtime directory, where it was given one.
        #[arg(long, value_name = "DIR", value_parser = absolute())]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_directory_is_taken_from_where_the_command_is_given() {
        let here = std::env::current_dir().unwrap();
        let said = ["defib", "run", "--state-dir", "state", "--runtime-dir", "/run/x"];
        let Command::Run { state_dir, runtime_dir, .. } = Arguments::parse_from(said).command
        else {
            panic!("not `run`");
        };
        assert_eq!(state_dir, Some(here.join("state")));
        assert_eq!(runtime_dir, Some(PathBuf::from("/run/x")));
        let asked = ["defib", "status", "--runtime-dir", "run"];
        let Command::Status { runtime_dir, .. } = Arguments::parse_from(asked).command else {
            panic!("not `status`");
        };
        assert_eq!(runtime_dir, Some(here.join("run")));
        assert!(Arguments::try_parse_from(["defib", "run", "--state-dir", ""]).is_err());
    }
}
