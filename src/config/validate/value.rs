//! One value at a time: what was typed becomes what it means, or a problem at its place. `None` where nothing was typed or
//! where it was refused; either way the caller goes on with the default, so that the next mistake is found too.

use crate::config::{
    nearest::nearest,
    pointer::no_path,
    problem::{Problem, Problems, refused},
    raw::At,
    words::{self, Wrong, spelled},
};
use crate::{
    domain::policy::Threshold,
    redact::{self, unseen::hides_something},
};
use std::time::Duration;

/// A name longer than this is a text.
const LONGEST_NAME: usize = 100;

pub(super) fn wrong(at: &At<impl Sized>, title: impl Into<String>, wrong: Wrong) -> Problem {
    let problem = Problem::error(at.span(), title).cause(wrong.cause);
    match wrong.hint {
        Some(hint) => problem.hint(hint),
        None => problem,
    }
}

/// A duration, 0 included.
pub(super) fn duration(
    key: &str,
    value: Option<&At<&str>>,
    problems: &mut Problems,
) -> Option<Duration> {
    let value = value?;
    match words::duration(value.get_ref()) {
        Ok(duration) => Some(duration),
        Err(cause) => {
            problems.push(wrong(value, format!("`{key}` takes a duration"), cause));
            None
        }
    }
}

/// Between which two a duration must be, and what less and more would mean. A bound stands where what is beyond it takes away
/// what the key is for; who has it so wrote another unit than was meant.
pub(super) struct Bounds {
    least: Duration,
    less: &'static str,
    most: Duration,
    more: &'static str,
}

impl Bounds {
    pub(super) const fn at_least(least: Duration, less: &'static str) -> Self {
        Self { least, less, most: words::LONGEST, more: "this is longer than a year" }
    }

    pub(super) const fn at_most(self, most: Duration, more: &'static str) -> Self {
        Self { most, more, ..self }
    }
}

/// A duration within bounds.
pub(super) fn time(
    key: &str,
    value: Option<&At<&str>>,
    bounds: &Bounds,
    problems: &mut Problems,
) -> Option<Duration> {
    let duration = duration(key, value, problems)?;
    let (wrong, cause) = if duration < bounds.least {
        (format!("at least {}", spelled(bounds.least)), bounds.less)
    } else if duration > bounds.most {
        (format!("at most {}", spelled(bounds.most)), bounds.more)
    } else {
        return Some(duration);
    };
    let at = value.map(At::span).unwrap_or_default();
    problems.push(Problem::error(at, format!("`{key}` must be {wrong}")).cause(cause));
    None
}

pub(super) fn threshold(
    key: &str,
    value: Option<&At<&str>>,
    problems: &mut Problems,
) -> Option<Threshold> {
    let value = value?;
    match words::threshold(value.get_ref()) {
        Ok(threshold) => Some(threshold),
        Err(cause) => {
            let title = format!("`{key}` takes a number of failures, a duration, or both");
            problems.push(wrong(value, title, cause));
            None
        }
    }
}

/// What the least allowed number is, what less would mean, and what to do instead; and what the most is.
pub(super) struct Least {
    number: u32,
    less: &'static str,
    instead: Option<&'static str>,
    most: usize,
    more: &'static str,
}

impl Least {
    pub(super) const fn number(number: u32, less: &'static str) -> Self {
        Self {
            number,
            less,
            instead: None,
            most: MOST,
            more: "no number in this file needs to be that large",
        }
    }

    pub(super) const fn one(less: &'static str) -> Self {
        Self::number(1, less)
    }

    pub(super) const fn at_most(self, most: usize, more: &'static str) -> Self {
        Self { most, more, ..self }
    }

    pub(super) const fn instead(self, instead: &'static str) -> Self {
        Self { instead: Some(instead), ..self }
    }
}

/// More of anything that is counted here is a slip of the pen.
const MOST: usize = 1_000_000;

pub(super) fn count(
    key: &str,
    value: Option<&At<i64>>,
    least: &Least,
    problems: &mut Problems,
) -> Option<u32> {
    let value = value?;
    let is_at_most = usize::try_from(*value.get_ref()).is_ok_and(|number| number <= least.most);
    match u32::try_from(*value.get_ref()) {
        Ok(number) if number >= least.number && is_at_most => Some(number),
        _ if *value.get_ref() > 0 => {
            problems.push(
                Problem::error(value.span(), format!("`{key}` must be at most {}", least.most))
                    .cause(least.more),
            );
            None
        }
        _ => {
            let title = format!("`{key}` must be at least {}", least.number);
            let problem = Problem::error(value.span(), title).cause(least.less);
            problems.push(match least.instead {
                Some(instead) => problem.hint(instead),
                None => problem,
            });
            None
        }
    }
}

/// One of a few words.
pub(super) fn choice<T: Copy>(
    key: &str,
    value: Option<&At<&str>>,
    choices: &[(&'static str, T)],
    problems: &mut Problems,
) -> Option<T> {
    let value = value?;
    let text = *value.get_ref();
    if let Some((_, choice)) = choices.iter().find(|(word, _)| *word == text) {
        return Some(*choice);
    }
    let known: Vec<String> = choices.iter().map(|(word, _)| format!("\"{word}\"")).collect();
    let known = match known.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => known.concat(),
    };
    let problem = Problem::error(value.span(), format!("`{key}` can't be {}", refused(text)))
        .cause(format!("it takes {known}"));
    problems.push(match nearest(text, choices.iter().map(|(word, _)| *word)) {
        Some(near) => problem.hint(format!("did you mean \"{near}\"?")),
        None => problem,
    });
    None
}

/// Whether it can be a name. `what` says whose: "a service's name".
pub(super) fn is_name(what: &str, value: &At<&str>, problems: &mut Problems) -> bool {
    let name = *value.get_ref();
    let cause = if name.is_empty() {
        "there is nothing between the quotes"
    } else if name.trim() != name {
        "it begins or ends with a space, which nobody sees in a message"
    } else if hides_something(name) {
        "it holds characters that can't be seen"
    } else if name.contains('/') {
        "`/` parts the names in an incident's key"
    } else if name.chars().count() > LONGEST_NAME {
        "it is longer than 100 characters: what is longer goes into `note`"
    } else {
        return true;
    };
    problems.push(
        Problem::error(value.span(), format!("{what} can't be {}", refused(name))).cause(cause),
    );
    false
}

/// Whether it would be hidden wherever it comes from outside.
pub(super) fn holds_a_secret(text: &str) -> bool {
    redact::text(text) != text
}

/// A file or folder, by its whole path: a daemon is started in another folder than the shell it was tried in.
pub(super) fn path(key: &str, value: &At<&str>, problems: &mut Problems) -> bool {
    let Some(cause) = no_path(value.get_ref()) else { return true };
    problems
        .push(Problem::error(value.span(), format!("`{key}` takes an absolute path")).cause(cause));
    false
}
