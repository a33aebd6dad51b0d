//! What a look at one container says: whose it is, whether it is what its replica is now, and in which instance.

use crate::domain::{
    Domain, Holder,
    acting::attempt::Input,
    agenda::Owner,
    judging::{health, verdict::Evidence},
    moment::Moment,
    name::{ContainerId, LookId, ReplicaName, ServiceName},
    observation::{ContainerState, Inspection, LookFailure},
    watching::{
        lifecycle::Lifecycle,
        looking::Worth,
        matching::{Belonging, Traits, belonging, replica_name, unlisted_policy},
        replica::{Double, Replica},
    },
};
use std::sync::Arc;

impl Domain {
    pub(super) fn inspected(
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
                let Some(replica) = self.replicas.get_mut(&name) else {
                    return;
                };
                // Of another container that carries its labels nothing is said of the replica.
                if replica.kept.container.as_ref().is_none_or(|known| known == container) {
                    let since = replica.could_not_look.take().map_or(self.now, |(since, _)| since);
                    replica.could_not_look = Some((since, failure.to_string()));
                }
                let attempt = replica.kept.attempt.as_ref();
                if attempt.is_some_and(|attempt| attempt.instance.container == *container) {
                    self.attempt_input(&name, Input::Unseen);
                }
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
        let belongs = belonging(&self.policy, traits);
        let mut known_double = None;
        if let Some(Holder::Replica(was)) = self.containers.get(container)
            && let Some(replica) = self.replicas.get_mut(was)
        {
            // Whether it still is one is seen below.
            known_double = replica.doubles.remove(container);
        }
        let before = self.held_as(container).filter(|before| {
            *before != name
                || belongs == Belonging::Foreign
                || self.is_renamed_away(before, &inspection, &belongs)
        });
        if let Some(before) = before {
            let acted_on =
                self.replicas.get(&before).is_some_and(|replica| replica.kept.attempt.is_some());
            if acted_on {
                // It keeps the name and the policy that it began under, until that has ended.
                self.seen_as(before, container, &inspection);
                return;
            }
            if !self.moves_to(&before, &name, &belongs) {
                self.let_go(&before, &inspection, &belongs);
            }
        }
        let (policy, listed, rivals) = match belongs {
            Belonging::Foreign => {
                self.containers.insert(container.clone(), Holder::Foreign);
                return;
            }
            Belonging::Listed { service, rivals } => (service, true, rivals),
            Belonging::Unlisted => (unlisted_policy(&self.policy, &name), false, Vec::new()),
        };
        self.containers.insert(container.clone(), Holder::Replica(name.clone()));
        let mut replica = self
            .replicas
            .remove(&name)
            .unwrap_or_else(|| Replica::new(name.clone(), Arc::clone(&policy), listed, self.now));
        let double_since = known_double.map_or(self.now, |known| known.since);
        let is_it = replica.kept.container.as_ref() == Some(container);
        let claim = match (replica.listed, listed) {
            _ if is_it || replica.policy.name == policy.name => Claim::Same,
            (true, _) if self.is_in_the_config(&replica.policy.name) => Claim::None,
            (false, true) => Claim::First,
            (true | false, _) => Claim::Same,
        };
        let takes = replica.takes(claim, container, &inspection, double_since);
        let mut moved = None;
        // Only the container that it is says what holds for it.
        if takes {
            moved = (replica.policy.name != policy.name).then(|| replica.policy.name.clone());
            replica.policy = policy;
            replica.listed = listed;
            replica.kept.service = replica.policy.name.clone();
            replica.matched_as = Some(inspection.name.clone());
            self.contest(&mut replica, rivals);
        }
        self.replicas.insert(name.clone(), replica);
        if let Some(before) = moved {
            self.leave_service(&before, &name);
        }
        if takes {
            self.seen_as(name, container, &inspection);
        } else {
            self.agenda.touch(Owner::Replica(name));
        }
    }

