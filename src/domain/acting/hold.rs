//! Every reason for not restarting what is unhealthy. Doing nothing is a decision and has a reason that people can read.

use crate::domain::moment::Spoken;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// It does not run, and defib did not stop it (S1, S2).
    NotRunning(String),
    /// Somebody froze it (S2).
    Paused,
    /// Docker's own policy is at it (S2, S10).
    DockerRestartsIt,
    /// Things are given time to settle (S12).
    Settling(Settle),
    /// The instance is too young (S6).
    InGrace,
    /// The config, the host or a label says never (S7).
    Never(String),
    /// A cordon, or the `hold` file (S7).
    Cordoned(String),
    /// Maintenance (S7).
    Maintenance,
    /// Swarm, Kubernetes, or defib itself (S10).
    AnotherController(String),
    /// Somebody else acted on it just now (S10).
    Touched(String),
    /// Whether somebody else acts on it can't be seen: there is no event stream, was none until just now, or it tells nothing (S10).
    TouchesUnseen,
    /// A deploy is under way (S10).
    Deploying,
    /// A call to restart it was never answered, and may still be carried out (S3).
    CallOpen,
    /// Something else is being acted on (S3).
    InFlight(Limit),
    /// The last try ended too recently.
    BackingOff {
        /// Milliseconds between its end and the next, for now.
        wait_ms: u64,
    },
    /// Its restarts are spent (S4).
    BudgetSpent {
        /// How many.
        restarts: u32,
        /// For how long it has to be healthy to have them back, in milliseconds.
        #[serde(default)]
        refill_after_ms: u64,
    },
    /// The host's restarts are spent (S4).
    HostBudgetSpent {
        /// How many.
        restarts: u32,
    },
    /// What it needs was not seen healthy since (S9).
    DependencyNotHealthy(String),
    /// Whether what it needs is healthy nothing can say: it has neither healthcheck nor probe (S9).
    DependencyUnjudged(String),
    /// Too few healthy siblings (S3).
    TooFewSiblings,
    /// Much fails at once (S8).
    Brake,
    /// What speaks against it is not fresh.
    EvidenceStale,
    /// It has recovered meanwhile.
    Recovered,
    /// Only our own inability to look speaks against it (S5).
    CouldNotLook,
    /// A restart does not cure this (S11).
    NotCurable,
    /// The probe has never passed since it was defined (S11).
    NeverPassed,
    /// It holds data and had its one restart (S12).
    Stateful,
    /// The engine refuses actions.
    ActionsRefused,
    /// Spending can't be recorded.
    CannotRecord,
    /// All gates are open; `dry` says what would be done (S7).
    Dry,
}

/// What is given time to settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// The verdict itself, so that common causes show first.
    Verdict,
    /// defib has just started.
    OwnStart,
    /// The host has just booted.
    HostBoot,
    /// The engine has just started.
    EngineStart,
}

/// Which limit is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The service's `max_acting`.
    Service,
    /// The host's `max_concurrent`.
    Host,
}

