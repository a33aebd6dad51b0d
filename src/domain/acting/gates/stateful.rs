//! What holds data gets one restart per trouble, and only where the config lists it: a label does not opt it in (S12).

use super::{Scene, Shut};
use crate::domain::{
    acting::hold::Hold,
    watching::{matching::holds_data, replica::Replica},
};

/// Whether a replica holds data: as the config says, else by its image.
pub(crate) fn is_stateful(replica: &Replica) -> bool {
    let by_image =
        || replica.inspection.as_ref().is_some_and(|inspection| holds_data(&inspection.image));
    replica.policy.stateful.unwrap_or_else(by_image)
}

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if !is_stateful(scene.replica) {
        return None;
    }
    let others = scene.replica.kept.spending.spent.saturating_sub(u32::from(scene.paid_already));
    if !scene.replica.listed || others >= 1 { Shut::because(Hold::Stateful) } else { None }
}