    /// A container was looked at, and is this replica.
    fn seen_as(&mut self, name: ReplicaName, container: &ContainerId, inspection: &Inspection) {
        let now = self.now;
        let Some(replica) = self.replicas.get_mut(&name) else {
            return;
        };
        if replica.kept.container.as_ref() != Some(container) {
            return;
        }
        replica.could_not_look = None;
        replica.apply(inspection, now);
        self.look_again(&name);
        self.attempt_seen(&name, inspection);
        self.agenda.touch(Owner::Replica(name));
    }

    /// Which other services of the config match a replica: none of them may call it missing.
    pub(in crate::domain) fn contest(&mut self, replica: &mut Replica, rivals: Vec<ServiceName>) {
        if rivals.is_empty() {
            replica.rivals_since = None;
        }
        if replica.rivals == rivals {
            return;
        }
        self.leave_rivals(replica);
        let name = &replica.kept.name;
        for rival in &rivals {
            self.services.entry(rival.clone()).or_default().contested.insert(name.clone());
            self.agenda.touch(Owner::Service(rival.clone()));
        }
        replica.rivals_since =
            (!rivals.is_empty()).then(|| replica.rivals_since.unwrap_or(self.now));
        replica.rivals = rivals;
        self.agenda.touch(Owner::Replica(name.clone()));
    }

