//! The third part of P9: a person hears that restarts are given up, and not before they are.

use super::{
    Violation,
    story::{Act, Send, Span, Story},
    told::Standing,
};
use crate::account::{Condition, Ms, ServiceRule};
use defib::domain::{
    effect::Primitive,
    message::{IncidentKind, MessageKind},
};

/// From the end of the last attempt to the sink's answer: the verdict may have to be reached anew, other attempts may be in
/// flight, a commit, an attempt at delivery.
const TOLD_WITHIN_MS: Ms = 120_000;

/// The longest that a start of the engine, of the host or of defib is given to settle: until then that is the reason.
const SETTLES_MS: Ms = 300_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    too_soon(story, &mut found);
    for service in &story.rules.services {
        for replica in &service.replicas {
            must_be_told(story, service, replica, &mut found);
        }
    }
    found
}

/// What is called given up has had its restarts. One that a crash kept from being called for is paid for as well, and so is
/// the start of what stands still by an earlier one.
fn too_soon(story: &Story<'_>, found: &mut Vec<Violation>) {
    for send in story.sends.iter().filter(|send| send.message.kind == MessageKind::GivenUp) {
        let Some(service) = service_of(story, send) else { continue };
        let crashes = story.lives.iter().filter(|life| life.from > 0 && life.from <= send.at);
        let unseen = crashes.count();
        let allowed = if service.stateful { 1 } else { service.budget.0 };
        let spent = service.replicas.iter().map(|replica| {
            let acts = story.acts.iter().filter(|act| act.replica == replica && act.at <= send.at);
            acts.filter(|act| act.spends() || act.primitive == Primitive::Start).count()
        });
        if spent.max().unwrap_or(0) + unseen < allowed {
            found.push(Violation {
                rule: "P9",
                at: send.at,
                what: format!(
                    "{} is told that {} is given up, and restarts are left",
                    send.sink, send.message.key
                ),
            });
        }
    }
}

fn must_be_told(
    story: &Story<'_>,
    service: &ServiceRule,
    replica: &str,
    found: &mut Vec<Violation>,
) {
    let acts: Vec<&Act<'_>> =
        story.acts.iter().filter(|act| act.replica == replica && act.spends()).collect();
    let Some(last) = acts.last().filter(|_| acts.len() >= service.budget.0) else { return };
    let by = last.at + service.longest_attempt() + service.slowest_verdict() + TOLD_WITHIN_MS;
    let window = Span { from: last.at.saturating_sub(SETTLES_MS), to: by };
    // A well spell may have refilled the budget; anything that somebody did is a reason of its own.
    let fails = |at: Ms| story.condition(replica, at) == Condition::Failing;
    let containers = story.containers_of(replica);
    let first = acts[acts.len() - service.budget.0].at;
    let quiet = by <= story.end
        && containers.len() == 1
        && containers.iter().all(|container| {
            container.stops.iter().all(|stop| stop.1 == crate::account::Who::Defib || stop.0 > by)
                && container.pauses.iter().all(|pause| pause.from > by)
                && container.conditions.iter().all(|turned| {
                    turned.0 < last.at
                        || turned.0 > by
                        || fails(turned.0)
                        || turned.1 == Condition::Absent
                })
        })
        && story.longest_well(replica, Span { from: first, to: by }, 0) < service.budget.1 / 2
        && fails(by)
        && last.answered.is_some()
        && story.unhindered(window)
        && !story.store_bad.iter().any(|bad| bad.meets(window))
        && !story.sleeps.iter().any(|sleep| window.holds(sleep.0))
        && story.acts.iter().all(|act| act.replica == replica || !window.holds(act.at))
        // A sibling that was given up before has said it for all: replicas join their service's incident.
        && !story.acts.iter().any(|act| {
            act.service.name == service.name && act.replica != replica && act.at < by
        });
    if !quiet {
        return;
    }
    for sink in &story.rules.sinks {
        let about = |send: &&Send<'_>| {
            send.sink == sink
                && send.message.incident_kind == IncidentKind::Unhealthy
                && service_of(story, send).is_some_and(|named| named.name == service.name)
        };
        let before = story.sends.iter().filter(about).filter(|send| send.at <= last.at);
        let standing = before
            .filter(|send| send.landed.is_some())
            .fold(Standing::Closed, |known, send| known.after(send.message));
        // Only who knows of it hears that it is given up; who does not is owed the beginning, by another rule.
        let knows = matches!(standing, Standing::Open(_));
        let told = story.sends.iter().filter(about).any(|send| {
            send.at > last.at
                && matches!(
                    send.message.kind,
                    MessageKind::GivenUp | MessageKind::Raised | MessageKind::Opened
                )
        });
        if knows && !told && story.sink_fine(sink, window) {
            found.push(Violation {
                rule: "P9",
                at: by,
                what: format!("no restart is left for {replica}, and {sink} is not told"),
            });
        }
    }
}

fn service_of<'s>(story: &'s Story<'_>, send: &Send<'_>) -> Option<&'s ServiceRule> {
    let name = send.message.service.as_ref()?;
    story.rules.services.iter().find(|service| service.name == name.as_str())
}
