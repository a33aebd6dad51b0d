//! `[fleet]`, `[engine]`, `[state]` and `[watch]`: what stands above all services.

use super::{address, value};
use crate::config::{
    problem::Problems,
    raw::{At, RawWatch},
};
use crate::domain::policy::Unlisted;
use std::path::PathBuf;

/// What a fleet is called that was given no name.
pub(super) const UNNAMED: &str = "default";

pub(super) fn name(raw: Option<&At<&str>>, problems: &mut Problems) -> String {
    raw.filter(|name| value::is_name("a fleet's name", name, problems))
        .map_or(UNNAMED, |name| name.get_ref())
        .to_owned()
}

pub(super) fn engine(raw: Option<&At<&str>>, problems: &mut Problems) -> Option<String> {
    let given = raw?;
    match address::engine(given.get_ref()) {
        Ok(()) => Some((*given.get_ref()).to_owned()),
        Err(cause) => {
            problems.push(value::wrong(given, "`address` takes the address of an engine", cause));
            None
        }
    }
}

pub(super) fn state_dir(raw: Option<&At<&str>>, problems: &mut Problems) -> Option<PathBuf> {
    let given = raw?;
    value::path("dir", given, problems).then(|| PathBuf::from(*given.get_ref()))
}

const UNLISTED: [(&str, Unlisted); 3] =
    [("healthchecked", Unlisted::Healthchecked), ("all", Unlisted::All), ("none", Unlisted::None)];

/// Which containers without a service are watched, and whether `autoheal=true` is an opt-in.
pub(super) fn watch(raw: &RawWatch<'_>, problems: &mut Problems) -> (Unlisted, bool) {
    let unlisted = value::choice("unlisted", raw.unlisted.as_ref(), &UNLISTED, problems);
    (
        unlisted.unwrap_or(Unlisted::Healthchecked),
        raw.autoheal_labels.as_ref().is_some_and(|flag| *flag.get_ref()),
    )
}
