//! What can't be recorded is not done, and what the engine refuses is not tried again and again (S4).

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if scene.actions_refused {
        return Shut::because(Hold::ActionsRefused);
    }
    if scene.cannot_record { Shut::because(Hold::CannotRecord) } else { None }
}
