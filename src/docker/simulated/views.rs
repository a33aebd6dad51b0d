//! How the world looks through the typed port: list, list of the unhealthy, inspect.

use super::{
    container::{Container, Standing},
    script::ContainerScript,
    truth::WorldTime,
    world::World,
};
use crate::domain::{
    moment::EngineMs,
    name::{ContainerId, StartedAt},
    observation::{ContainerState, HealthStatus, Inspection, Listed, Listing},
};
use std::net::IpAddr;

impl World {
    /// All containers' IDs, in the order of creation.
    pub fn containers(&self) -> Vec<ContainerId> {
        self.containers.values().map(|container| container.id.clone()).collect()
    }

    /// The container of this name, the latest where there are several.
    pub fn find(&self, name: &str) -> Option<ContainerId> {
        let mut newest_first = self.containers.values().rev();
        newest_first.find(|container| container.script.name == name).map(|found| found.id.clone())
    }

    /// What it is made of.
    pub fn script_of(&self, id: &ContainerId) -> Option<&ContainerScript> {
        self.get(id).map(|container| &container.script)
    }

    /// The engine's word for its state.
    pub fn state(&self, id: &ContainerId) -> Option<ContainerState> {
        self.get(id).map(|container| container.standing.state())
    }

    /// Which life it is in, or was in last.
    pub fn started_at(&self, id: &ContainerId) -> Option<StartedAt> {
        self.get(id).map(|container| container.started_at.clone())
    }

    /// The full list, newest first as the engine has it.
    pub fn list(&mut self, now: WorldTime) -> Listing {
        self.advance(now);
        let containers = self.containers.values().rev().map(listed).collect();
        Listing { containers, undecodable: 0 }
    }

    /// Those that the engine calls unhealthy, as it lists them without `all`: paused ones with a made-up status too,
    /// those without a process not.
    pub fn list_unhealthy(&mut self, now: WorldTime) -> Vec<ContainerId> {
        self.advance(now);
        let containers = self.containers.values().rev();
        containers
            .filter(|container| container.listed_by_default() && container.called_unhealthy())
            .map(|container| container.id.clone())
            .collect()
    }

    /// One container; `None` where there is none.
    pub fn inspect(&mut self, now: WorldTime, id: &ContainerId) -> Option<Inspection> {
        self.advance(now);
        let engine_now = self.date(now);
        self.get(id).map(|container| inspection(container, engine_now))
    }

    /// The engine's clock as its `Date` header has it, in whole seconds.
    pub fn date(&self, now: WorldTime) -> EngineMs {
        EngineMs(self.engine_now(now).0.div_euclid(1000) * 1000)
    }
}

impl Container {
    pub(super) fn listed_by_default(&self) -> bool {
        match self.standing {
            Standing::Running | Standing::Paused | Standing::Restarting => true,
            Standing::Created | Standing::Exited => false,
        }
    }

    pub(super) fn called_unhealthy(&self) -> bool {
        self.monitor.as_ref().is_some_and(|monitor| monitor.status == HealthStatus::Unhealthy)
    }
}

fn listed(container: &Container) -> Listed {
    Listed {
        id: container.id.clone(),
        name: container.script.name.clone(),
        image: container.script.image.clone(),
        state: container.standing.state(),
        labels: container.script.labels.clone(),
    }
}

fn inspection(container: &Container, engine_now: EngineMs) -> Inspection {
    let script = &container.script;
    let addressed = container.standing.has_process() && script.network_parent.is_none();
    let ended = container.finished.is_some() && !container.standing.has_process();
    let address = || ("bridge".to_owned(), IpAddr::V4(container.address));
    Inspection {
        id: container.id.clone(),
        name: script.name.clone(),
        image: script.image.clone(),
        labels: script.labels.clone(),
        state: container.standing.state(),
        started_at: container.started_at.clone(),
        started: container.started,
        finished: container.finished,
        exit_code: ended.then_some(container.exit_code),
        engine_now,
        health: container.monitor.as_ref().map(super::health::Monitor::shown),
        healthcheck: script.healthcheck,
        restart_policy: script.restart_policy,
        auto_remove: script.auto_remove,
        stop_timeout: script.stop_timeout,
        stop_signal: None,
        addresses: addressed.then(address).into_iter().collect(),
        network_parent: script.network_parent.clone(),
        pid: container.pid,
    }
}

/// A time as the engine writes it, milliseconds and no zone: `2026-11-29T23:30:42.166`.
pub(super) fn written(at: EngineMs) -> String {
    match jiff::Timestamp::from_millisecond(at.0) {
        Ok(time) => time.strftime("%Y-%m-%dT%H:%M:%S.%3f").to_string(),
        // Outside of what a calendar holds; still unique, which is what it is for.
        Err(_) => format!("{}.000", at.0),
    }
}
