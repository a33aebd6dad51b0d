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

/// Whether it may have any restart: of what holds data, only what the config lists.
pub(crate) fn may_have_any(replica: &Replica) -> bool {
    replica.listed || !is_stateful(replica)
}

/// What holds data has one restart, whatever its budget (S12).
pub(crate) fn restarts_allowed(replica: &Replica) -> u32 {
    let restarts = replica.policy.budget.restarts;
    if is_stateful(replica) { restarts.min(1) } else { restarts }
}

/// Restarts that count against that: an allowance that is full again, for what holds data, is one for another trouble.
pub(crate) fn restarts_made(replica: &Replica) -> u32 {
    let spent = replica.kept.spending.spent;
    let in_trouble = replica.kept.trouble.as_ref().map_or(0, |trouble| trouble.attempts);
    if is_stateful(replica) { spent.max(in_trouble) } else { spent }
}

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if !is_stateful(scene.replica) {
        return None;
    }
    let others = restarts_made(scene.replica).saturating_sub(u32::from(scene.paid_already));
    if !may_have_any(scene.replica) || others >= 1 { Shut::because(Hold::Stateful) } else { None }
}
