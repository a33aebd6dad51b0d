//! The lifecycle's two tables, asked of the code.

use crate::{
    domain::{
        moment::{AwakeMs, EngineMs},
        name::{ContainerId, Instance, StartedAt},
        observation::{ContainerState, EventAction, HealthStatus, Inspection, RestartPolicy},
        watching::lifecycle::{Lifecycle, Stop},
    },
    generated::{code, name, table},
};
use std::collections::BTreeMap;

/// An inspection of a container without anything special.
pub fn inspection(state: ContainerState, started_at: &str) -> Inspection {
    Inspection {
        id: ContainerId::new("c1"),
        name: "web".to_owned(),
        image: "web:1".to_owned(),
        labels: BTreeMap::new(),
        state,
        started_at: StartedAt::new(started_at),
        started: Some(EngineMs(1_000)),
        finished: None,
        exit_code: None,
        engine_now: EngineMs(100_000),
        health: None,
        healthcheck: None,
        restart_policy: RestartPolicy::No,
        auto_remove: false,
        stop_timeout: None,
        stop_signal: None,
        addresses: Vec::new(),
        network_parent: None,
        pid: None,
    }
}

pub fn instance(started_at: &str) -> Instance {
    Instance { container: ContainerId::new("c1"), started_at: StartedAt::new(started_at) }
}

/// One of each.
pub fn states() -> Vec<Lifecycle> {
    vec![
        Lifecycle::Unseen,
        Lifecycle::Running { instance: instance("1"), since: AwakeMs(0) },
        Lifecycle::Paused { instance: instance("1") },
        Lifecycle::Restarting,
        Lifecycle::Created,
        Lifecycle::Stopped(Stop { exit_code: None, finished: None }),
        Lifecycle::Gone,
        Lifecycle::Remote,
        Lifecycle::Odd("frozen".to_owned()),
    ]
}

pub fn by_inspection() -> String {
    let words = [
        ContainerState::Created,
        ContainerState::Running,
        ContainerState::Paused,
        ContainerState::Restarting,
        ContainerState::Removing,
        ContainerState::Exited,
        ContainerState::Dead,
        ContainerState::Unknown("frozen".to_owned()),
    ];
    let rows = words.map(|state| {
        let lifecycle = Lifecycle::of(&inspection(state.clone(), "1"), AwakeMs(500_000));
        vec![code(name(&state)), code(name(&lifecycle)), lifecycle.to_string()]
    });
    table(&["the engine says".into(), "lifecycle".into(), "in words".into()], &rows)
}

pub fn by_event() -> String {
    let events = [
        EventAction::Created,
        EventAction::Started,
        EventAction::Died { exit_code: None },
        EventAction::Stopped,
        EventAction::Restarted,
        EventAction::Killed { signal: None },
        EventAction::Paused,
        EventAction::Unpaused,
        EventAction::Updated,
        EventAction::Renamed,
        EventAction::Destroyed,
        EventAction::OutOfMemory,
        EventAction::HealthChanged(HealthStatus::Unhealthy),
    ];
    let mut head = vec!["event".to_owned()];
    head.extend(states().iter().map(|state| code(name(state))));
    let rows = events.map(|event| {
        let cells = states().into_iter().map(|state| {
            let after = state.clone().after(&event);
            if after == state { "·".to_owned() } else { code(name(&after)) }
        });
        let mut row = vec![code(name(&event))];
        row.extend(cells);
        row
    });
    table(&head, &rows)
}
