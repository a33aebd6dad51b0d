//! Beginning, from nothing or from what was kept, and taking in a policy.

use super::{
    Domain, Holder, Host,
    acting::{attempt::Attempt, brake::Brake, hold::Hold},
    agenda::{Agenda, Owner},
    durability::Durability,
    effect::Batch,
    moment::{BootId, Moment},
    name::{ProbeName, ReplicaName, Seq, ServiceName},
    observe::stand_in_name,
    policy::{Policy, ServicePolicy},
    record::{Decision, HostRecord, Record, RecordKey, rebase_moment},
    replicas::probing::is_remote,
    telling::{IncidentKey, row::Row, sink::Sink},
    watching::{
        lifecycle::Lifecycle,
        looking::Looking,
        matching::{Belonging, Traits, belonging, unlisted_policy},
        replica::Replica,
    },
};
use std::{collections::BTreeMap, sync::Arc};

/// Numbers given after the last commit may have been used for messages that failed open: they are skipped, so that no key
/// ever stands for two messages.
const SERIALS_SKIPPED: u64 = 1000;

impl Domain {
    /// Begins. `records`: what the store kept, up to `last`; empty at the very first start.
    pub fn restore(
        policy: Arc<Policy>,
        boot_id: BootId,
        records: Vec<Record>,
        last: Seq,
        now: Moment,
    ) -> (Self, Batch) {
        let mut domain = Self {
            boot_id,
            policy,
            now,
            own_start: now.awake,
            agenda: Agenda::default(),
            durability: Durability::new(last),
            records: Vec::new(),
            effects: Vec::new(),
            looking: Looking::new(),
            containers: BTreeMap::new(),
            replicas: BTreeMap::new(),
            services: BTreeMap::new(),
            attempts: BTreeMap::new(),
            host: Host::default(),
            incidents: BTreeMap::new(),
            sinks: BTreeMap::new(),
            said_unmatched: false,
            list_first_until: None,
        };
        for sink in &domain.policy.sinks {
            domain.sinks.insert(sink.name.clone(), Sink::new(sink.clone()));
        }
        let mut replicas = Vec::new();
        // Numbers of messages are never given twice, not even where nothing was kept of those given before.
        domain.host.serials.message = u64::try_from(now.wall.0).unwrap_or(0);
        for record in records {
            match record {
                Record::Host(host) => domain.restore_host(*host),
                Record::Replica(replica) => {
                    let same_boot = replica.boot_id == domain.boot_id;
                    let mut kept = replica.into_kept(&domain.boot_id, now);
                    if !same_boot {
                        kept.void_own_stop();
                    }
                    replicas.push((kept, same_boot));
                }
                Record::Incident(incident) => {
                    let incident = incident.into_kept(&domain.boot_id, now);
                    domain.incidents.insert(incident.key.clone(), incident);
                }
                Record::Delivery(delivery) => {
                    let delivery = delivery.into_kept(&domain.boot_id, now);
                    if let Some(sink) = domain.sinks.get_mut(&delivery.sink) {
                        sink.rows.insert(delivery.incident, delivery.row);
                    }
                }
                Record::Sink(known) => {
                    if let Some(sink) = domain.sinks.get_mut(&known.sink) {
                        sink.proven_as = known.proven.then_some(known.definition);
                    }
                }
                Record::Forgotten(_) | Record::Cleared | Record::Decided(_) => {}
            }
        }
        for (kept, same_boot) in replicas {
            domain.restore_replica(kept, same_boot);
        }
        domain.adopt_policy();
        domain.agenda.touch(Owner::Looking);
        domain.agenda.touch(Owner::Host);
        for key in domain.incidents.keys() {
            domain.agenda.touch(Owner::Incident(key.clone()));
            if let Some(service) = &key.service {
                // Where it is no longer configured, that closes its incidents.
                domain.services.entry(service.clone()).or_default();
                domain.agenda.touch(Owner::Service(service.clone()));
            }
        }
        domain.drop_stale_rows();
        domain.settle();
        let batch = domain.batch();
        (domain, batch)
    }

    /// What a sink was told of an incident that is no more says nothing about the next one of its kind.
    fn drop_stale_rows(&mut self) {
        for (name, sink) in &mut self.sinks {
            let incidents = &self.incidents;
            let stale = |key: &IncidentKey, row: &Row| {
                incidents.get(key).is_none_or(|incident| row.incident != Some(incident.id))
            };
            let keys: Vec<IncidentKey> = sink
                .rows
                .iter()
                .filter(|(key, row)| stale(key, row))
                .map(|(key, _)| key.clone())
                .collect();
            for key in keys {
                sink.rows.remove(&key);
                self.records.push(Record::Forgotten(RecordKey::delivery(name, &key)));
            }
        }
    }

