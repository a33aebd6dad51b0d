//! It acts only on what runs, or on what stands still by its own stop (S1, S2).

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, watching::lifecycle::Lifecycle};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let state = &scene.replica.lifecycle;
    match state {
        Lifecycle::Running { .. } | Lifecycle::Paused { .. } | Lifecycle::Restarting => None,
        Lifecycle::Stopped(_) | Lifecycle::Created if scene.replica.stands_by_own_stop() => None,
        // A URL: there is nothing that could be restarted.
        Lifecycle::Remote => Shut::because(Hold::NotCurable),
        Lifecycle::Unseen
        | Lifecycle::Created
        | Lifecycle::Stopped(_)
        | Lifecycle::Gone
        | Lifecycle::Odd(_) => Shut::because(Hold::NotRunning(state.to_string())),
    }
}
