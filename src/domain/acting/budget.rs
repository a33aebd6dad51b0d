//! How many restarts are left, and how long until the next may start.
//!
//! Without a limit, a container that cannot start turns us into the outage. Spending is recorded before the restart, so that
//! a crash between the two under-uses the allowance. Kept as moments in the past, never as deadlines: whatever happens to a
//! clock, an allowance can only come back later than it might, never earlier, and no hold grows.

use crate::domain::{
    moment::{AwakeMs, BootId, BootMs, Moment, Stamp, millis},
    policy::{Backoff, HostBudget, ServiceBudget},
};
use serde::{Deserialize, Serialize};
use std::{collections::VecDeque, time::Duration};

/// So many restarts within [`CHRONIC_WITHIN`] are no cure, even if each one helped (S4).
pub const CHRONIC_RESTARTS: usize = 5;

/// See [`CHRONIC_RESTARTS`]; in boot time.
pub const CHRONIC_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// What one replica has spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spending {
    /// Restarts since the allowance was last full.
    pub spent: u32,
    /// When the last one ended, or began if it has not ended.
    pub last: Option<Stamp>,
    /// The latest restarts, at most [`CHRONIC_RESTARTS`], oldest first.
    pub recent: VecDeque<Stamp>,
}

impl Spending {
    /// One restart more.
    pub(crate) fn spend(&mut self, at: Stamp) {
        self.spent = self.spent.saturating_add(1);
        self.last = Some(at.clone());
        self.recent.push_back(at);
        while self.recent.len() > CHRONIC_RESTARTS {
            self.recent.pop_front();
        }
    }

    /// The allowance is full again, if it was seen healthy for long enough without a break.
    pub(crate) fn refill(&mut self, healthy_for: Duration, budget: ServiceBudget) {
        if healthy_for >= budget.refill_after_healthy {
            self.spent = 0;
        }
    }

    /// When the next restart may start, and how long the wait is; `None`: now.
    pub(crate) fn next_at(
        &self,
        backoff: Backoff,
        boot_id: &BootId,
        now: Moment,
    ) -> Option<(AwakeMs, Duration)> {
        if self.spent == 0 {
            return None;
        }
        let wait = wait_after(backoff, self.spent);
        let last = self.last.as_ref()?.awake_on(boot_id, now);
        let at = last + wait;
        (at > now.awake).then_some((at, wait))
    }

    /// Whether it was restarted so often that a restart is no cure; `None`: that can't be said, since the wall clock is behind.
    pub(crate) fn is_chronic(&self, boot_id: &BootId, now: Moment) -> Option<bool> {
        let Some(oldest) = self.recent.front().filter(|_| self.recent.len() >= CHRONIC_RESTARTS)
        else {
            return Some(false);
        };
        if now.boot.since(oldest.boot_on(boot_id, now)) >= CHRONIC_WITHIN {
            return Some(false);
        }
        if oldest.boot_id == *boot_id {
            return Some(true);
        }
        // What an allowance takes for recent after a boot need not be: that it was so often within a day is a claim.
        let ago = u64::try_from(now.wall.0.saturating_sub(oldest.moment.wall.0)).ok()?;
        Some(ago < millis(CHRONIC_WITHIN))
    }
}

/// How long the wait after the `spent`th restart is.
pub(crate) fn wait_after(backoff: Backoff, spent: u32) -> Duration {
    let doublings = spent.saturating_sub(1).min(31);
    backoff.first.saturating_mul(1 << doublings).min(backoff.max)
}

/// What the host has spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSpending {
    /// When restarts began, oldest first, no more than the budget looks back on.
    pub restarts: VecDeque<Stamp>,
}

impl HostSpending {
    /// One restart more.
    pub(crate) fn spend(&mut self, at: Stamp, budget: HostBudget) {
        self.restarts.push_back(at);
        while self.restarts.len() > usize::try_from(budget.restarts).unwrap_or(usize::MAX) {
            self.restarts.pop_front();
        }
    }

    /// The restart that began then was not begun after all.
    pub(crate) fn refund(&mut self, began: Moment) {
        if let Some(index) = self.restarts.iter().rposition(|stamp| stamp.moment == began) {
            self.restarts.remove(index);
        }
    }

    /// When one more restart may start, in boot time; `None`: now.
    pub(crate) fn next_at(
        &self,
        budget: HostBudget,
        boot_id: &BootId,
        now: Moment,
    ) -> Option<BootMs> {
        let allowed = usize::try_from(budget.restarts).unwrap_or(usize::MAX);
        let nth_last = self.restarts.len().checked_sub(allowed)?;
        let oldest = self.restarts.get(nth_last)?.boot_on(boot_id, now);
        let at = oldest + budget.within;
        (at > now.boot).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::moment::WallMs;

    fn at(boot_s: u64, wall_s: i64) -> Moment {
        Moment {
            awake: AwakeMs(boot_s * 1000),
            boot: BootMs(boot_s * 1000),
            wall: WallMs(wall_s * 1000),
        }
    }

    #[test]
    fn what_was_restarted_once_a_month_is_not_chronic_because_the_host_has_booted() {
        let month = 30 * 24 * 3600;
        let chronic = |apart: i64| {
            let mut spending = Spending::default();
            for n in 0..5_i64 {
                let moment = at(1000 + 10 * n.unsigned_abs(), n * apart);
                spending.spend(Stamp { boot_id: BootId("before".into()), moment });
            }
            spending.is_chronic(&BootId("after".into()), at(60, 4 * apart + 3600))
        };
        assert_eq!(chronic(month), Some(false));
        assert_eq!(chronic(3600), Some(true));
        assert_eq!(chronic(-3600), None, "the clock is not set yet");
    }
}
