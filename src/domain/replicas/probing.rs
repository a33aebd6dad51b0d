//! The prober is told what runs: which targets there are, in which instance, and where they are found.

use crate::domain::{
    Domain,
    effect::{Effect, ProbeOrder, Watch},
    name::Instance,
    observation::{Inspection, Target},
    policy::{Place, ProbePolicy, ProbeSpec},
    watching::{
        lifecycle::Lifecycle,
        replica::{Replica, Watched},
    },
};
use std::{net::IpAddr, sync::Arc};

impl Domain {
    /// The prober is told what runs now.
    pub(super) fn order_probes(&mut self, replica: &mut Replica) {
        let running: Option<Option<Instance>> = match &replica.lifecycle {
            Lifecycle::Running { instance, .. } => Some(Some(instance.clone())),
            Lifecycle::Remote => Some(None),
            Lifecycle::Unseen
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Created
            | Lifecycle::Stopped(_)
            | Lifecycle::Gone
            | Lifecycle::Odd(_) => None,
        };
        let known = replica.inspection.as_ref();
        let wanted = running.map(|instance| Watched {
            instance,
            addresses: known.map(|known| known.addresses.clone()).unwrap_or_default(),
            policy: Arc::clone(&replica.policy),
        });
        if replica.watched == wanted {
            return;
        }
        let target = |probe: &ProbePolicy| Target {
            replica: replica.kept.name.clone(),
            probe: probe.name.clone(),
        };
        if let Some(before) = &replica.watched {
            for probe in &before.policy.probes {
                let stays =
                    wanted.as_ref().is_some_and(|Watched { instance, policy: now, .. }| {
                        concerns(probe, instance.as_ref())
                            && now.probes.iter().any(|other| other.name == probe.name)
                    });
                if !stays {
                    self.effects.push(Effect::Probe(ProbeOrder::Drop(target(probe))));
                }
            }
        }
        if let Some(Watched { instance, policy, .. }) = &wanted {
            for probe in policy.probes.iter().filter(|probe| concerns(probe, instance.as_ref())) {
                self.effects.push(Effect::Probe(ProbeOrder::Watch(Box::new(Watch {
                    target: target(probe),
                    service: policy.name.clone(),
                    instance: instance.clone(),
                    address: address(replica.inspection.as_deref(), &probe.spec),
                    probe: probe.clone(),
                }))));
            }
        }
        replica.watched = wanted;
    }
}

/// Whether a probe goes to a URL and not to a container.
pub(in crate::domain) fn is_remote(spec: &ProbeSpec) -> bool {
    let ProbeSpec::Http(http) = spec;
    match http.place {
        Place::Url { .. } => true,
        Place::Replica { .. } => false,
    }
}

/// Whether a probe is of this stand-in (a URL), or of this container.
fn concerns(probe: &ProbePolicy, instance: Option<&Instance>) -> bool {
    is_remote(&probe.spec) == instance.is_none()
}

/// The container's address for a probe: on the network that the probe names, else on the first one by name.
fn address(inspection: Option<&Inspection>, spec: &ProbeSpec) -> Option<IpAddr> {
    let ProbeSpec::Http(http) = spec;
    let network = match &http.place {
        Place::Url { .. } => return None,
        Place::Replica { network, .. } => network.as_ref(),
    };
    let addresses = &inspection?.addresses;
    let named = |(name, _): &&(String, IpAddr)| network.is_none_or(|wanted| wanted == name);
    addresses.iter().find(named).map(|(_, address)| *address)
}
