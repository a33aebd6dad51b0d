//! What services need of one another: dependencies that lead nowhere or in a circle, and such as nothing may ever be seen
//! of.
//!
//! One walk over all dependencies, so that 5,000 services take no longer than reading them. Whether a container has a
//! healthcheck only its engine knows: where the file has no probe of a dependency, what follows is said with that proviso.

use crate::config::{
    nearest::nearest,
    problem::{Problem, Problems, Span, quoted},
    raw::{At, RawService},
};
use crate::domain::policy::{RestartMode, ServicePolicy};
use std::{collections::BTreeMap, sync::Arc};

/// Checks what each needs. `names` has each name with its service, `services` those of `raw` that could be read, each with
/// its index there.
pub(super) fn check(
    raw: &[RawService<'_>],
    services: &[(usize, Arc<ServicePolicy>)],
    names: &BTreeMap<&str, usize>,
    problems: &mut Problems,
) {
    let edges = edges(raw, names, problems);
    circles(raw, &edges, problems);
    without_probe(raw, services, &edges, problems);
}

/// So many services are named in one problem; nobody reads more.
const NAMED: usize = 8;

/// A dependency: on which service, and where it stands.
type Edge = (usize, Span);

/// The edges that lead somewhere, by the service that they begin at.
fn edges(
    raw: &[RawService<'_>],
    names: &BTreeMap<&str, usize>,
    problems: &mut Problems,
) -> Vec<Vec<Edge>> {
    // Whose name was refused may be the one that is meant.
    let all_named = raw.iter().all(|service| service.name.is_some() || !service.is_named);
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
                None if !all_named => {}
                None => {
                    let others = names.iter().filter(|(_, other)| {
                        **other != index && edges.iter().all(|(on, _)| on != *other)
                    });
                    problems.push(unknown(name, others.map(|(name, _)| *name)));
                }
            }
        }
        all.push(edges);
    }
    all
}

/// `others` are those that it could have meant.
fn unknown<'a>(name: &At<&str>, others: impl Iterator<Item = &'a str>) -> Problem {
    let problem =
        Problem::missing(name.span(), format!("there is no service {}", quoted(name.get_ref())))
            .cause("nothing in this file has this name");
    match nearest(name.get_ref(), others) {
        Some(near) => problem.hint(format!("did you mean {}?", quoted(near))),
        None => problem.hint("`depends_on` takes the `name` of another `[[service]]`"),
    }
}

/// Warns of each dependency that has no probe: it is seen healthy only where its containers have a healthcheck, and before
/// it was, what needs it is held (S9).
fn without_probe(
    raw: &[RawService<'_>],
    services: &[(usize, Arc<ServicePolicy>)],
    edges: &[Vec<Edge>],
    problems: &mut Problems,
) {
    let mut waiting: BTreeMap<usize, Vec<(&str, Span)>> = BTreeMap::new();
    for (index, service) in services {
        // What is never restarted waits for nothing.
        if service.restart == RestartMode::Never || !raw[*index].has_containers {
            continue;
        }
        for (on, at) in &edges[*index] {
            if !raw[*on].has_probes {
                waiting.entry(*on).or_default().push((service.name.as_str(), at.clone()));
            }
        }
    }
    for (on, waiting) in waiting {
        let Some((first, others)) = waiting.split_first() else { continue };
        let needed = quoted(name_of(&raw[on]));
        let never = |name: &str| {
            format!("unless its containers have a healthcheck, {} is never restarted", quoted(name))
        };
        let problem = Problem {
            missing: true,
            ..Problem::warning(
                first.1.clone(),
                format!("{needed} has no probe, and other services depend on it"),
            )
        };
        let problem = problem.cause(never(first.0)).hint(format!(
            "{needed} must be seen healthy before what depends on it is restarted: by the healthcheck of its \
             containers, of which only the engine knows, or by a `[[service.probe]]`"
        ));
        problems.push(
            others
                .iter()
                .take(NAMED)
                .fold(problem, |problem, (name, at)| problem.also(at.clone(), never(name))),
        );
    }
}

fn name_of<'a>(service: &RawService<'a>) -> &'a str {
    service.name.as_ref().map_or("?", |name| name.get_ref())
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

fn circle(raw: &[RawService<'_>], edges: &[Vec<Edge>], path: &[(usize, usize)]) -> Problem {
    let name = |index: usize| name_of(&raw[index]);
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
