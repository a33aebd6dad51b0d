//! One container, whole.

use super::{
    Field, health, id, labels, name, other_name, read, signal, state, text, time::engine_time,
};
use crate::{
    docker::connection::{Answer, CallError, Flavour},
    domain::{
        moment::EngineMs,
        name::{ContainerId, StartedAt},
        observation::{ContainerState, Health, Healthcheck, Inspection, RestartPolicy},
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{collections::BTreeMap, net::IpAddr, time::Duration};

/// Docker's defaults for what a healthcheck leaves at 0.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(30);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);
const DEFAULT_RETRIES: u32 = 3;

/// The longest span that is believed. A negative stop timeout means "for ever"; a day is that for everyone who waits, and can
/// be added to any time without overflow.
const LONGEST_SPAN: Duration = Duration::from_secs(24 * 60 * 60);

macro_rules! raw_object {
    ($name:ident { $($field:ident: $key:literal),* $(,)? }) => {
        #[derive(Deserialize)]
        struct $name<'a> { $(#[serde(borrow, default, rename = $key)] $field: Field<'a>,)* }
    };
}

raw_object!(Container {
    id: "Id",
    name: "Name",
    image: "Image",
    state: "State",
    config: "Config",
    host_config: "HostConfig",
    network_settings: "NetworkSettings",
});
raw_object!(State {
    status: "Status",
    paused: "Paused",
    restarting: "Restarting",
    pid: "Pid",
    exit_code: "ExitCode",
    started_at: "StartedAt",
    finished_at: "FinishedAt",
    health: "Health",
    healthcheck: "Healthcheck",
});
raw_object!(Config {
    image: "Image",
    labels: "Labels",
    stop_timeout: "StopTimeout",
    stop_signal: "StopSignal",
    healthcheck: "Healthcheck",
});
raw_object!(RawHealthcheck {
    test: "Test",
    interval: "Interval",
    timeout: "Timeout",
    start_period: "StartPeriod",
    retries: "Retries",
});
raw_object!(HostConfig {
    network_mode: "NetworkMode",
    restart_policy: "RestartPolicy",
    auto_remove: "AutoRemove",
});
raw_object!(RawPolicy { name: "Name", retries: "MaximumRetryCount" });
raw_object!(NetworkSettings { networks: "Networks" });
raw_object!(Network { v4: "IPAddress", v6: "GlobalIPv6Address" });

/// Reads an inspection. An object that is missing or of another kind leaves its fields unknown; without an ID or a state there
/// is nothing to say.
pub(in crate::docker) fn decode(
    answer: &Answer,
    flavour: Flavour,
) -> Result<Inspection, CallError> {
    let body = String::from_utf8_lossy(&answer.body);
    let garbled = |why: &str| CallError::Garbled(format!("the inspection {why}"));
    let raw: Container<'_> = serde_json::from_str(&body)
        .map_err(|error| garbled(&format!("is no JSON object: {error}")))?;
    let id = id(raw.id).ok_or_else(|| garbled("has no ID"))?;
    let life: State<'_> = read(raw.state).ok_or_else(|| garbled("has no state"))?;
    let config: Option<Config<'_>> = read(raw.config);
    let host: Option<HostConfig<'_>> = read(raw.host_config);

    let state = state_of(&life);
    let healthcheck = config.as_ref().and_then(|config| healthcheck(config.healthcheck));
    let health = health::decode(
        life.health.or(life.healthcheck), // Podman before 4 wrote `Healthcheck`.
        healthcheck.is_some(),
        flavour,
    );
    let started_at: String = read(life.started_at).unwrap_or_default();
    let started = engine_time(&started_at);
    let finished = read::<String>(life.finished_at).and_then(|text| engine_time(&text));
    Ok(Inspection {
        name: name(read(raw.name), &id),
        image: config
            .as_ref()
            .and_then(|config| other_name(config.image))
            .or_else(|| other_name(raw.image))
            .unwrap_or_default(),
        labels: config.as_ref().map(|config| labels(config.labels)).unwrap_or_default(),
        started_at: StartedAt::new(text::name(&started_at)),
        started,
        finished,
        exit_code: if has_ended(&state) && finished.is_some() {
            read(life.exit_code)
        } else {
            None
        },
        engine_now: answer
            .date
            .or_else(|| latest(started, finished, health.as_ref()))
            .unwrap_or_default(),
        restart_policy: host.as_ref().map_or(RestartPolicy::No, |host| policy(host.restart_policy)),
        auto_remove: host.as_ref().and_then(|host| read(host.auto_remove)).unwrap_or(false),
        stop_timeout: config
            .as_ref()
            .and_then(|config| read(config.stop_timeout))
            .map(stop_timeout),
        stop_signal: config
            .as_ref()
            .and_then(|config| read::<String>(config.stop_signal))
            .and_then(|text| signal::number(&text)),
        addresses: addresses(raw.network_settings),
        network_parent: host.as_ref().and_then(|host| network_parent(host.network_mode)),
        pid: read::<i64>(life.pid).and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 0),
        health,
        healthcheck,
        state,
        id,
    })
}