    fn restore_host(&mut self, host: HostRecord) {
        let same_boot = host.boot_id == self.boot_id;
        let now = self.now;
        self.host.serials = host.serials;
        self.host.refused = host.refused.map(|(mut since, why)| {
            rebase_moment(&mut since, same_boot, now);
            (since, why)
        });
        // A life that could record nothing left no trace of what it gave: the clock has gone on since.
        let by_clock = u64::try_from(now.wall.0).unwrap_or(0);
        let message = self.host.serials.message + SERIALS_SKIPPED;
        self.host.serials.message = message.max(by_clock);
        self.host.serials.incident += SERIALS_SKIPPED;
        self.host.serials.attempt += SERIALS_SKIPPED;
        self.host.spending = host.spending;
        self.host.failing.judged_until = host.judged_until.map(|mut until| {
            rebase_moment(&mut until, same_boot, now);
            until
        });
        self.host.brake = match host.brake {
            Brake::Released => Brake::Released,
            Brake::Engaged(mut engaged) => {
                rebase_moment(&mut engaged.since, same_boot, now);
                rebase_moment(&mut engaged.last, same_boot, now);
                if let Some(since) = &mut engaged.joined_since {
                    rebase_moment(since, same_boot, now);
                }
                engaged.over_since = None;
                Brake::Engaged(engaged)
            }
        };
    }

    fn restore_replica(&mut self, kept: super::watching::replica::ReplicaRecord, same_boot: bool) {
        let name = kept.name.clone();
        let listed =
            self.policy.services.iter().find(|service| service.name == kept.service).cloned();
        let (policy, listed) = match listed {
            Some(policy) => (policy, true),
            None => (unlisted_policy(&self.policy, &name), false),
        };
        if let Some(container) = &kept.container {
            self.containers.insert(container.clone(), Holder::Replica(name.clone()));
            self.looking.want(container);
        }
        let mut replica = Replica::restored(kept, policy, listed, self.now);
        replica.recorded = Some(replica.kept.clone());
        if replica.kept.container.is_none() {
            replica.lifecycle =
                if replica.kept.instance.is_none() { Lifecycle::Remote } else { Lifecycle::Gone };
        }
        if replica.lifecycle == Lifecycle::Remote {
            replica.restore_streaks();
        }
        let attempt = replica.kept.attempt.as_mut();
        let outputs = attempt.map(|attempt| (attempt.id, attempt.resume(same_boot, self.now)));
        if let Some((id, outputs)) = outputs {
            self.attempts.insert(id, name.clone());
            self.host.acting.insert(name.clone());
            self.decide(Some(&replica.policy.name), Some(&name), Decision::Resumed(id));
            self.carry_out(&mut replica, outputs, true);
        }
        self.services.entry(replica.policy.name.clone()).or_default().members.insert(name.clone());
        self.agenda.touch(Owner::Replica(name.clone()));
        self.agenda.touch(Owner::Service(replica.policy.name.clone()));
        self.replicas.insert(name, replica);
    }

    /// Everything known is brought under the policy: matched anew, with a stand-in for each service that is a URL. What is
    /// no longer configured closes its incidents.
    pub(super) fn adopt_policy(&mut self) {
        let policy = Arc::clone(&self.policy);
        self.said_unmatched = false;
        self.looking.has_listed_as_configured = false;
        self.looking.want_list(self.now.awake);
        let dropped: Vec<_> = self
            .sinks
            .keys()
            .filter(|name| policy.sinks.iter().all(|sink| sink.name != **name))
            .cloned()
            .collect();
        for name in dropped {
            if let Some(sink) = self.sinks.remove(&name) {
                for key in sink.rows.keys() {
                    self.records.push(Record::Forgotten(RecordKey::delivery(&name, key)));
                    // It may have been owed to this one alone.
                    self.agenda.touch(Owner::Incident(key.clone()));
                }
            }
        }
        for sink in &policy.sinks {
            self.sinks
                .entry(sink.name.clone())
                .and_modify(|known| known.adopt(sink.clone()))
                .or_insert_with(|| Sink::new(sink.clone()));
        }
        let names: Vec<ReplicaName> = self.replicas.keys().cloned().collect();
        for name in names {
            if let Some(replica) = self.replicas.remove(&name) {
                self.adopt_replica(&policy, replica);
            }
        }
        for service in &policy.services {
            self.services.entry(service.name.clone()).or_default();
            if has_url_probe(service) {
                self.stand_in(service);
            }
        }
        let services: Vec<ServiceName> = self.services.keys().cloned().collect();
        for service in services {
            self.agenda.touch(Owner::Service(service));
        }
        // What was none of our business may be now.
        let foreign: Vec<_> = self
            .containers
            .iter()
            .filter(|(_, holder)| **holder == Holder::Foreign)
            .map(|(id, _)| id.clone())
            .collect();
        for container in foreign {
            self.containers.insert(container.clone(), Holder::Pending);
            self.looking.want(&container);
        }
        let sinks: Vec<_> = self.sinks.keys().cloned().collect();
        for sink in sinks {
            self.agenda.touch(Owner::Sink(sink));
        }
        self.agenda.touch(Owner::Looking);
        self.agenda.touch(Owner::Host);
    }

