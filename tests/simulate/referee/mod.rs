//! The referee: judges a run by the design's rules, knowing the truth. It shares no code with the domain, so that a mistake
//! in the domain can't hide in its judge; the domain's types of messages and observations are read as data only.
//!
//! Two kinds of rules. What must *never* be (S rules, most P rules) is judged from what defib had been shown when it acted,
//! leaning towards defib: evidence counts as soon as it may count. What must *come* (a page, a resolve, a probe) is owed
//! only where nothing stood in the way, and with a slack that is argued beside it. A false alarm would teach us to look
//! away; a toothless rule would teach us nothing, which is what the mutants under `tests/mutants` are for.

mod absence;
mod again;
mod answered;
mod brake;
mod causes;
mod cure;
mod delivery;
mod ending;
mod evidence;
mod giving_up;
mod hearing;
mod pace;
mod permission;
mod proof;
mod sinks;
mod spending;
mod steps;
mod story;
mod told;
mod touching;

use crate::account::{Account, Clockface, Ms};
use std::fmt;
pub use story::Story;

/// A rule that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule's number in the design.
    pub rule: &'static str,
    /// When.
    pub at: Ms,
    /// What happened, in one line.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.rule, Clockface(self.at), self.what)
    }
}

/// Every rule that did not hold in this run, in the order of time.
pub fn judge(account: &Account) -> Vec<Violation> {
    let story = Story::of(account);
    let rules: [fn(&Story<'_>) -> Vec<Violation>; 18] = [
        touching::judge,
        spending::judge,
        proof::judge,
        permission::judge,
        causes::judge,
        brake::judge,
        delivery::judge,
        sinks::judge,
        hearing::judge,
        ending::judge,
        again::judge,
        answered::judge,
        absence::judge,
        pace::judge,
        cure::judge,
        giving_up::judge,
        steps::judge,
        story::judge,
    ];
    let mut found: Vec<Violation> = rules.iter().flat_map(|rule| rule(&story)).collect();
    found.sort_by(|a, b| (a.at, a.rule, &a.what).cmp(&(b.at, b.rule, &b.what)));
    found
}
