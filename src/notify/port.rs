//! One attempt at one delivery.

use crate::{
    domain::{effect::SendOrder, observation::DeliveryOutcome},
    tasks::Pending,
};
use std::sync::Arc;

/// Where messages go.
pub trait Sink: Send + Sync + 'static {
    /// Makes one attempt, within `order.deadline` as a hard total, and says what came of it. Never sleeps, retries, or
    /// remembers: when and whether to try again is the domain's.
    fn deliver(&self, order: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome>;
}
