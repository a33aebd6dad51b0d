//! On which engine to play: chosen as `run` chooses it, and on the simulated one where none answers. It says why.

use super::{Request, problem::DemoProblem};
use crate::{
    docker::address::{EngineAddress, Speaker},
    domain::observation::LookFailure,
};
use std::path::Path;

/// Where to play.
pub(super) enum Choice {
    Real(EngineAddress),
    /// With the reason.
    Simulated(String),
}

/// The address is chosen as `run` chooses it. One that was given and can't be used is an error; one out of the environment
/// is no reason to show nothing.
pub(super) fn choose(request: &Request) -> Result<Choice, DemoProblem> {
    if request.simulated {
        return Ok(Choice::Simulated("as asked for".to_owned()));
    }
    let chosen = EngineAddress::choose(
        request.engine.as_deref(),
        request.docker_host.as_deref(),
        Path::exists,
    );
    match chosen {
        Ok(address) => Ok(Choice::Real(address)),
        Err(error) if error.said_by == Some(Speaker::DockerHost) => {
            Ok(Choice::Simulated(error.to_string()))
        }
        Err(error) => Err(DemoProblem::Address(error)),
    }
}

/// Why an engine is not played on. Short: nothing has to be done about it.
pub(super) fn unanswered(address: &EngineAddress, failure: &LookFailure) -> String {
    match failure {
        LookFailure::TimedOut(within) => {
            format!("the one at {address} has not answered within {} s", within.as_secs())
        }
        LookFailure::Unreachable(_) => format!("none answers at {address}"),
        LookFailure::Denied(_) => format!("no rights on {address}"),
        LookFailure::Garbled(_)
        | LookFailure::Engine { .. }
        | LookFailure::Local(_)
        | LookFailure::NoSuchContainer => format!("{address} can't be used as one"),
    }
}
