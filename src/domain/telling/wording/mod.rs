//! The sentences. Written for somebody woken by them: what is wrong, what was done and whether it helped, what to do next.
//! Plain text, short, and nothing claimed that was not seen. Text from outside stands in here as it came; renderers clean
//! it. Here is what is said of services; `host` has what is said of the host, `over` of what has ended.

use crate::domain::watching::replica::Replica;

pub(crate) mod host;

pub(crate) mod needed;

mod missing;
pub(crate) mod over;
mod restart;
mod steps;
mod unclear;
mod unhealthy;

pub(crate) use missing::{by_hand, down};
pub(crate) use unclear::{ambiguous, cannot_evaluate, chronic, never_passed};
pub(crate) use unhealthy::unhealthy;

/// A message names at most so many members; the rest is counted.
const MOST_MEMBERS: usize = 12;

/// What was done and what was found is said in full up to so many lines: three replicas, with all that is kept of each.
const MOST_LINES_TOLD: usize = 24;

fn lines(members: &[&Replica], line: impl Fn(&Replica) -> String) -> Vec<String> {
    bounded(members.iter().map(|replica| line(replica)).collect())
}

fn bounded(mut lines: Vec<String>) -> Vec<String> {
    let more = lines.len().saturating_sub(MOST_MEMBERS);
    if more > 0 {
        lines.truncate(MOST_MEMBERS);
        lines.push(format!("… and {more} more"));
    }
    lines
}
