//! The end of a daemon that is told to: nothing more is begun, and what is begun is finished or named.
//!
//! What defib has stopped it starts again before it ends, within a grace: otherwise a container would stand still until defib
//! runs once more. So it goes on looking at what it acted on, and hears who else acts on it. Nothing else is looked at or
//! probed any more, and the domain's time stands still: a deadline that passes where nobody looks would only make it say
//! what is not true, and tell it at the next start.

use super::{Daemon, Order, Witness};
use crate::{
    domain::{
        Begun,
        effect::{Effect, Look, Primitive},
        moment::{AwakeMs, Moment, Spoken},
        name::{AttemptId, ContainerId},
        observation::Observation,
    },
    turn::Acting,
};
use std::{collections::BTreeSet, time::Duration};
use tokio::sync::mpsc;

/// Deliveries under way may take so long to end when the daemon is told to.
pub(super) const GRACE: Duration = Duration::from_secs(10);

/// Acts under way are waited for until their deadlines, what they did is looked at, and what they stopped is started, within
/// this: with what is written after that it stays below the 90 s after which systemd kills. What hangs takes its whole stop
/// timeout, and a restart whose client goes away in between leaves the container stopped on some engines (moby 44365).
pub(super) const ACTS_GRACE: Duration = Duration::from_secs(60);

/// Between two looks at what is to be started before the end.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// The store may take so long to write what it was given.
const FLUSH_WITHIN: Duration = Duration::from_secs(5);

impl Daemon {
    /// No more is taken in; what is begun ends, or is named; the store writes what it was given. Sinks' answers are waited for
    /// too: a message without one is sent again at the next start, and few sinks know it by its key.
    pub(super) async fn end(
        mut self,
        mut orders: mpsc::Receiver<Order>,
        witness: &mut dyn Witness,
    ) {
        let told = self.clock.now();
        for act in self.hands.acting() {
            tracing::info!(replica = %act.replica, "{}", waited_for(act, told.awake));
        }
        let mut ending = Ending { told, not_begun: BTreeSet::new() };
        self.step_at_the_end(&mut ending, Observation::Ending, witness);
        let mut again = told.awake + LOOK_AGAIN;
        while let Some(until) = self.waits_until(&ending) {
            if again <= self.clock.now().awake {
                again = self.clock.now().awake + LOOK_AGAIN;
                if self.is_to_be_looked_at(&ending) {
                    self.step_at_the_end(&mut ending, Observation::Ending, witness);
                }
            }
            tokio::select! {
                biased;
                Some(order) = orders.recv() => match order {
                    Order::Stop => {
                        tracing::warn!("told to end once more: what is under way is not waited for");
                        break;
                    }
                    // Whoever asked hears at once that nobody answers any more.
                    Order::Show(_) | Order::Reload { .. } => {}
                },
                came = self.hands.next_at_the_end() => {
                    if self.counts_at_the_end(&ending, &came) {
                        self.step_at_the_end(&mut ending, came, witness);
                    }
                }
                () = self.clock.sleep_until(again.min(until)) => {}
            }
        }
        drop(orders);
        self.name_what_is_left(&ending);
        if tokio::time::timeout(FLUSH_WITHIN, witness.end()).await.is_err() {
            tracing::warn!(
                "the journal has not written everything within {}; its end is missing",
                Spoken(FLUSH_WITHIN)
            );
        }
        if tokio::time::timeout(FLUSH_WITHIN, self.hands.close()).await.is_err() {
            tracing::error!(
                "the store has not written everything within {}; what is missing is looked at again at the next start",
                Spoken(FLUSH_WITHIN)
            );
        }
    }

    /// Until when something is waited for that is not over.
    fn waits_until(&self, ending: &Ending) -> Option<AwakeMs> {
        let told = ending.told.awake;
        let acts = self.hands.acting().map(|act| ends_by(act, told));
        let sends = self.hands.is_sending().then_some(told + GRACE);
        let begun = (!self.begun(ending).is_empty()).then_some(told + ACTS_GRACE);
        let now = self.clock.now().awake;
        acts.chain(sends).chain(begun).filter(|until| now < *until).max()
    }

