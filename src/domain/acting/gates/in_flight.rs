//! One action in flight per replica, `max_acting` per service, `max_concurrent` per host; unverified counts as acting (S3).

use super::{Scene, Shut};
use crate::domain::acting::hold::{Hold, Limit};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let reached = |acting: usize, most: u32| acting >= usize::try_from(most).unwrap_or(usize::MAX);
    if reached(scene.service_acting, scene.replica.policy.max_acting) {
        return Shut::because(Hold::InFlight(Limit::Service));
    }
    if reached(scene.host_acting, scene.policy.limits.max_concurrent) {
        return Shut::because(Hold::InFlight(Limit::Host));
    }
    None
}
