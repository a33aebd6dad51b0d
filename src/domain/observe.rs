//! What an observation changes, before anybody thinks about it.

use super::{
    Domain, Holder,
    acting::attempt::{BEYOND_STOP, ENGINE_STOP_TIMEOUT, Input},
    agenda::Owner,
    judging::{health, verdict::Evidence},
    name::{ContainerId, LookId, ReplicaName},
    observation::{
        ActOutcome, EngineEvent, EventAction, Inspection, Listed, Listing, LookFailure,
        Observation, Sample,
    },
    policy::{Policy, ServicePolicy},
    watching::{
        lifecycle::Lifecycle,
        looking::Worth,
        matching::{Belonging, Traits, belonging, replica_name, unlisted_policy},
        replica::Replica,
    },
};
use std::{sync::Arc, time::Duration};

/// Events of our own acts may come this much later than their answer.
const OWN_EVENTS_WITHIN: Duration = Duration::from_secs(5);

/// Signals by which people end a process; others (HUP, USR1, QUIT for a thread dump) are a way of talking to it.
const STOPPING_SIGNALS: [u32; 3] = [2, 9, 15];

impl Domain {
    pub(super) fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::PolicyLoaded(policy) => self.policy_loaded(policy),
            Observation::Listed(listing) => self.listed(listing),
            Observation::UnhealthyListed(containers) => self.unhealthy_listed(&containers),
            Observation::ListFailed { full, failure } => {
                self.looking.list_failed(full, failure, self.policy.looking, self.now);
                self.agenda.touch(Owner::Looking);
                self.agenda.touch(Owner::Host);
            }
            Observation::Inspected { look, container, answer } => {
                self.inspected(look, &container, answer)
            }
            Observation::Event(event) => self.event(event),
            Observation::EventsOpened => {
                self.looking.events_opened(self.now.awake);
                self.agenda.touch(Owner::Looking);
            }
            // A stream that ends says nothing about the engine: proxies cut idle ones. That it is away is seen by asking.
            Observation::EventsLost(_) => {
                self.looking.events_lost(self.now.awake);
                self.agenda.touch(Owner::Looking);
            }
            Observation::Sampled(sample) => self.sampled(&sample),
            Observation::EvidenceGathered { attempt, findings } => {
                if let Some(name) = self.attempts.get(&attempt).cloned() {
                    self.attempt_input(&name, Input::Evidence(findings));
                }
            }
            Observation::Acted { attempt, outcome } => {
                if outcome == ActOutcome::Done {
                    self.act_carried_out();
                }
                if let Some(name) = self.attempts.get(&attempt).cloned() {
                    self.attempt_input(&name, Input::Acted(outcome));
                }
            }
            Observation::Committed(seq) => {
                self.durability.committed(seq, self.now.awake);
                self.agenda.store_answered();
                self.agenda.touch(Owner::Host);
            }
            Observation::Refused { seq, reason } => {
                self.durability.refused(seq, reason, self.now.awake);
                self.agenda.store_answered();
                self.agenda.touch(Owner::Host);
            }
            Observation::Answered { sink, message, attempt, outcome } => {
                self.answered(&sink, message, attempt, outcome);
            }
            Observation::HostResumed(_) => {
                // What was asked before is outdated; the list comes first, then anybody is judged.
                self.looking.want_list(self.now.awake);
                self.agenda.touch(Owner::Looking);
            }
            Observation::ClockStepped(_) => {}
            Observation::HoldFile(present) => {
                if self.host.hold_file != present {
                    self.host.hold_file = present;
                    self.touch_held();
                }
            }
            Observation::Woke => {}
        }
    }

    fn policy_loaded(&mut self, policy: Arc<Policy>) {
        self.policy = policy;
        self.adopt_policy();
    }

    fn listed(&mut self, listing: Listing) {
        let recovered = self.looking.listed(true, self.policy.looking, self.now.awake);
        self.engine_seen(recovered);
        let present: std::collections::BTreeSet<ContainerId> =
            listing.containers.iter().map(|row| row.id.clone()).collect();
        for row in listing.containers {
            self.row_seen(row);
        }
        let lost: Vec<ContainerId> =
            self.containers.keys().filter(|id| !present.contains(*id)).cloned().collect();
        for container in lost {
            // It may have been made after the list was: only looking tells that it is gone.
            self.looking.want(&container);
        }
        self.agenda.touch(Owner::Looking);
    }

    fn row_seen(&mut self, row: Listed) {
        match self.containers.get(&row.id).cloned() {
            None => {
                let holder = self.known_by_row(&row).map_or(Holder::Pending, Holder::Replica);
                self.containers.insert(row.id.clone(), holder);
                self.looking.want(&row.id);
            }
            Some(Holder::Pending | Holder::Foreign) => {}
            Some(Holder::Replica(name)) => {
                // The list is a hint: where it contradicts what we know, the container is looked at.
                let agrees = self
                    .replicas
                    .get(&name)
                    .is_some_and(|replica| agrees(&replica.lifecycle, &row));
                if !agrees {
                    self.looking.want(&row.id);
                }
            }
        }
    }

    /// A container of a service of the config is a replica before it was ever inspected: one that can't be must not be
    /// passed over in silence.
    fn known_by_row(&mut self, row: &Listed) -> Option<ReplicaName> {
        let traits = Traits {
            name: &row.name,
            image: &row.image,
            labels: &row.labels,
            has_healthcheck: false,
        };
        let Belonging::Listed(policy) = belonging(&self.policy, traits) else {
            return None;
        };
        let name = replica_name(&row.name, &row.labels);
        if self.replicas.contains_key(&name) {
            return None;
        }
        let mut replica = Replica::new(name.clone(), policy, true, self.now);
        replica.kept.container = Some(row.id.clone());
        self.replicas.insert(name.clone(), replica);
        self.agenda.touch(Owner::Replica(name.clone()));
        Some(name)
    }

    fn unhealthy_listed(&mut self, containers: &[ContainerId]) {
        let recovered = self.looking.listed(false, self.policy.looking, self.now.awake);
        self.engine_seen(recovered);
        for container in containers {
            match self.containers.get(container) {
                None => {
                    self.containers.insert(container.clone(), Holder::Pending);
                    self.looking.want(container);
                }
                Some(Holder::Pending | Holder::Foreign) => {}
                Some(Holder::Replica(name)) => {
                    let known = self.replicas.get(name).is_some_and(|replica| {
                        replica.evidence.health.streak.failing
                            || matches!(
                                replica.lifecycle,
                                Lifecycle::Paused { .. } | Lifecycle::Stopped(_)
                            )
                    });
                    if !known {
                        self.looking.want(container);
                    }
                }
            }
        }
        self.agenda.touch(Owner::Looking);
    }

    fn engine_seen(&mut self, recovered: bool) {
        if std::mem::take(&mut self.looking.was_away) {
            self.host.engine_start = Some(self.now.awake);
        }
        if recovered {
            self.looking.want_list(self.now.awake);
        }
        self.agenda.touch(Owner::Host);
    }

    fn inspected(
        &mut self,
        look: LookId,
        container: &ContainerId,
        answer: Result<Box<Inspection>, LookFailure>,
    ) {
        self.agenda.touch(Owner::Looking);
        let failure =
            answer.as_ref().err().filter(|failure| **failure != LookFailure::NoSuchContainer);
        if self.looking.answered(look, container, failure, self.now.awake) == Worth::Outdated {
            return;
        }
        match answer {
            Ok(inspection) => self.seen(container, inspection),
            Err(LookFailure::NoSuchContainer) => self.container_gone(container),
            Err(failure) => {
                let Some(Holder::Replica(name)) = self.containers.get(container).cloned() else {
                    return;
                };
                let why = failure.to_string();
                if let Some(replica) = self.replicas.get_mut(&name) {
                    let since = replica.could_not_look.take().map_or(self.now, |(since, _)| since);
                    replica.could_not_look = Some((since, why.clone()));
                }
                self.attempt_input(&name, Input::Unseen(why));
                self.agenda.touch(Owner::Replica(name));
            }
        }
    }

    /// A container was looked at.
    fn seen(&mut self, container: &ContainerId, inspection: Box<Inspection>) {
        let traits = Traits {
            name: &inspection.name,
            image: &inspection.image,
            labels: &inspection.labels,
            has_healthcheck: inspection.healthcheck.is_some(),
        };
        let name = replica_name(&inspection.name, &inspection.labels);
        let (policy, listed) = match belonging(&self.policy, traits) {
            Belonging::Foreign => {
                if self.let_go(container) {
                    self.containers.insert(container.clone(), Holder::Foreign);
                    return;
                }
                // Being acted on: it keeps what it began under.
                let Some(replica) = self.replicas.get(&name) else {
                    return;
                };
                (Arc::clone(&replica.policy), replica.listed)
            }
            Belonging::Listed(policy) => (policy, true),
            Belonging::Unlisted => (unlisted_policy(&self.policy, &name), false),
        };
        if let Some(Holder::Replica(before)) = self.containers.get(container)
            && *before != name
            && !self.let_go(container)
        {
            return;
        }
        self.containers.insert(container.clone(), Holder::Replica(name.clone()));
        let now = self.now;
        let replica = self
            .replicas
            .entry(name.clone())
            .or_insert_with(|| Replica::new(name.clone(), Arc::clone(&policy), listed, now));
        let moved = (replica.policy.name != policy.name).then(|| replica.policy.name.clone());
        replica.policy = policy;
        replica.listed = listed;
        replica.kept.service = replica.policy.name.clone();
        if !replica.takes(container, &inspection) {
            return;
        }
        replica.could_not_look = None;
        replica.apply(&inspection, now);
        if let Some(before) = moved {
            self.leave_service(&before, &name);
        }
        self.look_again(&name);
        self.attempt_seen(&name, &inspection);
        self.agenda.touch(Owner::Replica(name));
    }

    /// While its health matters, the next healthcheck result is looked for when it is due.
    fn look_again(&mut self, name: &ReplicaName) {
        let Some(replica) = self.replicas.get(name) else {
            return;
        };
        let Some(inspection) =
            replica.inspection.as_ref().filter(|_| replica.lifecycle.running().is_some())
        else {
            return;
        };
        let matters = replica.kept.trouble.is_some()
            || replica.kept.attempt.is_some()
            || replica.evidence.health.reading != health::Reading::Passing
            || inspection.health.as_ref().is_some_and(|health| health.failing_streak > 0);
        if let Some(wait) = health::next_result_in(inspection).filter(|_| matters) {
            let container = inspection.id.clone();
            self.looking.want_by(&container, self.now.awake + wait);
        }
    }

    fn event(&mut self, event: EngineEvent) {
        let container = event.container.clone();
        if event.action == EventAction::Destroyed {
            if let Some(Holder::Replica(name)) = self.containers.get(&container).cloned() {
                self.note_touch(&name, &event);
            }
            self.container_gone(&container);
            self.agenda.touch(Owner::Looking);
            return;
        }
        match self.containers.get(&container).cloned() {
            None => {
                self.containers.insert(container.clone(), Holder::Pending);
                self.looking.want(&container);
            }
            Some(Holder::Pending) => self.looking.want(&container),
            Some(Holder::Foreign) if event.action == EventAction::Renamed => {
                self.looking.want(&container)
            }
            Some(Holder::Foreign) => return,
            Some(Holder::Replica(name)) => {
                self.note_touch(&name, &event);
                if let Some(replica) = self.replicas.get_mut(&name)
                    && replica.kept.container.as_ref() == Some(&container)
                {
                    let before = std::mem::replace(&mut replica.lifecycle, Lifecycle::Unseen);
                    replica.lifecycle = before.after(&event.action);
                    if matches!(event.action, EventAction::Paused | EventAction::Unpaused) {
                        replica.fresh_after = Some(event.at).max(replica.fresh_after);
                        replica.evidence = Evidence::default();
                        replica.kept.streaks.clear();
                    }
                }
                self.looking.want(&container);
                self.agenda.touch(Owner::Replica(name));
            }
        }
        self.agenda.touch(Owner::Looking);
    }

    /// Events carry no actor: what is not ours is somebody else's (S10).
    fn note_touch(&mut self, name: &ReplicaName, event: &EngineEvent) {
        let now = self.now.awake;
        let Some(replica) = self.replicas.get_mut(name) else {
            return;
        };
        let ours = replica.kept.attempt.as_ref().is_some_and(|attempt| attempt.is_touching())
            || replica.own_act.is_some_and(|at| now.since(at) < OWN_EVENTS_WITHIN);
        if ours {
            return;
        }
        let (word, by_hand) = match &event.action {
            EventAction::Stopped => ("stop", true),
            // Of what was started with `--rm` the engine's removal is no more than the end of its process.
            EventAction::Destroyed => {
                let by_engine = replica.inspection.as_ref().is_some_and(|known| known.auto_remove);
                ("remove", !by_engine)
            }
            EventAction::Killed { signal } => match signal {
                Some(signal) if STOPPING_SIGNALS.contains(signal) => ("kill", true),
                Some(_) | None => return,
            },
            EventAction::Restarted => ("restart", false),
            EventAction::Paused => ("pause", false),
            EventAction::Unpaused => ("unpause", false),
            EventAction::Updated => ("update", false),
            EventAction::Renamed => ("rename", false),
            EventAction::Created => ("create", false),
            EventAction::Died { .. } => {
                // A signal that it did not die of is no stop: what ends it later is something else.
                let stop = replica.inspection.as_ref().and_then(|known| known.stop_timeout);
                let within = stop.unwrap_or(ENGINE_STOP_TIMEOUT) + BEYOND_STOP;
                let touched_late =
                    replica.touched.as_ref().is_none_or(|(at, _)| now.since(*at) > within);
                if touched_late {
                    replica.kept.stopped_by_hand = false;
                }
                return;
            }
            EventAction::Started | EventAction::OutOfMemory | EventAction::HealthChanged(_) => {
                return;
            }
        };
        replica.touched = Some((now, word.to_owned()));
        replica.kept.stopped_by_hand |= by_hand;
    }

    fn sampled(&mut self, sample: &Sample) {
        let name = sample.target.replica.clone();
        let now = self.now;
        let Some(replica) = self.replicas.get_mut(&name) else {
            return;
        };
        let current = match &sample.instance {
            Some(instance) => replica.lifecycle.running() == Some(instance),
            None => replica.lifecycle == Lifecycle::Remote,
        };
        let policy = Arc::clone(&replica.policy);
        let Some(probe) = policy
            .probes
            .iter()
            .find(|probe| probe.name == sample.target.probe)
            .filter(|_| current)
        else {
            return;
        };
        let in_grace = replica.in_grace(now.awake);
        let seen = replica.evidence.probes.entry(probe.name.clone()).or_default();
        let before = seen.streak.clone();
        let passed = seen.observe(sample, probe, in_grace, now);
        let changed = before.failures != seen.streak.failures
            || before.failing != seen.streak.failing
            || seen.streak.passes <= probe.rise
            || seen.could_not_look.is_some();
        if passed && !replica.has_passed(probe) {
            replica.kept.passed.insert(probe.name.clone(), probe.definition);
        }
        if changed || replica.kept.trouble.is_some() {
            self.agenda.touch(Owner::Replica(name));
        }
    }

    /// A container is not there any more.
    fn container_gone(&mut self, container: &ContainerId) {
        let holder = self.containers.remove(container);
        self.looking.forget(container);
        if let Some(Holder::Replica(name)) = holder {
            let current = self
                .replicas
                .get(&name)
                .is_some_and(|replica| replica.kept.container.as_ref() == Some(container));
            if current {
                if let Some(replica) = self.replicas.get_mut(&name) {
                    replica.lifecycle = Lifecycle::Gone;
                    replica.evidence = Evidence::default();
                }
                let ours = self
                    .replicas
                    .get(&name)
                    .and_then(|replica| replica.kept.attempt.as_ref())
                    .is_some_and(|attempt| attempt.instance.container == *container);
                if ours {
                    self.attempt_input(&name, Input::Gone);
                }
                self.agenda.touch(Owner::Replica(name));
            }
        }
    }

    /// A container does not belong to its replica any more. Where it was the replica, that is nobody's any more; one that is
    /// being acted on stays until that has ended.
    fn let_go(&mut self, container: &ContainerId) -> bool {
        let Some(Holder::Replica(name)) = self.containers.get(container).cloned() else {
            return true;
        };
        let Some(replica) = self.replicas.get(&name) else {
            return true;
        };
        if replica.kept.container.as_ref() != Some(container) {
            return true;
        }
        if replica.kept.attempt.is_some() {
            return false;
        }
        if let Some(replica) = self.replicas.remove(&name) {
            self.forget(&replica);
        }
        true
    }
}