    /// One step, at the moment in which the end was ordered: nobody looks any more at what a deadline would be about, so that
    /// none passes. Of what comes out of it only that is carried out which finishes what is begun.
    fn step_at_the_end(
        &mut self,
        ending: &mut Ending,
        came: Observation,
        witness: &mut dyn Witness,
    ) {
        witness.observed(ending.told, &came);
        let batch = self.domain.step(ending.told, came);
        witness.decided(ending.told, &batch);
        let begun = containers(self.begun(ending));
        let left = self.hands.carry_out_only(batch, |effect| match effect {
            Effect::Look(Look::Inspect { container, .. }) => begun.contains(container),
            Effect::Act(order) => match order.primitive {
                Primitive::Start => true,
                Primitive::Restart { .. } | Primitive::Kill => false,
            },
            Effect::Look(Look::List | Look::ListUnhealthy)
            | Effect::Probe(_)
            | Effect::GatherEvidence { .. }
            | Effect::Send(_) => false,
        });
        for effect in left {
            if let Effect::Act(order) = effect {
                ending.not_begun.insert(order.attempt);
            }
        }
    }

    /// What is begun and not ended, but for what was decided too late to be begun.
    fn begun(&self, ending: &Ending) -> Vec<Begun> {
        let mut begun = self.domain.begun();
        begun.retain(|begun| !ending.not_begun.contains(&begun.attempt));
        begun
    }

    /// Whether nothing is under way that says how it stands with what is begun.
    fn is_to_be_looked_at(&self, ending: &Ending) -> bool {
        let acting: BTreeSet<_> = self.hands.acting().map(|act| &act.replica).collect();
        let mut begun = self.begun(ending);
        begun.retain(|begun| !acting.contains(&begun.replica));
        let begun = containers(begun);
        !begun.is_empty() && !self.hands.is_looking_at(&begun)
    }

    /// Whether it says how what is under way ends. That somebody else acted on what was begun does too (S1).
    fn counts_at_the_end(&self, ending: &Ending, came: &Observation) -> bool {
        match came {
            Observation::Committed(_)
            | Observation::Refused { .. }
            | Observation::Acted { .. }
            | Observation::Answered { .. }
            | Observation::EvidenceGathered { .. } => true,
            Observation::Inspected { container, .. } => {
                containers(self.begun(ending)).contains(container)
            }
            Observation::Event(event) => containers(self.begun(ending)).contains(&event.container),
            Observation::PolicyLoaded(_)
            | Observation::Listed(_)
            | Observation::UnhealthyListed(_)
            | Observation::ListFailed { .. }
            | Observation::EventsOpened
            | Observation::EventsLost(_)
            | Observation::Sampled(_)
            | Observation::HostResumed(_)
            | Observation::ClockStepped(_)
            | Observation::MemoryLost(_)
            | Observation::HoldFile(_)
            | Observation::ProberEnded(_)
            | Observation::Ending
            | Observation::Woke => false,
        }
    }

    fn name_what_is_left(&self, ending: &Ending) {
        let begun = self.begun(ending);
        let stopped: BTreeSet<_> =
            begun.iter().filter(|begun| begun.is_stopped).map(|begun| &begun.replica).collect();
        for replica in &stopped {
            tracing::warn!("left stopped by defib: {replica}; it is started at the next start");
        }
        let acting = self.hands.acting().map(|act| &act.replica);
        let touched: BTreeSet<_> = acting.chain(begun.iter().map(|begun| &begun.replica)).collect();
        for replica in touched.difference(&stopped) {
            tracing::warn!(%replica, "still being acted on; at the next start it is looked at first");
        }
        for (sink, message) in self.hands.sending() {
            tracing::warn!(
                sink = sink.as_str(),
                message = message.0,
                "a message's answer has not come; it is sent once more at the next start"
            );
        }
    }
}

/// A daemon that was told to end.
struct Ending {
    told: Moment,
    /// Attempts whose next act came too late.
    not_begun: BTreeSet<AttemptId>,
}

fn containers(begun: Vec<Begun>) -> BTreeSet<ContainerId> {
    begun.into_iter().map(|begun| begun.container).collect()
}

/// Until when an act is waited for, by a daemon that was told to end at `told`.
fn ends_by(act: &Acting, told: AwakeMs) -> AwakeMs {
    act.until.min(told + ACTS_GRACE)
}

/// That it is.
pub(super) fn waited_for(act: &Acting, told: AwakeMs) -> String {
    let at_most = Spoken::rounded(ends_by(act, told).since(told));
    format!("waiting for the {} of {}, at most {at_most}", act.primitive, act.replica)
}
