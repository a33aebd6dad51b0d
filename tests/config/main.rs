//! The config file as its users meet it: what it means, what is wrong with it, and what the docs say of it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "clippy allows these in tests, and does not see that what tests share is one"
)]

mod check;
mod defaults;
mod docs;
mod files;
mod hints;
#[path = "../shared/left_out.rs"]
mod left_out;
mod meaning;
mod problems;
mod scale;
mod secrets;

use defib::{
    config::{self, Config, ConfigError, Loaded, problem::Problems},
    domain::name::HostName,
};

pub(crate) fn host() -> HostName {
    HostName::new("kit-1")
}

/// What a text means; it must be without errors.
#[track_caller]
pub(crate) fn meaning(text: &str) -> Config {
    loaded(text).config
}

#[track_caller]
pub(crate) fn loaded(text: &str) -> Loaded {
    match config::parse("defib.toml", text, &host()) {
        Ok(loaded) => loaded,
        Err(error) => panic!("refused:\n{error}"),
    }
}

/// What is wrong with a text; there must be something.
#[track_caller]
pub(crate) fn problems(text: &str) -> Problems {
    match config::parse("defib.toml", text, &host()) {
        Ok(loaded) => loaded.warnings,
        Err(ConfigError::Invalid(problems)) => *problems,
        Err(other) => panic!("{other}"),
    }
}
