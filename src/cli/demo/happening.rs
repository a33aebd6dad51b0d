//! What happens on the stage, from three sides that know nothing of one another: what the engine says, what the daemon
//! decides, and what arrives where people are told. The story is told, and the outcome judged, by these.

use super::{receiver::Told, role::Role};
use crate::{
    chronicle::Chronicle,
    clock::Clock,
    daemon::Witness,
    docker::port::{Engine, EventStream},
    domain::{
        effect::Batch,
        moment::{EngineMs, Moment},
        name::ContainerId,
        observation::{EngineEvent, EventAction, Inspection, Observation},
        record::{Decision, Record},
    },
    tasks::Tasks,
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::mpsc;

/// Happenings that may wait for the story. A demo has some two hundred in all.
pub const WAITING: usize = 4096;

/// Between two looks at a container: so late at most the story tells of its first failed check.
const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Before the event stream is opened again.
const REOPEN_AFTER: Duration = Duration::from_millis(500);

/// Something happened.
#[derive(Clone, Debug)]
pub enum Happening {
    /// The engine says so.
    Engine(Role, EventAction),
    /// How the container looks, twice a second.
    Looked(Role, Box<Inspection>),
    /// The daemon decided.
    Decided(Role, Decision),
    /// A message arrived.
    Told(Told),
}

/// Sees what the daemon decides, beside its log.
pub struct Onlooker {
    chronicle: Chronicle,
    happenings: mpsc::Sender<Happening>,
}

impl Onlooker {
    /// Hands on what is decided.
    pub fn new(happenings: mpsc::Sender<Happening>) -> Self {
        // No journal: nobody will replay a demo.
        Self { chronicle: Chronicle::new(None), happenings }
    }
}

impl Witness for Onlooker {
    fn observed(&mut self, now: Moment, observation: &Observation) {
        self.chronicle.observed(now, observation);
    }

    fn decided(&mut self, now: Moment, batch: &Batch) {
        self.chronicle.decided(now, batch);
        for record in &batch.records {
            let Record::Decided(decided) = record else { continue };
            let Some(role) = decided.service.as_ref().and_then(Role::of) else { continue };
            let happening = Happening::Decided(role, decided.decision.clone());
            // The loop must not wait. What is missing in the story then is missing in the judgement too.
            if self.happenings.try_send(happening).is_err() {
                tracing::warn!("the demo's story does not keep up, or is over");
            }
        }
    }
}

/// Listens to the engine and looks at the containers, until the story is over. Nothing that happens after this returned is
/// missed, unless the engine can't be listened to.
pub async fn watch(
    engine: Arc<dyn Engine>,
    containers: &BTreeMap<Role, ContainerId>,
    clock: Arc<dyn Clock>,
    happenings: mpsc::Sender<Happening>,
    tasks: &Tasks,
) {
    let roles: BTreeMap<ContainerId, Role> =
        containers.iter().map(|(role, id)| (id.clone(), *role)).collect();
    let (listener, events) = (Arc::clone(&engine), happenings.clone());
    let mut stream = engine.events(None).await.ok();
    tasks.spawn("demo's events", async move {
        let mut heard = Heard::default();
        loop {
            if let Some(stream) = stream.take()
                && listen(stream, &roles, &mut heard, &events).await.is_err()
            {
                return;
            }
            tokio::time::sleep(REOPEN_AFTER).await;
            stream = listener.events(heard.since).await.ok();
        }
    });
    for (role, id) in containers.clone() {
        let (engine, clock, happenings) =
            (Arc::clone(&engine), Arc::clone(&clock), happenings.clone());
        tasks.spawn("demo's looks", async move {
            loop {
                // A look that fails says nothing; there is another in half a second.
                if let Ok(inspection) = engine.inspect(id.clone()).await
                    && happenings.send(Happening::Looked(role, inspection)).await.is_err()
                {
                    return;
                }
                clock.sleep_until(clock.now().awake + LOOK_EVERY).await;
            }
        });
    }
}

/// Whoever was to be told is gone.
struct Ended;

/// What was heard already: a stream that is opened anew repeats some.
#[derive(Default)]
struct Heard {
    since: Option<EngineMs>,
    events: Vec<EngineEvent>,
}

async fn listen(
    mut stream: Box<dyn EventStream>,
    roles: &BTreeMap<ContainerId, Role>,
    heard: &mut Heard,
    happenings: &mpsc::Sender<Happening>,
) -> Result<(), Ended> {
    while let Ok(event) = stream.next().await {
        let Some(role) = roles.get(&event.container).copied() else { continue };
        if heard.events.contains(&event) {
            continue;
        }
        heard.since = heard.since.max(Some(event.at));
        let action = event.action.clone();
        heard.events.push(event);
        happenings.send(Happening::Engine(role, action)).await.map_err(|_| Ended)?;
    }
    Ok(())
}
