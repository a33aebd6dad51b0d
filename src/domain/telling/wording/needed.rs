//! How a service stands that another one needs: whoever is woken by the other is to look here first (S9).

use super::steps::pasteable;
use crate::domain::{
    judging::verdict::Verdict,
    watching::{lifecycle::Lifecycle, replica::Replica},
};

/// In words, and what to paste for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) stands: String,
    pub(crate) step: Option<String>,
}

impl Needed {
    /// By the first of its replicas that is not healthy; `None`: there is none here.
    pub(crate) fn of<'a>(members: impl Iterator<Item = &'a Replica> + Clone) -> Option<Self> {
        let ill = |replica: &&Replica| !replica.is_surely_healthy();
        let replica = members.clone().find(ill).or_else(|| members.clone().next())?;
        let (stands, act) = match &replica.lifecycle {
            state @ (Lifecycle::Stopped(_) | Lifecycle::Created) => (state.to_string(), "start"),
            state @ Lifecycle::Paused { .. } => (state.to_string(), "unpause"),
            state @ (Lifecycle::Restarting | Lifecycle::Gone | Lifecycle::Odd(_)) => {
                (state.to_string(), "logs --tail 50")
            }
            Lifecycle::Unseen | Lifecycle::Running { .. } | Lifecycle::Remote => {
                let begins = replica.verdict == Verdict::Healthy && ill(&replica);
                let stands = if begins {
                    "beginning to fail".to_owned()
                } else {
                    replica.verdict.to_string()
                };
                (stands, "logs --tail 50")
            }
        };
        let container = replica.inspection.as_ref().map(|known| pasteable(&known.name));
        Some(Self { stands, step: container.map(|name| format!("$ docker {act} {name}")) })
    }
}
