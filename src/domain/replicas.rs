//! How a replica thinks: lifecycle → evidence → verdict → trouble → attempt → gates, in this order.

use super::{
    Domain,
    acting::{
        attempt::{Attempt, Ending, Input, Limits, Output, Phase},
        brake::Brake,
        gates::{self, Scene, evidence_case, is_stateful},
        hold::Hold,
    },
    agenda::Owner,
    durability::Fate,
    effect::{ActOrder, Effect, ProbeOrder, Watch},
    judging::{
        absence,
        health::Reading,
        streak::Streak,
        trouble::Trouble,
        verdict::{Verdict, judge},
    },
    moment::AwakeMs,
    name::{AttemptId, Instance, ReplicaName},
    observation::{Inspection, Target},
    policy::{Place, ProbeSpec},
    record::{Decision, OnBoot, Record, RecordKey},
    watching::{
        lifecycle::Lifecycle,
        replica::{Replica, Watched},
    },
};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// How often what a held replica needs is looked at.
const LOOK_AT_DEPENDENCY_EVERY: Duration = Duration::from_secs(5);

/// A replica that runs for so long is back: Docker resets its own backoff after the same time.
const BACK_AFTER: Duration = Duration::from_secs(10);

/// What somebody removed is forgotten after this, with its ticket: a day is long enough to have forgotten it.
const FORGET_AFTER: Duration = Duration::from_secs(24 * 3600);

impl Domain {
    pub(super) fn think_replica(&mut self, name: &ReplicaName) -> Option<AwakeMs> {
        let mut replica = self.replicas.remove(name)?;
        self.order_probes(&mut replica);
        self.judge(&mut replica);
        self.count_trouble(&mut replica);
        self.drive_attempt(&mut replica);
        let asked_again = self.decide_restart(&mut replica);
        let deadline = self.deadline_of(&replica, asked_again);
        if self.is_over(&replica) {
            self.forget(&replica);
            return None;
        }
        self.record_replica(&mut replica);
        self.member_changed(&replica);
        self.replicas.insert(name.clone(), replica);
        deadline
    }

