//! A deploy is under way (S10). Deploys are not recognised yet beyond somebody's touch, so this gate is open.

use super::{Scene, Shut};

pub(super) fn gate(_: &Scene<'_>) -> Option<Shut> {
    None
}
