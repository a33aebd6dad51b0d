//! What to do next, each a line to paste or to follow; never against the reason for which defib does nothing itself, and never
//! with a container that is not there.

use super::{needed::Needed, unhealthy::Outlook};
use crate::domain::{
    acting::{gates::another_controller::controller_of, hold::Hold},
    judging::{absence, verdict::Verdict},
    watching::{lifecycle::Lifecycle, replica::Replica},
};

/// What to do about one replica that is not well.
pub(super) fn next_steps(replica: &Replica, outlook: &Outlook<'_>) -> Vec<String> {
    let Some(container) = container_of(replica) else {
        return Vec::new();
    };
    let ByHand { mut steps, restart } = by_hand(replica, &container, outlook);
    steps.push(logs_of(&container));
    let inspection = replica.inspection.as_ref();
    if inspection.is_some_and(|inspection| inspection.healthcheck.is_some()) {
        steps.push(format!("$ docker inspect --format '{{{{json .State.Health}}}}' {container}"));
    }
    if restart {
        steps.push(format!("$ docker restart {container}"));
    }
    steps
}

/// What somebody may do about it by hand.
struct ByHand {
    /// What comes before anything else.
    steps: Vec<String>,
    /// Whether a restart by hand is offered after that.
    restart: bool,
}

impl ByHand {
    const RESTART: Self = Self { steps: Vec::new(), restart: true };
    const NOTHING: Self = Self { steps: Vec::new(), restart: false };

    fn only(steps: impl IntoIterator<Item = String>) -> Self {
        Self { steps: steps.into_iter().collect(), restart: false }
    }

    fn restart_after(steps: impl IntoIterator<Item = String>) -> Self {
        Self { steps: steps.into_iter().collect(), restart: true }
    }
}

fn by_hand(replica: &Replica, container: &str, outlook: &Outlook<'_>) -> ByHand {
    if replica.kept.attempt.is_some() {
        return ByHand::NOTHING;
    }
    match &replica.lifecycle {
        Lifecycle::Running { .. } => match (replica.verdict, &replica.hold) {
            (Verdict::Unhealthy, hold) => match controller_of(replica).as_ref().or(hold.as_ref()) {
                Some(hold) => beside(hold, replica, outlook),
                None => ByHand::RESTART,
            },
            // It has just begun anew, or nobody knows how it is.
            (
                Verdict::Unknown
                | Verdict::Starting
                | Verdict::Healthy
                | Verdict::Degraded
                | Verdict::Stopped
                | Verdict::Paused
                | Verdict::Restarting
                | Verdict::Gone,
                _,
            ) => ByHand::NOTHING,
        },
        Lifecycle::Created | Lifecycle::Stopped(_) => ByHand::only(start_of(replica, container)),
        // A restart would thaw it: perhaps in the middle of somebody's backup.
        Lifecycle::Paused { .. } => {
            ByHand::only(["see who has paused it and why, before you unpause it".to_owned()])
        }
        Lifecycle::Unseen
        | Lifecycle::Restarting
        | Lifecycle::Gone
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => ByHand::NOTHING,
    }
}

