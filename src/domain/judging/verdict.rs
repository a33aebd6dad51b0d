//! What all evidence of a replica amounts to.
//!
//! The first evidence that fails makes it unhealthy; to be healthy, all must pass. What was not evaluated is unknown and
//! never healthy.

use super::{
    health::{HealthEvidence, Reading},
    probing::ProbeEvidence,
};
use crate::domain::{name::ProbeName, policy::ProbePolicy, watching::lifecycle::Lifecycle};
use std::{collections::BTreeMap, fmt};

/// The judgement of a replica, or its standing where there is nothing to judge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// Nothing that counts was seen yet.
    Unknown,
    /// Within its start period or grace.
    Starting,
    /// All evidence passes.
    Healthy,
    /// Works, but not as well as it should.
    Degraded,
    /// Some evidence fails.
    Unhealthy,
    /// Its process does not run.
    Stopped,
    /// Frozen by somebody.
    Paused,
    /// Docker is restarting it.
    Restarting,
    /// Removed.
    Gone,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Unknown => "unknown",
            Verdict::Starting => "starting",
            Verdict::Healthy => "healthy",
            Verdict::Degraded => "degraded",
            Verdict::Unhealthy => "unhealthy",
            Verdict::Stopped => "stopped",
            Verdict::Paused => "paused",
            Verdict::Restarting => "restarting",
            Verdict::Gone => "gone",
        })
    }
}

/// All evidence of one instance.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) health: HealthEvidence,
    pub(crate) probes: BTreeMap<ProbeName, ProbeEvidence>,
}

/// Judges. `in_grace`: the instance is too young for its probes to count.
pub(crate) fn judge(
    lifecycle: &Lifecycle,
    evidence: &Evidence,
    probes: &[ProbePolicy],
    in_grace: bool,
) -> Verdict {
    match lifecycle {
        Lifecycle::Running { .. } | Lifecycle::Remote => judge_running(evidence, probes, in_grace),
        Lifecycle::Unseen | Lifecycle::Odd(_) => Verdict::Unknown,
        Lifecycle::Paused { .. } => Verdict::Paused,
        Lifecycle::Restarting => Verdict::Restarting,
        Lifecycle::Created | Lifecycle::Stopped(_) => Verdict::Stopped,
        Lifecycle::Gone => Verdict::Gone,
    }
}

fn judge_running(evidence: &Evidence, probes: &[ProbePolicy], in_grace: bool) -> Verdict {
    let streaks = || evidence.probes.values().map(|probe| &probe.streak);
    if evidence.health.streak.failing || streaks().any(|streak| streak.failing) {
        return Verdict::Unhealthy;
    }
    let health_passes = !evidence.health.present || evidence.health.reading == Reading::Passing;
    let probes_pass = probes
        .iter()
        .all(|probe| evidence.probes.get(&probe.name).is_some_and(|seen| seen.streak.well));
    let evaluated = evidence.health.present || !probes.is_empty();
    if evaluated && health_passes && probes_pass {
        Verdict::Healthy
    } else if evidence.health.reading == Reading::Starting || (in_grace && !probes.is_empty()) {
        Verdict::Starting
    } else {
        Verdict::Unknown
    }
}
