//! What a simulated container is made of, and how its process behaves over its lives.

use crate::domain::{
    name::ContainerId,
    observation::{Healthcheck, RestartPolicy},
};
use std::{collections::BTreeMap, time::Duration};

/// How a container is made. Start from [`ContainerScript::named`] and change what matters:
/// `ContainerScript { auto_remove: true, ..ContainerScript::named("web") }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerScript {
    /// Its name, without the leading slash.
    pub name: String,
    /// Its image, as it was asked for.
    pub image: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Docker's own restart policy.
    pub restart_policy: RestartPolicy,
    /// The container's own stop timeout; the engine takes 10 s where there is none.
    pub stop_timeout: Option<Duration>,
    /// What its process does when it is told to end.
    pub stopping: Stopping,
    /// Its exit code when it ends on its stop signal: 143 where it does not handle it.
    pub obeying_exit_code: i64,
    /// `--rm`.
    pub auto_remove: bool,
    /// Whose network namespace it shares.
    pub network_parent: Option<ContainerId>,
    /// Its healthcheck.
    pub healthcheck: Option<Healthcheck>,
    /// How long one healthcheck takes where it passes or fails by itself.
    pub healthcheck_takes: Duration,
    /// How long the engine needs to start it.
    pub starts_in: Duration,
    /// How long the process needs after that until it answers; it refuses connections and fails its healthcheck before.
    pub boots_in: Duration,
    /// What each of its lives does.
    pub behaviour: Behaviour,
    /// The status with which a well process answers an HTTP probe. A mistyped path is a 404 here and leaves the
    /// healthcheck alone.
    pub answers: u16,
}

impl ContainerScript {
    /// A well-behaved container without healthcheck, labels or restart policy.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            image: "simulated:latest".to_owned(),
            labels: BTreeMap::new(),
            restart_policy: RestartPolicy::No,
            stop_timeout: None,
            stopping: Stopping::Obeys(Duration::from_millis(20)),
            obeying_exit_code: 143,
            auto_remove: false,
            network_parent: None,
            healthcheck: None,
            healthcheck_takes: Duration::from_millis(50),
            starts_in: Duration::from_millis(50),
            boots_in: Duration::ZERO,
            behaviour: Behaviour::Fine,
            answers: 200,
        }
    }

    /// The same with a healthcheck.
    #[must_use]
    pub fn with_healthcheck(mut self, healthcheck: Healthcheck) -> Self {
        self.healthcheck = Some(healthcheck);
        self
    }

    /// The same with one more label.
    #[must_use]
    pub fn with_label(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.labels.insert(key.into(), value.into());
        self
    }
}

/// What a process does when it is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// It ends so long after its stop signal, by itself.
    Obeys(Duration),
    /// It ignores the stop signal and ends by SIGKILL, with 137.
    IgnoresSignal,
    /// It ends by nothing (stuck in the kernel): the engine gives up with "did not receive an exit event".
    Unkillable,
}

/// What each life of a container does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Well from every start on, until the script says otherwise.
    Fine,
    /// Every life is well at first and hangs after this long.
    HangsAfter(Duration),
    /// Every life ends by itself after this long.
    ExitsAfter {
        /// How long it runs.
        runs: Duration,
        /// Its exit code.
        exit_code: i64,
    },
    /// Once troubled, every later life has the same trouble from its start on.
    NeverRecovers,
    /// Once troubled, later lives have the same trouble; the one begun by this many starts is well.
    RecoversAfter {
        /// How many starts it takes; 1 is well with the first.
        starts: u32,
    },
}

/// How a process misbehaves while it is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Sockets open, nothing answers; the healthcheck runs into its timeout.
    Hangs,
    /// Answers this status to probes; the healthcheck fails at once.
    Answers(u16),
    /// Nobody listens; the healthcheck fails at once.
    Refuses,
    /// Connections are reset; the healthcheck fails at once.
    Resets,
    /// Only the healthcheck fails; probes pass.
    OnlyHealthcheck,
    /// Only probes time out; the healthcheck passes.
    OnlyProbes,
}
