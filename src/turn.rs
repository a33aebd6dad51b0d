//! The loop's hands: the lanes by which observations come in, and the carrying out of effects.
//!
//! Every effect that waits for something outside is a task with a deadline, and its answer comes back in a lane. Lanes, in
//! the order in which they are emptied: the store's answers and results of actions (never dropped: their number is bounded
//! by what is under way), looks (as many as are asked), events (at a full lane the stream ends, and all is listed anew),
//! samples (one slot a target, kept by the scheduler).

use crate::{
    action,
    clock::Clock,
    docker::port::Engine,
    domain::{
        effect::{Batch, Effect, Look, SendOrder},
        moment::Spoken,
        name::{AttemptId, Instance, MessageId, ReplicaName, SinkName},
        observation::{ActOutcome, DeliveryOutcome, LookFailure, Observation},
    },
    events,
    evidence::port::EvidenceReader,
    notify::port::Sink,
    probe::{
        port::Prober,
        scheduler::{self, SampleReceiver, SchedulerHandle},
        stats::Stats,
    },
    store::port::Store,
    tasks::Tasks,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// A list that takes longer tells nothing that is still true.
const LIST_WITHIN: Duration = Duration::from_secs(10);

/// The engine answers an inspect within milliseconds, or hangs on the container's lock.
const INSPECT_WITHIN: Duration = Duration::from_secs(5);

/// Events that may wait: a deploy of some hundred containers makes a few thousand within seconds, and a turn takes 256.
const EVENTS: usize = 4096;

/// Looks, results: more than can be under way at a time.
const ANSWERS: usize = 256;

/// A sink may take so much longer than its deadline before it is cut off.
const SINK_SLACK: Duration = Duration::from_millis(500);

/// What of the world the hands work with; [`crate::daemon::World`] says what each is.
pub(crate) struct Setup {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tasks: Tasks,
    pub(crate) engine: Arc<dyn Engine>,
    pub(crate) prober: Arc<dyn Prober>,
    pub(crate) pool: usize,
    pub(crate) evidence: Arc<dyn EvidenceReader>,
    pub(crate) sinks: BTreeMap<SinkName, Arc<dyn Sink>>,
    pub(crate) store: Box<dyn Store>,
    pub(crate) stored: mpsc::Receiver<Observation>,
    pub(crate) seed: u64,
}

/// The loop's hands.
pub(crate) struct Hands {
    clock: Arc<dyn Clock>,
    tasks: Tasks,
    engine: Arc<dyn Engine>,
    evidence: Arc<dyn EvidenceReader>,
    sinks: BTreeMap<SinkName, Arc<dyn Sink>>,
    store: Box<dyn Store>,
    scheduler: SchedulerHandle,
    /// What we ourselves have to tell the domain.
    own: VecDeque<Observation>,
    stored: mpsc::Receiver<Observation>,
    results: Lane,
    looks: Lane,
    events: Lane,
    samples: SampleReceiver,
    acting: BTreeMap<AttemptId, ReplicaName>,
    /// What left and is not answered: which attempt at which message, to whom.
    sending: BTreeSet<(SinkName, MessageId, u32)>,
}

struct Lane {
    sender: mpsc::Sender<Observation>,
    receiver: mpsc::Receiver<Observation>,
}

impl Lane {
    fn new(capacity: usize) -> Self {
        let (sender, receiver) = mpsc::channel(capacity);
        Self { sender, receiver }
    }
}

impl Hands {
    pub(crate) fn new(setup: Setup) -> Self {
        let Setup { clock, tasks, engine, prober, pool, evidence, sinks, store, stored, seed } =
            setup;
        let (scheduler, samples) = scheduler::start(scheduler::Setup {
            clock: Arc::clone(&clock),
            tasks: tasks.clone(),
            prober,
            pool,
            seed,
        });
        Self {
            clock,
            tasks,
            engine,
            evidence,
            sinks,
            store,
            scheduler,
            own: VecDeque::new(),
            stored,
            results: Lane::new(ANSWERS),
            looks: Lane::new(ANSWERS),
            events: Lane::new(EVENTS),
            samples,
            acting: BTreeMap::new(),
            sending: BTreeSet::new(),
        }
    }

    /// How the prober keeps up.
    pub(crate) fn probing(&self) -> Stats {
        self.scheduler.stats()
    }

    /// The next observation, by the order of the lanes. May be dropped without losing one.
    pub(crate) async fn next(&mut self) -> Observation {
        if let Some(own) = self.own.pop_front() {
            return own;
        }
        let came = tokio::select! {
            biased;
            Some(observation) = self.stored.recv() => observation,
            Some(observation) = self.results.receiver.recv() => observation,
            Some(observation) = self.looks.receiver.recv() => observation,
            Some(observation) = self.events.receiver.recv() => observation,
            Some(sample) = self.samples.recv() => Observation::Sampled(sample),
            // All lanes closed: there is nothing left to come but the next deadline.
            else => std::future::pending().await,
        };
        self.note(came)
    }

    /// The next observation that is there already.
    pub(crate) fn try_next(&mut self) -> Option<Observation> {
        let came = self
            .own
            .pop_front()
            .or_else(|| self.stored.try_recv().ok())
            .or_else(|| self.results.receiver.try_recv().ok())
            .or_else(|| self.looks.receiver.try_recv().ok())
            .or_else(|| self.events.receiver.try_recv().ok())
            .or_else(|| self.samples.try_recv().map(Observation::Sampled))?;
        Some(self.note(came))
    }

    /// Only what ends what is under way.
    pub(crate) async fn next_result(&mut self) -> Observation {
        let came = tokio::select! {
            biased;
            Some(observation) = self.stored.recv() => observation,
            Some(observation) = self.results.receiver.recv() => observation,
            else => std::future::pending().await,
        };
        self.note(came)
    }

    fn note(&mut self, came: Observation) -> Observation {
        if let Observation::Acted { attempt, .. } = &came {
            self.acting.remove(attempt);
        }
        if let Observation::Answered { sink, message, attempt, .. } = &came {
            self.sending.remove(&(sink.clone(), *message, *attempt));
        }
        came
    }

    /// Whether the engine is at something on our behalf.
    pub(crate) fn is_acting(&self) -> bool {
        !self.acting.is_empty()
    }

    /// What it is at.
    pub(crate) fn acting(&self) -> impl Iterator<Item = &ReplicaName> {
        self.acting.values()
    }

    /// Whether a message is on its way.
    pub(crate) fn is_sending(&self) -> bool {
        !self.sending.is_empty()
    }

    /// To whom, and which.
    pub(crate) fn sending(&self) -> impl Iterator<Item = (&SinkName, MessageId)> {
        self.sending.iter().map(|(sink, message, _)| (sink, *message))
    }

    pub(crate) fn replace_sinks(&mut self, sinks: BTreeMap<SinkName, Arc<dyn Sink>>) {
        self.sinks = sinks;
    }

    pub(crate) fn host_resumed(&self, slept: Duration) {
        self.scheduler.host_resumed(slept);
    }

    /// The records go to the store, then the effects to the world.
    pub(crate) fn carry_out(&mut self, batch: Batch) {
        let effects = self.record(batch);
        for effect in effects {
            self.perform(effect);
        }
    }

    /// Only the records: nothing new is begun any more.
    pub(crate) fn record_only(&mut self, batch: Batch) {
        let left = self.record(batch);
        tracing::debug!(effects = left.len(), "not begun any more");
    }

    fn record(&mut self, batch: Batch) -> Vec<Effect> {
        if !batch.records.is_empty() && self.store.submit(batch.seq, batch.records).is_err() {
            let reason = "the store is behind: its queue is full".to_owned();
            self.own.push_back(Observation::Refused { seq: batch.seq, reason });
        }
        batch.effects
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Look(look) => self.look(look),
            Effect::Probe(order) => self.scheduler.order(order),
            Effect::GatherEvidence { attempt, instance, pid, deadline } => {
                let (evidence, results) = (Arc::clone(&self.evidence), self.results.sender.clone());
                self.tasks.spawn("evidence", async move {
                    let findings = gather(&*evidence, instance, pid, deadline).await;
                    deliver(&results, Observation::EvidenceGathered { attempt, findings }).await;
                });
            }
            Effect::Act(order) => {
                let attempt = order.attempt;
                self.acting.insert(attempt, order.replica.clone());
                let (report, answer) = oneshot::channel();
                let results = self.results.sender.clone();
                self.tasks.spawn("act", action::act(Arc::clone(&self.engine), order, report));
                self.tasks.spawn("act's report", async move {
                    let outcome = answer.await.unwrap_or_else(|_| {
                        ActOutcome::Unreachable("the call ended without an answer".to_owned())
                    });
                    deliver(&results, Observation::Acted { attempt, outcome }).await;
                });
            }
            Effect::Send(order) => self.send(Arc::new(*order)),
        }
    }

    fn send(&mut self, order: Arc<SendOrder>) {
        let (sink, message, attempt) = (order.sink.clone(), order.message.id, order.attempt);
        self.sending.insert((sink.clone(), message, attempt));
        let to = self.sinks.get(&order.sink).cloned();
        let results = self.results.sender.clone();
        let sent = self.tasks.spawn("send", hand_over(to, order));
        // A send that panics may have arrived: one that is never answered would be waited for at the end.
        self.tasks.spawn("send's report", async move {
            let outcome = sent.await.unwrap_or_else(|_| {
                DeliveryOutcome::Unknown("the task that sent has ended".to_owned())
            });
            deliver(&results, Observation::Answered { sink, message, attempt, outcome }).await;
        });
    }

    fn look(&mut self, look: Look) {
        let looks = self.looks.sender.clone();
        let asked = self.tasks.spawn("look", ask(Arc::clone(&self.engine), look.clone()));
        // A look that panics is a look that failed: a question that is never answered would never be asked again.
        self.tasks.spawn("look's report", async move {
            let observation = asked.await.unwrap_or_else(|_| unanswered(look));
            deliver(&looks, observation).await;
        });
    }

    /// Keeps one event stream open for as long as the daemon runs.
    pub(crate) fn follow_events(&mut self) {
        let (engine, clock, lane) =
            (Arc::clone(&self.engine), Arc::clone(&self.clock), self.events.sender.clone());
        self.tasks.spawn("events", events::keep_open(engine, clock, lane));
    }

    /// The store writes what it was given.
    pub(crate) async fn close(self) {
        self.store.close().await;
    }
}

