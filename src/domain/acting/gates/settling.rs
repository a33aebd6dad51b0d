//! Own start, host boot and engine start settle first, and so does each verdict, so that common causes show (S12).

use super::{Scene, Shut};
use crate::domain::{
    acting::hold::{Hold, Settle},
    moment::AwakeMs,
};

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    let settling = scene.policy.settling;
    // The awake clock begins with the host.
    let host_boot = AwakeMs(0);
    let waits = [
        (Some(scene.own_start), settling.own_start, Settle::OwnStart),
        (Some(host_boot), settling.host_boot, Settle::HostBoot),
        (scene.engine_start, settling.engine_start, Settle::EngineStart),
        (Some(scene.replica.verdict_since), scene.replica.policy.settle, Settle::Verdict),
    ];
    waits
        .into_iter()
        .filter_map(|(since, wait, what)| since.map(|since| (since + wait, what)))
        .filter(|(until, _)| *until > scene.now.awake)
        .max_by_key(|(until, _)| *until)
        .and_then(|(until, what)| Shut::until(Hold::Settling(what), until))
}
