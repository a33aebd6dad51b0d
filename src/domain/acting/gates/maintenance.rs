//! Maintenance windows (S7). There are none in the policy yet, so this gate is open.

use super::{Scene, Shut};

pub(super) fn gate(_: &Scene<'_>) -> Option<Shut> {
    None
}
