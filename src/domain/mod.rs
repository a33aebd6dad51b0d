//! The domain: pure, and owner of every decision.
//!
//! Observations go in with their moment, a [`Batch`] of records and effects comes out. There is no clock, file, network,
//! environment, async or randomness in here: what a run decided can be decided again from what it saw.
//!
//! Each thing that thinks has an owner (`agenda::Owner`) and several small machines, composed in one order, in
//! `Domain::think`: a replica's lifecycle → evidence → verdict → trouble → attempt → gates, then its service's incidents,
//! then what each sink is owed. `docs/STATES.md` has their tables. What passed while nobody looked is left out of all of it
//! first (`stall`).

mod agenda;
pub mod durability;
pub mod effect;
pub mod hash;
pub mod message;
pub mod moment;
pub mod name;
pub mod observation;
pub mod policy;
pub mod record;

pub mod acting;
pub mod judging;
pub mod telling;
pub mod watching;

mod ending;
mod host;
mod observe;
mod replicas;
mod restore;
mod service;
mod sinks;
mod stall;
mod view;

pub use ending::Begun;
pub use host::Host;
pub use view::{ReplicaView, RestartsNothing, SinkView, View};

use agenda::{Agenda, Owner};
use durability::Durability;
use effect::{Batch, Effect};
use judging::verdict::Verdict;
use moment::{AwakeMs, BootId, Moment, Stamp};
use name::{AttemptId, ContainerId, ReplicaName, ServiceName, SinkName};
use observation::Observation;
use policy::Policy;
use record::{Decision, DecisionRecord, Record};
use service::Service;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use telling::{IncidentKey, incident::Incident, sink::Sink};
use watching::{looking::Looking, replica::Replica};

/// A step thinks at most so often: far more than any real step needs. Reaching it would be a loop between machines, which
/// is then broken off and goes on in the next step, rather than hanging the daemon.
const MOST_THOUGHTS: usize = 100_000;

/// Everything that is known and decided.
#[derive(Debug)]
pub struct Domain {
    boot_id: BootId,
    policy: Arc<Policy>,
    now: Moment,
    own_start: AwakeMs,
    agenda: Agenda,
    durability: Durability,
    records: Vec<Record>,
    effects: Vec<Effect>,
    looking: Looking,
    containers: BTreeMap<ContainerId, Holder>,
    replicas: BTreeMap<ReplicaName, Replica>,
    services: BTreeMap<ServiceName, Service>,
    attempts: BTreeMap<AttemptId, ReplicaName>,
    host: Host,
    incidents: BTreeMap<IncidentKey, Incident>,
    sinks: BTreeMap<SinkName, Sink>,
    /// Which services match nothing was said since the policy came.
    said_unmatched: bool,
    /// After a stall: until when a list is waited for before anybody's deadline counts.
    list_first_until: Option<AwakeMs>,
}

/// What a container is to us.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Holder {
    /// Not looked at yet.
    Pending,
    /// None of our business.
    Foreign,
    /// A replica.
    Replica(ReplicaName),
}

impl Domain {
    /// Takes one observation in and decides what follows from it. Total: no observation in any state is an error.
    pub fn step(&mut self, now: Moment, observation: Observation) -> Batch {
        if let Observation::HostResumed(slept) = &observation {
            self.leave_out((*slept).min(now.awake.since(self.now.awake)));
        }
        self.now = now;
        self.observe(observation);
        if !self.waits_for_list() {
            self.agenda.ring(now.awake);
        }
        self.settle();
        self.say_unmatched();
        self.batch()
    }

    /// When [`Observation::Woke`] is due at the latest, on the awake clock.
    pub fn next_deadline(&self) -> Option<AwakeMs> {
        self.list_first_until.or_else(|| self.agenda.next_deadline())
    }

    /// Lets everybody think who has to.
    fn settle(&mut self) {
        for _ in 0..MOST_THOUGHTS {
            let Some(owner) = self.agenda.next() else {
                return;
            };
            let at = self.think(&owner);
            // A deadline that has passed already would ring for ever; whoever returns one thinks again soon enough.
            let soonest = self.now.awake + Duration::from_millis(1);
            self.agenda.wake_at(owner, at.map(|at| at.max(soonest)));
        }
    }

    /// The machines, in their order; each says when it has to think again.
    fn think(&mut self, owner: &Owner) -> Option<AwakeMs> {
        match owner {
            Owner::Looking => {
                let looks = self.looking.think(self.now.awake);
                self.effects.extend(looks);
                self.looking.next_deadline()
            }
            Owner::Replica(name) => {
                let was_ailing = self.replicas.get(name).is_some_and(Replica::ails_unattended);
                let at = self.think_replica(name);
                self.say_recovered(name, was_ailing);
                at
            }
            Owner::Service(name) => self.think_service(name),
            Owner::Host => self.think_host(),
            Owner::Incident(key) => self.think_incident(key),
            Owner::Sink(name) => self.think_sink(name),
        }
    }

    /// What this step came to.
    fn batch(&mut self) -> Batch {
        let records = std::mem::take(&mut self.records);
        let effects = std::mem::take(&mut self.effects);
        let seq = if records.is_empty() {
            self.durability.last_handed_over()
        } else {
            self.durability.hand_over(self.now.awake)
        };
        if !records.is_empty() {
            // The host watches whether the store answers in time.
            self.agenda.wake_at(
                Owner::Host,
                agenda::earlier(self.host.deadline, self.durability.next_deadline()),
            );
        }
        Batch { seq, records, effects }
    }

    /// What recovers by itself is said too: an attempt says that of what it cured.
    fn say_recovered(&mut self, name: &ReplicaName, was_ailing: bool) {
        let recovered = self.replicas.get(name).filter(|replica| {
            was_ailing
                && replica.verdict == Verdict::Healthy
                && replica.kept.trouble.is_some()
                && replica.kept.attempt.is_none()
        });
        if let Some(service) = recovered.map(|replica| replica.policy.name.clone()) {
            self.decide(Some(&service), Some(name), Decision::Recovered);
        }
    }

    /// Once for each policy, after the first full list: a pattern that is misspelt watches nothing, and nothing else tells.
    fn say_unmatched(&mut self) {
        if self.said_unmatched || !self.looking.has_listed_as_configured {
            return;
        }
        self.said_unmatched = true;
        let unmatched = self.unmatched();
        if !unmatched.is_empty() {
            self.decide(None, None, Decision::Unmatched(unmatched));
        }
    }

    fn stamp(&self) -> Stamp {
        Stamp { boot_id: self.boot_id.clone(), moment: self.now }
    }

    fn decide(
        &mut self,
        service: Option<&ServiceName>,
        replica: Option<&ReplicaName>,
        decision: Decision,
    ) {
        let at = self.stamp();
        self.records.push(Record::Decided(Box::new(DecisionRecord {
            at,
            service: service.cloned(),
            replica: replica.cloned(),
            decision,
        })));
    }
}
