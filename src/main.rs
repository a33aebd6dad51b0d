//! The `defib` binary: arguments, log, exit code.

use clap::Parser;
use defib::{
    cli::{
        self,
        arguments::{Arguments, Command},
        check, demo, log,
        output::Output,
        places::{Systemd, runtime_dir as runtime_dir_of},
        run, status,
    },
    config::problem::Style,
};
use std::{
    error::Error,
    io::{self, IsTerminal, Write},
    process::ExitCode,
};
use tracing_subscriber::filter::LevelFilter;

/// The exit code of a command that could not do what it was asked for.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let code = match Arguments::parse().command {
        Command::Run { config, dry_run, engine, state_dir, runtime_dir } => {
            let request = run::Request {
                config,
                dry_run,
                engine,
                state_dir,
                runtime_dir,
                docker_host: std::env::var("DOCKER_HOST").ok(),
                systemd: Systemd::of_this_process(),
            };
            logged(LevelFilter::INFO, || match run::run(&request) {
                Ok(()) => Ok(0),
                Err(problem) => Err((problem.exit_code(), problem)),
            })
        }
        Command::Check { file, json } => {
            let style = if io::stdout().is_terminal() { Style::Coloured } else { Style::Plain };
            let format = if json { check::Format::Json } else { check::Format::Text(style) };
            let mut out = Output::to(io::stdout().lock());
            let checked = check::check(&file, &cli::host_name(), format, &mut out);
            match out.close(checked) {
                Ok(Ok(checked)) => checked.exit_code(),
                Ok(Err(problem)) => failed(&problem),
                Err(error) => failed(&error),
            }
        }
        Command::Status { json, state_dir, runtime_dir } => {
            let systemd = Systemd::of_this_process();
            let dir = runtime_dir_of(runtime_dir.as_deref(), state_dir.as_deref(), &systemd);
            let mut out = Output::to(io::stdout().lock());
            let outcome = status::status(&dir.path, json, &mut out);
            match out.close(outcome) {
                Ok(status::Outcome::Well) => 0,
                Ok(status::Outcome::NotWell) => 1,
                Ok(status::Outcome::NotAsked(problem)) => failed(&problem),
                Err(error) => failed(&error),
            }
        }
        Command::Demo { engine, simulated } => {
            let request = demo::Request {
                engine,
                docker_host: std::env::var("DOCKER_HOST").ok(),
                simulated,
                out: Box::new(io::stdout()),
                coloured: io::stdout().is_terminal(),
            };
            logged(LevelFilter::OFF, || {
                demo::run(request)
                    .map(demo::Outcome::exit_code)
                    .map_err(|problem| (FAILED, problem))
            })
        }
        Command::DemoPatient { mode } => match demo::patient::run(mode, &mut io::stdout().lock()) {
            Ok(code) => code,
            Err(problem) => failed(&problem),
        },
    };
    ExitCode::from(code)
}

/// Runs with a log, and gives the exit code. What failed is said through the log too, and not straight to stderr: whoever
/// reads that may stand still, and the process has to end all the same.
fn logged<E: Error>(level: LevelFilter, run: impl FnOnce() -> Result<u8, (u8, E)>) -> u8 {
    let log = match log::to_stderr(level) {
        Ok(log) => log,
        Err(error) => return failed(&error),
    };
    run().unwrap_or_else(|(code, error)| {
        log.say(&chain(&error));
        code
    })
}

/// Says what failed.
fn failed(error: &dyn Error) -> u8 {
    // Where stderr is gone there is nobody to tell.
    drop(writeln!(io::stderr(), "{}", chain(error)));
    FAILED
}

/// The error with its causes.
fn chain(error: &dyn Error) -> String {
    let mut text = format!("defib: {error}");
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}