/// One attempt at a delivery, within its deadline.
async fn hand_over(sink: Option<Arc<dyn Sink>>, order: Arc<SendOrder>) -> DeliveryOutcome {
    let Some(sink) = sink else {
        return DeliveryOutcome::NotSent("no such sink".to_owned());
    };
    let within = order.deadline + SINK_SLACK;
    tokio::time::timeout(within, sink.deliver(Arc::clone(&order))).await.unwrap_or_else(|_| {
        DeliveryOutcome::Unknown(format!("no answer within {:?}", order.deadline))
    })
}

/// What was found in time. The reader answers once: of a reading that takes longer, nothing is told.
async fn gather(
    evidence: &dyn EvidenceReader,
    instance: Instance,
    pid: Option<u32>,
    deadline: Duration,
) -> Vec<String> {
    tokio::time::timeout(deadline, evidence.gather(instance, pid)).await.unwrap_or_else(|_| {
        vec![format!("the evidence could not be read within {}", Spoken(deadline))]
    })
}

/// One question, and its answer.
async fn ask(engine: Arc<dyn Engine>, look: Look) -> Observation {
    match look {
        Look::List => match within(LIST_WITHIN, engine.list()).await {
            Ok(listing) => Observation::Listed(listing),
            Err(failure) => Observation::ListFailed { full: true, failure },
        },
        Look::ListUnhealthy => match within(LIST_WITHIN, engine.list_unhealthy()).await {
            Ok(containers) => Observation::UnhealthyListed(containers),
            Err(failure) => Observation::ListFailed { full: false, failure },
        },
        Look::Inspect { look, container } => {
            let answer = within(INSPECT_WITHIN, engine.inspect(container.clone())).await;
            Observation::Inspected { look, container, answer }
        }
    }
}

