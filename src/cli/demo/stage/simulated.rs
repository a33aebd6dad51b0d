//! The stage where no engine answers: the model of an engine that defib is tested with, behind a socket of its own. The
//! daemon reaches it through the same adapter as a real one and can't tell.

use super::{Cleared, container_name};
use crate::{
    cli::demo::{
        role::{Role, STOP_TIMEOUT},
        run_id::{LABEL, RunId},
    },
    clock::Clock,
    docker::{
        adapter::DockerEngine,
        address::EngineAddress,
        simulated::{
            live::LiveWorld,
            script::{Behaviour, ContainerScript, Stopping},
            wire::{WireEngine, WireError},
            world::World,
        },
    },
    domain::{
        moment::EngineMs,
        name::{ContainerId, Instance},
        observation::Healthcheck,
    },
    evidence::port::EvidenceReader,
    tasks::{Pending, Tasks},
};
use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

/// The model knows when a check hangs only by its timeout: that is the second which the real check waits.
const HEALTHCHECK: Healthcheck = Healthcheck {
    interval: Duration::from_secs(1),
    timeout: Duration::from_secs(1),
    start_period: Duration::ZERO,
    retries: 3,
};

/// See the module.
pub struct Simulated {
    world: Arc<LiveWorld>,
    wire: WireEngine,
    engine: Arc<DockerEngine>,
    containers: BTreeMap<Role, ContainerId>,
    tasks: Tasks,
}

impl Simulated {
    /// Serves an empty one on a socket in `folder`.
    ///
    /// # Errors
    /// Where there can be no socket.
    pub fn begin(folder: &Path, clock: Arc<dyn Clock>, tasks: &Tasks) -> Result<Self, WireError> {
        let world = LiveWorld::begin(World::new(EngineMs(clock.now().wall.0)), clock);
        let wire = WireEngine::serve(Arc::clone(&world), folder.join("engine.sock"), tasks)?;
        let engine = Arc::new(DockerEngine::new(&EngineAddress::Unix(wire.path().to_owned())));
        Ok(Self { world, wire, engine, containers: BTreeMap::new(), tasks: tasks.clone() })
    }

    pub(super) fn engine(&self) -> Arc<DockerEngine> {
        Arc::clone(&self.engine)
    }

    pub(super) fn containers(&self) -> &BTreeMap<Role, ContainerId> {
        &self.containers
    }

    pub(super) fn make(&mut self, run: &RunId) {
        for role in Role::ALL {
            let script = ContainerScript {
                stop_timeout: Some(STOP_TIMEOUT),
                stopping: if role.obeys() {
                    Stopping::Obeys(Duration::from_millis(20))
                } else {
                    Stopping::IgnoresSignal
                },
                obeying_exit_code: 0,
                behaviour: match role {
                    Role::Fine => Behaviour::Fine,
                    Role::Hangs | Role::Stubborn => Behaviour::RecoversAfter { starts: 1 },
                    Role::Hopeless => Behaviour::NeverRecovers,
                },
                ..ContainerScript::named(container_name(run, role))
            };
            let script = script.with_healthcheck(HEALTHCHECK).with_label(LABEL, run.as_str());
            let id = self.world.with(|world, now| world.create(now, script));
            self.containers.insert(role, id);
        }
    }

    /// From now on each begins to hang when its role says so.
    pub(super) fn begin_troubles(&self) {
        let now = self.world.now();
        for (role, id) in &self.containers {
            let Some(after) = role.hangs_after(1) else { continue };
            let (world, id) = (Arc::clone(&self.world), id.clone());
            self.tasks.spawn("simulated trouble", async move {
                world.sleep_until(now + after).await;
                world.with(|world, now| world.hang(now, &id));
            });
        }
    }

    /// It ends with this process; only its socket is a file.
    pub(super) fn clear(self) -> Cleared {
        drop(self.wire);
        Cleared { containers: self.containers.len(), images: 0, left: Vec::new() }
    }
}

/// Reads nothing: the model has no processes, and the process IDs that it makes up are somebody else's.
pub struct NoProcesses;

impl EvidenceReader for NoProcesses {
    fn gather(&self, _: Instance, _: Option<u32>) -> Pending<'_, Vec<String>> {
        Box::pin(async { Vec::new() })
    }
}
