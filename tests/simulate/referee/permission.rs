//! S7 and S12: what must not be touched is not touched; what holds data is touched once; nothing is touched while things
//! settle.

use super::{
    Violation,
    story::{Act, Span, Story},
};
use crate::account::Ms;
use defib::domain::effect::Primitive;

/// Clocks that are read a turn apart.
const SLACK_MS: Ms = 500;

/// See `spending`: shorter spells may have gone unseen.
const FORGIVEN_MS: Ms = 60_000;

/// On the way from being well to its being seen.
const SEEN_MS: Ms = 5_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for act in &story.acts {
        let mut broken = |rule, what: String| {
            found.push(Violation { rule, at: act.at, what: format!("{}: {what}", act.told()) });
        };
        if story.rules.hands_off {
            broken("S7", "nothing on this host may be acted on".to_owned());
        } else if !act.service.may_act {
            broken("S7", act.service.hands_off_because.to_owned());
        }
        if let Some(what) = forbidden(story, act) {
            broken("S7", what);
        }
        if act.primitive == Primitive::Kill && act.service.stateful {
            broken("S12", "it holds data and is never killed".to_owned());
        }
        if act.primitive == Primitive::Kill && act.service.auto_remove {
            broken("S12", "the engine would remove it".to_owned());
        }
        if act.restarts() {
            if let Some(what) = unsettled(story, act) {
                broken("S12", what);
            }
            if let Some(what) = restarted_before(story, act) {
                broken("S12", what);
            }
        }
    }
    found
}

/// What a person said while the run went on: it counts from the next moment on, whatever is under way. Only the start that
/// pairs with a stop of before is finished.
fn forbidden(story: &Story<'_>, act: &Act<'_>) -> Option<String> {
    let end = story.end + 1;
    let held = story.holds.iter().map(|hold| (*hold, "the hold file exists"));
    let said = story.hands_off_from.map(|from| (Span { from, to: end }, "the config says never"));
    // An attempt in flight keeps the policy that it began with.
    let removed = story.removed.get(act.service.name.as_str());
    let removed = removed.map(|from| {
        let from = from + act.service.longest_attempt();
        (Span { from, to: end }, "the config does not name it any more")
    });
    held.chain(said)
        .chain(removed)
        .find(|(span, _)| {
            span.from < act.at && act.at < span.to && !pairs_with_a_stop(story, act, span.from)
        })
        .map(|(span, why)| format!("{why} since {}", crate::account::Clockface(span.from)))
}

/// Whether this starts what an act of before that moment stopped, and no start of that life of defib has answered since.
fn pairs_with_a_stop(story: &Story<'_>, act: &Act<'_>, before: Ms) -> bool {
    let earlier =
        story.acts.iter().filter(|other| other.container == act.container && other.at < act.at);
    let (stops, starts): (Vec<&Act<'_>>, Vec<&Act<'_>>) =
        earlier.partition(|other| other.primitive != Primitive::Start);
    let Some(stopped) = stops.last().filter(|stop| stop.at <= before) else { return false };
    // A crash may come before the answer; then it is called for once more.
    let done = starts.iter().any(|start| start.at > stopped.at && start.answered.is_some());
    act.primitive == Primitive::Start && !done
}

fn unsettled(story: &Story<'_>, act: &Act<'_>) -> Option<String> {
    let since_start = act.at - story.life_at(act.at)?.from;
    if since_start + SLACK_MS < story.rules.own_start {
        return Some(format!("{since_start} ms after defib's own start"));
    }
    let boot = story.boots.iter().rev().find(|boot| **boot <= act.at)?;
    // The host's boot is counted on a clock that runs while it sleeps.
    let since_boot = story.elapsed(Span { from: *boot, to: act.at });
    (since_boot + SLACK_MS < story.rules.host_boot)
        .then(|| format!("{since_boot} ms after the host's boot"))
}

fn restarted_before(story: &Story<'_>, act: &Act<'_>) -> Option<String> {
    if !act.service.stateful {
        return None;
    }
    let last = story
        .acts
        .iter()
        .filter(|other| other.spends() && other.replica == act.replica && other.at < act.at)
        .map(|other| other.at)
        .max()?;
    let well = story.longest_well(act.replica, Span { from: last, to: act.at }, FORGIVEN_MS);
    (well + act.service.slowest_verdict() + SEEN_MS < act.service.stable_for)
        .then(|| "it holds data and was restarted in this trouble already".to_owned())
}
