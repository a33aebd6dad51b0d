//! A new instance has its grace (S6): for its probes the one of the config, for its healthcheck the start period, which the
//! engine keeps itself.

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if scene.replica.evidence.health.streak.failing {
        return None;
    }
    let until = scene.replica.grace_ends().filter(|at| *at > scene.now.awake)?;
    Shut::until(Hold::InGrace, until)
}
