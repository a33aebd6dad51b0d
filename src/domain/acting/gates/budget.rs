//! The trouble's restarts, and the host's above them (S4).

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, moment::millis};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let budget = scene.replica.policy.budget;
    let allowed = budget.restarts;
    let others = scene.replica.kept.spending.spent.saturating_sub(u32::from(scene.paid_already));
    if others >= allowed {
        let refill_after_ms = millis(budget.refill_after_healthy);
        return Shut::because(Hold::BudgetSpent { restarts: allowed, refill_after_ms });
    }
    if scene.paid_already {
        return None;
    }
    let host = scene.policy.limits.budget;
    let at = scene.host_spending.next_at(host, scene.boot_id, scene.now)?;
    let until = scene.now.awake + at.since(scene.now.boot);
    Shut::until(Hold::HostBudgetSpent { restarts: host.restarts }, until)
}
