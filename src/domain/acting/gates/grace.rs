//! A new instance has its grace (S6): for its probes the one of the config, for its healthcheck the start period, which the
//! engine keeps itself.

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, watching::lifecycle::Lifecycle};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let replica = scene.replica;
    let by_healthcheck = replica.evidence.health.streak.failing;
    match replica.lifecycle {
        Lifecycle::Running { since, .. }
            if !by_healthcheck && replica.in_grace(scene.now.awake) =>
        {
            Shut::until(Hold::InGrace, since + replica.policy.start_grace)
        }
        Lifecycle::Running { .. }
        | Lifecycle::Unseen
        | Lifecycle::Paused { .. }
        | Lifecycle::Restarting
        | Lifecycle::Created
        | Lifecycle::Stopped(_)
        | Lifecycle::Gone
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => None,
    }
}