/// The state by its word; a flag that says paused or restarting weighs more than a word that says running (S2).
fn state_of(life: &State<'_>) -> ContainerState {
    let word: String = read(life.status).unwrap_or_default();
    match state(&word) {
        ContainerState::Running if read(life.restarting) == Some(true) => {
            ContainerState::Restarting
        }
        ContainerState::Running if read(life.paused) == Some(true) => ContainerState::Paused,
        other => other,
    }
}

/// Whether an exit code belongs to a life that is over. The engine shows 0 where nothing has ended.
fn has_ended(state: &ContainerState) -> bool {
    match state {
        ContainerState::Created | ContainerState::Running | ContainerState::Paused => false,
        ContainerState::Restarting
        | ContainerState::Removing
        | ContainerState::Exited
        | ContainerState::Dead
        | ContainerState::Unknown(_) => true,
    }
}

/// The latest time in the answer, for an engine that sends no `Date`: never later than the true one.
fn latest(
    started: Option<EngineMs>,
    finished: Option<EngineMs>,
    health: Option<&Health>,
) -> Option<EngineMs> {
    let entries = health.into_iter().flat_map(|health| health.log.iter().map(|entry| entry.end));
    started.into_iter().chain(finished).chain(entries).max()
}

fn healthcheck(field: Field<'_>) -> Option<Healthcheck> {
    let raw: RawHealthcheck<'_> = read(field)?;
    let test: Vec<String> = read(raw.test)?;
    if test.first().is_none_or(|kind| kind.is_empty() || kind == "NONE") {
        return None;
    }
    let or = |field, default| match nanoseconds(field) {
        Duration::ZERO => default,
        span => span,
    };
    let retries = read::<i64>(raw.retries).filter(|retries| *retries > 0);
    Some(Healthcheck {
        interval: or(raw.interval, DEFAULT_INTERVAL),
        timeout: or(raw.timeout, DEFAULT_TIMEOUT),
        start_period: nanoseconds(raw.start_period),
        retries: retries.map_or(DEFAULT_RETRIES, |n| u32::try_from(n).unwrap_or(u32::MAX)),
    })
}

fn nanoseconds(field: Field<'_>) -> Duration {
    let nanoseconds = read::<i64>(field).unwrap_or(0);
    Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(0)).min(LONGEST_SPAN)
}

fn stop_timeout(seconds: i64) -> Duration {
    u64::try_from(seconds).map_or(LONGEST_SPAN, |s| Duration::from_secs(s).min(LONGEST_SPAN))
}

fn policy(field: Field<'_>) -> RestartPolicy {
    let Some(raw) = read::<RawPolicy<'_>>(field) else { return RestartPolicy::No };
    match read::<String>(raw.name).unwrap_or_default().as_str() {
        "always" => RestartPolicy::Always,
        "unless-stopped" => RestartPolicy::UnlessStopped,
        "on-failure" => {
            let retries = read::<i64>(raw.retries).unwrap_or(0).max(0);
            RestartPolicy::OnFailure { max_retries: u32::try_from(retries).unwrap_or(u32::MAX) }
        }
        // `no`, Podman's empty word, and what is not known: nothing that can be relied upon.
        _ => RestartPolicy::No,
    }
}

fn addresses(field: Field<'_>) -> Vec<(String, IpAddr)> {
    let networks: BTreeMap<String, Option<&RawValue>> =
        read::<NetworkSettings<'_>>(field).and_then(|raw| read(raw.networks)).unwrap_or_default();
    let mut addresses = Vec::new();
    for (name, raw) in networks {
        let Some(network) = read::<Network<'_>>(raw) else { continue };
        let found = [network.v4, network.v6].into_iter().filter_map(read::<String>);
        addresses
            .extend(found.filter_map(|text| text.parse().ok()).map(|ip| (text::name(&name), ip)));
    }
    addresses
}

fn network_parent(field: Field<'_>) -> Option<ContainerId> {
    let mode: String = read(field)?;
    mode.strip_prefix("container:")
        .filter(|id| !id.is_empty())
        .map(text::name)
        .map(ContainerId::new)
}

#[cfg(test)]
mod tests;
