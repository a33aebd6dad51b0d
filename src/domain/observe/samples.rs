//! What a sample says, where it is of the instance that runs now.

use crate::domain::{Domain, agenda::Owner, observation::Sample, watching::lifecycle::Lifecycle};
use std::sync::Arc;

impl Domain {
    pub(super) fn sampled(&mut self, sample: &Sample) {
        let name = sample.target.replica.clone();
        let now = self.now;
        let Some(replica) = self.replicas.get_mut(&name) else {
            return;
        };
        let current = match &sample.instance {
            Some(instance) => replica.lifecycle.running() == Some(instance),
            None => replica.lifecycle == Lifecycle::Remote,
        };
        let policy = Arc::clone(&replica.policy);
        let Some(probe) = policy
            .probes
            .iter()
            .find(|probe| probe.name == sample.target.probe)
            .filter(|_| current)
        else {
            return;
        };
        let in_grace = replica.in_grace(now.awake);
        let seen = replica.evidence.probes.entry(probe.name.clone()).or_default();
        let before = seen.streak.clone();
        let was_blind = seen.could_not_look.is_some();
        let passed = seen.observe(sample, probe, in_grace, now);
        let changed = before.failures != seen.streak.failures
            || before.failing != seen.streak.failing
            || seen.streak.passes <= probe.rise
            || was_blind
            || seen.could_not_look.is_some();
        if passed && !replica.has_passed(probe) {
            replica.kept.passed.insert(probe.name.clone(), probe.definition);
        }
        if changed || replica.kept.trouble.is_some() {
            self.agenda.touch(Owner::Replica(name));
        }
    }

    /// No sample comes any more: of every target it is known that it can't be looked at (S5), and of none how it is.
    pub(super) fn prober_ended(&mut self, why: &str) {
        let now = self.now;
        for (name, replica) in &mut self.replicas {
            let policy = Arc::clone(&replica.policy);
            for probe in &policy.probes {
                let seen = replica.evidence.probes.entry(probe.name.clone()).or_default();
                let since = seen.could_not_look.take().map_or(now, |(since, _)| since);
                let why = format!("probe `{}` could not run: {why}", probe.name);
                seen.could_not_look = Some((since, why));
            }
            if !policy.probes.is_empty() {
                self.agenda.touch(Owner::Replica(name.clone()));
            }
        }
    }
}