/// What a question comes to whose task ended without an answer.
fn unanswered(look: Look) -> Observation {
    let failure = LookFailure::Local("the task that asked has ended".to_owned());
    match look {
        Look::List => Observation::ListFailed { full: true, failure },
        Look::ListUnhealthy => Observation::ListFailed { full: false, failure },
        Look::Inspect { look, container } => {
            Observation::Inspected { look, container, answer: Err(failure) }
        }
    }
}

/// The answer, or that it did not come in time.
pub(crate) async fn within<T>(
    deadline: Duration,
    answer: impl Future<Output = Result<T, LookFailure>>,
) -> Result<T, LookFailure> {
    tokio::time::timeout(deadline, answer).await.unwrap_or(Err(LookFailure::TimedOut(deadline)))
}

/// Hands an answer to the loop. Where the loop has ended, nobody needs it.
async fn deliver(lane: &mpsc::Sender<Observation>, observation: Observation) {
    if lane.send(observation).await.is_err() {
        tracing::debug!("an answer came after the end");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::name::{ContainerId, StartedAt},
        tasks::Pending,
    };

    /// Takes so long over what it finds.
    struct Slow(Duration);

    impl EvidenceReader for Slow {
        fn gather(&self, _: Instance, _: Option<u32>) -> Pending<'_, Vec<String>> {
            Box::pin(async {
                tokio::time::sleep(self.0).await;
                vec!["found".to_owned()]
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn evidence_that_takes_too_long_is_said_to_be_unread_and_nothing_more() {
        let second = Duration::from_secs(1);
        let gathered = async |takes| {
            let instance = Instance {
                container: ContainerId::new("c1"),
                started_at: StartedAt::new("2026-11-29T10:00:00Z"),
            };
            gather(&Slow(takes), instance, Some(1), 3 * second).await
        };
        assert_eq!(gathered(2 * second).await, ["found"]);
        assert_eq!(gathered(4 * second).await, ["the evidence could not be read within 3s"]);
    }
}
