//! What a look at one container says: whose it is, whether it is what its replica is now, and in which instance.

use super::taking_in::Claim;
use crate::domain::{
    Domain, Holder,
    acting::attempt::Input,
    agenda::Owner,
    judging::{health, verdict::Evidence},
    name::{ContainerId, LookId, ReplicaName},
    observation::{Inspection, LookFailure},
    watching::{
        lifecycle::Lifecycle,
        looking::Worth,
        matching::{Belonging, Traits, belonging, replica_name, unlisted_policy},
        replica::Replica,
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
        replica.apply(inspection, self.looking.events_open_since, now);
        self.look_again(&name);
        self.attempt_seen(&name, inspection);
        self.agenda.touch(Owner::Replica(name));
    }

    /// While its health matters, the next healthcheck result is looked for when it is due.
    pub(super) fn look_again(&mut self, name: &ReplicaName) {
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
    pub(super) fn look_at_the_others(&mut self, name: &ReplicaName) {
        let others = self
            .containers
            .iter()
            .filter(|(_, holder)| matches!(holder, Holder::Replica(held) if held == name));
        for (container, _) in others {
            self.looking.want(container);
        }
    }
}