/// Whether a row of the list says what we know already.
fn agrees(lifecycle: &Lifecycle, row: &Listed) -> bool {
    use super::observation::ContainerState as State;
    matches!(
        (lifecycle, &row.state),
        (Lifecycle::Running { .. }, State::Running)
            | (Lifecycle::Paused { .. }, State::Paused)
            | (Lifecycle::Restarting, State::Restarting)
            | (Lifecycle::Created, State::Created)
            | (Lifecycle::Stopped(_), State::Exited | State::Dead)
    )
}

impl Replica {
    /// Whether this container is the one that the replica is now. While a deploy re-creates it there may be two: the one
    /// that runs is it, and of two that run the younger.
    fn takes(&mut self, container: &ContainerId, inspection: &Inspection) -> bool {
        let same = self.kept.container.as_ref().is_none_or(|known| known == container);
        let old_is_over = match &self.lifecycle {
            Lifecycle::Gone
            | Lifecycle::Unseen
            | Lifecycle::Stopped(_)
            | Lifecycle::Created
            | Lifecycle::Odd(_) => true,
            Lifecycle::Running { .. }
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Remote => false,
        };
        let younger = match (&self.inspection, inspection.started) {
            (Some(known), Some(started)) => known.started.is_none_or(|before| before < started),
            (None, _) | (Some(_), None) => false,
        };
        let runs = inspection.state == super::observation::ContainerState::Running;
        let takes = same || old_is_over || (runs && younger);
        if takes {
            self.kept.container = Some(container.clone());
        }
        takes
    }

