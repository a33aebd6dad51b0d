//! P9: whoever was disturbed by a trouble hears that it is well again soon after it is, and not only once that has held. A
//! recovery that did not hold takes that from the next one only where nothing but that was told since.

use super::{
    Violation,
    evidence::{Says, says},
    story::{Send, Span, Story},
};
use crate::account::{Clockface, Ms, ServiceRule};
use defib::domain::{
    message::{IncidentKind, MessageKind},
    observation::HealthResult,
};

/// From the verdict to the sink's answer: a turn of the loop, a commit, an attempt.
const HEARD_WITHIN_MS: Ms = 60_000;

/// What had begun to fail while it still did may be shown this much later.
const SHOWN_LATE_MS: Ms = 20_000;

/// See `hearing`.
const BACKED_OFF_MS: Ms = 330_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for service in &story.rules.services {
        for sink in &story.rules.sinks {
            for disturbed in disturbed(story, service, sink) {
                must_be_answered(story, service, disturbed, &mut found);
            }
        }
    }
    found
}

/// What disturbed this sink: all but that what it was told to be well again is not.
fn disturbed<'s>(story: &'s Story<'_>, service: &ServiceRule, sink: &str) -> Vec<&'s Send<'s>> {
    let about = story.sends.iter().filter(|send| {
        send.sink == sink
            && send.landed.is_some()
            && send.message.incident_kind == IncidentKind::Unhealthy
            && send.message.service.as_ref().is_some_and(|name| name.as_str() == service.name)
    });
    about.filter(|send| disturbs(send.message.kind)).collect()
}

fn disturbs(kind: MessageKind) -> bool {
    match kind {
        MessageKind::Opened
        | MessageKind::Raised
        | MessageKind::GivenUp
        | MessageKind::Grown
        | MessageKind::Reminder => true,
        MessageKind::Relapsed
        | MessageKind::Recovered
        | MessageKind::Resolved
        | MessageKind::Missed => false,
    }
}

fn must_be_answered(
    story: &Story<'_>,
    service: &ServiceRule,
    send: &Send<'_>,
    found: &mut Vec<Violation>,
) {
    let Some(landed) = send.landed else { return };
    let Some(well) = well_after(story, service, landed) else { return };
    // An attempt that is under way ends first, and says itself whether it is well.
    let acts = story.acts.iter().filter(|act| act.service.name == service.name && act.at < well.to);
    let acted = acts.map(|act| act.at).max().map_or(0, |at| at + service.longest_attempt());
    let by = (well.from + service.slowest_verdict()).max(acted) + HEARD_WITHIN_MS;
    let watched = Span { from: landed.min(well.from), to: by };
    let reached = Span { from: landed.saturating_sub(BACKED_OFF_MS), to: by };
    // Who is disturbed again meanwhile is answered for that.
    let later = story.sends.iter().any(|other| {
        other.sink == send.sink
            && other.message.incident == send.message.incident
            && other.at > send.at
            && other.at < by
            && disturbs(other.message.kind)
    });
    let slept = story.sleeps.iter().any(|sleep| watched.holds(sleep.0));
    if by > well.to
        || later
        || slept
        || story.is_removed(service, by)
        || !story.unhindered(watched)
        || !story.sink_fine(send.sink, reached)
        || shown_otherwise(story, service, Span { from: well.from + SHOWN_LATE_MS, to: by })
    {
        return;
    }
    let heard = story.sends.iter().any(|other| {
        let ends = matches!(other.message.kind, MessageKind::Recovered | MessageKind::Resolved);
        ends && other.sink == send.sink
            && other.message.key == send.message.key
            && other.landed.is_some_and(|at| at > landed && at <= by)
    });
    if !heard {
        found.push(Violation {
            rule: "P9",
            at: by,
            what: format!(
                "{} is well since {}, and {} does not hear it",
                service.name,
                Clockface(well.from),
                send.sink
            ),
        });
    }
}

/// The first time after a moment in which all of a service was well in lives that had begun well before, and nobody paused or
/// stopped any of it.
fn well_after(story: &Story<'_>, service: &ServiceRule, after: Ms) -> Option<Span> {
    let mut common = Span { from: after, to: story.end };
    for replica in &service.replicas {
        let of_replica = story.well(replica, 0).into_iter().find(|span| span.to > common.from)?;
        common = Span { from: common.from.max(of_replica.from), to: common.to.min(of_replica.to) };
    }
    let containers = || {
        let all = service.replicas.iter().flat_map(|replica| story.containers_of(replica));
        all.collect::<Vec<_>>()
    };
    let within = common;
    let births = containers().into_iter().flat_map(|container| &container.instances);
    for lived in births.filter(|lived| lived.span.meets(within)) {
        let grown = lived.span.from + service.start_grace + SHOWN_LATE_MS;
        common.from = common.from.max(grown);
    }
    let disturbed = containers().iter().any(|container| {
        container.pauses.iter().any(|pause| pause.meets(common))
            || container.stops.iter().any(|stop| common.holds(stop.0))
    });
    (common.from < common.to && !disturbed).then_some(common)
}

/// Whether anything but that it is well was shown: a look that was no look keeps a verdict as it was.
fn shown_otherwise(story: &Story<'_>, service: &ServiceRule, within: Span) -> bool {
    service.replicas.iter().flat_map(|replica| story.containers_of(replica)).any(|container| {
        container
            .samples
            .iter()
            .any(|shown| within.holds(shown.at) && !matches!(says(shown.what), Says::Pass))
            || container
                .checks
                .iter()
                .any(|check| within.holds(check.0) && check.2 != HealthResult::Passed)
    })
}
