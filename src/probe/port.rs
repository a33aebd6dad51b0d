//! One probe, run once.

use crate::{
    domain::{
        effect::Watch,
        observation::{Phases, ProbeOutcome},
    },
    tasks::Pending,
};
use std::sync::Arc;

/// What one run of a probe showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// Its exact class.
    pub outcome: ProbeOutcome,
    /// How long each phase took.
    pub phases: Phases,
    /// Which address was used, `address:port`.
    pub address: Option<String>,
}

/// Runs probes.
pub trait Prober: Send + Sync + 'static {
    /// Runs one probe once, on a fresh connection, within `watch.probe.timeout` as a hard total that a byte a second cannot
    /// stretch. Never retries. Dropping the future closes what it opened.
    fn probe(&self, watch: Arc<Watch>) -> Pending<'_, Probed>;
}