    /// Takes in what the engine says of it.
    fn apply(&mut self, inspection: &Inspection, now: super::moment::Moment) {
        let before = std::mem::replace(&mut self.lifecycle, Lifecycle::of(inspection, now.awake));
        if let Lifecycle::Running { instance, since } = &mut self.lifecycle {
            if let Lifecycle::Running { instance: known, since: known_since } = &before
                && known == instance
            {
                // Its age was taken once; the engine's whole seconds would make it jitter.
                *since = *known_since;
            }
            if self.kept.instance.as_ref() != Some(instance) {
                self.kept.instance = Some(instance.clone());
                self.kept.streaks.clear();
                self.evidence = Evidence::default();
                self.fresh_after = inspection.started;
                self.kept.stopped_by_hand = false;
                self.kept.own_stop = None;
            } else if matches!(before, Lifecycle::Unseen | Lifecycle::Paused { .. }) {
                let was_paused = matches!(before, Lifecycle::Paused { .. });
                if was_paused {
                    self.fresh_after = Some(inspection.engine_now).max(self.fresh_after);
                }
                let begun = self.fresh_after.max(inspection.started);
                self.fresh_after = begun;
                self.restore_streaks();
            }
        }
        self.evidence.health.observe(inspection, self.fresh_after, now);
        self.inspection = Some(Box::new(inspection.clone()));
    }

    /// After a restart of ours the instance is the same, and so are its streaks.
    pub(super) fn restore_streaks(&mut self) {
        for (name, streak) in &self.kept.streaks {
            let seen = self.evidence.probes.entry(name.clone()).or_default();
            if seen.last_evidence.is_none() {
                seen.streak = streak.clone();
            }
        }
    }
}

/// The policy that a URL alone stands under.
pub(super) fn stand_in_name(service: &ServicePolicy) -> ReplicaName {
    ReplicaName::new(format!("{} (URL)", service.name))
}
