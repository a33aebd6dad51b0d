//! Somebody said never: the host, the service, a label; or `--dry-run` and `dry`, which say what would be done (S7). Where two
//! services of the config match one container nobody can say which of them speaks for it, and that is a never too.
//!
//! A label can only narrow: `defib.restart=false` holds a listed service back; for unlisted containers the opt-in is a
//! label. Whoever set a label wanted something: a value that nobody understands holds back, and is quoted.

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
        Some(Said::of(key, labels.get(key)?))
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
        (RestartMode::Auto | RestartMode::Dry | RestartMode::IfLabelled, Some(Said::No)) => {
            never("its label says never to restart it")
        }
        (RestartMode::Auto | RestartMode::Dry | RestartMode::IfLabelled, Some(Said::Odd(why))) => {
            never(&why)
        }
        (RestartMode::IfLabelled, None) => {
            never("it has no [[service]] in the config and no label `defib.restart=true`")
        }
        (RestartMode::IfLabelled, Some(Said::Yes))
        | (RestartMode::Auto | RestartMode::Dry, None | Some(Said::Yes)) => None,
    }
}

/// What a label says of restarts.
enum Said {
    Yes,
    No,
    /// Nobody can say what, and why not.
    Odd(String),
}

impl Said {
    fn of(key: &str, value: &str) -> Self {
        match value.trim().to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Self::Yes,
            "false" | "no" | "off" | "0" | "never" => Self::No,
            // What it says instead may be a secret that was pasted there.
            _ => Self::Odd(format!("its label `{key}` says neither `true` nor `false`")),
        }
    }
}

pub(super) fn dry_gate(scene: &Scene<'_>) -> Option<Shut> {
    let dry = scene.policy.dry_run || scene.replica.policy.restart == RestartMode::Dry;
    if dry { Shut::because(Hold::Dry) } else { None }
}
