//! Why there was nothing to show.

use super::{stage::StageProblem, watchdog::WatchdogProblem};
use crate::docker::address::AddressError;
use std::{error::Error, fmt, io};

/// Why there was nothing to show.
#[derive(Debug)]
pub enum DemoProblem {
    /// What was said is no engine's address.
    Address(AddressError),
    /// The stage could not be set.
    Stage(StageProblem),
    /// The daemon could not be started.
    Watchdog(WatchdogProblem),
    /// The daemon ended in mid-story.
    WatchdogEnded,
    /// The system refuses what the demo needs.
    System {
        /// As in "failed to …".
        doing: String,
        /// What it said.
        source: io::Error,
    },
}

impl fmt::Display for DemoProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => write!(f, "{error}"),
            Self::Stage(problem) => {
                write!(f, "{problem}; `defib demo --simulated` needs no engine")
            }
            Self::Watchdog(problem) => write!(f, "{problem}"),
            Self::WatchdogEnded => f.write_str(
                "the daemon ended in mid-story, which it must not; DEFIB_LOG=info says more",
            ),
            Self::System { doing, .. } => write!(f, "failed to {doing}"),
        }
    }
}

impl Error for DemoProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Address(error) => error.source(),
            Self::Watchdog(problem) => problem.source(),
            Self::Stage(_) | Self::WatchdogEnded => None,
            Self::System { source, .. } => Some(source),
        }
    }
}

pub(super) fn system(doing: &str) -> impl FnOnce(io::Error) -> DemoProblem {
    let doing = doing.to_owned();
    move |source| DemoProblem::System { doing, source }
}
