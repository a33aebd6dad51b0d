//! Much fails at once: only a trial may go (S8).

use super::{Scene, Shut};
use crate::domain::acting::{brake::Brake, hold::Hold};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    match scene.brake {
        Brake::Released => None,
        Brake::Engaged(_) if scene.trial == Some(&scene.replica.kept.name) => None,
        Brake::Engaged(_) => Shut::because(Hold::Brake),
    }
}
