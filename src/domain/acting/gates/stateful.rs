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

/// What holds data has one restart, whatever its budget (S12).
pub(crate) fn restarts_allowed(replica: &Replica) -> u32 {
    let restarts = replica.policy.budget.restarts;
    if is_stateful(replica) { restarts.min(1) } else { restarts }
}

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if !is_stateful(scene.replica) {
        return None;
    }
    let kept = &scene.replica.kept;
    // An allowance that is full again is one for another trouble.
    let in_trouble = kept.trouble.as_ref().map_or(0, |trouble| trouble.attempts);
    let made = kept.spending.spent.max(in_trouble);
    let others = made.saturating_sub(u32::from(scene.paid_already));
    if !scene.replica.listed || others >= 1 { Shut::because(Hold::Stateful) } else { None }
}
