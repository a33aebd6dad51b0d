//! What a list says: which containers there are, and which of them contradict what is known.

use crate::domain::{
    Domain, Holder,
    agenda::Owner,
    name::{ContainerId, ReplicaName},
    observation::{ContainerState, Listed, Listing},
    watching::{
        lifecycle::Lifecycle,
        matching::{Belonging, Traits, belonging, replica_name},
        replica::Replica,
    },
};
use std::collections::BTreeSet;

impl Domain {
    pub(super) fn listed(&mut self, listing: Listing) {
        let recovered = self.looking.listed(true, self.policy.looking, self.now.awake);
        self.engine_seen(recovered);
        let present: BTreeSet<ContainerId> =
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
            Some(Holder::Pending) => {
                if let Some(name) = self.known_by_row(&row) {
                    self.containers.insert(row.id, Holder::Replica(name));
                }
            }
            Some(Holder::Foreign) => {}
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
        let Belonging::Listed { service, rivals } = belonging(&self.policy, traits) else {
            return None;
        };
        let name = replica_name(&row.name, &row.labels);
        if self.replicas.contains_key(&name) {
            return None;
        }
        let mut replica = Replica::new(name.clone(), service, true, self.now);
        replica.kept.container = Some(row.id.clone());
        replica.matched_as = Some(row.name.clone());
        self.contest(&mut replica, rivals);
        self.replicas.insert(name.clone(), replica);
        self.agenda.touch(Owner::Replica(name.clone()));
        Some(name)
    }

    pub(super) fn unhealthy_listed(&mut self, containers: &[ContainerId]) {
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
}

/// Whether a row of the list says what we know already.
fn agrees(lifecycle: &Lifecycle, row: &Listed) -> bool {
    matches!(
        (lifecycle, &row.state),
        (Lifecycle::Running { .. }, ContainerState::Running)
            | (Lifecycle::Paused { .. }, ContainerState::Paused)
            | (Lifecycle::Restarting, ContainerState::Restarting)
            | (Lifecycle::Created, ContainerState::Created)
            | (Lifecycle::Stopped(_), ContainerState::Exited | ContainerState::Dead)
    )
}
