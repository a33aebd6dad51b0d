//! The sentences. Written for somebody woken by them: what is wrong, what was done and whether it helped, what to do next.
//! Plain text, short, and nothing claimed that was not seen. Text from outside stands in here as it came; renderers clean
//! it.
//!
//! Of services: `unhealthy` (with `restart` for each try, and `steps` and `needed` for what to do), `missing`, `by_hand`, `unclear`
//! and `chronic`. Of the host: `host`. Of what has ended: `over`.

mod by_hand;
mod chronic;
pub(crate) mod host;
mod missing;
pub(crate) mod needed;
pub(crate) mod over;
mod restart;
mod steps;
mod unclear;
mod unhealthy;

pub(crate) use by_hand::by_hand;
pub(crate) use chronic::chronic;
pub(crate) use missing::down;
pub(crate) use restart::ended_line;
pub(crate) use unclear::{ambiguous, cannot_evaluate, never_passed};
pub(crate) use unhealthy::{Outlook, is_well_again, unhealthy};

use crate::domain::watching::replica::Replica;

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

/// The lines of all members; where these are too many, of each the one that says most, before any member is left out.
fn of_all(of_members: Vec<Vec<String>>, one: fn(&[String]) -> Option<&String>) -> Vec<String> {
    if of_members.iter().map(Vec::len).sum::<usize>() <= MOST_LINES_TOLD {
        return of_members.into_iter().flatten().collect();
    }
    bounded(of_members.iter().filter_map(|lines| one(lines)).cloned().collect())
}

/// `1 failure`, `2 failures`.
fn counted(count: impl Into<u64>, one: &str) -> String {
    match count.into() {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    }
}
