//! What is said of the host as a whole: of the brake, the engine, the store, and the sinks.

use super::{bounded, over::BRAKE_RELEASED};
use crate::domain::{
    acting::brake::Engaged,
    telling::{
        incident::Content,
        sink::{Cause, Matter},
    },
};

/// `fail`: how many of what made it on, or joined, fail still. `of`: how many services are watched, or fail.
pub(crate) fn brake(
    engaged: &Engaged,
    members: Vec<String>,
    fail: usize,
    of: usize,
    may_be_tried: bool,
) -> Content {
    let trial = match (&engaged.trial, engaged.trials) {
        (Some(name), _) => format!("one trial is under way: `{name}`"),
        (None, _) if !may_be_tried => {
            "no trial is made: the config lets none of them be restarted".to_owned()
        }
        (None, 0) => "one of them is restarted soon, to see whether that helps".to_owned(),
        (None, 1) => "1 trial so far; one more follows, to see whether that helps".to_owned(),
        (None, trials) => {
            format!("{trials} trials so far; one more follows, to see whether that helps")
        }
    };
    let most = usize::try_from(engaged.most).unwrap_or(usize::MAX);
    let headline = match fail {
        _ if fail >= most => {
            format!("{fail} of {of} services fail at once: the cause is elsewhere")
        }
        1 => format!("{most} of {of} services failed at once, 1 still fails"),
        _ => format!("{most} of {of} services failed at once, {fail} still fail"),
    };
    Content {
        headline,
        members: bounded(members),
        done: vec!["restarts are held back on this host".to_owned(), trial],
        next_steps: vec!["look at what they have in common first: network, DNS, disk, a database, the host's load".to_owned()],
        ..Content::default()
    }
}

/// What one of many shows: enough to see whether it is the same everywhere.
pub(crate) fn in_short(shows: &str) -> String {
    const MOST_CHARS: usize = 100;
    match shows.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!("{}…", shows.get(..at).unwrap_or_default()),
        None => shows.to_owned(),
    }
}

/// `still`: what fails all the same.
pub(crate) fn brake_released(why: &str, still: Vec<String>) -> Content {
    Content {
        headline: format!("{BRAKE_RELEASED}: {why}"),
        members: bounded(still),
        ..Content::default()
    }
}

pub(crate) fn engine_unreachable(why: &str) -> Content {
    Content {
        headline: "the container engine does not answer".to_owned(),
        findings: vec![why.to_owned()],
        done: vec![
            "probing goes on; what can't be looked at is neither restarted nor called dead"
                .to_owned(),
        ],
        next_steps: vec!["$ systemctl status docker".to_owned()],
        ..Content::default()
    }
}

pub(crate) fn actions_refused(why: &str) -> Content {
    Content {
        headline: "the container engine refuses to restart for defib".to_owned(),
        findings: vec![why.to_owned()],
        done: vec![
            "watching goes on; a restart is tried again every 10 minutes at most".to_owned(),
        ],
        next_steps: vec![
            "allow POST to containers in the socket proxy, or give defib the engine's own socket"
                .to_owned(),
        ],
        ..Content::default()
    }
}

pub(crate) fn store_failing(why: &str) -> Content {
    Content {
        headline: "defib can't record what it does".to_owned(),
        findings: vec![why.to_owned()],
        done: vec![
            "nothing is restarted; messages are sent all the same and may come twice".to_owned(),
        ],
        next_steps: vec!["make room on, or mend, the disk of defib's state directory".to_owned()],
        ..Content::default()
    }
}

pub(crate) fn memory_lost(why: &str) -> Content {
    Content {
        headline: "defib's memory was damaged, and it began without it".to_owned(),
        findings: vec![why.to_owned()],
        done: vec![
            "what was damaged is kept; restarts of before are not counted, and what was open before is told anew"
                .to_owned(),
        ],
        next_steps: vec!["look at the disk of defib's state directory".to_owned()],
        ..Content::default()
    }
}

/// `matters`: how each failing sink is.
pub(crate) fn sink_failing(matters: &[&Matter], pages_arrive: bool) -> Content {
    let headline =
        if pages_arrive { "messages do not arrive at a sink" } else { "pages reach nobody" };
    let line = |of: &dyn Fn(&Matter) -> String| {
        matters.iter().map(|matter| format!("{}: {}", matter.sink, of(matter))).collect()
    };
    let is_unanswered = |matter: &&Matter| match matter.cause {
        Some(Cause::Silent | Cause::Pauses) => true,
        Some(Cause::Refuses | Cause::Unready) | None => false,
    };
    let unanswered = matters.iter().copied().filter(is_unanswered).count();
    let mut next_steps = Vec::new();
    if unanswered < matters.len() {
        next_steps.push("mend what is named above: address, secret, or the far end".to_owned());
    }
    if unanswered > 0 {
        next_steps.push("see whether the far end works, and this host reaches it".to_owned());
    }
    if matters.iter().any(|matter| matter.cause.is_some()) {
        next_steps.push("to try at once, have the config read again:".to_owned());
        // By its first words: with its name alone, a `defib status` would be ended, or this line itself.
        next_steps.push("$ sudo pkill -HUP -f '^[^ ]*defib run'".to_owned());
    }
    next_steps.push("$ sudo defib status".to_owned());
    Content {
        headline: headline.to_owned(),
        members: bounded(line(&|matter| matter.why.clone())),
        done: bounded(line(&|matter| tried_again(matter.cause).to_owned())),
        next_steps,
        ..Content::default()
    }
}

fn tried_again(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::Refuses) => {
            "what it is owed is kept, and tried again after 1, 5 and 15 minutes, then hourly"
        }
        Some(Cause::Unready) => "what it is owed is kept, and tried again each minute",
        Some(Cause::Silent) => {
            "what it is owed is kept, and tried again with waits that grow to 5 minutes"
        }
        Some(Cause::Pauses) => {
            "what it is owed is kept, and tried again when the time is over for which it asks to be left alone"
        }
        None => "a message that it has refused for a day is given up; what comes next is sent",
    }
}
