//! When defib dies: at any instant, or right at one of the places where much depends on what was safe already. Instants that
//! are drawn blindly nearly always fall into a wait.

use crate::{account::Ms, random::Random};
use std::fmt;

/// Where defib dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashPlan {
    /// At this moment of the run.
    At(Ms),
    /// So long after the so-manyth time, in this life, that this place is reached.
    After {
        /// Which place.
        place: CrashPoint,
        /// Which time, from 1.
        nth: u32,
        /// How long after it.
        delay: Ms,
    },
}

/// A place in a run where much depends on what was safe already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CrashPoint {
    /// Records were handed over.
    Submitted,
    /// Records are safe.
    Committed,
    /// A restart's evidence is being gathered: nothing is paid yet.
    Evidence,
    /// An act was called for.
    ActCalled,
    /// An act was answered.
    ActAnswered,
    /// A message is on its way.
    SendBegun,
    /// A message has arrived, and nobody knows.
    Landed,
    /// A message was confirmed.
    SendAnswered,
}

impl fmt::Display for CrashPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CrashPlan::At(_) => write!(f, "at an instant"),
            CrashPlan::After { place, .. } => write!(f, "after {place:?}"),
        }
    }
}

const PLACES: [CrashPoint; 8] = [
    CrashPoint::Submitted,
    CrashPoint::Committed,
    CrashPoint::Evidence,
    CrashPoint::ActCalled,
    CrashPoint::ActAnswered,
    CrashPoint::SendBegun,
    CrashPoint::Landed,
    CrashPoint::SendAnswered,
];

/// One crash on average.
pub fn draw(random: &mut Random, run_ms: Ms) -> Vec<(CrashPlan, Ms)> {
    let crashes = *random.pick(&[0, 0, 0, 1, 1, 1, 1, 2, 2, 3]);
    let mut instants: Vec<Ms> = (0..crashes).map(|_| random.between(5_000, run_ms)).collect();
    instants.sort_unstable();
    instants
        .into_iter()
        .map(|at| {
            let plan = if random.percent(40) {
                CrashPlan::At(at)
            } else {
                CrashPlan::After {
                    place: *random.pick(&PLACES),
                    nth: u32::try_from(random.between(1, 6)).unwrap_or(1),
                    delay: *random.pick(&[0, 0, 1, 3, 20, 200, 1_500]),
                }
            };
            (plan, random.between(1_000, 20_000))
        })
        .collect()
}