    /// A replica is contested no longer.
    pub(in crate::domain) fn leave_rivals(&mut self, replica: &Replica) {
        for rival in &replica.rivals {
            if let Some(service) = self.services.get_mut(rival) {
                service.contested.remove(&replica.kept.name);
            }
            self.agenda.touch(Owner::Service(rival.clone()));
        }
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

    /// A container is not there any more.
    pub(super) fn container_gone(&mut self, container: &ContainerId) {
        let holder = self.containers.remove(container);
        self.looking.forget(container);
        if let Some(Holder::Replica(name)) = holder {
            let current = self
                .replicas
                .get(&name)
                .is_some_and(|replica| replica.kept.container.as_ref() == Some(container));
            if current {
                if let Some(mut replica) = self.replicas.remove(&name) {
                    replica.lifecycle = Lifecycle::Gone;
                    replica.evidence = Evidence::default();
                    // Whether the next one is matched by others too, it shows itself: since when is kept for that.
                    self.leave_rivals(&replica);
                    replica.rivals.clear();
                    self.replicas.insert(name.clone(), replica);
                }
                let ours = self
                    .replicas
                    .get(&name)
                    .and_then(|replica| replica.kept.attempt.as_ref())
                    .is_some_and(|attempt| attempt.instance.container == *container);
                if ours {
                    self.attempt_input(&name, Input::Gone);
                }
                self.look_at_the_others(&name);
            } else if let Some(replica) = self.replicas.get_mut(&name) {
                replica.doubles.remove(container);
            }
            self.agenda.touch(Owner::Replica(name));
        }
    }

    /// What a replica was is gone: another container that carries its labels, and stood back for it, may be it now.
    fn look_at_the_others(&mut self, name: &ReplicaName) {
        let others = self
            .containers
            .iter()
            .filter(|(_, holder)| matches!(holder, Holder::Replica(held) if held == name));
        for (container, _) in others {
            self.looking.want(container);
        }
    }

    /// The replica that a container is now, where it is one.
    fn held_as(&self, container: &ContainerId) -> Option<ReplicaName> {
        let Some(Holder::Replica(name)) = self.containers.get(container) else {
            return None;
        };
        let replica = self.replicas.get(name)?;
        (replica.kept.container.as_ref() == Some(container)).then(|| name.clone())
    }

    /// A container got another name within its service: the replica goes on under that one, with all that is known of it.
    fn moves_to(&mut self, before: &ReplicaName, name: &ReplicaName, belongs: &Belonging) -> bool {
        let Belonging::Listed { service, .. } = belongs else {
            return false;
        };
        let same = self.replicas.get(before).is_some_and(|known| known.policy.name == service.name);
        if !same || self.replicas.contains_key(name) {
            return false;
        }
        let Some(mut replica) = self.replicas.remove(before) else {
            return false;
        };
        self.forget(&replica);
        replica.kept.name = name.clone();
        replica.recorded = None;
        replica.watched = None;
        replica.rivals = Vec::new();
        replica.rivals_since = None;
        self.replicas.insert(name.clone(), replica);
        true
    }

    fn is_in_the_config(&self, service: &ServiceName) -> bool {
        self.policy.services.iter().any(|known| known.name == *service)
    }

    /// A container of a listed service was given a name by which that service does not match it, and its labels are those of
    /// the same replica still.
    fn is_renamed_away(
        &self,
        name: &ReplicaName,
        inspection: &Inspection,
        belongs: &Belonging,
    ) -> bool {
        let Some(replica) = self.replicas.get(name).filter(|replica| replica.listed) else {
            return false;
        };
        let is_renamed = replica.matched_as.as_ref().is_some_and(|known| *known != inspection.name);
        is_renamed && !stays(replica, belongs) && self.is_in_the_config(&replica.policy.name)
    }

    /// A container is not its replica any more. Where somebody gave it another name, which is not one of its service's, the
    /// replica is missed: its trouble and its budget stay. Else nobody asks for it any more.
    fn let_go(&mut self, name: &ReplicaName, inspection: &Inspection, belongs: &Belonging) {
        let Some(mut replica) = self.replicas.remove(name) else {
            return;
        };
        let renamed = match &replica.matched_as {
            Some(matched_as) => *matched_as != inspection.name,
            // Before our start the config may have been another one: only another name says that it was renamed.
            None => replica_name(&inspection.name, &inspection.labels) != *name,
        };
        if renamed && replica.listed && !stays(&replica, belongs) {
            replica.kept.stopped_by_hand.get_or_insert(self.now);
            replica.kept.stopped_life = replica.instance_seen();
            replica.lifecycle = Lifecycle::Gone;
            replica.evidence = Evidence::default();
            // Another one of its service may be it, and this one only under a name of that again.
            replica.kept.container = None;
            self.contest(&mut replica, Vec::new());
            self.replicas.insert(name.clone(), replica);
            self.agenda.touch(Owner::Replica(name.clone()));
        } else {
            self.forget(&replica);
        }
    }
}

/// What a container's belonging says of whether it may be a replica that another one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Claim {
    /// As much as the other one has.
    Same,
    /// More: the config lists this one, and not the other.
    First,
    /// None: the config lists the other one, and this one not, or for another service. Anybody can copy labels, and what
    /// copies them must not hide what the config means.
    None,
}

/// Whether a container still belongs to its replica's service.
fn stays(replica: &Replica, belongs: &Belonging) -> bool {
    match belongs {
        Belonging::Listed { service, .. } => service.name == replica.policy.name,
        Belonging::Unlisted | Belonging::Foreign => false,
    }
}

impl Replica {
    /// Whether this container is the one that the replica is now. While a deploy re-creates it there may be two: the one
    /// that runs is it, and of two that run, or stand still, the younger. What does not run takes over from nothing that was
    /// not looked at yet: that may run. The other one of two that run is a double, which must not go unsaid for long.
    fn takes(
        &mut self,
        claim: Claim,
        container: &ContainerId,
        inspection: &Inspection,
        double_since: Moment,
    ) -> bool {
        let same = self.kept.container.as_ref().is_none_or(|known| known == container);
        let younger = match (&self.inspection, inspection.started) {
            (Some(known), Some(started)) => known.started.is_none_or(|before| before < started),
            (None, _) | (Some(_), None) => false,
        };
        let runs = inspection.state == ContainerState::Running;
        let old_is_over = match &self.lifecycle {
            Lifecycle::Gone => true,
            Lifecycle::Unseen => runs,
            Lifecycle::Stopped(_) | Lifecycle::Created | Lifecycle::Odd(_) => runs || younger,
            Lifecycle::Running { .. }
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Remote => false,
        };
        let takes = match claim {
            Claim::Same => same || old_is_over || (runs && younger),
            Claim::First => true,
            Claim::None => false,
        };
        if !takes {
            if runs {
                let double = Double { name: inspection.name.clone(), since: double_since };
                self.doubles.insert(container.clone(), double);
            }
            return false;
        }
        if !same {
            // What somebody did to the one before says nothing of this one.
            self.forget_stop_by_hand();
            if let (false, Some(before)) = (old_is_over, &self.inspection) {
                let double = Double { name: before.name.clone(), since: double_since };
                self.doubles.insert(before.id.clone(), double);
            }
        }
        self.kept.container = Some(container.clone());
        true
    }

