//! The mark of one run of the demo. It stands in the label, the names and the image's tag, so that two runs on one host
//! do not meet, and what a killed run left can be found.

use crate::{clock::Clock, domain::hash::fnv1a};
use std::fmt;

/// The label of everything that a demo makes; its value is the run's mark.
pub const LABEL: &str = "defib.demo";

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId(String);

impl RunId {
    /// A new one: no two processes of a host have the same ID within the same millisecond.
    pub fn new(clock: &dyn Clock) -> Self {
        let (pid, wall) = (std::process::id(), clock.now().wall.0);
        let hash = fnv1a(&[&pid.to_le_bytes(), &wall.to_le_bytes(), clock.boot_id().0.as_bytes()]);
        // 32 bits of it: short enough to be typed.
        Self(format!("{:08x}", hash & 0xffff_ffff))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
