//! `defib check FILE`: says everything that is wrong with a config, or in a few lines what it would do. Asks no engine, and
//! needs no secrets, so that it also runs in CI, before the file is on any host: a sink's file that can't be read here is
//! only a warning, told beside whatever else is wrong. Environment and credentials are the service manager's to give, and
//! say nothing here.

use crate::{
    config::{
        self, Config, ConfigError,
        problem::{Level, Problem, Problems, Style, counted, quoted},
        sink::SecretFile,
    },
    domain::{
        name::HostName,
        policy::{RestartMode, Unlisted},
    },
    notify::{readiness, salt::Salt},
};
use futures_util::future::join_all;
use serde::Serialize;
use std::{
    error::Error,
    fmt,
    io::{self, Write},
    path::Path,
};

/// How the answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// To a person.
    Text(Style),
    /// To a program.
    Json,
}

/// What was found, and the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It can be used, perhaps with warnings.
    Good,
    /// It has errors.
    Wrong,
    /// It could not be read.
    Unreadable,
}

impl Checked {
    /// 0, 1 and 2.
    pub fn exit_code(self) -> u8 {
        match self {
            Checked::Good => 0,
            Checked::Wrong => 1,
            Checked::Unreadable => 2,
        }
    }
}

/// A file was read, and could not be checked to its end.
#[derive(Debug)]
pub struct Unchecked(io::Error);

impl fmt::Display for Unchecked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "failed to look at the files that sinks need: the system refuses what every process needs, such as descriptors or \
             random numbers; nothing is said of the config",
        )
    }
}

impl Error for Unchecked {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Checks a file as it would hold on this host and writes the answer. No answer is no good file either: whoever asked has to
/// hear which of the two it was that failed, the check or the writing.
///
/// # Errors
/// Where the answer can't be written.
pub fn check(
    path: &Path,
    host: &HostName,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<Result<Checked, Unchecked>> {
    let (checked, answer) = match config::examine_in_time(path, host) {
        Ok(mut examined) => {
            if let Err(error) = lacking(&examined.secret_files, &mut examined.problems) {
                return Ok(Err(Unchecked(error)));
            }
            match examined.usable() {
                Ok(loaded) => (Checked::Good, Answer::good(&loaded.config, loaded.warnings)),
                Err(problems) => (Checked::Wrong, Answer::wrong(*problems)),
            }
        }
        Err(error) => (Checked::Unreadable, Answer::unreadable(&error)),
    };
    match format {
        Format::Json => super::json::write(&answer.json, out)?,
        Format::Text(style) => {
            if let Some(problems) = answer.problems {
                out.write_all(problems.render(style).as_bytes())?;
            }
            writeln!(out, "{}: {}", path.display(), answer.last_line)?;
        }
    }
    Ok(Ok(checked))
}

/// Warns of each file that a sink needs and could not use from here.
///
/// # Errors
/// Where the system refuses what it takes to look.
fn lacking(files: &[SecretFile], problems: &mut Problems) -> io::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let salt = Salt::random()?;
    // All at once: each may take its whole time where a disk hangs.
    let looks = files.iter().map(|file| lacks(file, &salt));
    for (file, lacks) in files.iter().zip(runtime.block_on(join_all(looks))) {
        let Some(lacks) = lacks else { continue };
        let sink = quoted(file.sink.as_str());
        let title = format!("`{}` of sink {sink} can't be used from here", file.key);
        problems.push(Problem::warning(file.at.clone(), title).cause(lacks).hint(
            "looked at as the user who runs this: `defib run` looks too, and says so in its log",
        ));
    }
    problems.sort();
    Ok(())
}

/// Why a file can't be used. What it is for stands in the title: of the reason only the reason.
async fn lacks(file: &SecretFile, salt: &Salt) -> Option<String> {
    let lacks = readiness::look(&file.alone, salt).await.lacks?;
    let unread = format!("secret could not be read from {}: ", file.source);
    Some(lacks.strip_prefix(&unread).map_or_else(|| lacks.clone(), str::to_owned))
}

struct Answer {
    problems: Option<Problems>,
    last_line: String,
    json: Json,
}

#[derive(Serialize)]
struct Json {
    usable: bool,
    summary: String,
    problems: Vec<JsonProblem>,
}

#[derive(Serialize)]
struct JsonProblem {
    level: &'static str,
    line: usize,
    column: usize,
    title: String,
    cause: String,
    hint: Option<String>,
}

impl Answer {
    fn good(config: &Config, warnings: Problems) -> Self {
        let mut last_line = format!("good: {}", summary(config));
        if !warnings.is_empty() {
            last_line.push_str(&format!(" ({})", counted(warnings.warnings(), "warning")));
        }
        Self::new(true, Some(warnings), last_line)
    }

    fn wrong(problems: Problems) -> Self {
        let mut last_line = counted(problems.errors(), "error");
        if problems.warnings() > 0 {
            last_line.push_str(&format!(", {}", counted(problems.warnings(), "warning")));
        }
        last_line.push_str("; it would not be used");
        Self::new(false, Some(problems), last_line)
    }

    fn unreadable(error: &ConfigError) -> Self {
        let last_line = match error.source() {
            Some(source) => format!("{error}: {source}"),
            None => error.to_string(),
        };
        Self::new(false, None, last_line)
    }

    fn new(usable: bool, problems: Option<Problems>, last_line: String) -> Self {
        let found = problems.iter().flat_map(|all| all.iter().map(move |one| (all, one)));
        let found = found.map(|(all, problem)| {
            let (line, column) = all.place(problem);
            JsonProblem {
                level: match problem.level {
                    Level::Error => "error",
                    Level::Warning => "warning",
                },
                line,
                column,
                title: problem.title.clone(),
                cause: problem.cause.clone(),
                hint: problem.hint.clone(),
            }
        });
        let json = Json { usable, summary: last_line.clone(), problems: found.collect() };
        Self { problems, last_line, json }
    }
}

/// What it would do, in one line.
fn summary(config: &Config) -> String {
    let policy = &config.policy;
    // What is a URL alone has nothing to restart; whether the others match a container only an engine knows.
    let may_restart = policy
        .services
        .iter()
        .filter(|service| service.restart == RestartMode::Auto && !service.containers.is_empty());
    let restarts = match (policy.never_act, may_restart.count()) {
        (true, _) => format!("nothing is acted on, on {}", policy.host),
        (false, 0) => "none of them may be restarted".to_owned(),
        (false, auto) => {
            format!("{auto} may be restarted where they match a container (not looked at here)")
        }
    };
    let probes = policy.services.iter().map(|service| service.probes.len()).sum();
    let unlisted = match policy.unlisted {
        Unlisted::Healthchecked => "other containers: those with a healthcheck",
        Unlisted::All => "other containers: all",
        Unlisted::None => "other containers: none",
    };
    format!(
        "{}, {restarts}; {}; {}; {unlisted}",
        counted(policy.services.len(), "service"),
        counted(probes, "probe"),
        counted(config.sinks.len(), "sink"),
    )
}
