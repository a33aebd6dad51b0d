//! Whose a container is when it has another name, or the config has changed, since it was looked at last.

use crate::domain::{
    Domain, Holder,
    agenda::Owner,
    judging::verdict::Evidence,
    name::{ContainerId, ReplicaName, ServiceName},
    observation::Inspection,
    watching::{
        lifecycle::Lifecycle,
        matching::{Belonging, replica_name},
        replica::Replica,
    },
};

impl Domain {
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

    /// The replica that a container is now, where it is one.
    pub(super) fn held_as(&self, container: &ContainerId) -> Option<ReplicaName> {
        let Some(Holder::Replica(name)) = self.containers.get(container) else {
            return None;
        };
        let replica = self.replicas.get(name)?;
        (replica.kept.container.as_ref() == Some(container)).then(|| name.clone())
    }

    /// A container got another name within its service: the replica goes on under that one, with all that is known of it.
    pub(super) fn moves_to(
        &mut self,
        before: &ReplicaName,
        name: &ReplicaName,
        belongs: &Belonging,
    ) -> bool {
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

    pub(super) fn is_in_the_config(&self, service: &ServiceName) -> bool {
        self.policy.services.iter().any(|known| known.name == *service)
    }

    /// A container of a listed service was given a name by which that service does not match it, and its labels are those of
    /// the same replica still.
    pub(super) fn is_renamed_away(
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
    pub(super) fn let_go(
        &mut self,
        name: &ReplicaName,
        inspection: &Inspection,
        belongs: &Belonging,
    ) {
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

/// Whether a container still belongs to its replica's service.
pub(super) fn stays(replica: &Replica, belongs: &Belonging) -> bool {
    match belongs {
        Belonging::Listed { service, .. } => service.name == replica.policy.name,
        Belonging::Unlisted | Belonging::Foreign => false,
    }
}
