//! The gaps between restarts grow: what a restart did not cure, the same restart again will hardly cure.

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, moment::millis};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if scene.paid_already {
        return None;
    }
    let spending = &scene.replica.kept.spending;
    let backoff = scene.replica.policy.backoff;
    let (until, wait) = spending.next_at(backoff, scene.boot_id, scene.now)?;
    Shut::until(Hold::BackingOff { wait_ms: millis(wait) }, until)
}