impl Hold {
    /// A short word for history, metrics and tables.
    pub fn word(&self) -> &'static str {
        match self {
            Hold::NotRunning(_) => "not_running",
            Hold::Paused => "paused",
            Hold::DockerRestartsIt => "docker_restarts_it",
            Hold::Settling(Settle::Verdict) => "settling",
            Hold::Settling(Settle::OwnStart) => "settling_own_start",
            Hold::Settling(Settle::HostBoot) => "settling_host_boot",
            Hold::Settling(Settle::EngineStart) => "settling_engine_start",
            Hold::InGrace => "in_grace",
            Hold::Never(_) => "never",
            Hold::Cordoned(_) => "cordoned",
            Hold::Maintenance => "maintenance",
            Hold::AnotherController(_) => "another_controller",
            Hold::Touched(_) => "touched",
            Hold::TouchesUnseen => "touches_unseen",
            Hold::Deploying => "deploying",
            Hold::CallOpen => "call_open",
            Hold::InFlight(Limit::Service) => "in_flight_service",
            Hold::InFlight(Limit::Host) => "in_flight_host",
            Hold::BackingOff { .. } => "backing_off",
            Hold::BudgetSpent { .. } => "budget_spent",
            Hold::HostBudgetSpent { .. } => "host_budget_spent",
            Hold::DependencyNotHealthy(_) => "dependency_not_healthy",
            Hold::DependencyUnjudged(_) => "dependency_unjudged",
            Hold::TooFewSiblings => "too_few_siblings",
            Hold::Brake => "brake",
            Hold::EvidenceStale => "evidence_stale",
            Hold::Recovered => "recovered",
            Hold::CouldNotLook => "could_not_look",
            Hold::NotCurable => "not_curable",
            Hold::NeverPassed => "never_passed",
            Hold::Stateful => "stateful",
            Hold::ActionsRefused => "actions_refused",
            Hold::CannotRecord => "cannot_record",
            Hold::Dry => "dry",
        }
    }

    /// Whether it ends with something that happens elsewhere: another attempt's end, the brake, the store.
    pub(crate) fn waits_for_others(&self) -> bool {
        match self {
            Hold::InFlight(_)
            | Hold::Brake
            | Hold::HostBudgetSpent { .. }
            | Hold::DependencyNotHealthy(_)
            | Hold::DependencyUnjudged(_)
            | Hold::TooFewSiblings
            | Hold::TouchesUnseen
            | Hold::ActionsRefused
            | Hold::CannotRecord => true,
            Hold::NotRunning(_)
            | Hold::Paused
            | Hold::DockerRestartsIt
            | Hold::Settling(_)
            | Hold::InGrace
            | Hold::Never(_)
            | Hold::Cordoned(_)
            | Hold::Maintenance
            | Hold::AnotherController(_)
            | Hold::Touched(_)
            | Hold::Deploying
            | Hold::CallOpen
            | Hold::BackingOff { .. }
            | Hold::BudgetSpent { .. }
            | Hold::EvidenceStale
            | Hold::Recovered
            | Hold::CouldNotLook
            | Hold::NotCurable
            | Hold::NeverPassed
            | Hold::Stateful
            | Hold::Dry => false,
        }
    }

    /// Whether it ends by itself within seconds, so that nobody needs to hear of it yet: what it needs is looked at at once,
    /// and if that is down too, people hear of that.
    pub(crate) fn is_brief(&self) -> bool {
        match self {
            Hold::Settling(Settle::Verdict | Settle::OwnStart)
            | Hold::InFlight(_)
            | Hold::TouchesUnseen
            | Hold::DependencyNotHealthy(_) => true,
            Hold::NotRunning(_)
            | Hold::Paused
            | Hold::DockerRestartsIt
            | Hold::Settling(Settle::HostBoot | Settle::EngineStart)
            | Hold::InGrace
            | Hold::Never(_)
            | Hold::Cordoned(_)
            | Hold::Maintenance
            | Hold::AnotherController(_)
            | Hold::Touched(_)
            | Hold::Deploying
            | Hold::CallOpen
            | Hold::BackingOff { .. }
            | Hold::BudgetSpent { .. }
            | Hold::HostBudgetSpent { .. }
            | Hold::DependencyUnjudged(_)
            | Hold::TooFewSiblings
            | Hold::Brake
            | Hold::EvidenceStale
            | Hold::Recovered
            | Hold::CouldNotLook
            | Hold::NotCurable
            | Hold::NeverPassed
            | Hold::Stateful
            | Hold::ActionsRefused
            | Hold::CannotRecord
            | Hold::Dry => false,
        }
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hold::NotRunning(state) => write!(f, "it is {state}, and defib did not stop it"),
            Hold::Paused => f.write_str("somebody has paused it"),
            Hold::DockerRestartsIt => f.write_str("Docker is restarting it"),
            Hold::Settling(Settle::Verdict) => {
                f.write_str("it has only just been judged unhealthy")
            }
            Hold::Settling(Settle::OwnStart) => f.write_str("defib has only just started"),
            Hold::Settling(Settle::HostBoot) => f.write_str("the host has only just booted"),
            Hold::Settling(Settle::EngineStart) => f.write_str("the engine has only just started"),
            Hold::InGrace => f.write_str("it has only just started"),
            Hold::Never(why) => f.write_str(why),
            Hold::Cordoned(why) => f.write_str(why),
            Hold::Maintenance => f.write_str("it is in maintenance"),
            Hold::AnotherController(who) => write!(f, "{who} looks after it"),
            Hold::Touched(what) => write!(f, "somebody else acted on it just now: {what}"),
            Hold::TouchesUnseen => f.write_str(
                "nobody else who acts on it would be seen: the engine's event stream is away, was until just now, or is silent",
            ),
            Hold::Deploying => f.write_str("a deploy is under way"),
            Hold::CallOpen => f.write_str(
                "a call to restart it was never answered, and the engine may still carry it out",
            ),
            Hold::InFlight(Limit::Service) => {
                f.write_str("another replica of this service is being restarted")
            }
            Hold::InFlight(Limit::Host) => {
                f.write_str("as many as may be are being restarted on this host")
            }
            Hold::BackingOff { wait_ms } => {
                let wait = Spoken(Duration::from_millis(*wait_ms));
                write!(f, "the last try ended less than {wait} ago")
            }
            Hold::BudgetSpent { restarts: 0, .. } => f.write_str("its budget has no restart"),
            Hold::BudgetSpent { restarts, refill_after_ms } => {
                let refill = Spoken(Duration::from_millis(*refill_after_ms));
                let spent = match restarts {
                    1 => "its one restart is spent".to_owned(),
                    _ => format!("all of its {restarts} restarts are spent"),
                };
                write!(f, "{spent}; new ones come when it has been healthy for {refill}")
            }
            Hold::HostBudgetSpent { restarts } => {
                write!(
                    f,
                    "all of the {restarts} restarts that this host may have for now are spent"
                )
            }
            Hold::DependencyNotHealthy(what) => {
                write!(f, "`{what}`, which it needs, was not seen healthy since")
            }
            Hold::DependencyUnjudged(what) => write!(
                f,
                "`{what}`, which it needs, has neither healthcheck nor probe, so nothing says that it is healthy"
            ),
            Hold::TooFewSiblings => f.write_str("too few of its siblings are healthy"),
            Hold::Brake => f.write_str("much fails at once, so the cause is elsewhere"),
            Hold::EvidenceStale => f.write_str("what speaks against it is not fresh"),
            Hold::Recovered => f.write_str("it has recovered meanwhile"),
            Hold::CouldNotLook => {
                f.write_str("it could not be looked at, which is no evidence against it")
            }
            Hold::NotCurable => f.write_str("a restart does not cure this kind of failure"),
            Hold::NeverPassed => f.write_str("the probe has never passed since it was defined"),
            Hold::Stateful => {
                f.write_str("it holds data: it had its one restart, or the config does not list it")
            }
            Hold::ActionsRefused => f.write_str("the engine refuses to act for defib"),
            Hold::CannotRecord => f.write_str("spending can't be recorded"),
            Hold::Dry => f.write_str("would be restarted now (dry run)"),
        }
    }
}
