//! The daemon: one loop that joins the adapters with the domain.
//!
//! Everything from outside comes in as a value ([`World`]), so that the same loop runs on a host and in simulation and can't
//! tell which. Each turn: read the clocks, take what has come in (at most [`MOST_AT_ONCE`], in the order of the lanes), let
//! the domain step, hand the records to the store, carry the effects out. The loop itself waits for nothing but the next
//! thing to come in, and in each turn for whether the `hold` file exists, which is bounded to some tens of milliseconds.

mod ending;

use crate::{
    clock::Clock,
    docker::port::Engine,
    domain::{
        Domain, View,
        effect::Batch,
        moment::{AwakeMs, Moment},
        name::{Seq, SinkName},
        observation::Observation,
        policy::Policy,
        record::Record,
    },
    evidence::port::EvidenceReader,
    notify::port::Sink,
    probe::{port::Prober, stats::Stats},
    store::port::Store,
    tasks::{Pending, Tasks},
    turn::{Hands, Setup},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::sync::{mpsc, oneshot};

/// At most so many observations make one batch: enough to catch up quickly, few enough to keep a turn short.
pub const MOST_AT_ONCE: usize = 256;

/// The loop looks at the clocks at least this often, to notice that the host slept or the clock was set.
pub const LONGEST_SLEEP: Duration = Duration::from_secs(5);

/// A turn that comes so much later than it was due means that we did not run: samples in flight say nothing then.
const STALLED_AFTER: Duration = Duration::from_secs(2);

/// The wall clock may drift by so much between two turns without having been set.
const WALL_DRIFT: i64 = 2000;

/// Everything outside.
pub struct World {
    /// The three clocks.
    pub clock: Arc<dyn Clock>,
    /// Where engine, probes, sinks and evidence run.
    pub tasks: Tasks,
    /// The container engine.
    pub engine: Arc<dyn Engine>,
    /// Runs probes.
    pub prober: Arc<dyn Prober>,
    /// Probes at a time.
    pub pool: usize,
    /// Reads from outside why something fails.
    pub evidence: Arc<dyn EvidenceReader>,
    /// Where messages go.
    pub sinks: BTreeMap<SinkName, Arc<dyn Sink>>,
    /// Where records go.
    pub store: Box<dyn Store>,
    /// The store's answers.
    pub answers: mpsc::Receiver<Observation>,
    /// What the store kept.
    pub records: Vec<Record>,
    /// The last batch that it kept.
    pub last: Seq,
    /// What the config means.
    pub policy: Arc<Policy>,
    /// Orders from outside.
    pub orders: mpsc::Receiver<Order>,
    /// Whether the `hold` file exists. Asked every turn, which waits for it: it has to bound that to some tens of milliseconds.
    pub hold: Box<dyn FnMut() -> bool + Send>,
    /// Sees everything that goes in and comes out.
    pub witness: Box<dyn Witness>,
    /// Shifts what is spread.
    pub seed: u64,
}

/// How things stand.
#[derive(Debug)]
pub struct Shown {
    /// By the domain.
    pub view: View,
    /// How the prober keeps up.
    pub probing: Stats,
}

/// An order from outside.
pub enum Order {
    /// Take this policy, and these sinks, in place of the present ones.
    Reload {
        /// What the config means now.
        policy: Arc<Policy>,
        /// Where messages go now.
        sinks: BTreeMap<SinkName, Arc<dyn Sink>>,
    },
    /// Say how things stand.
    Show(oneshot::Sender<Shown>),
    /// End. Ordered once more: at once, without waiting for what is under way.
    Stop,
}

/// Sees everything that goes in and comes out: the journal, the log, a transcript. Must not block.
pub trait Witness: Send {
    /// This was observed.
    fn observed(&mut self, now: Moment, observation: &Observation);
    /// This was decided.
    fn decided(&mut self, now: Moment, batch: &Batch);
    /// Nothing more comes: what is still held back is written. The caller bounds the wait.
    fn end(&mut self) -> Pending<'static, ()> {
        Box::pin(async {})
    }
}