    /// What ended long after a stop was not ended by it, though nobody watched it run on.
    fn forget_stop_that_is_too_old(&mut self, inspection: &Inspection, now: Moment) {
        let (Some(since), Some(finished), Lifecycle::Stopped(_)) =
            (self.kept.stopped_by_hand, inspection.finished, &self.lifecycle)
        else {
            return;
        };
        if !health::is_past(finished, inspection) {
            return;
        }
        let ended_ago = inspection.engine_now.since(finished);
        let stopped_ago = now.awake.since(since.awake);
        if stopped_ago.saturating_sub(ended_ago) > self.stop_takes() {
            self.forget_stop_by_hand();
        }
    }

    /// Whoever stopped it, this is not what they stopped.
    pub(in crate::domain) fn forget_stop_by_hand(&mut self) {
        self.kept.stopped_by_hand = None;
        self.kept.stopped_life = None;
    }

    /// Takes in what the engine says of it.
    fn apply(&mut self, inspection: &Inspection, now: Moment) {
        let before = std::mem::replace(&mut self.lifecycle, Lifecycle::of(inspection, now.awake));
        // Which life it is the start tells by its text alone; since when, only where the clock was not set back since.
        let begun = inspection.started.filter(|started| health::is_past(*started, inspection));
        if self.fresh_after.is_some_and(|after| !health::is_past(after, inspection)) {
            let was_start = self.fresh_after == inspection.started;
            self.fresh_after = (!was_start).then_some(inspection.engine_now);
        }
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
                self.fresh_after = begun;
                self.forget_stop_by_hand();
                if let Some(touch) = &mut self.kept.touched {
                    touch.is_ending = false;
                }
                self.kept.own_stop = None;
            } else if matches!(before, Lifecycle::Unseen | Lifecycle::Paused { .. }) {
                let was_paused = matches!(before, Lifecycle::Paused { .. });
                if was_paused {
                    self.fresh_after = Some(inspection.engine_now).max(self.fresh_after);
                }
                self.fresh_after = self.fresh_after.max(begun);
                self.restore_streaks();
            }
        }
        self.evidence.health.observe(inspection, self.fresh_after, now);
        self.inspection = Some(Box::new(inspection.clone()));
        let seen = self.instance_seen();
        if before == Lifecycle::Gone && self.lifecycle != Lifecycle::Gone {
            // What had been given another name has its own again.
            self.forget_stop_by_hand();
        }
        match &self.kept.stopped_life {
            Some(stopped) if Some(stopped) != seen.as_ref() => self.forget_stop_by_hand(),
            None if self.kept.stopped_by_hand.is_some() => self.kept.stopped_life = seen,
            Some(_) | None => {}
        }
        self.forget_stop_that_is_too_old(inspection, now);
    }

    /// After a restart of ours the instance is the same, and so are its streaks.
    pub(in crate::domain) fn restore_streaks(&mut self) {
        for (name, streak) in &self.kept.streaks {
            let seen = self.evidence.probes.entry(name.clone()).or_default();
            if seen.last_evidence.is_none() {
                seen.streak = streak.clone();
            }
        }
    }
}
