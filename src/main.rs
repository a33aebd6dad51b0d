//! The `defib` binary: arguments, log, exit code.

use clap::Parser;
use defib::{
    cli::{
        self,
        arguments::{Arguments, Command},
        check, demo, log, run, status,
    },
    config::problem::Style,
};
use std::{
    error::Error,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    process::ExitCode,
};
use tracing_subscriber::filter::LevelFilter;

fn main() -> ExitCode {
    let code = match Arguments::parse().command {
        Command::Run { config, dry_run, engine, state_dir, runtime_dir } => {
            log::to_stderr(LevelFilter::INFO);
            let state_dir =
                state_dir.or_else(|| std::env::var_os("STATE_DIRECTORY").map(PathBuf::from));
            let systemd = std::env::var_os("RUNTIME_DIRECTORY");
            let runtime_dir =
                cli::runtime_dir(runtime_dir.as_deref(), state_dir.as_deref(), systemd);
            let docker_host = std::env::var("DOCKER_HOST").ok();
            let request =
                run::Request { config, dry_run, engine, docker_host, state_dir, runtime_dir };
            match run::run(&request) {
                Ok(()) => 0,
                Err(problem) => {
                    let code = problem.exit_code();
                    failed(Err(problem));
                    code
                }
            }
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
        Command::Demo { engine, simulated } => {
            log::to_stderr(LevelFilter::OFF);
            let request = demo::Request {
                engine,
                docker_host: std::env::var("DOCKER_HOST").ok(),
                simulated,
                out: Box::new(io::stdout()),
                coloured: io::stdout().is_terminal(),
            };
            match demo::run(request) {
                Ok(outcome) => outcome.exit_code(),
                Err(problem) => failed(Err(problem)),
            }
        }
        Command::DemoPatient { mode } => match demo::patient::run(mode, &mut io::stdout().lock()) {
            Ok(code) => code,
            Err(problem) => failed(Err(problem)),
        },
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
