//! Docker's own policy is at it: yield (S2, S10).

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, watching::lifecycle::Lifecycle};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    match scene.replica.lifecycle {
        Lifecycle::Restarting => Shut::because(Hold::DockerRestartsIt),
        Lifecycle::Unseen
        | Lifecycle::Running { .. }
        | Lifecycle::Paused { .. }
        | Lifecycle::Created
        | Lifecycle::Stopped(_)
        | Lifecycle::Gone
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => None,
    }
}
