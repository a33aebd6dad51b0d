//! One `[[service]]`: its name, its containers, how it is treated, its probes. What concerns several services at once is in
//! `services.rs`.

use super::{
    containers, probe,
    treatment::Treatment,
    value::{self, Least},
};
use crate::config::{
    problem::{Problem, Problems, Span, quoted},
    raw::RawService,
};
use crate::domain::{
    name::ServiceName,
    policy::{ContainerMatch, Place, ProbePolicy, ProbeSpec, RestartMode, ServicePolicy},
};

/// The name under which containers without a service are kept.
pub(super) const UNLISTED: &str = "unlisted";

pub(super) fn read(
    raw: &RawService<'_>,
    defaults: &Treatment,
    problems: &mut Problems,
) -> Option<ServicePolicy> {
    let name = name(raw, problems);
    let containers = containers(raw, problems);
    if !raw.has_containers && !raw.has_probes {
        problems.push(
            Problem::missing(place(raw), "a service watches nothing")
                .cause("this has neither `containers` nor a probe")
                .hint(
                    "say which containers it has, for example `containers = { name = \"web-*\" }`",
                ),
        );
    }
    let treatment = Treatment::read(&raw.treatment, defaults, problems);
    let replicas = replicas(raw, problems);
    let probes = probes(raw, problems);
    if !counts_nothing(raw, &probes, problems) {
        reachable(raw, &treatment, replicas, problems);
    }
    Some(ServicePolicy {
        containers,
        replicas,
        stateful: raw.stateful.as_ref().map(|stateful| *stateful.get_ref()),
        depends_on: dependencies(raw),
        probes,
        ..treated(name?, treatment)
    })
}

/// A service about which nothing is known but how it is treated.
pub(super) fn treated(name: ServiceName, treatment: Treatment) -> ServicePolicy {
    let Treatment {
        restart,
        page_after,
        restart_after,
        settle,
        start_grace,
        budget,
        backoff,
        recover_within,
        stable_for,
        severity,
        page,
        max_acting,
        min_healthy,
        runbook,
        note,
    } = treatment;
    ServicePolicy {
        name,
        containers: Vec::new(),
        replicas: None,
        severity,
        page,
        restart,
        page_after,
        restart_after,
        settle,
        start_grace,
        budget,
        backoff,
        recover_within,
        stable_for,
        max_acting,
        min_healthy,
        stateful: None,
        depends_on: Vec::new(),
        runbook,
        note,
        probes: Vec::new(),
    }
}

fn place(raw: &RawService<'_>) -> Span {
    raw.name.as_ref().map_or_else(|| raw.at.clone(), |name| name.span())
}

fn name(raw: &RawService<'_>, problems: &mut Problems) -> Option<ServiceName> {
    if !raw.is_named {
        problems.push(
            Problem::missing(raw.at.clone(), "a service has no name")
                .cause("`name` is missing")
                .hint(
                    "the name is what messages and commands call it, for example \
                       `name = \"account-server\"`",
                ),
        );
    }
    let name = raw.name.as_ref()?;
    if *name.get_ref() == UNLISTED {
        problems.push(
            Problem::error(name.span(), format!("a service can't be called {}", quoted(UNLISTED)))
                .cause("this stands for containers without a service"),
        );
        return None;
    }
    let fits = value::is_name("a service's name", name, problems);
    fits.then(|| ServiceName::new(*name.get_ref()))
}

fn containers(raw: &RawService<'_>, problems: &mut Problems) -> Vec<ContainerMatch> {
    let Some(given) = raw.containers.as_ref() else { return Vec::new() };
    if given.get_ref().is_empty() {
        problems.push(
            Problem::error(given.span(), "`containers` is empty")
                .cause("this matches no container")
                .hint("leave it out where a URL is all there is to watch"),
        );
    }
    given.get_ref().iter().filter_map(|one| containers::read(one, problems)).collect()
}

const LEAST_REPLICAS: Least = Least::one("with 0 it could not be down").instead(
    "leave the service out, or set `severity = \"ticket\"` where its absence does not matter",
);

fn replicas(raw: &RawService<'_>, problems: &mut Problems) -> Option<u32> {
    let given = raw.replicas.as_ref()?;
    if !raw.has_containers && raw.has_probes {
        problems.push(
            Problem::missing(given.span(), "`replicas` counts nothing")
                .cause("this service has no `containers`"),
        );
    }
    value::count("replicas", Some(given), &LEAST_REPLICAS, problems)
}

/// Whether what is said together can ever lead to a restart.
fn reachable(
    raw: &RawService<'_>,
    treatment: &Treatment,
    replicas: Option<u32>,
    problems: &mut Problems,
) {
    let (Some(replicas), Some(given)) = (replicas, raw.replicas.as_ref()) else { return };
    let restarts = matches!(treatment.restart, RestartMode::Auto | RestartMode::Dry);
    if restarts && treatment.min_healthy >= replicas {
        let min_healthy = treatment.min_healthy;
        let problem = Problem::warning(given.span(), "no replica could ever be restarted")
            .cause(format!("of {replicas}, `min_healthy` = {min_healthy} must stay healthy"))
            .hint("lower `min_healthy`, or say it plainly with `restart = \"never\"`");
        problems.push(match raw.treatment.min_healthy.as_ref() {
            Some(min_healthy) => problem.also(min_healthy.span(), "at least so many"),
            None => problem,
        });
    }
}

/// Whether `min_healthy` is set and never weighs anything: it is about what a replica still answers, and only defib's own
/// probes of it say that.
fn counts_nothing(raw: &RawService<'_>, probes: &[ProbePolicy], problems: &mut Problems) -> bool {
    let Some(given) = raw.treatment.min_healthy.as_ref().filter(|given| *given.get_ref() > 0)
    else {
        return false;
    };
    let of_replicas = |probe: &ProbePolicy| {
        let ProbeSpec::Http(http) = &probe.spec;
        matches!(http.place, Place::Replica { .. })
    };
    // What a probe asks that was refused is not known.
    let all_read = !raw.has_probes || (!probes.is_empty() && probes.len() == raw.probes.len());
    if !all_read || probes.iter().any(of_replicas) {
        return false;
    }
    problems.push(
        Problem {
            missing: true,
            ..Problem::warning(given.span(), "`min_healthy` changes nothing here")
        }
        .cause("this service has no probe of its replicas")
        .hint(
            "it keeps a replica that still answers a probe from being restarted while too few \
             others are well; give the service a `[[service.probe]]`, or leave this out",
        ),
    );
    true
}

fn dependencies(raw: &RawService<'_>) -> Vec<ServiceName> {
    let given = raw.depends_on.iter().flat_map(|names| names.get_ref());
    given.map(|name| ServiceName::new(*name.get_ref())).collect()
}

fn probes(service: &RawService<'_>, problems: &mut Problems) -> Vec<ProbePolicy> {
    let mut probes: Vec<probe::Read> = Vec::new();
    for raw in &service.probes {
        let Some(read) = probe::read(raw, service.has_containers, problems) else { continue };
        match probes.iter().find(|other| other.probe.name == read.probe.name) {
            Some(first) => {
                let name = quoted(read.probe.name.as_str());
                problems.push(
                    Problem::error(read.named_at.clone(), format!("two probes are called {name}"))
                        .cause("the second")
                        .also(first.named_at.clone(), "the first")
                        .hint(
                            "give each a `name`; without one a probe is called after what it asks",
                        ),
                );
            }
            None => probes.push(read),
        }
    }
    probes.into_iter().map(|read| read.probe).collect()
}
