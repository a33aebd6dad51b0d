//! The `defib` binary: arguments, log, exit code.

use clap::{Parser, Subcommand};
use defib::{
    cli::{self, check, run, status},
    config::problem::Style,
};
use std::{
    error::Error,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};
use tracing_subscriber::{EnvFilter, filter::LevelFilter};

/// A watchdog for Docker hosts: notices what hangs, restarts it without harm, and tells a person.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
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
}

fn main() -> ExitCode {
    let code = match Arguments::parse().command {
        Command::Run { config, dry_run, engine, state_dir, runtime_dir } => {
            log_to_stderr();
            let state_dir =
                state_dir.or_else(|| std::env::var_os("STATE_DIRECTORY").map(PathBuf::from));
            let systemd = std::env::var_os("RUNTIME_DIRECTORY");
            let runtime_dir =
                cli::runtime_dir(runtime_dir.as_deref(), state_dir.as_deref(), systemd);
            let docker_host = std::env::var("DOCKER_HOST").ok();
            failed(run::run(&run::Request {
                config,
                dry_run,
                engine,
                docker_host,
                state_dir,
                runtime_dir,
            }))
        }
        Command::Check { file, json } => {
            let style = if io::stdout().is_terminal() { Style::Coloured } else { Style::Plain };
            let format = if json { check::Format::Json } else { check::Format::Text(style) };
            match check::check(&file, &cli::host_name(), format, &mut io::stdout().lock()) {
                Ok(checked) => checked.exit_code(),
                Err(error) => failed(Err(error)),
            }
        }
        Command::Status { json, state_dir, runtime_dir } => {
            let systemd = std::env::var_os("RUNTIME_DIRECTORY");
            let dir = cli::runtime_dir(runtime_dir.as_deref(), state_dir.as_deref(), systemd);
            match status::status(&dir, json, &mut io::stdout().lock()) {
                Ok(status::Outcome::Well) => 0,
                Ok(status::Outcome::NotWell) => 1,
                Ok(status::Outcome::NotAsked(problem)) => failed(Err(problem)),
                Err(error) => failed(Err(error)),
            }
        }
    };
    ExitCode::from(code)
}

/// Says what failed, with its chain; exit code 2.
fn failed<E: Error>(result: Result<(), E>) -> u8 {
    let Err(error) = result else {
        return 0;
    };
    let mut text = format!("defib: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    // Where stderr is gone there is nobody to tell.
    drop(writeln!(io::stderr(), "{text}"));
    2
}

/// `DEFIB_LOG` as in `info,defib::docker=debug`. What bollard logs at `debug` holds whole bodies, secrets of environments
/// included: it is never let through.
fn log_to_stderr() {
    let filter = EnvFilter::builder()
        .with_default_directive(LevelFilter::INFO.into())
        .with_env_var("DEFIB_LOG")
        .from_env_lossy();
    let filter = match "bollard=info".parse() {
        Ok(cap) => filter.add_directive(cap),
        Err(_) => filter,
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(io::stderr().is_terminal())
        .with_writer(io::stderr)
        .init();
}
