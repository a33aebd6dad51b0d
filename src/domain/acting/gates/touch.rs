//! Somebody else acted on it just now: they are at it (S10).

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;
use std::time::Duration;

/// How long somebody's touch holds: as long as a person needs to see what it did.
pub(crate) const TOUCH_HOLDS_FOR: Duration = Duration::from_secs(60);

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let (at, what) = scene.replica.touched.as_ref()?;
    let until = *at + TOUCH_HOLDS_FOR;
    if until > scene.now.awake { Shut::until(Hold::Touched(what.clone()), until) } else { None }
}
