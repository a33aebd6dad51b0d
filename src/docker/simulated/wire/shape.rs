//! Containers and events in the shape of Engine 20.10's JSON. Fields that defib and the `docker` command's simplest words
//! do not read are left out.

use super::super::{
    container::{Container, NEVER, Standing},
    health::Monitor,
    history::{WorldAction, WorldEvent},
    views::written,
};
use crate::domain::{
    moment::{EngineMs, Spoken},
    observation::{ContainerState, EventAction, HealthStatus, RestartPolicy},
};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// The engine's word for a state, or the fault's.
pub(super) fn state_word(container: &Container, fault: Option<String>) -> String {
    fault.unwrap_or_else(|| match container.standing.state() {
        ContainerState::Created => "created".to_owned(),
        ContainerState::Running => "running".to_owned(),
        ContainerState::Paused => "paused".to_owned(),
        ContainerState::Restarting => "restarting".to_owned(),
        ContainerState::Removing => "removing".to_owned(),
        ContainerState::Exited => "exited".to_owned(),
        ContainerState::Dead => "dead".to_owned(),
        ContainerState::Unknown(word) => word,
    })
}

pub(super) fn row(container: &Container, word: &str, now: EngineMs) -> Value {
    let script = &container.script;
    json!({
        "Id": container.id,
        "Names": [format!("/{}", script.name)],
        "Image": script.image,
        "ImageID": image_id(),
        "Command": "simulated",
        "Created": container.created.0.div_euclid(1000),
        "Ports": [],
        "Labels": script.labels,
        "State": word,
        "Status": status_text(container, now),
        "HostConfig": { "NetworkMode": network_mode(container) },
        "NetworkSettings": { "Networks": networks(container) },
        "Mounts": [],
    })
}

pub(super) fn whole(container: &Container, word: &str) -> Value {
    let script = &container.script;
    let mut config = json!({
        "Hostname": container.id.as_str().get(..12),
        "Image": script.image,
        "Labels": script.labels,
        "Env": null,
        "Cmd": ["simulated"],
    });
    let mut add = |key: &str, value: Value| {
        if let Some(config) = config.as_object_mut() {
            config.insert(key.to_owned(), value);
        }
    };
    if let Some(healthcheck) = script.healthcheck {
        add(
            "Healthcheck",
            json!({
                "Test": ["CMD", "/bin/check"],
                "Interval": nanos(healthcheck.interval),
                "Timeout": nanos(healthcheck.timeout),
                "StartPeriod": nanos(healthcheck.start_period),
                "Retries": healthcheck.retries,
            }),
        );
    }
    if let Some(timeout) = script.stop_timeout {
        add("StopTimeout", json!(timeout.as_secs()));
    }
    let (policy, retries) = match script.restart_policy {
        RestartPolicy::No => ("no", 0),
        RestartPolicy::Always => ("always", 0),
        RestartPolicy::UnlessStopped => ("unless-stopped", 0),
        RestartPolicy::OnFailure { max_retries } => ("on-failure", max_retries),
    };
    json!({
        "Id": container.id,
        "Created": format!("{}Z", written(container.created)),
        "Path": "simulated",
        "Args": [],
        "State": state(container, word),
        "Image": image_id(),
        "Name": format!("/{}", script.name),
        "RestartCount": container.policy.restarts,
        "Driver": "simulated",
        "Platform": "linux",
        "HostConfig": {
            "NetworkMode": network_mode(container),
            "RestartPolicy": { "Name": policy, "MaximumRetryCount": retries },
            "AutoRemove": script.auto_remove,
        },
        "Mounts": [],
        "Config": config,
        "NetworkSettings": { "Networks": networks(container) },
    })
}

fn state(container: &Container, word: &str) -> Value {
    let standing = container.standing;
    let finished = container.finished.map_or_else(|| NEVER.to_owned(), timestamp);
    let mut state = json!({
        "Status": word,
        "Running": container.listed_by_default(),
        "Paused": standing == Standing::Paused,
        "Restarting": standing == Standing::Restarting,
        "OOMKilled": false,
        "Dead": false,
        "Pid": container.pid.unwrap_or(0),
        "ExitCode": container.exit_code,
        "Error": container.error,
        "StartedAt": container.started_at,
        "FinishedAt": finished,
    });
    if let (Some(monitor), Some(state)) = (&container.monitor, state.as_object_mut()) {
        state.insert("Health".to_owned(), health(monitor));
    }
    state
}