    fn adopt_replica(&mut self, policy: &Policy, mut replica: Replica) {
        let name = replica.kept.name.clone();
        let before = Arc::clone(&replica.policy);
        let belongs = match (&replica.lifecycle, &replica.inspection) {
            (Lifecycle::Remote, _) => policy
                .services
                .iter()
                .find(|service| has_url_probe(service) && stand_in_name(service) == name)
                .map_or(Belonging::Foreign, |service| Belonging::Listed {
                    service: Arc::clone(service),
                    rivals: Vec::new(),
                }),
            (_, Some(inspection)) => belonging(
                policy,
                Traits {
                    name: &inspection.name,
                    image: &inspection.image,
                    labels: &inspection.labels,
                    has_healthcheck: inspection.healthcheck.is_some(),
                },
            ),
            // Not looked at yet, or gone before it was: whose it is, its record says until it is matched.
            (_, None) => {
                let mut services = policy.services.iter();
                if let Some(service) = services.find(|service| service.name == before.name) {
                    (replica.policy, replica.listed) = (Arc::clone(service), true);
                }
                self.agenda.touch(Owner::Replica(name.clone()));
                self.replicas.insert(name, replica);
                return;
            }
        };
        match belongs {
            Belonging::Listed { service, rivals } => {
                (replica.policy, replica.listed) = (service, true);
                self.contest(&mut replica, rivals);
            }
            Belonging::Unlisted => {
                (replica.policy, replica.listed) = (unlisted_policy(policy, &name), false);
                self.contest(&mut replica, Vec::new());
            }
            Belonging::Foreign if replica.kept.attempt.as_ref().is_some_and(Attempt::has_acted) => {
                // Being acted on: when that has ended it is looked at, and let go.
                self.replicas.insert(name, replica);
                return;
            }
            Belonging::Foreign => {
                self.abandon_attempt(&mut replica, Hold::Never("no longer configured".to_owned()));
                self.forget(&replica);
                if let Some(container) = &replica.kept.container {
                    self.containers.insert(container.clone(), Holder::Foreign);
                }
                return;
            }
        }
        replica.kept.service = replica.policy.name.clone();
        if before.name != replica.policy.name {
            self.leave_service(&before.name, &name);
        }
        // A probe that is no more, or asks something else now, says nothing any more.
        let now = &replica.policy;
        let stays = |probe: &ProbeName| {
            let definition = |policy: &ServicePolicy| {
                policy
                    .probes
                    .iter()
                    .find(|known| known.name == *probe)
                    .map(|known| known.definition)
            };
            definition(&before).is_some() && definition(&before) == definition(now)
        };
        replica.evidence.probes.retain(|probe, _| stays(probe));
        replica.kept.streaks.retain(|probe, _| stays(probe));
        self.agenda.touch(Owner::Replica(name.clone()));
        self.replicas.insert(name, replica);
    }

    /// A service's URL probes belong to a replica that is no container.
    fn stand_in(&mut self, service: &Arc<ServicePolicy>) {
        let name = stand_in_name(service);
        let now = self.now;
        let replica = self.replicas.entry(name.clone()).or_insert_with(|| {
            let mut replica = Replica::new(name.clone(), Arc::clone(service), true, now);
            replica.lifecycle = Lifecycle::Remote;
            replica
        });
        replica.policy = Arc::clone(service);
        replica.listed = true;
        self.services.entry(service.name.clone()).or_default().members.insert(name.clone());
        self.agenda.touch(Owner::Replica(name));
    }
}

fn has_url_probe(service: &ServicePolicy) -> bool {
    service.probes.iter().any(|probe| is_remote(&probe.spec))
}
