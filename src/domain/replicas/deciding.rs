//! Whether a replica is restarted now: the gates are asked, and where all are open an attempt begins.

use crate::domain::{
    Domain,
    acting::{
        attempt::{Attempt, EVIDENCE_WITHIN, Limits},
        brake::Brake,
        gates::{self, Scene, evidence_case, is_stateful},
        hold::Hold,
    },
    agenda::Owner,
    effect::Effect,
    judging::{trouble::Trouble, verdict::Verdict},
    moment::AwakeMs,
    name::{AttemptId, ReplicaName},
    record::Decision,
    replicas::healing::verify_within,
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::{collections::BTreeSet, time::Duration};

/// How often what a held replica needs is looked at.
const LOOK_AT_DEPENDENCY_EVERY: Duration = Duration::from_secs(5);

impl Domain {
    /// Due for a restart? Then the gates, and where all are open, spending. Says when to ask again.
    pub(super) fn decide_restart(&mut self, replica: &mut Replica) -> Option<AwakeMs> {
        if replica.kept.attempt.is_some() {
            return None;
        }
        let due = replica.stands_by_own_stop()
            || (replica.verdict == Verdict::Unhealthy
                && evidence_case::is_due(replica, self.now.awake));
        if !due {
            self.host.waiting.remove(&replica.kept.name);
            replica.hold = None;
            replica.brief_since = None;
            return evidence_case::due_at(replica, self.now.awake);
        }
        let shut = self.first_shut(replica);
        let needs = |hold: Option<&Hold>| matches!(hold, Some(Hold::DependencyNotHealthy(_)));
        if needs(replica.hold.as_ref()) && !needs(shut.as_ref().map(|shut| &shut.hold)) {
            // What it needed is back: how long that took was told of for itself.
            replica.brief_since = None;
        }
        if let Some(shut) = shut {
            if shut.hold.waits_for_others() {
                self.host.waiting.insert(replica.kept.name.clone());
            } else {
                self.host.waiting.remove(&replica.kept.name);
            }
            replica.brief_since = match (shut.hold.is_brief(), replica.brief_since) {
                (true, since) => since.or(Some(self.now.awake)),
                (false, _) => None,
            };
            if replica.hold.as_ref() != Some(&shut.hold) {
                replica.hold = Some(shut.hold.clone());
                self.decide(
                    Some(&replica.policy.name),
                    Some(&replica.kept.name),
                    Decision::Held(shut.hold.clone()),
                );
            }
            if let Hold::DependencyNotHealthy(needed) | Hold::DependencyUnjudged(needed) =
                &shut.hold
            {
                let needed = needed.clone();
                return Some(self.look_at_service(&needed));
            }
            return shut.until;
        }
        self.host.waiting.remove(&replica.kept.name);
        self.begin_attempt(replica);
        None
    }

    /// What a held replica needs is looked at now, and again until it is seen healthy (S9). Says when.
    fn look_at_service(&mut self, service: &str) -> AwakeMs {
        let members = self
            .services
            .iter()
            .find(|(name, _)| name.as_str() == service)
            .map(|(_, service)| &service.members);
        let members = members.into_iter().flatten().filter_map(|member| self.replicas.get(member));
        let containers: Vec<_> =
            members.filter_map(|member| member.kept.container.clone()).collect();
        for container in containers {
            self.looking.want(&container);
        }
        self.agenda.touch(Owner::Looking);
        self.now.awake + LOOK_AT_DEPENDENCY_EVERY
    }

    fn begin_attempt(&mut self, replica: &mut Replica) {
        let (Some(inspection), Some(instance)) = (&replica.inspection, replica.instance_seen())
        else {
            return;
        };
        let limits = Limits {
            stop_timeout: inspection.stop_timeout,
            may_kill: !is_stateful(replica) && !inspection.auto_remove,
            verify_within: verify_within(replica),
            own_stop: replica.kept.own_stop.clone(),
        };
        let pid = inspection.pid;
        self.host.serials.attempt += 1;
        let id = AttemptId(self.host.serials.attempt);
        self.effects.push(Effect::GatherEvidence {
            attempt: id,
            instance: instance.clone(),
            pid,
            deadline: EVIDENCE_WITHIN,
        });
        replica.kept.attempt = Some(Attempt::begin(id, instance, self.now, limits));
        replica.hold = None;
        replica.kept.trouble.get_or_insert_with(|| {
            Trouble::begin(self.now, "stopped by defib and not started again".to_owned())
        });
        self.attempts.insert(id, replica.kept.name.clone());
        self.host.acting.insert(replica.kept.name.clone());
    }

    pub(in crate::domain) fn first_shut(&self, replica: &Replica) -> Option<gates::Shut> {
        gates::first_shut(&self.scene(replica))
    }

    /// What the gates are asked about.
    pub(in crate::domain) fn scene<'a>(&'a self, replica: &'a Replica) -> Scene<'a> {
        let service = self.services.get(&replica.policy.name);
        let name = &replica.kept.name;
        let others = |set: &BTreeSet<ReplicaName>| set.len() - usize::from(set.contains(name));
        let service_acting = service.map_or(0, |service| {
            service
                .members
                .iter()
                .filter(|member| *member != name && self.host.acting.contains(*member))
                .count()
        });
        // A URL's stand-in stands in for nobody.
        let is_sibling = |other: &&ReplicaName| {
            let known = self.replicas.get(*other);
            *other != name && known.is_some_and(|other| other.lifecycle != Lifecycle::Remote)
        };
        let healthy_siblings =
            service.map_or(0, |service| service.healthy.iter().filter(is_sibling).count());
        let trial = match &self.host.brake {
            Brake::Released => None,
            Brake::Engaged(engaged) => engaged.trial.as_ref(),
        };
        Scene {
            now: self.now,
            boot_id: &self.boot_id,
            policy: &self.policy,
            replica,
            service_acting,
            host_acting: others(&self.host.acting),
            healthy_siblings,
            host_spending: &self.host.spending,
            brake: &self.host.brake,
            own_start: self.own_start,
            engine_start: self.host.engine_start,
            hold_file: self.host.hold_file,
            actions_refused: self.host.is_refused(self.now.awake),
            no_events: self.looking.no_events().is_some(),
            events_back_at: self.looking.events_back_at,
            cannot_record: self.durability.failing().is_some(),
            dependency_down: self.dependency_down(replica),
            paid_already: replica
                .kept
                .attempt
                .as_ref()
                .is_some_and(|attempt| attempt.paid.is_some()),
            trial,
        }
    }

    /// All that may be held back by something that has just changed think again.
    pub(in crate::domain) fn touch_waiting(&mut self) {
        for name in std::mem::take(&mut self.host.waiting) {
            self.agenda.touch(Owner::Replica(name));
        }
    }

    /// All replicas in trouble think again.
    pub(in crate::domain) fn touch_held(&mut self) {
        let held: Vec<ReplicaName> = self
            .replicas
            .iter()
            .filter(|(_, replica)| replica.kept.trouble.is_some() || replica.hold.is_some())
            .map(|(name, _)| name.clone())
            .collect();
        for name in held {
            self.agenda.touch(Owner::Replica(name));
        }
    }
}
