//! One action in flight per replica, `max_acting` per service, `max_concurrent` per host; unverified counts as acting, and so
//! does a call that was not answered in time and that whoever holds it may still carry out (S3).

use super::{Scene, Shut};
use crate::domain::acting::hold::{Hold, Limit};
use std::time::Duration;

/// A call that nobody answered may reach the engine this much later still. Whoever stops it meanwhile can't be told from us:
/// then it is missed, and nobody is blamed. No other call is made meanwhile (S3).
pub(crate) const CALL_OPEN_FOR: Duration = Duration::from_secs(300);

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    // What stands still by our own stop is only started: that ends nothing, whatever comes late.
    let since = scene.replica.kept.unanswered_since.filter(|_| !scene.replica.stands_by_own_stop());
    // An engine that has begun anew carries nothing out that it was told before.
    let since = since.filter(|since| scene.engine_start.is_none_or(|start| start < since.awake));
    let open_until = since.map(|since| since.awake + CALL_OPEN_FOR);
    if let Some(until) = open_until.filter(|until| scene.now.awake < *until) {
        return Shut::until(Hold::CallOpen, until);
    }
    let reached = |acting: usize, most: u32| acting >= usize::try_from(most).unwrap_or(usize::MAX);
    if reached(scene.service_acting, scene.replica.policy.max_acting) {
        return Shut::because(Hold::InFlight(Limit::Service));
    }
    if reached(scene.host_acting, scene.policy.limits.max_concurrent) {
        return Shut::because(Hold::InFlight(Limit::Host));
    }
    None
}
