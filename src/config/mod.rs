//! The config file: what was typed → what it means → the domain's [`Policy`].
//!
//! In three steps that know nothing of one another: `file.rs` reads bytes within bounds, `raw/` mirrors the tables as they
//! were typed, `validate/` decides what they mean and fills in what was left out. Everything wrong is collected on the way
//! (`problem.rs`) and told at once, each with its place; a file with one error is not used at all, since half a policy is
//! one that nobody wrote.
//!
//! Refuses unknown keys, keys of later versions, impossible values, and secrets: they are named here and stand elsewhere.
//! Reads no environment, no secrets, and asks no engine, so that a file can be checked anywhere.

mod file;
pub mod keys;
mod nearest;
mod pointer;
pub mod problem;
mod raw;
mod secret;
pub mod sink;
pub mod source;
mod synonyms;
mod validate;
mod words;

pub use file::{CONFIG_WITHIN, ConfigError};

use crate::domain::{name::HostName, policy::Policy};
use problem::{Problem, Problems, Span};
use sink::{NamedSink, SecretFile};
use source::Source;
use std::path::{Path, PathBuf};
use toml::de::DeTable;

/// What a file means on one host.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// What the domain keeps.
    pub policy: Policy,
    /// Where messages go; the same sinks in the same order as in the policy.
    pub sinks: Vec<NamedSink>,
    /// The engine's address, unless `--engine` says otherwise; `None`: `DOCKER_HOST`, else the usual sockets.
    pub engine: Option<String>,
    /// Where state is kept; `None`: as the command line or systemd says.
    pub state_dir: Option<PathBuf>,
}

impl Config {
    /// What holds without any file: every container with a healthcheck is watched, the terminal is told, and only what is
    /// labelled is restarted.
    pub fn without_config(host: &HostName) -> Self {
        let mut problems = Problems::new(Source::new("", ""));
        validate::config(&raw::RawFile::default(), host, &mut problems)
    }
}

/// The policy of [`Config::without_config`].
pub fn without_config(host: &HostName) -> Policy {
    Config::without_config(host).policy
}

/// A config that can be used, and what probably does not do what was meant.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What the file means.
    pub config: Config,
    /// Warnings alone.
    pub warnings: Problems,
}

/// A file as it was understood on one host, whatever is wrong with it.
#[derive(Clone, Debug)]
pub struct Examined {
    /// Complete, with what holds by default where something was refused.
    config: Config,
    /// Everything wrong, in the order of the file.
    pub problems: Problems,
    /// Where its sinks have their secrets, also those of sinks that are refused.
    pub secret_files: Vec<SecretFile>,
}

impl Examined {
    /// The config, if it can be used.
    ///
    /// # Errors
    /// Everything that is wrong with it, where that is more than warnings.
    pub fn usable(self) -> Result<Loaded, Box<Problems>> {
        if self.problems.errors() > 0 {
            return Err(Box::new(self.problems));
        }
        Ok(Loaded { config: self.config, warnings: self.problems })
    }
}

/// Reads a file and says what it means on this host. Hangs with the file's disk, so it is for a thread that may.
///
/// # Errors
/// Where it can't be read, or has an error; see [`ConfigError`].
pub fn load(path: &Path, host: &HostName) -> Result<Loaded, ConfigError> {
    examine(path, host)?.usable().map_err(ConfigError::Invalid)
}

/// The same, given up after [`CONFIG_WITHIN`]. Blocks for so long, so it is for the start, before anything turns.
///
/// # Errors
/// As [`load`], and where it does not come back.
pub fn load_in_time(path: &Path, host: &HostName) -> Result<Loaded, ConfigError> {
    examine_in_time(path, host)?.usable().map_err(ConfigError::Invalid)
}

/// Reads a file and says everything about it, also where it can't be used. Given up after [`CONFIG_WITHIN`].
///
/// # Errors
/// Where it can't be read, or does not come back.
pub fn examine_in_time(path: &Path, host: &HostName) -> Result<Examined, ConfigError> {
    let host = host.clone();
    file::in_time(path, CONFIG_WITHIN, move |path| examine(path, &host))
}

/// Reads a file and says everything about it, also where it can't be used.
///
/// # Errors
/// Where it can't be read.
pub fn examine(path: &Path, host: &HostName) -> Result<Examined, ConfigError> {
    let text = file::read(path)?;
    Ok(understood(&path.display().to_string(), &text, host))
}

/// Says what a text means on this host. `name` is how the file is called in problems.
///
/// # Errors
/// [`ConfigError::Invalid`], with everything that is wrong with it.
pub fn parse(name: &str, text: &str, host: &HostName) -> Result<Loaded, ConfigError> {
    understood(name, text, host).usable().map_err(ConfigError::Invalid)
}

fn understood(name: &str, text: &str, host: &HostName) -> Examined {
    let mut problems = Problems::new(Source::new(name, text));
    let (table, errors) = DeTable::parse_recoverable(text);
    let unreadable: Vec<Span> = errors
        .iter()
        .map(|error| {
            let problem = not_toml(error, text);
            let at = problem.at.clone();
            problems.push(problem);
            at
        })
        .collect();
    let raw = raw::read(&table, &mut problems);
    let config = validate::config(&raw, host, &mut problems);
    let secret_files = validate::secret_files(&raw);
    if !unreadable.is_empty() {
        problems.drop_what_follows_from(&unreadable, errors.len());
    }
    if !raw.unknown.is_empty() {
        problems.drop_what_is_missing(&raw.unknown);
    }
    problems.sort();
    Examined { config, problems, secret_files }
}

/// Quotes that a word processor makes of straight ones.
const CURLY: [char; 4] = ['\u{201c}', '\u{201d}', '\u{2018}', '\u{2019}'];

/// The parser's words, made plainer where they are met often.
fn not_toml(error: &toml::de::Error, text: &str) -> Problem {
    let at = error.span().unwrap_or(text.len()..text.len());
    let (what, expected) =
        error.message().split_once(", expected ").unwrap_or((error.message(), ""));
    let title = |title: &str| Problem::error(at.clone(), title);
    match what {
        "string values must be quoted"
            if text.get(at.clone()).is_some_and(|word| word.starts_with(CURLY)) =>
        {
            title("text stands in straight quotes")
                .cause("these are the quotes of printed text")
                .hint("write \"…\" around it")
        }
        "string values must be quoted" => title("text stands in quotes")
            .cause("this has none")
            .hint("write \"…\" around it; only numbers, `true` and `false` stand without"),
        "duplicate key" => title("a key is set twice")
            .cause("this one is set already, further up")
            .hint("keep one of the two; where there can be many, the header has double brackets"),
        "invalid basic string" | "invalid literal string" => {
            title("text is not closed").cause("the quote at its end is missing")
        }
        other if expected.is_empty() => title(&format!("this is no TOML: {other}")),
        other => title(&format!("this is no TOML: {other}")).cause(format!("expected {expected}")),
    }
}
