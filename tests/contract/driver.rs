//! The person at the engine: what the suite needs done that defib itself never does.

use defib::{docker::port::Engine, domain::name::ContainerId, tasks::Pending};
use std::{sync::Arc, time::Duration};

/// Makes containers behave. Everything it makes is gone when it is dropped.
pub(crate) trait Driver: Send + Sync {
    /// The engine under test.
    fn engine(&self) -> Arc<dyn Engine>;

    /// Makes a container and does not start it. Its name is the driver's to choose.
    fn make<'a>(&'a self, wanted: &'a Wanted) -> Pending<'a, Made>;

    /// Does one thing to a container, as somebody other than defib, and waits until the engine says that it is done.
    fn order<'a>(&'a self, container: &'a ContainerId, order: Order) -> Pending<'a, ()>;
}

/// A container that was made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// Its ID.
    pub(crate) id: ContainerId,
    /// Its name, without a slash.
    pub(crate) name: String,
    /// Its image, as it was asked for.
    pub(crate) image: String,
}

/// How a container is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// Has a healthcheck: each second, within a second, two retries; passing at first.
    pub(crate) healthcheck: bool,
    /// Lets SIGTERM pass. Otherwise it ends on it at once, with code 0.
    pub(crate) ignores_sigterm: bool,
    /// Its own stop timeout.
    pub(crate) stop_timeout: Option<Duration>,
    /// The engine restarts it whenever it exits.
    pub(crate) always_restarted: bool,
    /// Lives in the network namespace of this container.
    pub(crate) network_of: Option<ContainerId>,
    /// One label.
    pub(crate) label: Option<(&'static str, &'static str)>,
}

/// What somebody does to a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Starts it.
    Start,
    /// Stops it.
    Stop,
    /// Restarts it.
    Restart,
    /// Freezes it.
    Pause,
    /// Thaws it.
    Unpause,
    /// Sends a signal.
    Signal(u32),
    /// Changes its restart policy to `no`.
    Update,
    /// Gives it another name, which the driver chooses.
    Rename,
    /// Removes it, running or not.
    Remove,
    /// Lets its process end by itself with this code.
    Exit(i64),
    /// Makes its healthcheck behave like this from now on, over restarts.
    Check(Check),
}

/// How a healthcheck behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// Exits with 0.
    Passes,
    /// Prints `no answer` and exits with 1.
    Fails,
    /// Does not end.
    Hangs,
    /// Cannot be executed: the runtime finds no such command.
    CannotRun,
}
