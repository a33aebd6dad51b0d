//! S1, S2 and S10: defib starts only what it stopped, touches only what it has just looked at, and begins with nothing while
//! somebody else who acts on it would not be seen.
//!
//! A state can change between a look and the act that follows; no program can close that gap. So S2 is judged by what defib
//! had been told, not by what the engine met.

use super::{
    Violation,
    story::{Act, Story},
};
use crate::account::{Clockface, Who};
use defib::domain::{
    effect::Primitive,
    observation::{ContainerState, EventAction},
};

/// A look is right before the act when nothing but a commit (2 s at most) and a queue stands between them.
const RIGHT_BEFORE_MS: u64 = 5_000;

/// A stop takes its timeout, the kill after it and the start this much more.
const CALL_MS: u64 = 12_000;

/// An event this old had every chance to stop an act.
const EVENT_HEEDED_MS: u64 = 3_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for act in &story.acts {
        match act.primitive {
            Primitive::Start => starts_only_what_it_stopped(story, act, &mut found),
            Primitive::Restart { .. } => {
                touches_only_what_it_looked_at(story, act, &mut found);
                sees_who_else_acts(story, act, &mut found);
            }
            Primitive::Kill => {
                touches_only_what_it_looked_at(story, act, &mut found);
                kills_only_what_was_told_to_stop(story, act, &mut found);
            }
        }
    }
    found
}

fn starts_only_what_it_stopped(story: &Story<'_>, act: &Act<'_>, found: &mut Vec<Violation>) {
    let Some(container) = story.containers.get(act.container) else { return };
    let mut broken = |what: String| {
        found.push(Violation { rule: "S1", at: act.at, what: format!("{}: {what}", act.told()) });
    };
    let Some(last) = container.instances.iter().rev().find(|lived| lived.span.from <= act.at)
    else {
        broken("it had never run".to_owned());
        return;
    };
    match last.ended {
        // Whether somebody else meant to stop it too nobody can say: two stops of one life look like one, and a stop of what
        // stands still leaves no trace.
        Some((Who::Defib, _)) => {}
        // Nor of a stop that came while defib was dead, within the window of the call that it died over.
        Some(_) if may_be_of_an_earlier_call(story, act, last.span.to) => {}
        Some((by, _)) if last.span.to <= act.at => {
            broken(format!("it had been ended by {by:?}, not by defib"));
        }
        Some(_) => {}
        None => {
            // Starting what runs does nothing to it; that the stop had not taken effect is no harm.
        }
    }
}

/// Whether a life before this one had called for a restart of it, of which it never had an answer, so shortly before its end
/// that this may have been what the call came to.
fn may_be_of_an_earlier_call(story: &Story<'_>, act: &Act<'_>, ended: u64) -> bool {
    story.acts.iter().any(|call| {
        let window = call.at..=call.at + call.service.stop_timeout + CALL_MS;
        call.container == act.container
            && call.life < act.life
            && call.answered.is_none()
            && window.contains(&ended)
            && !story.life_at(ended).is_some_and(|life| life.holds(call.at))
    })
}

/// Events alone say that somebody has begun to stop it.
fn sees_who_else_acts(story: &Story<'_>, act: &Act<'_>, found: &mut Vec<Violation>) {
    let unseen = story
        .no_events
        .iter()
        .find(|span| span.holds(act.at) && span.from + EVENT_HEEDED_MS < act.at);
    if let Some(span) = unseen {
        let what = format!("{}: no event stream since {}", act.told(), Clockface(span.from));
        found.push(Violation { rule: "S10", at: act.at, what });
    }
}

/// A kill follows a stop that truly reached the container: what was never told to stop does not hang in its stop.
fn kills_only_what_was_told_to_stop(story: &Story<'_>, act: &Act<'_>, found: &mut Vec<Violation>) {
    let Some(container) = story.containers.get(act.container) else { return };
    let restarted = story
        .acts
        .iter()
        .rfind(|other| other.restarts() && other.container == act.container && other.at < act.at);
    let told = restarted.is_some_and(|restart| {
        container.stops.iter().any(|(at, _)| (restart.at..act.at).contains(at))
    });
    if !told {
        let what = format!("{}: it had not been told to stop", act.told());
        found.push(Violation { rule: "S2", at: act.at, what });
    }
}

fn touches_only_what_it_looked_at(story: &Story<'_>, act: &Act<'_>, found: &mut Vec<Violation>) {
    let Some(container) = story.containers.get(act.container) else { return };
    let mut broken = |what: String| {
        found.push(Violation { rule: "S2", at: act.at, what: format!("{}: {what}", act.told()) });
    };
    let look =
        container.inspected.iter().rev().find(|shown| shown.at <= act.at && shown.life == act.life);
    let Some(look) = look else {
        broken("never inspected in this life of defib".to_owned());
        return;
    };
    if act.at - look.at > RIGHT_BEFORE_MS {
        broken(format!("inspected {} ms before", act.at - look.at));
    }
    if look.what.state != ContainerState::Running {
        broken(format!("the inspect had said {:?}", look.what.state));
    }
    let heeded = container.events.iter().find(|shown| {
        shown.life == act.life
            && shown.at >= look.at
            && shown.at + EVENT_HEEDED_MS < act.at
            && matches!(
                shown.what,
                EventAction::Died { .. }
                    | EventAction::Paused
                    | EventAction::Destroyed
                    | EventAction::Stopped
            )
    });
    if let Some(event) = heeded {
        broken(format!("an event had said {:?}", event.what));
    }
    // What the engine met must be the life that was looked at, or have changed after the look.
    if let Some((at, state, instance)) = act.received {
        let changed = container.instances.iter().any(|lived| {
            (lived.span.from >= look.at.saturating_sub(1_000) && lived.span.from <= at)
                || (lived.span.to >= look.at.saturating_sub(1_000) && lived.span.to <= at)
        });
        if instance != look.what.instance && !changed {
            broken(format!("it met {instance} and had looked at {}", look.what.instance));
        }
        let paused_meanwhile = container.pauses.iter().any(|pause| pause.from >= look.at);
        if *state != ContainerState::Running && !changed && !paused_meanwhile {
            broken(format!("it met {state:?}"));
        }
    }
}