fn health(monitor: &Monitor) -> Value {
    let log = monitor.log.iter().map(|logged| {
        json!({
            "Start": timestamp(logged.entry.start),
            "End": timestamp(logged.entry.end),
            "ExitCode": logged.exit_code,
            "Output": logged.entry.output,
        })
    });
    json!({
        "Status": health_word(&monitor.status),
        "FailingStreak": monitor.failing_streak,
        "Log": log.collect::<Vec<_>>(),
    })
}

/// One line of the event stream, without its end.
pub(super) fn event(event: &WorldEvent) -> Value {
    let action = action(event);
    let mut attributes: Map<String, Value> =
        event.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
    attributes.insert("image".to_owned(), json!(event.image));
    attributes.insert("name".to_owned(), json!(event.name));
    match &event.action {
        WorldAction::Told(EventAction::Died { exit_code }) => {
            attributes.insert("exitCode".to_owned(), json!(exit_code.unwrap_or(0).to_string()));
        }
        WorldAction::Told(EventAction::Killed { signal }) => {
            attributes.insert("signal".to_owned(), json!(signal.unwrap_or(0).to_string()));
        }
        WorldAction::Renamed { old_name } => {
            attributes.insert("oldName".to_owned(), json!(format!("/{old_name}")));
        }
        WorldAction::ExecDied { exit_code } => {
            attributes.insert("exitCode".to_owned(), json!(exit_code.to_string()));
        }
        WorldAction::Told(_) | WorldAction::ExecCreated | WorldAction::ExecStarted => {}
    }
    json!({
        "status": action,
        "id": event.container,
        "from": event.image,
        "Type": "container",
        "Action": action,
        "Actor": { "ID": event.container, "Attributes": attributes },
        "scope": "local",
        "time": event.stamp.0.div_euclid(1000),
        "timeNano": event.nanos(),
    })
}

/// An event's action, as it is written and filtered by.
pub(super) fn action(event: &WorldEvent) -> String {
    let word = match &event.action {
        WorldAction::Told(action) => match action {
            EventAction::Created => "create",
            EventAction::Started => "start",
            EventAction::Died { .. } => "die",
            EventAction::Stopped => "stop",
            EventAction::Restarted => "restart",
            EventAction::Killed { .. } => "kill",
            EventAction::Paused => "pause",
            EventAction::Unpaused => "unpause",
            EventAction::Updated => "update",
            EventAction::Renamed => "rename",
            EventAction::Destroyed => "destroy",
            EventAction::OutOfMemory => "oom",
            EventAction::HealthChanged(status) => {
                return format!("health_status: {}", health_word(status));
            }
        },
        WorldAction::Renamed { .. } => "rename",
        WorldAction::ExecCreated => "exec_create: /bin/check",
        WorldAction::ExecStarted => "exec_start: /bin/check",
        WorldAction::ExecDied { .. } => "exec_die",
    };
    word.to_owned()
}

pub(super) fn health_word(status: &HealthStatus) -> &str {
    match status {
        HealthStatus::Starting => "starting",
        HealthStatus::Healthy => "healthy",
        HealthStatus::Unhealthy => "unhealthy",
        HealthStatus::Unknown(word) => word,
    }
}

fn status_text(container: &Container, now: EngineMs) -> String {
    let since = |then: Option<EngineMs>| Spoken(now.since(then.unwrap_or(now)));
    let (up, ended) = (since(container.started), since(container.finished));
    let code = container.exit_code;
    match container.standing {
        Standing::Created => "Created".to_owned(),
        Standing::Paused => format!("Up {up} (Paused)"),
        Standing::Restarting => format!("Restarting ({code}) {ended} ago"),
        Standing::Exited => format!("Exited ({code}) {ended} ago"),
        Standing::Running => match container.monitor.as_ref().map(|monitor| &monitor.status) {
            None => format!("Up {up}"),
            Some(HealthStatus::Starting) => format!("Up {up} (health: starting)"),
            Some(status) => format!("Up {up} ({})", health_word(status)),
        },
    }
}

fn network_mode(container: &Container) -> String {
    let parent = container.script.network_parent.as_ref();
    parent.map_or_else(|| "default".to_owned(), |parent| format!("container:{parent}"))
}

fn networks(container: &Container) -> Value {
    if container.script.network_parent.is_some() {
        return json!({});
    }
    let address = if container.standing.has_process() {
        container.address.to_string()
    } else {
        String::new()
    };
    json!({ "bridge": { "IPAddress": address, "GlobalIPv6Address": "", "Aliases": null } })
}

fn timestamp(at: EngineMs) -> String {
    format!("{}Z", written(at))
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn image_id() -> String {
    format!("sha256:{}", "0".repeat(64))
}
