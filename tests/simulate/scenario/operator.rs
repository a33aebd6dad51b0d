//! What the operator does meanwhile: holds everything back with the `hold` file, and lets the config be read again, as it is
//! or changed.

use super::{Deed, Reload, services::House};
use crate::{account::Ms, random::Random};
use defib::docker::simulated::script::Trouble;
use std::sync::Arc;

/// Draws it.
pub fn draw(random: &mut Random, house: &House, run_ms: Ms) -> Vec<(Ms, Deed)> {
    let mut script = Vec::new();
    if random.percent(12) {
        hold(random, house, run_ms, &mut script);
    }
    if random.percent(15) {
        reload(random, house, run_ms, &mut script);
    }
    script.retain(|deed| deed.0 < run_ms);
    script
}

fn trouble(random: &mut Random, house: &House, at: Ms, script: &mut Vec<(Ms, Deed)>) {
    let replica = random.pick(&house.containers).0.clone();
    let at = (at + random.between(0, 60_000)).saturating_sub(50_000);
    script.push((at, Deed::Trouble(replica, Trouble::Hangs)));
}

/// It is felt only where something would be done meanwhile, or is being done.
fn hold(random: &mut Random, house: &House, run_ms: Ms, script: &mut Vec<(Ms, Deed)>) {
    let at = random.between(60_000, run_ms - 240_000);
    let lasts = random.between(1_000, 400_000);
    script.push((at, Deed::Hold(true)));
    script.push((at + lasts, Deed::Hold(false)));
    trouble(random, house, at, script);
}

fn reload(random: &mut Random, house: &House, run_ms: Ms, script: &mut Vec<(Ms, Deed)>) {
    let at = random.between(60_000, run_ms - 240_000);
    let mut policy = house.policy.clone();
    let mut removed = None;
    let mut hands_off = false;
    match random.between(0, 9) {
        0..5 => {}
        5..8 => {
            // What has a healthcheck would be watched on, as one that is not listed.
            let probed = house.rules.services.iter();
            let probed: Vec<&str> = probed
                .filter(|rule| rule.listed && rule.healthcheck.is_none())
                .map(|rule| rule.name.as_str())
                .collect();
            if !probed.is_empty() {
                let name = (*random.pick(&probed)).to_owned();
                policy.services.retain(|service| service.name.as_str() != name);
                // Whoever takes it out does not leave others to need it: the config would be refused.
                for service in &mut policy.services {
                    if service.depends_on.iter().any(|needed| needed.as_str() == name) {
                        let needs = &mut Arc::make_mut(service).depends_on;
                        needs.retain(|needed| needed.as_str() != name);
                    }
                }
                removed = Some(name);
            }
        }
        _ => {
            policy.never_act = true;
            hands_off = true;
        }
    }
    let policy = Arc::new(policy);
    script.push((at, Deed::Reload(Box::new(Reload { policy, removed, hands_off }))));
    trouble(random, house, at, script);
}