    /// The prober is told what runs now.
    fn order_probes(&mut self, replica: &mut Replica) {
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
        let target = |probe: &super::policy::ProbePolicy| Target {
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
                    every: probe.every,
                }))));
            }
        }
        replica.watched = wanted;
    }

    fn judge(&mut self, replica: &mut Replica) {
        let now = self.now;
        let in_grace = replica.in_grace(now.awake);
        let is_url = replica.lifecycle == Lifecycle::Remote;
        let probes: Vec<_> = replica
            .policy
            .probes
            .iter()
            .filter(|probe| is_remote(&probe.spec) == is_url)
            .cloned()
            .collect();
        let verdict = judge(&replica.lifecycle, &replica.evidence, &probes, in_grace);
        if verdict != replica.verdict {
            replica.verdict = verdict;
            replica.verdict_since = now.awake;
        }
        replica.was_healthy |= verdict == Verdict::Healthy;
        replica.healthy_since = match (verdict, replica.healthy_since) {
            (Verdict::Healthy, None) => Some(now),
            (Verdict::Healthy, since) => since,
            // Silence is no break: what could not be looked at was not seen to fail.
            (Verdict::Unknown, since) if replica.lifecycle.running().is_some() || is_url => since,
            (
                Verdict::Unknown
                | Verdict::Starting
                | Verdict::Degraded
                | Verdict::Unhealthy
                | Verdict::Stopped
                | Verdict::Paused
                | Verdict::Restarting
                | Verdict::Gone,
                _,
            ) => None,
        };
        replica.kept.absent_since = match (&replica.lifecycle, replica.kept.absent_since) {
            (Lifecycle::Running { since, .. }, Some(absent))
                if now.awake.since(*since) < BACK_AFTER =>
            {
                Some(absent)
            }
            (Lifecycle::Running { .. } | Lifecycle::Paused { .. } | Lifecycle::Remote, _) => None,
            (Lifecycle::Unseen | Lifecycle::Odd(_), since) => since,
            (
                Lifecycle::Restarting
                | Lifecycle::Created
                | Lifecycle::Stopped(_)
                | Lifecycle::Gone,
                since,
            ) => since.or(Some(now)),
        };
    }

    /// The bad time begins, goes on, or is over (S6).
    fn count_trouble(&mut self, replica: &mut Replica) {
        let instance = replica.lifecycle.running().cloned();
        let streaks: Vec<(String, Streak)> = failing_streaks(replica);
        if !streaks.is_empty() && replica.kept.trouble.is_none() {
            let (_, first) = &streaks[0];
            let since = first.since.unwrap_or(self.now);
            replica.kept.trouble = Some(Trouble::begin(since, first.shows.clone()));
            let shows = first.shows.clone();
            self.decide(
                Some(&replica.policy.name),
                Some(&replica.kept.name),
                Decision::TroubleBegan { shows },
            );
        }
        if let Some(trouble) = &mut replica.kept.trouble {
            if let (Some((_, first)), true) = (streaks.first(), replica.was_healthy) {
                trouble.onset = first.since.unwrap_or(self.now);
                replica.was_healthy = false;
            }
            for (evidence, streak) in &streaks {
                trouble.count(evidence, instance.as_ref(), streak.failures);
                trouble.shows.clone_from(&streak.shows);
            }
        }
        // What was kept stands until it was looked at: only then is there anything to put in its place.
        if replica.lifecycle.running().is_some() || replica.lifecycle == Lifecycle::Remote {
            replica.kept.streaks = replica
                .evidence
                .probes
                .iter()
                .filter(|(_, seen)| seen.streak.failures > 0 || seen.streak.failing)
                .map(|(name, seen)| (name.clone(), seen.streak.clone()))
                .collect();
        }
        let stands_for = replica.kept.absent_since.map(|since| self.now.awake.since(since.awake));
        let left_standing = replica.kept.attempt.is_none()
            && (absence::is_by_hand(replica) || absence::is_finished(replica))
            && stands_for.is_some_and(|span| span >= replica.policy.stable_for);
        if left_standing && replica.kept.trouble.take().is_some() {
            // What failed is over; that it stands still is told of by itself (P8).
            self.decide(
                Some(&replica.policy.name),
                Some(&replica.kept.name),
                Decision::TroubleOver,
            );
        }
        let Some(since) = replica.healthy_since else {
            return;
        };
        let healthy_for = self.now.awake.since(since.awake);
        let over = replica.kept.attempt.is_none() && healthy_for >= replica.policy.stable_for;
        if over && replica.kept.trouble.take().is_some() {
            self.decide(
                Some(&replica.policy.name),
                Some(&replica.kept.name),
                Decision::TroubleOver,
            );
        }
        replica.kept.spending.refill(healthy_for, replica.policy.budget);
    }

    /// What time and the store bring to an attempt.
    fn drive_attempt(&mut self, replica: &mut Replica) {
        // Each turn of this loop leaves a phase or ends: an attempt has no more phases than that.
        for _ in 0..8 {
            let Some(attempt) = &replica.kept.attempt else {
                return;
            };
            if attempt.is_touching() {
                replica.own_act = Some(self.now.awake);
            }
            let fate = attempt.waits_for().map(|seq| self.durability.fate(seq));
            let input = match (fate, replica.verdict, replica.lifecycle.running()) {
                (Some(Fate::Durable), _, _) if attempt.pairs_with_own_stop() => {
                    Input::Durable { hold: taken_over(replica) }
                }
                (Some(Fate::Durable), _, _) => {
                    let hold = self.first_shut(replica, true).map(|shut| shut.hold);
                    Input::Durable { hold }
                }
                (Some(Fate::Lost), _, _) => Input::NotDurable,
                (Some(Fate::Waiting), _, _) => {
                    self.agenda.wait_for_commit(Owner::Replica(replica.kept.name.clone()));
                    Input::Nothing
                }
                (None, Verdict::Healthy, Some(instance)) if is_verifying(attempt, instance) => {
                    Input::Healthy(&instance.clone())
                }
                (None, _, _) => Input::Nothing,
            };
            let input = match input {
                Input::Nothing if attempt.deadline() <= self.now.awake => Input::TooLate,
                input => input,
            };
            if input == Input::Nothing {
                return;
            }
            self.attempt_step(replica, input);
        }
    }

    /// Something came for the attempt of a replica.
    pub(super) fn attempt_input(&mut self, name: &ReplicaName, input: Input<'_>) {
        if let Some(mut replica) = self.replicas.remove(name) {
            self.attempt_step(&mut replica, input);
            self.replicas.insert(name.clone(), replica);
            self.agenda.touch(Owner::Replica(name.clone()));
        }
    }

    /// The container of an attempt was looked at.
    pub(super) fn attempt_seen(&mut self, name: &ReplicaName, inspection: &Inspection) {
        let Some(mut replica) = self.replicas.remove(name) else {
            return;
        };
        if replica
            .kept
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.instance.container == inspection.id)
        {
            // What was just seen is judged first: the gates must not look at what was before.
            self.judge(&mut replica);
            let inspecting = replica
                .kept
                .attempt
                .as_ref()
                .is_some_and(|attempt| attempt.phase == Phase::Inspecting);
            let hold = match inspecting {
                true if self.is_another_life(&replica, inspection) => Some(Hold::NotRunning(
                    "another instance than the one that was judged".to_owned(),
                )),
                true => self.first_shut(&replica, true).map(|shut| shut.hold),
                false => None,
            };
            self.attempt_step(&mut replica, Input::Seen { inspection, hold });
        }
        self.replicas.insert(name.clone(), replica);
    }

    /// S2: the instance must be the one that was judged.
    fn is_another_life(&self, replica: &Replica, inspection: &Inspection) -> bool {
        replica
            .kept
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.instance.started_at != inspection.started_at)
    }

    fn attempt_step(&mut self, replica: &mut Replica, input: Input<'_>) {
        let verify_within = verify_within(replica);
        let seq = self.durability.current();
        let Some(attempt) = &mut replica.kept.attempt else {
            return;
        };
        let before = attempt.phase.clone();
        let outputs = attempt.step(input, self.now, seq, verify_within);
        let entered = attempt.phase != before;
        self.carry_out(replica, outputs, entered);
    }

    /// `entered`: a phase was entered just now, so that what it asks for is asked at once.
    pub(super) fn carry_out(&mut self, replica: &mut Replica, outputs: Vec<Output>, entered: bool) {
        for output in outputs {
            let Some(attempt) = &replica.kept.attempt else {
                return;
            };
            let id = attempt.id;
            match output {
                Output::GatherEvidence => {
                    let pid = replica.inspection.as_ref().and_then(|inspection| inspection.pid);
                    self.effects.push(Effect::GatherEvidence {
                        attempt: id,
                        instance: attempt.instance.clone(),
                        pid,
                        deadline: super::acting::attempt::EVIDENCE_WITHIN,
                    });
                }
                Output::Inspect => {
                    let container = attempt.instance.container.clone();
                    // The first look after a change of phase is at once, the ones after it once a second.
                    if entered {
                        self.looking.want(&container);
                    } else {
                        self.looking.want_by(
                            &container,
                            self.now.awake + super::acting::attempt::LOOK_AGAIN_AFTER,
                        );
                    }
                    self.agenda.touch(Owner::Looking);
                }
                Output::Record => {
                    self.agenda.wait_for_commit(Owner::Replica(replica.kept.name.clone()));
                }
                Output::Act { container, primitive, deadline } => {
                    let rung = match &attempt.phase {
                        Phase::Acting { rung } => Some(*rung),
                        Phase::Spent { .. }
                        | Phase::Evidence
                        | Phase::Inspecting
                        | Phase::Intent { .. }
                        | Phase::Observing { .. }
                        | Phase::Verifying { .. } => None,
                    };
                    replica.own_act = Some(self.now.awake);
                    if let Some(rung) = rung {
                        self.decide(
                            Some(&replica.policy.name),
                            Some(&replica.kept.name),
                            Decision::Acting(id, rung),
                        );
                    }
                    self.effects.push(Effect::Act(ActOrder {
                        attempt: id,
                        replica: replica.kept.name.clone(),
                        container,
                        primitive,
                        deadline,
                    }));
                }
                Output::End(ending) => self.end_attempt(replica, id, ending),
            }
        }
    }

    fn end_attempt(&mut self, replica: &mut Replica, id: AttemptId, ending: Ending) {
        let Some(attempt) = replica.kept.attempt.take() else {
            return;
        };
        self.attempts.remove(&id);
        self.host.acting.remove(&replica.kept.name);
        replica.hold = None;
        let stamp = self.stamp();
        match &ending {
            Ending::Verified { .. } => {
                replica.kept.own_stop = None;
                replica.kept.spending.last = Some(stamp);
            }
            Ending::NotCured(_) | Ending::NotOurs(_) => {
                if let Some(trouble) = &mut replica.kept.trouble {
                    trouble.not_cured = trouble.not_cured.saturating_add(1);
                }
                replica.kept.spending.last = Some(stamp);
                // Whether it explains what is seen is asked when it is seen: now it may not be visible at all.
                replica.kept.own_stop = attempt.own_stop().filter(|_| attempt.has_acted());
            }
            Ending::Abandoned(_) | Ending::Refused(_) => {
                replica.kept.spending = attempt.spent_before.clone();
                self.host.spending.refund(attempt.began);
                if let Some(trouble) = &mut replica.kept.trouble {
                    trouble.attempts = trouble.attempts.saturating_sub(1);
                }
                if let Ending::Refused(why) = &ending {
                    self.host.refused(self.now, why.clone());
                }
            }
            Ending::Interrupted => {
                if let Some(trouble) = &mut replica.kept.trouble {
                    trouble.attempts = trouble.attempts.saturating_sub(1);
                }
            }
            Ending::Gone => replica.kept.spending.last = Some(stamp),
        }
        self.trial_ended(&replica.kept.name, &ending);
        replica.done_line(&attempt, &ending);
        self.decide(
            Some(&replica.policy.name),
            Some(&replica.kept.name),
            Decision::Ended(id, ending),
        );
        // It may not be configured any more: that waited for this.
        self.looking.want(&attempt.instance.container);
        self.agenda.touch(Owner::Looking);
        // What was waiting for a free slot thinks again.
        self.touch_waiting();
        self.agenda.touch(Owner::Host);
    }

    /// Due for a restart? Then the gates, and where all are open, spending. Says when to ask again.
    fn decide_restart(&mut self, replica: &mut Replica) -> Option<AwakeMs> {
        if replica.kept.attempt.is_some() {
            return None;
        }
        let due = replica.stands_by_own_stop()
            || (replica.verdict == Verdict::Unhealthy
                && evidence_case::is_due(replica, self.now.awake));
        if !due {
            self.host.waiting.remove(&replica.kept.name);
            replica.hold = None;
            return evidence_case::due_at(replica, self.now.awake);
        }
        if let Some(shut) = self.first_shut(replica, false) {
            if shut.hold.waits_for_others() {
                self.host.waiting.insert(replica.kept.name.clone());
            } else {
                self.host.waiting.remove(&replica.kept.name);
            }
            if replica.hold.as_ref() != Some(&shut.hold) {
                replica.hold = Some(shut.hold.clone());
                replica.hold_since = self.now.awake;
                self.decide(
                    Some(&replica.policy.name),
                    Some(&replica.kept.name),
                    Decision::Held(shut.hold.clone()),
                );
            }
            if let Hold::DependencyNotHealthy(needed) = &shut.hold {
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
        let Some(inspection) = &replica.inspection else {
            return;
        };
        let instance = Instance {
            container: inspection.id.clone(),
            started_at: inspection.started_at.clone(),
        };
        let limits = Limits {
            stop_timeout: inspection.stop_timeout,
            may_kill: !is_stateful(replica) && !inspection.auto_remove,
            spent_before: replica.kept.spending.clone(),
            own_stop: replica.kept.own_stop.clone(),
        };
        self.host.serials.attempt += 1;
        let id = AttemptId(self.host.serials.attempt);
        let seq = self.durability.current();
        let attempt = Attempt::begin(id, instance, self.now, seq, limits);
        replica.kept.attempt = Some(attempt);
        replica.hold = None;
        let stamp = self.stamp();
        replica.kept.spending.spend(stamp.clone());
        self.host.spending.spend(stamp, self.policy.limits.budget);
        let trouble = replica.kept.trouble.get_or_insert_with(|| {
            Trouble::begin(self.now, "stopped by defib and not started again".to_owned())
        });
        trouble.attempts = trouble.attempts.saturating_add(1);
        self.attempts.insert(id, replica.kept.name.clone());
        self.host.acting.insert(replica.kept.name.clone());
        self.decide(Some(&replica.policy.name), Some(&replica.kept.name), Decision::Spent(id));
        self.agenda.wait_for_commit(Owner::Replica(replica.kept.name.clone()));
        self.agenda.touch(Owner::Host);
    }

    fn first_shut(&self, replica: &Replica, spent_already: bool) -> Option<gates::Shut> {
        let service = self.services.get(&replica.policy.name);
        let name = &replica.kept.name;
        let others = |set: &std::collections::BTreeSet<ReplicaName>| {
            set.len() - usize::from(set.contains(name))
        };
        let service_acting = service.map_or(0, |service| {
            service
                .members
                .iter()
                .filter(|member| *member != name && self.host.acting.contains(*member))
                .count()
        });
        let trial = match &self.host.brake {
            Brake::Released => None,
            Brake::Engaged(engaged) => engaged.trial.as_ref(),
        };
        gates::first_shut(&Scene {
            now: self.now,
            boot_id: &self.boot_id,
            policy: &self.policy,
            replica,
            service_acting,
            host_acting: others(&self.host.acting),
            healthy_siblings: service.map_or(0, |service| others(&service.healthy)),
            host_spending: &self.host.spending,
            brake: &self.host.brake,
            own_start: self.own_start,
            engine_start: self.host.engine_start,
            hold_file: self.host.hold_file,
            actions_refused: self.host.is_refused(self.now.awake),
            cannot_record: self.durability.failing().is_some(),
            dependency_down: self.dependency_down(replica),
            spent_already,
            trial,
        })
    }

    /// When this replica has to think again at the latest.
    fn deadline_of(&self, replica: &Replica, asked_again: Option<AwakeMs>) -> Option<AwakeMs> {
        let now = self.now.awake;
        let attempt = replica.kept.attempt.as_ref().map(Attempt::deadline);
        let policy = &replica.policy;
        let healthy = replica.healthy_since.map(|since| since.awake).and_then(|since| {
            let stable = replica.kept.trouble.as_ref().map(|_| since + policy.stable_for);
            let refill = (replica.kept.spending.spent > 0)
                .then_some(since + policy.budget.refill_after_healthy);
            [stable, refill].into_iter().flatten().filter(|at| *at > now).min()
        });
        let grace = match &replica.lifecycle {
            Lifecycle::Running { since, .. } => {
                let back = replica.kept.absent_since.map(|_| *since + BACK_AFTER);
                let grown = (!policy.probes.is_empty()).then_some(*since + policy.start_grace);
                [back, grown].into_iter().flatten().filter(|at| *at > now).min()
            }
            Lifecycle::Unseen
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Created
            | Lifecycle::Stopped(_)
            | Lifecycle::Gone
            | Lifecycle::Remote
            | Lifecycle::Odd(_) => None,
        };
        let gone = replica.kept.absent_since.and_then(|since| {
            let over = since.awake + replica.policy.stable_for;
            [over, since.awake + FORGET_AFTER].into_iter().filter(|at| *at > now).min()
        });
        [attempt, healthy, grace, gone, asked_again].into_iter().flatten().min()
    }

    /// Gone for long enough, and nothing to remember.
    fn is_over(&self, replica: &Replica) -> bool {
        if replica.lifecycle != Lifecycle::Gone || replica.kept.attempt.is_some() {
            return false;
        }
        let gone_for = replica
            .kept
            .absent_since
            .map_or(Duration::ZERO, |since| self.now.awake.since(since.awake));
        let unlisted = !replica.listed && !replica.is_worth_keeping();
        // What is configured and went by itself is missed until it is back, or no longer configured (P8).
        let removed = !replica.listed || replica.kept.stopped_by_hand;
        unlisted || (removed && gone_for >= FORGET_AFTER)
    }

    pub(super) fn forget(&mut self, replica: &Replica) {
        let name = &replica.kept.name;
        if let Some(Watched { policy, .. }) = &replica.watched {
            for probe in &policy.probes {
                let target = Target { replica: name.clone(), probe: probe.name.clone() };
                self.effects.push(Effect::Probe(ProbeOrder::Drop(target)));
            }
        }
        if replica.recorded.is_some() {
            self.records.push(Record::Forgotten(RecordKey::replica(name)));
        }
        if let Some(attempt) = &replica.kept.attempt {
            self.attempts.remove(&attempt.id);
        }
        self.host.acting.remove(name);
        self.host.waiting.remove(name);
        self.leave_service(&replica.policy.name, name);
    }

    /// Writes it down where it changed, and where there is anything to remember.
    pub(super) fn record_replica(&mut self, replica: &mut Replica) {
        if replica.recorded.as_ref() == Some(&replica.kept) {
            return;
        }
        replica.recorded = Some(replica.kept.clone());
        self.records.push(Record::Replica(Box::new(OnBoot {
            boot_id: self.boot_id.clone(),
            kept: replica.kept.clone(),
        })));
    }

    /// All that may be held back by something that has just changed think again.
    pub(super) fn touch_waiting(&mut self) {
        for name in std::mem::take(&mut self.host.waiting) {
            self.agenda.touch(Owner::Replica(name));
        }
    }

    /// All replicas in trouble think again.
    pub(super) fn touch_held(&mut self) {
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

/// What keeps defib from the start that pairs with its own stop: only somebody who has taken the replica over meanwhile. A
/// cordon or a gate that shut in mid-ladder does not (S7): it would leave standing what defib itself stopped.
fn taken_over(replica: &Replica) -> Option<Hold> {
    replica.kept.stopped_by_hand.then(|| Hold::Touched("somebody else stopped it".to_owned()))
}

/// Every evidence that fails and counts, by name. A probe that has never passed makes no trouble (S11): it has an incident
/// of its own.
fn failing_streaks(replica: &Replica) -> Vec<(String, Streak)> {
    let health = &replica.evidence.health;
    let by_health = (health.streak.failing && health.reading == Reading::Failing)
        .then(|| ("healthcheck".to_owned(), health.streak.clone()));
    let by_probes = replica.policy.probes.iter().filter_map(|probe| {
        let seen = replica.evidence.probes.get(&probe.name)?;
        (seen.streak.failing && seen.streak.failures > 0 && replica.has_passed(probe))
            .then(|| (probe.name.to_string(), seen.streak.clone()))
    });
    by_health.into_iter().chain(by_probes).collect()
}

fn is_verifying(attempt: &Attempt, healthy: &Instance) -> bool {
    match &attempt.phase {
        Phase::Verifying { instance, .. } => instance == healthy,
        Phase::Spent { .. }
        | Phase::Evidence
        | Phase::Inspecting
        | Phase::Intent { .. }
        | Phase::Acting { .. }
        | Phase::Observing { .. } => false,
    }
}

/// How long a restarted replica may take to be well: its grace or start period, and then as long as the config gives it, or
/// as its healthcheck needs to say so.
fn verify_within(replica: &Replica) -> Duration {
    let check = replica.inspection.as_ref().and_then(|inspection| inspection.healthcheck);
    let start = check.map_or(Duration::ZERO, |check| check.start_period);
    let grace =
        if replica.policy.probes.is_empty() { Duration::ZERO } else { replica.policy.start_grace };
    let healthcheck_needs =
        check.map_or(Duration::ZERO, |check| (check.interval + check.timeout).saturating_mul(2));
    grace.max(start) + replica.policy.recover_within.max(healthcheck_needs)
}

/// Whether a probe goes to a URL and not to a container.
fn is_remote(spec: &ProbeSpec) -> bool {
    let ProbeSpec::Http(http) = spec;
    match http.place {
        Place::Url { .. } => true,
        Place::Replica { .. } => false,
    }
}

/// Whether a probe is of this stand-in (a URL), or of this container.
fn concerns(probe: &super::policy::ProbePolicy, instance: Option<&Instance>) -> bool {
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
