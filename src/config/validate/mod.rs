//! What was typed becomes what it means: a complete policy, or problems.
//!
//! Each check tells what it found and goes on with the default, so that one mistake hides no other. The policy that comes
//! out is only used where there was no error; the caller looks.

mod address;
mod containers;
mod definition;
mod dependencies;
mod fleet;
mod host;
mod probe;
mod secret_files;
mod service;
mod services;
mod sink;
mod treatment;
mod value;

use super::{Config, problem::Problems, raw::RawFile, sink::SecretFile};
use crate::domain::{
    message::Severity,
    name::{HostName, ServiceName},
    policy::{Looking, Policy, RestartMode, ServicePolicy},
};
use std::{sync::Arc, time::Duration};
use treatment::Treatment;

/// What an idle host is asked: six short lists and one full one a minute stay below the ten requests that watching may
/// cost (L5); events tell of everything sooner.
const LOOKING: Looking =
    Looking { unhealthy_every: Duration::from_secs(10), list_every: Duration::from_secs(60) };

/// Complete, whatever was typed.
pub(super) fn config(raw: &RawFile<'_>, host: &HostName, problems: &mut Problems) -> Config {
    let defaults = Treatment::read(&raw.defaults, &Treatment::default(), problems);
    let read = raw.services.iter().enumerate().filter_map(|(index, raw)| {
        service::read(raw, &defaults, problems).map(|service| (index, Arc::new(service)))
    });
    let services: Vec<(usize, Arc<ServicePolicy>)> = read.collect();
    services::check(&raw.services, &services, problems);
    let (sink_policies, sinks) = sink::read(&raw.sinks, raw.has_sinks, problems);
    let (unlisted, autoheal_labels) = fleet::watch(&raw.watch, problems);
    let policy = Policy {
        fleet: fleet::name(raw.fleet_name.as_ref(), problems),
        host: host.clone(),
        dry_run: false,
        never_act: host::never_act(&raw.hosts, host, problems),
        unlisted,
        unlisted_service: Arc::new(unlisted_service(defaults)),
        autoheal_labels,
        only_label: None,
        limits: host::limits(&raw.host_limits, problems),
        settling: host::settling(&raw.settling, problems),
        services: services.into_iter().map(|(_, service)| service).collect(),
        sinks: sink_policies,
        looking: LOOKING,
    };
    Config {
        policy,
        sinks,
        engine: fleet::engine(raw.engine_address.as_ref(), problems),
        state_dir: fleet::state_dir(raw.state_dir.as_ref(), problems),
    }
}

/// See [`mod@secret_files`].
pub(super) fn secret_files(raw: &RawFile<'_>) -> Vec<SecretFile> {
    secret_files::of(&raw.sinks)
}

/// How containers without a service are treated: as the defaults say, but told of as tickets and restarted only where
/// they are labelled for it. Where the defaults say `dry` or `never`, a label does not make more of it: labels narrow.
fn unlisted_service(defaults: Treatment) -> ServicePolicy {
    let restart = match defaults.restart {
        RestartMode::Auto | RestartMode::IfLabelled => RestartMode::IfLabelled,
        narrower @ (RestartMode::Dry | RestartMode::Never) => narrower,
    };
    let treatment = Treatment {
        restart,
        severity: Severity::Ticket,
        min_healthy: 0,
        max_acting: 1,
        ..defaults
    };
    service::treated(ServiceName::new(service::UNLISTED), treatment)
}
