//! The engine as the demo lets its daemon see it: nothing but the containers that the demo made.
//!
//! The policy's `only_label` lets the domain take nobody else's container for its own; but to read a label one has to look.
//! Behind this fence there is nothing else to look at, and an act on anything else is refused here, whatever is asked.

use crate::{
    docker::port::{Engine, EventStream},
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{ActOutcome, EngineEvent, Inspection, Listing, LookFailure},
    },
    tasks::Pending,
};
use std::{collections::BTreeSet, sync::Arc};

/// An engine with these containers only.
pub struct Fence {
    engine: Arc<dyn Engine>,
    ours: Arc<BTreeSet<ContainerId>>,
}

impl Fence {
    /// Of what `engine` has, only `ours`.
    pub fn around(engine: Arc<dyn Engine>, ours: BTreeSet<ContainerId>) -> Self {
        Self { engine, ours: Arc::new(ours) }
    }
}

impl Engine for Fence {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        Box::pin(async {
            let mut listing = self.engine.list().await?;
            listing.containers.retain(|row| self.ours.contains(&row.id));
            // A row without an ID is nobody's we know.
            listing.undecodable = 0;
            Ok(listing)
        })
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        Box::pin(async {
            let mut unhealthy = self.engine.list_unhealthy().await?;
            unhealthy.retain(|id| self.ours.contains(id));
            Ok(unhealthy)
        })
    }

    fn inspect(&self, container: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        if self.ours.contains(&container) {
            self.engine.inspect(container)
        } else {
            Box::pin(async { Err(LookFailure::NoSuchContainer) })
        }
    }

    fn act(&self, container: ContainerId, primitive: Primitive) -> Pending<'_, ActOutcome> {
        if self.ours.contains(&container) {
            self.engine.act(container, primitive)
        } else {
            Box::pin(async { ActOutcome::Denied("it is none of the demo's".to_owned()) })
        }
    }

    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        Box::pin(async move {
            let stream = self.engine.events(since).await?;
            let ours = Arc::clone(&self.ours);
            Ok(Box::new(OurEvents { stream, ours }) as Box<dyn EventStream>)
        })
    }
}

struct OurEvents {
    stream: Box<dyn EventStream>,
    ours: Arc<BTreeSet<ContainerId>>,
}

impl EventStream for OurEvents {
    fn opened_at(&self) -> Option<EngineMs> {
        self.stream.opened_at()
    }

    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>> {
        Box::pin(async {
            loop {
                let event = self.stream.next().await?;
                if self.ours.contains(&event.container) {
                    return Ok(event);
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::HostClock,
        docker::simulated::{
            engine::SimulatedEngine, faults::Faults, live::LiveWorld, script::ContainerScript,
            world::World,
        },
    };

    #[tokio::test]
    async fn what_is_not_ours_is_neither_seen_nor_touched() {
        let world = LiveWorld::begin(World::new(EngineMs(0)), Arc::new(HostClock::new()));
        let run = |name| world.with(|world, now| world.run(now, ContainerScript::named(name)));
        let (theirs, ours) = (run("theirs"), run("ours"));
        let engine = SimulatedEngine::new(Arc::clone(&world), Arc::new(Faults::default()));
        let fence = Fence::around(Arc::new(engine), BTreeSet::from([ours.clone()]));

        let listed = fence.list().await.unwrap().containers;
        assert!(listed.iter().map(|row| &row.id).eq([&ours]), "{listed:?}");
        assert_eq!(fence.inspect(theirs.clone()).await, Err(LookFailure::NoSuchContainer));
        assert!(fence.inspect(ours.clone()).await.is_ok());

        let mut events = fence.events(None).await.unwrap();
        let killed = fence.act(theirs.clone(), Primitive::Kill).await;
        assert!(matches!(killed, ActOutcome::Denied(_)), "{killed:?}");
        world.with(|world, now| world.crash(now, &theirs, 1));
        assert_eq!(fence.act(ours.clone(), Primitive::Kill).await, ActOutcome::Done);
        assert_eq!(events.next().await.unwrap().container, ours);
    }
}
