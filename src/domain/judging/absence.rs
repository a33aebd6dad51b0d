//! What is missing of a service (P8): fewer replicas run than should, whatever the cause.
//!
//! Three kinds of standing still are not the same: what ended or failed is `down` after a minute; what somebody stopped or
//! removed is theirs, and a ticket once they seem to have forgotten it; what finished its work (exit code 0 under policy
//! `no`) is done.

use crate::domain::{
    moment::Moment,
    name::ReplicaName,
    observation::RestartPolicy,
    watching::{
        lifecycle::{Lifecycle, Stop},
        replica::Replica,
    },
};
use std::time::Duration;

/// Missing for so long is down: a re-creation takes some seconds, an image pull at a deploy some more.
pub const DOWN_AFTER: Duration = Duration::from_secs(60);

/// Stopped by somebody for so long looks forgotten.
pub const BY_HAND_AFTER: Duration = Duration::from_secs(600);

/// What is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Absence {
    /// Replicas that should run and do not.
    pub(crate) missing: Vec<ReplicaName>,
    /// The earliest since when.
    pub(crate) since: Option<Moment>,
    /// Replicas that the config wants and that were never seen.
    pub(crate) never_seen: u32,
    /// Replicas that run.
    pub(crate) running: u32,
}

/// Counts. `wanted`: how many the config wants; `None`: as many as are known.
pub(crate) fn count(members: &[&Replica], wanted: Option<u32>) -> Absence {
    let mut absence = Absence::default();
    let mut excused = 0_u32;
    // A URL's stand-in is no replica: whatever answers there, none of them runs the more for it.
    let members = || members.iter().filter(|replica| replica.lifecycle != Lifecycle::Remote);
    for replica in members() {
        match replica.kept.absent_since {
            None => absence.running += 1,
            Some(_) if is_by_hand(replica) || is_finished(replica) => excused += 1,
            Some(since) => {
                // What runs again, not for long enough to be back, is not missing now: it only keeps what is open open.
                if replica.lifecycle.running().is_some() {
                    absence.running += 1;
                } else {
                    absence.missing.push(replica.kept.name.clone());
                }
                let earlier = absence.since.is_none_or(|known| since.awake < known.awake);
                if earlier {
                    absence.since = Some(since);
                }
            }
        }
    }
    if let Some(wanted) = wanted {
        let back = members().filter(|replica| replica.kept.absent_since.is_none()).count();
        if u32::try_from(back).unwrap_or(u32::MAX) >= wanted {
            return Absence { running: absence.running, ..Absence::default() };
        }
        let known =
            absence.running + excused + u32::try_from(absence.missing.len()).unwrap_or(u32::MAX);
        absence.never_seen = wanted.saturating_sub(known);
    }
    absence
}

/// Somebody else stopped or removed it.
pub(crate) fn is_by_hand(replica: &Replica) -> bool {
    let stands = match replica.lifecycle {
        Lifecycle::Stopped(_) | Lifecycle::Gone | Lifecycle::Created => true,
        Lifecycle::Unseen
        | Lifecycle::Running { .. }
        | Lifecycle::Paused { .. }
        | Lifecycle::Restarting
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => false,
    };
    stands && replica.kept.stopped_by_hand.is_some()
}

/// Since when it stands still for the reason that it does now: what had ended may have been removed by somebody later.
pub(crate) fn stands_since(replica: &Replica) -> Option<Moment> {
    let ended = replica.kept.absent_since?;
    let by_hand = replica.kept.stopped_by_hand.filter(|since| since.awake > ended.awake);
    Some(by_hand.unwrap_or(ended))
}

/// It finished its work, or was never begun.
pub(crate) fn is_finished(replica: &Replica) -> bool {
    match replica.lifecycle {
        Lifecycle::Stopped(Stop { exit_code, .. }) => {
            let policy = replica.inspection.as_ref().map(|inspection| inspection.restart_policy);
            // What defib told to stop has not finished, whatever it exits with.
            let is_stopped = replica.kept.own_stop.is_some();
            exit_code == Some(0) && policy == Some(RestartPolicy::No) && !is_stopped
        }
        Lifecycle::Created => replica.kept.instance.is_none(),
        Lifecycle::Unseen
        | Lifecycle::Running { .. }
        | Lifecycle::Paused { .. }
        | Lifecycle::Restarting
        | Lifecycle::Gone
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => false,
    }
}
