//! A person holds actions back (S7). For now that is the `hold` file in the runtime directory, which needs neither daemon
//! nor disk; cordons by name come with the operator's commands.

use super::{Scene, Shut};
use crate::domain::acting::hold::Hold;

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    if scene.hold_file {
        Shut::because(Hold::Cordoned("the `hold` file exists, or can't be looked for".to_owned()))
    } else {
        None
    }
}
