//! The loop's hands: the lanes by which observations come in, and the carrying out of effects.
//!
//! Every effect that waits for something outside is a task with a deadline, and its answer comes back in a lane (`calls`).
//! Lanes, in the order in which they are emptied: the store's answers and results of actions (never dropped: their number is
//! bounded by what is under way), looks (as many as are asked), events (at a full lane the stream ends, and all is listed
//! anew), samples (one slot a target, kept by the scheduler).

mod calls;

use crate::{
    action,
    clock::Clock,
    docker::port::Engine,
    domain::{
        effect::{Batch, Effect, Look, Primitive, ProbeOrder, SendOrder},
        moment::AwakeMs,
        name::{AttemptId, ContainerId, LookId, MessageId, ReplicaName, SinkName},
        observation::{ActOutcome, DeliveryOutcome, Observation},
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
use futures_util::TryFutureExt;
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{mpsc, oneshot};

/// Events that may wait: a deploy of some hundred containers makes a few thousand within seconds, and a turn takes 256.
const EVENTS: usize = 4096;

/// That an act's deadline has passed may come so much later.
const REPORT_SLACK: Duration = Duration::from_millis(500);

/// Looks, results: more than can be under way at a time.
const ANSWERS: usize = 256;

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
    /// The scheduler of the probes broke down: no sample comes any more.
    prober_ended: bool,
    /// About which containers the engine is being asked.
    looking: BTreeMap<LookId, ContainerId>,
    acting: BTreeMap<AttemptId, Acting>,
    /// What left and is not answered: which attempt at which message, to whom.
    sending: BTreeSet<(SinkName, MessageId, u32)>,
}

/// What the engine is at on our behalf.
pub(crate) struct Acting {
    pub(crate) replica: ReplicaName,
    pub(crate) primitive: Primitive,
    /// By then its answer has come, or the waiting for it is reported as over.
    pub(crate) until: AwakeMs,
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
            prober_ended: false,
            looking: BTreeMap::new(),
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
            sample = self.samples.recv(), if !self.prober_ended => match sample {
                Some(sample) => Observation::Sampled(sample),
                None => {
                    self.prober_ended = true;
                    prober_ended()
                }
            },
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

    /// Without samples: at the end nothing is judged any more.
    pub(crate) async fn next_at_the_end(&mut self) -> Observation {
        if let Some(own) = self.own.pop_front() {
            return own;
        }
        let came = tokio::select! {
            biased;
            Some(observation) = self.stored.recv() => observation,
            Some(observation) = self.results.receiver.recv() => observation,
            Some(observation) = self.looks.receiver.recv() => observation,
            Some(observation) = self.events.receiver.recv() => observation,
            else => std::future::pending().await,
        };
        self.note(came)
    }

    fn note(&mut self, came: Observation) -> Observation {
        if let Observation::Inspected { look, .. } = &came {
            self.looking.remove(look);
        }
        if let Observation::Acted { attempt, .. } = &came {
            self.acting.remove(attempt);
        }
        if let Observation::Answered { sink, message, attempt, .. } = &came {
            self.sending.remove(&(sink.clone(), *message, *attempt));
        }
        came
    }

    /// What the engine is at on our behalf.
    pub(crate) fn acting(&self) -> impl Iterator<Item = &Acting> {
        self.acting.values()
    }

    /// Whether the engine is being asked about one of these.
    pub(crate) fn is_looking_at(&self, containers: &BTreeSet<ContainerId>) -> bool {
        self.looking.values().any(|container| containers.contains(container))
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

    /// The records, and of the effects only those that are `wanted`. Gives the others back: they are not begun any more.
    pub(crate) fn carry_out_only(
        &mut self,
        batch: Batch,
        wanted: impl Fn(&Effect) -> bool,
    ) -> Vec<Effect> {
        let (wanted, left) = self.record(batch).into_iter().partition(wanted);
        let wanted: Vec<Effect> = wanted;
        for effect in wanted {
            self.perform(effect);
        }
        left
    }

    fn record(&mut self, batch: Batch) -> Vec<Effect> {
        if !batch.records.is_empty()
            && let Err(refused) = self.store.submit(batch.seq, batch.records)
        {
            let reason = refused.to_string();
            self.own.push_back(Observation::Refused { seq: batch.seq, reason });
        }
        batch.effects
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Look(look) => self.look(look),
            Effect::Probe(order) => {
                // Nobody takes it, and the domain has to know that of this target too.
                if self.prober_ended && matches!(order, ProbeOrder::Watch(_)) {
                    self.tell_that_the_prober_ended();
                }
                self.scheduler.order(order);
            }
            Effect::GatherEvidence { attempt, instance, pid, deadline } => {
                let reader = Arc::clone(&self.evidence);
                let gathered = calls::gather(reader, attempt, instance, pid, deadline);
                let findings = vec!["the evidence could not be read".to_owned()];
                let if_lost = Observation::EvidenceGathered { attempt, findings };
                let answer = self.tasks.spawn("evidence", gathered);
                self.answered(answer, if_lost, &self.results);
            }
            Effect::Act(order) => {
                let attempt = order.attempt;
                let until = self.clock.now().awake + order.deadline + REPORT_SLACK;
                let (replica, primitive) = (order.replica.clone(), order.primitive);
                self.acting.insert(attempt, Acting { replica, primitive, until });
                let (report, answer) = oneshot::channel();
                self.tasks.spawn("act", action::act(Arc::clone(&self.engine), order, report));
                let acted = move |outcome| Observation::Acted { attempt, outcome };
                let if_lost = "the call ended without an answer".to_owned();
                let if_lost = acted(ActOutcome::Unreachable(if_lost));
                self.answered(answer.map_ok(acted), if_lost, &self.results);
            }
            Effect::Send(order) => self.send(Arc::new(*order)),
        }
    }

    fn send(&mut self, order: Arc<SendOrder>) {
        self.sending.insert((order.sink.clone(), order.message.id, order.attempt));
        let to = self.sinks.get(&order.sink).cloned();
        // A send that breaks down may have arrived: one that is never answered would be waited for at the end.
        let lost = DeliveryOutcome::Unknown("the task that sent has ended".to_owned());
        let if_lost = calls::answer_to(&order, lost);
        let answer = self.tasks.spawn("send", calls::hand_over(to, order));
        self.answered(answer, if_lost, &self.results);
    }

    fn look(&mut self, look: Look) {
        if let Look::Inspect { look, container } = &look {
            self.looking.insert(*look, container.clone());
        }
        let if_lost = calls::unanswered(look.clone());
        let answer = self.tasks.spawn("look", calls::ask(Arc::clone(&self.engine), look));
        self.answered(answer, if_lost, &self.looks);
    }

    /// Once for however many orders.
    fn tell_that_the_prober_ended(&mut self) {
        let ended = prober_ended();
        if !self.own.contains(&ended) {
            self.own.push_back(ended);
        }
    }

    /// Hands the answer on by `lane` when it comes. Every call has one, also where its task breaks down: what was never
    /// answered would never be asked again.
    fn answered<E: Send + 'static>(
        &self,
        answer: impl Future<Output = Result<Observation, E>> + Send + 'static,
        if_lost: Observation,
        lane: &Lane,
    ) {
        let handed_on = calls::hand_on(answer, if_lost, lane.sender.clone());
        self.tasks.spawn("answer", handed_on);
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

fn prober_ended() -> Observation {
    let why = "the scheduler of the probes broke down, which is a fault of defib";
    Observation::ProberEnded(why.to_owned())
}

#[cfg(test)]
mod tests;
