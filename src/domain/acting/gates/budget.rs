//! The trouble's restarts, and the host's above them (S4).

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let allowed = scene.replica.policy.budget.restarts;
    let others = scene.replica.kept.spending.spent.saturating_sub(u32::from(scene.paid_already));
    if others >= allowed {
        return Shut::because(Hold::BudgetSpent { restarts: allowed });
    }
    if scene.paid_already {
        return None;
    }
    let host = scene.policy.limits.budget;
    let at = scene.host_spending.next_at(host, scene.boot_id, scene.now)?;
    let until = scene.now.awake + at.since(scene.now.boot);
    Shut::until(Hold::HostBudgetSpent { restarts: host.restarts }, until)
}
