//! Swarm and Kubernetes replace what is unhealthy themselves, and defib does not restart itself (S10).

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, watching::replica::Replica};

/// Labels that other controllers put on what is theirs, and who that is.
const CONTROLLERS: [(&str, &str); 4] = [
    ("com.docker.swarm.task.id", "Swarm"),
    ("com.docker.swarm.service.id", "Swarm"),
    ("io.kubernetes.pod.uid", "Kubernetes"),
    ("io.kubernetes.pod.name", "Kubernetes"),
];

/// What a container that runs defib carries.
const OURSELVES: &str = "defib.self";

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    controller_of(scene.replica).and_then(Shut::because)
}

/// Who else restarts it, whatever the config says of it.
pub(crate) fn controller_of(replica: &Replica) -> Option<Hold> {
    let labels = replica.inspection.as_ref().map(|inspection| &inspection.labels)?;
    if labels.contains_key(OURSELVES) {
        let who = "it runs defib itself, whose service manager";
        return Some(Hold::AnotherController(who.to_owned()));
    }
    let (_, who) = CONTROLLERS.iter().find(|(label, _)| labels.contains_key(*label))?;
    Some(Hold::AnotherController((*who).to_owned()))
}
