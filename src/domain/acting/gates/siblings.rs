//! Enough siblings stay healthy, where the target still passes something itself: what answers nothing at all is no loss
//! while it is restarted (S3, `min_healthy`).

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, judging::health::Reading};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let enough = scene.healthy_siblings
        >= usize::try_from(scene.replica.policy.min_healthy).unwrap_or(usize::MAX);
    let evidence = &scene.replica.evidence;
    let passes_something = evidence.probes.values().any(|probe| probe.streak.passes > 0)
        || evidence.health.reading == Reading::Passing;
    if enough || !passes_something { None } else { Shut::because(Hold::TooFewSiblings) }
}
