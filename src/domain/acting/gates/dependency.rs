//! Causes first: what it needs must have been seen healthy after its trouble began (S9).

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let down = scene.dependency_down.as_ref()?;
    Shut::because(Hold::DependencyNotHealthy(down.to_string()))
}
