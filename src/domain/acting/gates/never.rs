//! Somebody said never: the host, the service, a label; or `--dry-run` and `dry`, which say what would be done (S7). Where two
//! services of the config match one container nobody can say which of them speaks for it, and that is a never too.
//!
//! A label can only narrow: `defib.restart=false` holds a listed service back; for unlisted containers the opt-in is a
//! label. A value that nobody expects counts as absent.

use super::{Scene, Shut};
use crate::domain::{acting::hold::Hold, policy::RestartMode};

/// The opt-in and opt-out.
const RESTART: &str = "defib.restart";

/// The opt-in of other tools, where the config takes it.
const AUTOHEAL: &str = "autoheal";

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let never = |why: &str| Shut::because(Hold::Never(why.to_owned()));
    let label = |key: &str| {
        let labels = scene.replica.inspection.as_ref().map(|inspection| &inspection.labels)?;
        match labels.get(key)?.to_ascii_lowercase().as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }
    };
    if scene.policy.never_act {
        return never("the config says that nothing is restarted on this host");
    }
    if !scene.replica.rivals.is_empty() {
        return never("more than one service of the config matches it");
    }
    let opted_in =
        label(RESTART).or_else(|| label(AUTOHEAL).filter(|_| scene.policy.autoheal_labels));
    match (scene.replica.policy.restart, opted_in) {
        (RestartMode::Never, _) => never("the config says never to restart it"),
        (RestartMode::Auto | RestartMode::Dry | RestartMode::IfLabelled, Some(false)) => {
            never("its label says never to restart it")
        }
        (RestartMode::IfLabelled, None) => {
            never("it has no [[service]] in the config and no label `defib.restart=true`")
        }
        (RestartMode::IfLabelled, Some(true))
        | (RestartMode::Auto | RestartMode::Dry, None | Some(true)) => None,
    }
}

pub(super) fn dry_gate(scene: &Scene<'_>) -> Option<Shut> {
    let dry = scene.policy.dry_run || scene.replica.policy.restart == RestartMode::Dry;
    if dry { Shut::because(Hold::Dry) } else { None }
}
