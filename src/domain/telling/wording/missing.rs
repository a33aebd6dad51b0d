//! What is said of what does not run.

use super::{
    MOST_MEMBERS,
    steps::{container_of, logs_of, start_of},
};
use crate::domain::{
    judging::absence::Absence,
    policy::ServicePolicy,
    telling::incident::Content,
    watching::{lifecycle::Lifecycle, replica::Replica},
};

pub(crate) fn down(
    policy: &ServicePolicy,
    count: &Absence,
    wanted: Option<u32>,
    members: &[&Replica],
) -> Content {
    let name = &policy.name;
    let missing =
        u32::try_from(count.missing.len()).unwrap_or(u32::MAX).saturating_add(count.never_seen);
    let wanted = wanted.unwrap_or(count.running + missing);
    let mut lines_of: Vec<String> = members
        .iter()
        .filter(|replica| count.missing.contains(&replica.kept.name))
        .take(MOST_MEMBERS)
        .map(|replica| format!("{}: {}", replica.kept.name, replica.lifecycle))
        .collect();
    if count.never_seen > 0 {
        lines_of.push(format!("{} never seen on this host", count.never_seen));
    }
    let missing = || members.iter().filter(|replica| count.missing.contains(&replica.kept.name));
    let is_here = missing().find_map(|replica| Some((replica, container_of(replica)?)));
    let next_steps = match is_here {
        Some((replica, container)) => {
            [logs_of(&container)].into_iter().chain(start_of(replica, &container)).collect()
        }
        // Nothing that could be pasted names what is not there.
        None if missing().any(|replica| replica.lifecycle == Lifecycle::Gone) => vec![
            "make its container anew, by whatever made it before: it was removed, and its log with it"
                .to_owned(),
        ],
        None => Vec::new(),
    };
    let ours = missing().any(|replica| replica.stands_by_own_stop());
    // Where something of ours is on record, a stop of ours may have ended it, and the proof of that be lost (S1).
    let maybe_ours = || {
        missing().any(|replica| {
            let kept = &replica.kept;
            let attempted = kept.trouble.as_ref().is_some_and(|trouble| trouble.attempts > 0);
            kept.own_stop.is_some() || kept.attempt.is_some() || attempted
        })
    };
    let done = if ours {
        "stopped by defib and not started again; that is tried within its budget"
    } else if maybe_ours() {
        "not started: defib has restarted it in this trouble, and can't prove that it stopped it itself"
    } else {
        "not started: defib starts only what it stopped itself"
    };
    Content {
        headline: format!("{name} is down: {} of {wanted} run", count.running),
        members: lines_of,
        done: vec![done.to_owned()],
        findings: Vec::new(),
        next_steps,
        runbook: policy.runbook.clone(),
        note: policy.note.clone(),
    }
}
