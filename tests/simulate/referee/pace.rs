//! L1: every target is probed at its pace for as long as its container runs, whatever else goes on.

use super::{
    Violation,
    story::{Container, Span, Story},
};
use crate::account::{Ms, ProbeRule, ServiceRule};

/// A replica's first list, inspect and place in the pool, after defib's start or its own.
const MET_WITHIN_MS: Ms = 30_000;

/// Queues and rounding between two samples.
const SLACK_MS: Ms = 3_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for container in story.containers.values() {
        let Some(service) = story.rules.service_of(container.replica) else { continue };
        for probe in &service.probes {
            let until = story.removed.get(service.name.as_str()).copied().unwrap_or(story.end);
            for span in runs(story, container, until) {
                judge_run(story, container, service, probe, span, &mut found);
            }
        }
    }
    found
}

/// When this container ran, was not frozen or told to stop, and defib lived and could see the engine; as long as the config
/// names it.
fn runs(story: &Story<'_>, container: &Container<'_>, until: Ms) -> Vec<Span> {
    let mut spans = Vec::new();
    for lived in &container.instances {
        for life in &story.lives {
            let from = lived.span.from.max(life.from);
            let to = lived.span.to.min(life.to).min(until);
            if from >= to {
                continue;
            }
            let mut cuts: Vec<Span> = container.pauses.clone();
            cuts.extend(
                container.stops.iter().map(|stop| Span { from: stop.0, to: stop.0 + 90_000 }),
            );
            // While looking does not work, what has changed is found out late.
            cuts.extend(story.engine_bad.iter().copied());
            cuts.sort_by_key(|cut| cut.from);
            let mut begin = from;
            for cut in cuts.iter().filter(|cut| cut.meets(Span { from, to })) {
                if cut.from > begin {
                    spans.push(Span { from: begin, to: cut.from });
                }
                begin = begin.max(cut.to);
            }
            if begin < to {
                spans.push(Span { from: begin, to });
            }
        }
    }
    spans
}

fn judge_run(
    story: &Story<'_>,
    container: &Container<'_>,
    service: &ServiceRule,
    probe: &ProbeRule,
    span: Span,
    found: &mut Vec<Violation>,
) {
    let pace = 2 * probe.every + probe.timeout + SLACK_MS;
    let first = MET_WITHIN_MS + story.rules.list_every + pace;
    let mut last = span.from;
    let mut allowed = first;
    let begun = container
        .samples
        .iter()
        .filter(|shown| shown.what.probe == probe.name && span.holds(shown.at))
        .map(|shown| shown.what.begun.max(span.from));
    for at in begun.chain([span.to]) {
        if at.saturating_sub(last) > allowed {
            found.push(Violation {
                rule: "L1",
                at: last,
                what: format!(
                    "{} of {} runs and is not probed by {} for {} ms",
                    container.replica,
                    service.name,
                    probe.name,
                    at - last
                ),
            });
        }
        last = at;
        allowed = pace;
    }
}
