//! What concerns several services at once: names that stand twice, containers that two services claim. What they need of
//! one another is in `dependencies.rs`.
//!
//! Maps by name, so that 5,000 services take no longer than reading them.

use super::{containers, dependencies};
use crate::config::{
    problem::{Problem, Problems, Span, quoted},
    raw::RawService,
};
use crate::domain::policy::ServicePolicy;
use std::{collections::BTreeMap, sync::Arc};

/// Checks all services against one another. `services` holds those of `raw` that could be read, each with its index there.
pub(super) fn check(
    raw: &[RawService<'_>],
    services: &[(usize, Arc<ServicePolicy>)],
    problems: &mut Problems,
) {
    let names = names(raw, problems);
    claims(raw, services, problems);
    dependencies::check(raw, services, &names, problems);
}

/// Each name with the first service that has it.
fn names<'a>(raw: &[RawService<'a>], problems: &mut Problems) -> BTreeMap<&'a str, usize> {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, service) in raw.iter().enumerate() {
        let Some(name) = service.name.as_ref() else { continue };
        match names.get(name.get_ref()) {
            Some(first) => problems.push(
                Problem::error(
                    name.span(),
                    format!("two services are called {}", quoted(name.get_ref())),
                )
                .cause("the second")
                .also(name_at(&raw[*first]), "the first")
                .hint(
                    "give one of them another name, or make them one service with a list in \
                       `containers`",
                ),
            ),
            None => {
                names.insert(name.get_ref(), index);
            }
        }
    }
    names
}

fn name_at(service: &RawService<'_>) -> Span {
    service.name.as_ref().map_or_else(|| service.at.clone(), |name| name.span())
}

/// Only those that are written alike; that two patterns match one container is seen when it is there.
fn claims(
    raw: &[RawService<'_>],
    services: &[(usize, Arc<ServicePolicy>)],
    problems: &mut Problems,
) {
    let mut claimed: BTreeMap<String, (usize, Span)> = BTreeMap::new();
    for (index, service) in services {
        for (rule, matched) in service.containers.iter().enumerate() {
            let spelled = containers::spelled(matched);
            let at = rule_at(&raw[*index], rule, service.containers.len());
            match claimed.get(&spelled) {
                Some((first, first_at)) if first == index => problems.push(
                    Problem::warning(at, "the same containers are named twice")
                        .cause(format!("`{spelled}` stands here twice"))
                        .also(first_at.clone(), "the first"),
                ),
                Some((_, first_at)) => problems.push(
                    Problem::error(at, "two services have the same containers")
                        .cause("these belong to another service already")
                        .also(first_at.clone(), "here")
                        .hint(
                            "a container belongs to one service: it alone says whether it may be \
                               restarted",
                        ),
                ),
                None => {
                    claimed.insert(spelled, (*index, at));
                }
            }
        }
    }
}

/// The place of one of a service's `read` rules, where each of those in the file could be read; else of all of them.
fn rule_at(service: &RawService<'_>, rule: usize, read: usize) -> Span {
    let Some(given) = service.containers.as_ref() else { return service.at.clone() };
    let rules = given.get_ref();
    let one = rules.get(rule).filter(|_| rules.len() == read);
    one.map_or_else(|| given.span(), |one| one.at.clone())
}
