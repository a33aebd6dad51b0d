//! Why not: one gate a file, asked in this order, the first that is shut gives the reason.
//!
//! The gates are asked when a replica is due for a restart, again after evidence and inspection, and once more when the
//! record of the intent is on disk: whatever changed meanwhile counts. A gate looks at the scene and changes nothing.

pub(crate) mod another_controller;
mod backing_off;
mod brake;
mod budget;
mod cordon;
mod dependency;
mod deploy;
mod docker_restarts;
pub(crate) mod evidence;
mod grace;
mod in_flight;
mod maintenance;
mod never;
mod not_running;
mod paused;
mod record;
mod settling;
mod siblings;
pub(crate) mod stateful;
mod touch;

pub(crate) use self::evidence as evidence_case;
pub(crate) use in_flight::CALL_OPEN_FOR;
pub(crate) use stateful::{is_stateful, restarts_allowed, restarts_made};

use super::{brake::Brake, budget::HostSpending, hold::Hold};
use crate::domain::{
    moment::{AwakeMs, BootId, Moment},
    name::{ReplicaName, ServiceName},
    policy::Policy,
    watching::replica::Replica,
};

/// What a gate sees.
pub(crate) struct Scene<'a> {
    pub(crate) now: Moment,
    pub(crate) boot_id: &'a BootId,
    pub(crate) policy: &'a Policy,
    pub(crate) replica: &'a Replica,
    /// Replicas of the service, this one left out, that are acted on or unverified.
    pub(crate) service_acting: usize,
    /// Replicas on the host, this one left out, that are acted on or unverified.
    pub(crate) host_acting: usize,
    /// Replicas of the service, this one left out, that are healthy.
    pub(crate) healthy_siblings: usize,
    pub(crate) host_spending: &'a HostSpending,
    pub(crate) brake: &'a Brake,
    pub(crate) own_start: AwakeMs,
    pub(crate) engine_start: Option<AwakeMs>,
    /// The `hold` file exists.
    pub(crate) hold_file: bool,
    pub(crate) actions_refused: bool,
    /// There is no event stream.
    pub(crate) no_events: bool,
    /// When it came back, where it had been away for so long that what was done meanwhile may not be told any more.
    pub(crate) events_back_at: Option<AwakeMs>,
    pub(crate) cannot_record: bool,
    /// What it needs and what was not seen healthy since it began to fail, and whether that has anything to be judged by.
    pub(crate) dependency_down: Option<(ServiceName, bool)>,
    /// This replica's own attempt is paid for already (the gates are asked for the last time).
    pub(crate) paid_already: bool,
    /// Only this replica may pass the brake.
    pub(crate) trial: Option<&'a ReplicaName>,
}

/// A shut gate: why, and when to ask again at the latest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shut {
    pub(crate) hold: Hold,
    pub(crate) until: Option<AwakeMs>,
}

impl Shut {
    fn because(hold: Hold) -> Option<Self> {
        Some(Self { hold, until: None })
    }

    fn until(hold: Hold, until: AwakeMs) -> Option<Self> {
        Some(Self { hold, until: Some(until) })
    }
}

/// A gate.
type Gate = fn(&Scene<'_>) -> Option<Shut>;

/// All gates, in order. What does not pass by itself comes before what does (never before the settling, a spent budget
/// before the backoff, evidence that does not count before a busy host), so that the reason told is the one that matters;
/// `dry` is the last: its "would be restarted now" is then true.
const GATES: [Gate; 21] = [
    not_running::gate,
    paused::gate,
    docker_restarts::gate,
    never::gate,
    settling::gate,
    grace::gate,
    cordon::gate,
    maintenance::gate,
    another_controller::gate,
    touch::gate,
    deploy::gate,
    evidence::gate,
    in_flight::gate,
    stateful::gate,
    budget::gate,
    backing_off::gate,
    dependency::gate,
    siblings::gate,
    brake::gate,
    record::gate,
    never::dry_gate,
];

/// What people ordered: these gates are asked where all the others are passed over.
const ORDERS: [Gate; 4] = [never::gate, cordon::gate, maintenance::gate, never::dry_gate];

/// The first order that holds it back (S7).
pub(crate) fn first_order(scene: &Scene<'_>) -> Option<Shut> {
    ORDERS.iter().find_map(|gate| gate(scene))
}

/// The first gate that is shut.
pub(crate) fn first_shut(scene: &Scene<'_>) -> Option<Shut> {
    GATES.iter().find_map(|gate| gate(scene))
}
