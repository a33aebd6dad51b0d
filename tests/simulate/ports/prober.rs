//! A prober that asks the world how a container would answer, and takes as long as the answer would.

use crate::{
    account::{Fact, Sampled},
    ports::engine::short,
    recorder::Recorder,
    scenario::ProberMood,
};
use defib::{
    docker::simulated::live::LiveWorld,
    domain::{
        effect::Watch,
        observation::{Phase, Phases, ProbeOutcome},
    },
    probe::port::{Probed, Prober},
    tasks::Pending,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// A container on the same host answers within so long.
const ANSWERS_WITHIN: Duration = Duration::from_millis(4);

/// Asks the world.
pub struct WorldProber {
    /// Whom it asks.
    pub world: Arc<LiveWorld>,
    /// What is written down.
    pub recorder: Arc<Recorder>,
    /// Whether it can.
    pub mood: Arc<Mutex<ProberMood>>,
}

impl WorldProber {
    async fn run(&self, watch: &Watch) -> ProbeOutcome {
        let mood = *self.mood.lock().unwrap_or_else(PoisonError::into_inner);
        match mood {
            ProberMood::NoSockets => return ProbeOutcome::Local("too many open files".to_owned()),
            ProberMood::NoNames => {
                tokio::time::sleep(watch.probe.timeout).await;
                return ProbeOutcome::Dns("the resolver did not answer".to_owned());
            }
            ProberMood::Fine => {}
        }
        let Some(instance) = &watch.instance else {
            return ProbeOutcome::Infra("only containers are probed here".to_owned());
        };
        let outcome = self.world.with(|world, now| world.probe_outcome(now, &instance.container));
        let takes = match outcome {
            ProbeOutcome::Timeout(_) => watch.probe.timeout,
            _ => ANSWERS_WITHIN,
        };
        tokio::time::sleep(takes).await;
        outcome
    }
}

impl Prober for WorldProber {
    fn probe(&self, watch: Arc<Watch>) -> Pending<'_, Probed> {
        Box::pin(async move {
            let begun = self.recorder.time.now();
            let offset = self.recorder.time.elapsed() - begun;
            let mut outcome = self.run(&watch).await;
            let now = self.recorder.time.now();
            let slept = self.recorder.time.elapsed() - now != offset;
            if slept {
                // The peer gave up while we slept.
                outcome = ProbeOutcome::Timeout(Phase::FirstByte);
            }
            if let Some(instance) = &watch.instance {
                self.recorder.note(Fact::Sampled(Sampled {
                    replica: watch.target.replica.to_string(),
                    probe: watch.target.probe.to_string(),
                    container: short(&instance.container),
                    instance: instance.started_at.to_string(),
                    begun,
                    outcome: outcome.clone(),
                    slept,
                }));
            }
            let total = Duration::from_millis(now - begun);
            Probed { outcome, phases: Phases { total, ..Phases::default() }, address: None }
        })
    }
}
