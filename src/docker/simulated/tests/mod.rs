//! The model is held to what Engine 20.10 was seen to do, in literal timelines.

mod acting;
mod behind_the_port;
mod health;
mod on_the_wire;
mod sequences;

use super::{
    history::{EventCursor, WorldAction},
    script::{ContainerScript, Stopping},
    truth::WorldTime,
    world::World,
};
use crate::domain::{
    moment::EngineMs,
    name::ContainerId,
    observation::{EventAction, HealthStatus, Healthcheck, Inspection},
};
use std::time::Duration;

/// 2026-11-29T23:30:00Z.
const EPOCH: EngineMs = EngineMs(1_795_995_000_000);

const fn seconds(seconds: u64) -> WorldTime {
    WorldTime(seconds * 1000)
}

const fn ms(ms: u64) -> WorldTime {
    WorldTime(ms)
}

fn world() -> World {
    World::new(EPOCH)
}

fn web() -> ContainerScript {
    ContainerScript::named("web")
}

fn every_second() -> Healthcheck {
    Healthcheck {
        interval: Duration::from_secs(1),
        timeout: Duration::from_secs(3),
        start_period: Duration::ZERO,
        retries: 2,
    }
}

/// The events from the cursor on, in short, execs left out.
fn told(world: &World, cursor: &mut EventCursor) -> Vec<String> {
    let mut told = Vec::new();
    while let Some(event) = world.read_event(cursor).unwrap() {
        told.push(match event.action {
            WorldAction::Told(EventAction::Died { exit_code }) => {
                format!("die {}", exit_code.unwrap())
            }
            WorldAction::Told(EventAction::Killed { signal }) => {
                format!("kill {}", signal.unwrap())
            }
            WorldAction::Told(EventAction::HealthChanged(status)) => word(&status).to_owned(),
            WorldAction::Told(action) => format!("{action:?}").to_lowercase(),
            WorldAction::Renamed { old_name } => format!("renamed from {old_name}"),
            WorldAction::ExecCreated | WorldAction::ExecStarted | WorldAction::ExecDied { .. } => {
                continue;
            }
        });
    }
    told
}

fn word(status: &HealthStatus) -> &'static str {
    match status {
        HealthStatus::Starting => "starting",
        HealthStatus::Healthy => "healthy",
        HealthStatus::Unhealthy => "unhealthy",
        HealthStatus::Unknown(_) => "unknown",
    }
}

fn seen(world: &mut World, now: WorldTime, id: &ContainerId) -> Inspection {
    world.inspect(now, id).unwrap()
}

/// Status and streak, as inspect shows them.
fn health(world: &mut World, now: WorldTime, id: &ContainerId) -> (&'static str, u32) {
    let health = seen(world, now, id).health.unwrap();
    (word(&health.status), health.failing_streak)
}

fn stubborn() -> ContainerScript {
    ContainerScript { stopping: Stopping::IgnoresSignal, ..web() }
}
