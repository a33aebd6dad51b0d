//! Causes first: what it needs must have been seen healthy after it began to fail (S9).

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let (name, is_judged) = scene.dependency_down.as_ref()?;
    let name = name.to_string();
    Shut::because(if *is_judged {
        Hold::DependencyNotHealthy(name)
    } else {
        Hold::DependencyUnjudged(name)
    })
}
