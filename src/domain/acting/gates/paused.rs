//! A restart would thaw it: perhaps in the middle of somebody's backup (S2).

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, watching::lifecycle::Lifecycle};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    match scene.replica.lifecycle {
        Lifecycle::Paused { .. } => Shut::because(Hold::Paused),
        Lifecycle::Unseen
        | Lifecycle::Running { .. }
        | Lifecycle::Restarting
        | Lifecycle::Created
        | Lifecycle::Stopped(_)
        | Lifecycle::Gone
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => None,
    }
}
