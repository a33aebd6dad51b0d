//! Why `defib run` could not run: never for want of an engine, a store or a sink, which it watches and tells of instead.

use crate::{
    cli::check::Checked,
    config::{ConfigError, problem::Style},
    docker::address::AddressError,
    store::problem::StoreProblem,
};
use std::{error::Error, fmt, io};

/// Why the daemon could not run.
#[derive(Debug)]
pub enum RunProblem {
    /// The config can't be used.
    Config(ConfigError),
    /// The engine's address is none.
    Address(AddressError),
    /// Another daemon owns the state directory.
    AnotherDaemon(StoreProblem),
    /// The system refuses what every process needs.
    System(io::Error),
}

impl RunProblem {
    /// 1 where the config has errors, as `check` says it; else 2.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(ConfigError::Invalid(_)) => Checked::Wrong.exit_code(),
            Self::Config(_) | Self::Address(_) | Self::AnotherDaemon(_) | Self::System(_) => {
                Checked::Unreadable.exit_code()
            }
        }
    }
}

impl fmt::Display for RunProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(ConfigError::Invalid(problems)) => {
                f.write_str(problems.render(Style::Plain).trim_end())
            }
            Self::Config(error) => write!(f, "{error}"),
            Self::Address(error) => write!(f, "{error}"),
            Self::AnotherDaemon(problem) => write!(f, "{problem}"),
            Self::System(_) => {
                f.write_str("failed to start: the system refuses threads, signals or sockets")
            }
        }
    }
}

impl Error for RunProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Config(error) => error.source(),
            Self::Address(error) => error.source(),
            Self::AnotherDaemon(problem) => problem.source(),
            Self::System(error) => Some(error),
        }
    }
}

impl From<io::Error> for RunProblem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}
