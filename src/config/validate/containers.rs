//! Which containers a service has. Refuses what matches nothing and what matches by accident.

use super::value;
use crate::config::{
    problem::{Problem, Problems, refused},
    raw::{At, RawContainers},
    words::Wrong,
};
use crate::domain::policy::ContainerMatch;

const HINT: &str = "write one of `compose = \"project/service\"`, `name = \"account-*\"`, \
                    `label = \"key=value\"`, `image = \"account:*\"`";

pub(super) fn read(raw: &RawContainers<'_>, problems: &mut Problems) -> Option<ContainerMatch> {
    let ways = [
        ("compose", raw.compose.as_ref(), compose as fn(&str) -> Result<ContainerMatch, Wrong>),
        ("name", raw.name.as_ref(), name),
        ("label", raw.label.as_ref(), label),
        ("image", raw.image.as_ref(), image),
    ];
    let given: Vec<_> = ways
        .into_iter()
        .filter_map(|(key, value, read)| value.map(|value| (key, value, read)))
        .collect();
    match given.as_slice() {
        [(key, value, read)] => taken(key, value, *read, problems),
        [] => {
            if !raw.says_which {
                problems.push(
                    Problem::missing(raw.at.clone(), "`containers` does not say which")
                        .cause("this matches no container")
                        .hint(HINT),
                );
            }
            None
        }
        [(first, _, _), (second, value, _), ..] => {
            problems.push(
                Problem::error(value.span(), "`containers` says more than one thing")
                    .cause(format!("`{first}` and `{second}` stand in one table"))
                    .hint(
                        "for either of the two write a list: \
                           `containers = [{ name = \"a\" }, { label = \"b\" }]`",
                    ),
            );
            None
        }
    }
}

fn taken(
    key: &str,
    value: &At<&str>,
    read: fn(&str) -> Result<ContainerMatch, Wrong>,
    problems: &mut Problems,
) -> Option<ContainerMatch> {
    let text = *value.get_ref();
    let read = match text {
        "" => Err(Wrong::new("this matches no container").hint(HINT)),
        text if text.chars().any(|c| c.is_control() || c == ' ') => {
            Err(Wrong::new("it has spaces or characters that can't be seen"))
        }
        text => read(text),
    };
    match read {
        Ok(matched) => Some(matched),
        Err(cause) => {
            let title = format!("`{key}` can't be {}", refused(text));
            problems.push(value::wrong(value, title, cause));
            None
        }
    }
}

fn compose(text: &str) -> Result<ContainerMatch, Wrong> {
    match text.split_once('/') {
        Some((project, service))
            if !project.is_empty() && !service.is_empty() && !service.contains('/') =>
        {
            if text.contains('*') {
                return Err(Wrong::new("`*` stands for any characters only in `name` and `image`"));
            }
            Ok(ContainerMatch::Compose { project: project.to_owned(), service: service.to_owned() })
        }
        _ => Err(Wrong::new("it takes Compose's project and service, with one `/` between")
            .hint("`docker compose ls` shows projects, `docker compose ps` their services")),
    }
}

fn name(text: &str) -> Result<ContainerMatch, Wrong> {
    if text.contains('/') {
        return Err(Wrong::new("a container's name has no `/`")
            .hint("the engine's answers show one before each name; it is no part of it"));
    }
    Ok(ContainerMatch::Name(text.to_owned()))
}

fn label(text: &str) -> Result<ContainerMatch, Wrong> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(value.to_owned())),
        None => (text, None),
    };
    if key.is_empty() {
        return Err(Wrong::new("there is no label before `=`"));
    }
    if text.contains('*') {
        return Err(Wrong::new("`*` stands for any characters only in `name` and `image`")
            .hint("a label without `=` matches with any value"));
    }
    Ok(ContainerMatch::Label { key: key.to_owned(), value })
}

fn image(text: &str) -> Result<ContainerMatch, Wrong> {
    Ok(ContainerMatch::Image(text.to_owned()))
}

/// As it is written in the file.
pub(super) fn spelled(matched: &ContainerMatch) -> String {
    match matched {
        ContainerMatch::Compose { project, service } => {
            format!("compose = \"{project}/{service}\"")
        }
        ContainerMatch::Name(name) => format!("name = \"{name}\""),
        ContainerMatch::Label { key, value: Some(value) } => format!("label = \"{key}={value}\""),
        ContainerMatch::Label { key, value: None } => format!("label = \"{key}\""),
        ContainerMatch::Image(image) => format!("image = \"{image}\""),
    }
}