/// Runs until it is told to stop. What is still under way then is named in the log.
pub async fn run(world: World) {
    let World {
        clock,
        tasks,
        engine,
        prober,
        pool,
        evidence,
        sinks,
        store,
        answers,
        records,
        last,
        policy,
        mut orders,
        mut hold,
        mut witness,
        seed,
    } = world;
    let start = clock.now();
    // A replay begins with the policy.
    witness.observed(start, &Observation::PolicyLoaded(Arc::clone(&policy)));
    let (domain, batch) = Domain::restore(policy, clock.boot_id(), records, last, start);
    let hands = Hands::new(Setup {
        clock: Arc::clone(&clock),
        tasks,
        engine,
        prober,
        pool,
        evidence,
        sinks,
        store,
        stored: answers,
        seed,
    });
    let mut daemon =
        Daemon { domain, hands, clock, last_turn: start, due: start.awake, held: false };
    witness.decided(start, &batch);
    daemon.hands.carry_out(batch);
    daemon.hands.follow_events();
    loop {
        let mut came = Vec::new();
        daemon.due = daemon.next_turn();
        let order = tokio::select! {
            biased;
            order = orders.recv() => Some(order.unwrap_or(Order::Stop)),
            observation = daemon.next_observation() => {
                came.push(observation);
                None
            }
        };
        match &order {
            // Whoever orders again and again holds up no answer of the store and no sample.
            None | Some(Order::Reload { .. }) => daemon.take_what_came(&mut came),
            Some(Order::Show(_)) => {
                daemon.take_what_came(&mut came);
                // What is shown is of now: spans are counted to the moment of the last step.
                came.push(Observation::Woke);
            }
            Some(Order::Stop) => {}
        }
        daemon.turn(came, hold(), &mut *witness);
        match order {
            None => {}
            Some(Order::Show(answer)) => {
                // Whoever asked may be gone by now; that is theirs.
                let probing = daemon.hands.probing();
                drop(answer.send(Shown { view: daemon.domain.view(), probing }));
            }
            Some(Order::Reload { policy, sinks }) => {
                daemon.hands.replace_sinks(sinks);
                daemon.turn(vec![Observation::PolicyLoaded(policy)], hold(), &mut *witness);
            }
            Some(Order::Stop) => break,
        }
    }
    daemon.end(orders, &mut *witness).await;
}

struct Daemon {
    domain: Domain,
    hands: Hands,
    clock: Arc<dyn Clock>,
    last_turn: Moment,
    /// When the turn that is waited for is due at the latest.
    due: AwakeMs,
    held: bool,
}

impl Daemon {
    /// When the next turn is due at the latest.
    fn next_turn(&self) -> AwakeMs {
        let now = self.clock.now().awake;
        let longest = now + LONGEST_SLEEP;
        self.domain.next_deadline().map_or(longest, |at| at.min(longest)).max(now)
    }

    /// The next observation, or that the next turn is due. May be dropped without losing one.
    async fn next_observation(&mut self) -> Observation {
        tokio::select! {
            biased;
            observation = self.hands.next() => observation,
            () = self.clock.sleep_until(self.due) => Observation::Woke,
        }
    }

    /// What else has come by now, as much as a turn takes.
    fn take_what_came(&mut self, came: &mut Vec<Observation>) {
        while came.len() < MOST_AT_ONCE {
            let Some(observation) = self.hands.try_next() else {
                break;
            };
            came.push(observation);
        }
    }

    /// One turn: what came in goes through the domain, what comes out is carried out.
    fn turn(&mut self, came: Vec<Observation>, held: bool, witness: &mut dyn Witness) {
        let now = self.clock.now();
        let mut observations = self.look_at_clocks(now);
        if held != self.held {
            self.held = held;
            observations.push(Observation::HoldFile(held));
        }
        observations.extend(came);
        let mut whole = Batch::default();
        for observation in observations {
            witness.observed(now, &observation);
            whole.append(self.domain.step(now, observation));
        }
        witness.decided(now, &whole);
        self.hands.carry_out(whole);
    }

    /// Whether the host slept, we did not run, or the clock was set since the last turn.
    fn look_at_clocks(&mut self, now: Moment) -> Vec<Observation> {
        let before = std::mem::replace(&mut self.last_turn, now);
        let awake = now.awake.since(before.awake);
        let boot = now.boot.since(before.boot);
        let suspended = boot.saturating_sub(awake);
        let late = now.awake.since(self.due);
        let mut observations = Vec::new();
        let slept = suspended + if late >= STALLED_AFTER { late } else { Duration::ZERO };
        if suspended >= Duration::from_secs(1) || late >= STALLED_AFTER {
            self.hands.host_resumed(slept);
            observations.push(Observation::HostResumed(slept));
        }
        let passed = i64::try_from(boot.as_millis()).unwrap_or(i64::MAX);
        let stepped = now.wall.0.saturating_sub(before.wall.0).saturating_sub(passed);
        if stepped.abs() >= WALL_DRIFT {
            observations.push(Observation::ClockStepped(stepped));
        }
        observations
    }
}

#[cfg(test)]
mod tests;
