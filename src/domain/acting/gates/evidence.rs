//! Only fresh evidence that a restart can cure may restart: Docker's `unhealthy`, and timeout, refused, reset or 5xx of a
//! probe that has passed at least once (S5, S11). Of a healthcheck the look right before acting says how fresh it is; of a
//! probe it is the age of its last sample, against twice its interval and its timeout.

use super::{Scene, Shut};
use crate::domain::{
    acting::hold::Hold,
    judging::{health::Reading, streak::Streak},
    moment::AwakeMs,
    policy::Threshold,
    watching::replica::Replica,
};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if scene.replica.lifecycle.stands_still() {
        // Our own stop is the evidence (S1).
        return None;
    }
    if scene.replica.could_not_look.is_some() {
        return Shut::because(Hold::CouldNotLook);
    }
    match best(scene.replica, scene.now.awake) {
        Case::Good => None,
        Case::NotYet => Shut::because(Hold::Recovered),
        Case::Bad(hold) => Shut::because(hold),
    }
}

/// What speaks for a restart.
pub(crate) enum Case {
    /// At least one evidence is enough.
    Good,
    /// Nothing fails for long enough yet.
    NotYet,
    /// What fails does not count.
    Bad(Hold),
}

/// The best case that any evidence makes for restarting this replica.
pub(crate) fn best(replica: &Replica, now: AwakeMs) -> Case {
    let policy = &replica.policy;
    let mut bad = None;
    let mut not_yet = false;
    let health = &replica.evidence.health;
    if health.streak.failing {
        match health.reading {
            Reading::Failing if reached(&health.streak, policy.restart_after, now) => {
                return Case::Good;
            }
            Reading::Failing => not_yet = true,
            Reading::CouldNotRun => bad = Some(Hold::CouldNotLook),
            Reading::Nothing
            | Reading::Starting
            | Reading::FailingOn
            | Reading::Passing
            | Reading::Stale => {
                bad = Some(Hold::EvidenceStale);
            }
        }
    }
    for probe in &policy.probes {
        let Some(seen) =
            replica.evidence.probes.get(&probe.name).filter(|seen| seen.streak.failing)
        else {
            continue;
        };
        if !replica.has_passed(probe) {
            bad.get_or_insert(Hold::NeverPassed);
        } else if !seen.streak.curable {
            bad.get_or_insert(Hold::NotCurable);
        } else if seen.could_not_look.is_some() {
            bad.get_or_insert(Hold::CouldNotLook);
        } else if !seen.is_fresh(probe, now) {
            bad.get_or_insert(Hold::EvidenceStale);
        } else if reached(&seen.streak, policy.restart_after, now) {
            return Case::Good;
        } else {
            not_yet = true;
        }
    }
    match bad {
        _ if not_yet => Case::NotYet,
        Some(hold) => Case::Bad(hold),
        None => Case::NotYet,
    }
}

/// Whether it is time to decide: something fails for long enough, or fails and does not count, which has to be said.
pub(crate) fn is_due(replica: &Replica, now: AwakeMs) -> bool {
    match best(replica, now) {
        Case::Good | Case::Bad(_) => true,
        Case::NotYet => false,
    }
}

/// When a threshold by time is reached, where one is still to come.
pub(crate) fn due_at(replica: &Replica, now: AwakeMs) -> Option<AwakeMs> {
    let span = replica.policy.restart_after.failing_for?;
    let probes = replica.evidence.probes.values().map(|probe| &probe.streak);
    probes
        .chain([&replica.evidence.health.streak])
        .filter(|streak| streak.failing)
        .filter_map(|streak| streak.since)
        .map(|since| since.awake + span)
        .filter(|at| *at > now)
        .min()
}

/// Whether a streak is long enough, by count or by time.
pub(crate) fn reached(streak: &Streak, threshold: Threshold, now: AwakeMs) -> bool {
    let by_count = threshold.failures.is_some_and(|failures| streak.failures >= failures);
    let by_time = match (threshold.failing_for, streak.since) {
        (Some(span), Some(since)) => now.since(since.awake) >= span,
        (Some(_), None) | (None, _) => false,
    };
    by_count || by_time
}