/// Every reason for which defib makes no restart says here whether it is one for people too, and what is to be done instead.
fn beside(hold: &Hold, replica: &Replica, outlook: &Outlook<'_>) -> ByHand {
    let is_ordered_otherwise = || (outlook.order)(replica).is_some();
    match hold {
        // It is an order to defib, a limit of its own, or something that keeps only defib from it.
        Hold::Never(_) if !replica.rivals.is_empty() => ByHand::only([
            "narrow the `containers` of one of the services that match it, so that one speaks for it"
                .to_owned(),
        ]),
        Hold::Never(_)
        | Hold::Dry
        | Hold::BudgetSpent { .. }
        | Hold::HostBudgetSpent { .. }
        | Hold::ActionsRefused
        | Hold::CannotRecord
        // Not for long enough yet.
        | Hold::Recovered => ByHand::RESTART,
        // It is over soon, and defib goes on by itself; or Docker does.
        Hold::Settling(_)
        | Hold::InGrace
        | Hold::InFlight(_)
        | Hold::BackingOff { .. }
        | Hold::DockerRestartsIt
        // A restart cures nothing, or there is nothing that could be restarted.
        | Hold::NotCurable
        | Hold::NotRunning(_)
        | Hold::Paused => ByHand::NOTHING,
        Hold::DependencyNotHealthy(name) => match (outlook.needed)(name) {
            // Its next check is awaited: there is nothing to see to.
            Some(Needed { is_healthy: true, .. }) if is_ordered_otherwise() => {
                ByHand::restart_after([format!("wait for the next check of `{name}`")])
            }
            Some(Needed { is_healthy: true, .. }) => ByHand::NOTHING,
            needed => {
                let then = if is_ordered_otherwise() {
                    "a restart of this can help only after that"
                } else {
                    "this is restarted when that is seen healthy"
                };
                let step = needed.and_then(|needed| needed.step);
                ByHand::only([format!("see to `{name}` first; {then}")].into_iter().chain(step))
            }
        },
        Hold::DependencyUnjudged(name) => {
            let step = (outlook.needed)(name).and_then(|needed| needed.step);
            let first = format!("see whether `{name}` works first: only people can tell");
            ByHand::restart_after([first].into_iter().chain(step))
        }
        Hold::Cordoned(_) => ByHand::only([
            "to let defib act again, remove the `hold` file in its runtime directory (`defib status` names it)"
                .to_owned(),
        ]),
        Hold::Maintenance => ByHand::only(["ask whoever is at its maintenance".to_owned()]),
        Hold::AnotherController(_) => ByHand::only([
            "leave its restart to what looks after it, and see there why it is left as it is".to_owned(),
        ]),
        Hold::Touched(_) => {
            ByHand::only(["ask whoever is at it, before you do anything to it".to_owned()])
        }
        Hold::TouchesUnseen => {
            ByHand::restart_after(["make sure that nobody else is at it".to_owned()])
        }
        Hold::Deploying => ByHand::only(["let the deploy end first".to_owned()]),
        Hold::CallOpen => ByHand::only([
            "wait before you restart it: the restart that was asked for may still come".to_owned(),
        ]),
        Hold::TooFewSiblings => ByHand::only([
            "see to the other replicas first: this one still answers something".to_owned(),
        ]),
        Hold::Brake => ByHand::only([
            "look for what it has in common with what fails beside it (`defib status`)".to_owned(),
        ]),
        Hold::EvidenceStale | Hold::CouldNotLook => {
            ByHand::restart_after(["see for yourself whether it still fails".to_owned()])
        }
        Hold::NeverPassed => ByHand::only([
            "check the probe's port, path and expected status in the config".to_owned(),
        ]),
        Hold::Stateful => ByHand::only([
            "it holds data: find out what ails it before you restart it".to_owned(),
        ]),
    }
}

/// What starts it, where that is for whoever reads this: what somebody stopped is theirs to start, what another controller made
/// that one's, and what has finished is done.
pub(super) fn start_of(replica: &Replica, container: &str) -> Option<String> {
    let is_left = absence::is_by_hand(replica)
        || absence::is_finished(replica)
        || controller_of(replica).is_some();
    (replica.lifecycle.stands_still() && !is_left).then(|| format!("$ docker start {container}"))
}

pub(super) fn logs_of(container: &str) -> String {
    format!("$ docker logs --tail 50 {container}")
}

/// The container that a command can name. A URL is none, of one that was never looked at the name is not known, and what is
/// removed has neither log nor start.
pub(super) fn container_of(replica: &Replica) -> Option<String> {
    let inspection = replica.inspection.as_ref()?;
    (replica.lifecycle != Lifecycle::Gone).then(|| pasteable(&inspection.name))
}

/// A name that is safe to paste into a shell; what is not safe is left out.
fn pasteable(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')).collect()
}
