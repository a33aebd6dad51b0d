//! Why `defib run` could not run: never for want of an engine, a store or a sink, which it watches and tells of instead.

use crate::{
    cli::check::Checked,
    config::{
        ConfigError,
        problem::{Level, Style, counted},
    },
    docker::address::AddressError,
    notify::config::SinkNotBuilt,
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
    /// A sink can't be built, at the start or when the config is read again.
    Sink(SinkNotBuilt),
    /// The system refuses what every process needs.
    System(io::Error),
}

impl RunProblem {
    /// 1 where the config has errors, as `check` says it; else 2.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Config(ConfigError::Invalid(_)) => Checked::Wrong.exit_code(),
            Self::Config(_)
            | Self::Address(_)
            | Self::AnotherDaemon(_)
            | Self::Sink(_)
            | Self::System(_) => Checked::Unreadable.exit_code(),
        }
    }
}

impl RunProblem {
    /// In one line, where there is no room for the excerpts of a config: its first error, and how many there are.
    pub(in crate::cli) fn in_one_line(&self) -> String {
        let Self::Config(ConfigError::Invalid(problems)) = self else {
            return self.with_cause();
        };
        let Some(first) = problems.iter().find(|problem| problem.level == Level::Error) else {
            return format!("{} has {}", problems.file(), counted(problems.errors(), "error"));
        };
        let (line, column) = problems.place(first);
        let more = match problems.errors().saturating_sub(1) {
            0 => String::new(),
            1 => " (and one more error)".to_owned(),
            more => format!(" (and {more} more errors)"),
        };
        format!("{}:{line}:{column}: {}{more}", problems.file(), first.title)
    }

    /// In as many lines as it takes.
    pub(in crate::cli) fn in_lines(&self) -> String {
        match self {
            Self::Config(ConfigError::Invalid(problems)) => problems.render(Style::Plain),
            Self::Config(_)
            | Self::Address(_)
            | Self::AnotherDaemon(_)
            | Self::Sink(_)
            | Self::System(_) => self.with_cause(),
        }
    }

    /// With what it comes from: `Display` leaves that out.
    fn with_cause(&self) -> String {
        match self.source() {
            Some(cause) => format!("{self}: {cause}"),
            None => self.to_string(),
        }
    }
}

/// Text of several lines as lines of the log, each of which says by itself how bad it is.
pub(in crate::cli) fn log_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let title = line.strip_prefix("error: ").or_else(|| line.strip_prefix("warning: "));
        title.unwrap_or(line)
    })
}

impl fmt::Display for RunProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(ConfigError::Invalid(problems)) => {
                write!(f, "the config has errors:\n{}", problems.render(Style::Plain).trim_end())
            }
            Self::Config(error) => write!(f, "{error}"),
            Self::Address(error) => write!(f, "{error}"),
            Self::AnotherDaemon(problem) => write!(f, "{problem}"),
            Self::Sink(problem) => write!(f, "{problem}"),
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
            Self::Sink(problem) => problem.source(),
            Self::System(error) => Some(error),
        }
    }
}

impl From<io::Error> for RunProblem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config, domain::name::HostName};

    #[test]
    fn in_one_line_stands_the_first_error_and_no_warning() {
        let warned = "[[host]]\nmatch = 'a'\n".repeat(1_500);
        let wrong = format!("{warned}[[host]]\nmatch = ''\nnever_act = true\n");
        let problem = config::parse("defib.toml", &wrong, &HostName::new("kit-1")).unwrap_err();
        assert_eq!(
            RunProblem::Config(problem).in_one_line(),
            "defib.toml:3002:9: `match` is empty"
        );
    }
}
