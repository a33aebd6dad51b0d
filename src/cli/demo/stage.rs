//! Where the demo plays: four containers on the host's engine, or on a simulated one that is reached in the same way.
//!
//! Whatever is made is noted before it is asked for, and removed by what was noted: by its ID, or, where an answer was lost,
//! by its name, which holds the run's mark, and only if the label says that it is ours.

pub mod real;
pub mod simulated;

use super::{interrupts::Interrupts, role::Role, run_id::RunId};
use crate::{
    docker::{adapter::DockerEngine, port::Engine},
    domain::{effect::Primitive, name::ContainerId, observation::ActOutcome},
    evidence::port::EvidenceReader,
};
use real::Real;
use simulated::Simulated;
use std::{collections::BTreeMap, error::Error, fmt, sync::Arc, time::Duration};

/// A start takes the engine a fraction of a second.
const START_WITHIN: Duration = Duration::from_secs(10);

/// Where the demo plays.
pub enum Stage {
    /// The host's engine.
    Real(Real),
    /// One in this process.
    Simulated(Simulated),
}

/// What could not be done on the stage.
#[derive(Debug)]
pub struct StageProblem {
    /// As in "failed to …".
    pub doing: String,
    /// What the engine said.
    pub cause: String,
}

impl fmt::Display for StageProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to {}: {}", self.doing, self.cause)
    }
}

impl Error for StageProblem {}

/// What clearing up came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Containers that are gone.
    pub containers: usize,
    /// Images that are gone.
    pub images: usize,
    /// What is still there, and how to remove it: a command a line.
    pub left: Vec<String>,
}

impl Stage {
    /// How defib reaches the engine.
    pub fn engine(&self) -> Arc<DockerEngine> {
        match self {
            Self::Real(real) => real.engine(),
            Self::Simulated(simulated) => simulated.engine(),
        }
    }

    /// What reads from outside why something fails. Processes of simulated containers are nowhere to be looked at.
    pub fn evidence(&self) -> Arc<dyn EvidenceReader> {
        match self {
            Self::Real(_) => Arc::new(crate::evidence::proc::ProcReader),
            Self::Simulated(_) => Arc::new(simulated::NoProcesses),
        }
    }

    /// Makes the containers; they do not run yet. Ends early, with fewer, where somebody interrupts.
    ///
    /// # Errors
    /// Where the engine refuses. What was made until then has to be cleared all the same.
    pub async fn make(&mut self, run: &RunId, interrupts: &Interrupts) -> Result<(), StageProblem> {
        match self {
            Self::Real(real) => real.make(run, interrupts).await,
            Self::Simulated(simulated) => {
                simulated.make(run);
                Ok(())
            }
        }
    }

    /// What was made.
    pub fn containers(&self) -> BTreeMap<Role, ContainerId> {
        match self {
            Self::Real(real) => real.containers(),
            Self::Simulated(simulated) => simulated.containers().clone(),
        }
    }

    /// Starts them.
    ///
    /// # Errors
    /// Where one does not start.
    pub async fn start(&self) -> Result<(), StageProblem> {
        let engine = self.engine();
        for (role, id) in self.containers() {
            let started = tokio::time::timeout(START_WITHIN, engine.act(id, Primitive::Start));
            match started.await.unwrap_or(ActOutcome::TimedOut(START_WITHIN)) {
                ActOutcome::Done => {}
                other => {
                    return Err(StageProblem {
                        doing: format!("start the container `{role}`"),
                        cause: in_words(&other),
                    });
                }
            }
        }
        if let Self::Simulated(simulated) = self {
            simulated.begin_troubles();
        }
        Ok(())
    }

    /// Removes what was made.
    pub async fn clear(self) -> Cleared {
        match self {
            Self::Real(real) => real.clear().await,
            Self::Simulated(simulated) => simulated.clear(),
        }
    }
}

/// How a container of a role is called.
pub(super) fn container_name(run: &RunId, role: Role) -> String {
    format!("defib-demo-{run}-{}", role.name())
}

fn in_words(outcome: &ActOutcome) -> String {
    match outcome {
        ActOutcome::Done => "done".to_owned(),
        ActOutcome::Denied(why) | ActOutcome::Unreachable(why) => why.clone(),
        ActOutcome::NoSuchContainer => "somebody removed it".to_owned(),
        ActOutcome::Failed { status, message } => format!("the engine answers {status}: {message}"),
        ActOutcome::TimedOut(within) => format!("no answer within {} s", within.as_secs()),
    }
}
