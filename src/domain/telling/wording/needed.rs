//! How a service stands that another one needs: whoever is woken by the other is to look here first (S9).

use super::steps::{container_of, logs_of};
use crate::domain::{
    judging::verdict::Verdict,
    watching::{lifecycle::Lifecycle, replica::Replica},
};

/// In words, and what to paste for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Needed {
    pub(crate) stands: String,
    /// It is well, and only has to be seen so once more.
    pub(crate) is_healthy: bool,
    pub(crate) step: Option<String>,
}

impl Needed {
    /// By one that is well, if any is: its next check lets the other one go. Else by the first; `None`: there is none here.
    pub(crate) fn of(members: &[&Replica]) -> Option<Self> {
        if members.iter().any(|replica| replica.is_surely_healthy()) {
            let stands = "it was healthy before that, and its next check is awaited".to_owned();
            return Some(Self { stands, is_healthy: true, step: None });
        }
        let replica = members.first()?;
        let container = container_of(replica);
        let logs = container.as_deref().map(logs_of);
        let act = |act: &str| container.as_deref().map(|name| format!("$ docker {act} {name}"));
        let (stands, step) = match &replica.lifecycle {
            state @ (Lifecycle::Stopped(_) | Lifecycle::Created) => {
                (state.to_string(), act("start"))
            }
            state @ Lifecycle::Paused { .. } => (state.to_string(), act("unpause")),
            state @ (Lifecycle::Restarting | Lifecycle::Gone | Lifecycle::Odd(_)) => {
                (state.to_string(), logs)
            }
            Lifecycle::Unseen | Lifecycle::Running { .. } | Lifecycle::Remote => {
                let stands = match replica.verdict {
                    Verdict::Healthy => "beginning to fail".to_owned(),
                    verdict => verdict.to_string(),
                };
                (stands, logs)
            }
        };
        Some(Self { stands: format!("it is {stands}"), is_healthy: false, step })
    }
}
