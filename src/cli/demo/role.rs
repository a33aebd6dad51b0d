//! The four containers of the demo: what each does, and when.

use crate::domain::name::ServiceName;
use std::{fmt, time::Duration};

/// Restarts that the demo's config allows for one trouble.
pub const BUDGET: u32 = 2;

/// The container's own stop timeout: short, so that a stop which is ignored is seen to its end.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// What a container of the demo does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Well throughout.
    Fine,
    /// Hangs once; a restart cures it.
    Hangs,
    /// The same, and ignores SIGTERM.
    Stubborn,
    /// Hangs in every life.
    Hopeless,
}

impl Role {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Fine, Self::Hangs, Self::Stubborn, Self::Hopeless];

    /// Its service's name, and the end of its container's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::Hangs => "hangs",
            Self::Stubborn => "stubborn",
            Self::Hopeless => "hopeless",
        }
    }

    /// Which of them a service is.
    pub fn of(service: &ServiceName) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == service.as_str())
    }

    /// What is going to happen, for who watches.
    pub fn about(self) -> &'static str {
        match self {
            Self::Fine => "stays well; nothing may happen to it",
            Self::Hangs => "will stop answering; a restart cures it",
            Self::Stubborn => {
                "will stop answering, and ignores SIGTERM: to be restarted it has to be killed"
            }
            Self::Hopeless => "will stop answering, and no restart helps",
        }
    }

    /// When it stops answering, counted from the start of its `life`th life; `None`: it goes on answering. Not all at once,
    /// so that each can be followed; the one whose story is the longest begins.
    pub fn hangs_after(self, life: u64) -> Option<Duration> {
        match (self, life) {
            (Self::Fine, _) => None,
            (Self::Hopeless, 1) => Some(Duration::from_secs(3)),
            (Self::Hangs, 1) => Some(Duration::from_secs(5)),
            (Self::Stubborn, 1) => Some(Duration::from_secs(7)),
            (Self::Hopeless, _) => Some(Duration::ZERO),
            (Self::Hangs | Self::Stubborn, _) => None,
        }
    }

    /// Whether it ends when it is told to.
    pub fn obeys(self) -> bool {
        match self {
            Self::Fine | Self::Hangs | Self::Hopeless => true,
            Self::Stubborn => false,
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_cures_what_it_shall_cure_and_nothing_else() {
        let hangs = |role: Role, life| role.hangs_after(life).is_some();
        assert!(!hangs(Role::Fine, 1));
        for cured in [Role::Hangs, Role::Stubborn] {
            assert!(hangs(cured, 1) && !hangs(cured, 2));
        }
        assert!((1..5).all(|life| hangs(Role::Hopeless, life)));
    }
}
