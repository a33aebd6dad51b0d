//! What concerns several services at once: names that stand twice, containers that two services claim, dependencies that
//! lead nowhere or in a circle.
//!
//! Maps by name and one walk over all dependencies, so that 5,000 services take no longer than reading them.

use super::containers;
use crate::config::{
    nearest::nearest,
    problem::{Problem, Problems, Span, quoted},
    raw::{At, RawService},
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
    let edges = dependencies(raw, &names, problems);
    circles(raw, &edges, problems);
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

/// A dependency: on which service, and where it stands.
type Edge = (usize, Span);

fn dependencies(
    raw: &[RawService<'_>],
    names: &BTreeMap<&str, usize>,
    problems: &mut Problems,
) -> Vec<Vec<Edge>> {
    let mut all = Vec::with_capacity(raw.len());
    for (index, service) in raw.iter().enumerate() {
        let mut edges: Vec<Edge> = Vec::new();
        for name in service.depends_on.iter().flat_map(|names| names.get_ref()) {
            match names.get(name.get_ref()) {
                Some(on) if *on == index => problems.push(
                    Problem::error(name.span(), "a service can't depend on itself")
                        .cause("this is its own name"),
                ),
                Some(on) if edges.iter().any(|(other, _)| other == on) => problems.push(
                    Problem::warning(name.span(), "a dependency is named twice")
                        .cause("this stands here already"),
                ),
                Some(on) => edges.push((*on, name.span())),
                None => problems.push(unknown(name, names)),
            }
        }
        all.push(edges);
    }
    all
}

fn unknown(name: &At<&str>, names: &BTreeMap<&str, usize>) -> Problem {
    let problem =
        Problem::missing(name.span(), format!("there is no service {}", quoted(name.get_ref())))
            .cause("nothing in this file has this name");
    match nearest(name.get_ref(), names.keys().copied()) {
        Some(near) => problem.hint(format!("did you mean {}?", quoted(near))),
        None => problem.hint("`depends_on` takes the `name` of another `[[service]]`"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    Not,
    Open,
    Done,
}

/// Tells of each circle once. A walk in depth with a stack of its own: a chain of 5,000 services is no deeper than one.
fn circles(raw: &[RawService<'_>], edges: &[Vec<Edge>], problems: &mut Problems) {
    let mut visits = vec![Visit::Not; edges.len()];
    for start in 0..edges.len() {
        if visits[start] != Visit::Not {
            continue;
        }
        visits[start] = Visit::Open;
        let mut path: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((at, next)) = path.last_mut() {
            let Some((on, _)) = edges[*at].get(*next) else {
                visits[*at] = Visit::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match visits[*on] {
                Visit::Done => {}
                Visit::Not => {
                    visits[*on] = Visit::Open;
                    path.push((*on, 0));
                }
                Visit::Open => {
                    let first = path.iter().position(|(member, _)| member == on).unwrap_or(0);
                    problems.push(circle(raw, edges, &path[first..]));
                }
            }
        }
    }
}

/// So many members of a circle are named; nobody reads a longer one.
const NAMED: usize = 8;

fn circle(raw: &[RawService<'_>], edges: &[Vec<Edge>], path: &[(usize, usize)]) -> Problem {
    let name = |index: usize| raw[index].name.as_ref().map_or("?", |name| name.get_ref());
    let mut names: Vec<String> =
        path.iter().take(NAMED).map(|(member, _)| quoted(name(*member))).collect();
    if path.len() > NAMED {
        names.push(format!("… {} more …", path.len() - NAMED));
    }
    names.extend(path.first().map(|(first, _)| quoted(name(*first))));
    // The edge that was being followed from each member: the one before the next to be looked at.
    let mut places =
        path.iter().filter_map(|(member, next)| edges[*member].get(next.checked_sub(1)?));
    let closing = places.next_back().map(|(_, at)| at.clone()).unwrap_or_default();
    let problem = Problem::error(closing, "services depend on one another in a circle")
        .cause("this closes the circle")
        .hint(format!(
            "{}: causes are looked at before what depends on them, and here nothing comes first",
            names.join(" → ")
        ));
    places.take(NAMED).fold(problem, |problem, (_, at)| problem.also(at.clone(), ""))
}
