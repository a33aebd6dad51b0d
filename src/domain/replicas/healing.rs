//! An attempt is driven: time, the store and looks are brought to its machine, and what that wants is carried out.

use crate::domain::{
    Domain,
    acting::{
        attempt::{Attempt, Ending, Input, LOOK_AGAIN_AFTER, Output, Paid, Phase},
        gates::{self, CALL_OPEN_FOR},
        hold::Hold,
    },
    agenda::Owner,
    durability::Fate,
    effect::{ActOrder, Effect},
    judging::{absence, verdict::Verdict},
    name::{AttemptId, Instance, ReplicaName},
    observation::Inspection,
    record::Decision,
    telling::wording,
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::time::Duration;

/// Events of our own acts may come this much later than their answer.
const OWN_EVENTS_WITHIN: Duration = Duration::from_secs(5);

impl Domain {
    /// What time and the store bring to an attempt.
    pub(super) fn drive_attempt(&mut self, replica: &mut Replica) {
        // Each turn of this loop leaves a phase or ends: an attempt has no more phases than that.
        for _ in 0..8 {
            let Some(attempt) = &replica.kept.attempt else {
                return;
            };
            if attempt.is_touching() {
                replica.own_until = Some(self.now.awake + OWN_EVENTS_WITHIN);
            }
            let fate = attempt.waits_for().map(|seq| self.durability.fate(seq));
            let input = match (fate, replica.verdict, replica.lifecycle.running()) {
                (Some(Fate::Durable), _, _) if attempt.pairs_with_own_stop() => {
                    let unproven = !attempt.is_proven;
                    let order = || gates::first_order(&self.scene(replica)).map(|shut| shut.hold);
                    let hold = taken_over(replica).or_else(|| order().filter(|_| unproven));
                    Input::Durable { hold }
                }
                (Some(Fate::Durable), _, _) => {
                    let hold = self.first_shut(replica).map(|shut| shut.hold);
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
                (None, _, _) if attempt.is_verifying() => {
                    somebody_took(replica).map_or(Input::Nothing, Input::TakenOver)
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
    pub(in crate::domain) fn attempt_input(&mut self, name: &ReplicaName, input: Input<'_>) {
        if let Some(mut replica) = self.replicas.remove(name) {
            self.attempt_step(&mut replica, input);
            self.replicas.insert(name.clone(), replica);
            self.agenda.touch(Owner::Replica(name.clone()));
        }
    }

    /// The container of an attempt was looked at.
    pub(in crate::domain) fn attempt_seen(&mut self, name: &ReplicaName, inspection: &Inspection) {
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
                true => self.first_shut(&replica).map(|shut| shut.hold),
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
        let seq = self.durability.current();
        let Some(attempt) = &mut replica.kept.attempt else {
            return;
        };
        let before = attempt.phase.clone();
        let outputs = attempt.step(input, self.now, seq);
        let entered = attempt.phase != before;
        self.carry_out(replica, outputs, entered);
    }

    /// `entered`: a phase was entered just now, so that what it asks for is asked at once.
    pub(in crate::domain) fn carry_out(
        &mut self,
        replica: &mut Replica,
        outputs: Vec<Output>,
        entered: bool,
    ) {
        for output in outputs {
            let Some(attempt) = &replica.kept.attempt else {
                return;
            };
            let id = attempt.id;
            match output {
                Output::Inspect => {
                    let container = attempt.instance.container.clone();
                    // The first look after a change of phase is at once, the ones after it once a second.
                    if entered {
                        self.looking.want(&container);
                    } else {
                        self.looking.want_by(&container, self.now.awake + LOOK_AGAIN_AFTER);
                    }
                    self.agenda.touch(Owner::Looking);
                }
                Output::Pay => self.pay(replica),
                Output::Record => {
                    self.agenda.wait_for_commit(Owner::Replica(replica.kept.name.clone()));
                }
                Output::Act { container, primitive, deadline } => {
                    let rung = match &attempt.phase {
                        Phase::Acting { rung } => Some(*rung),
                        Phase::Evidence
                        | Phase::Inspecting
                        | Phase::Intent { .. }
                        | Phase::Observing { .. }
                        | Phase::Verifying { .. } => None,
                    };
                    replica.own_until = Some(self.now.awake + OWN_EVENTS_WITHIN);
                    replica.brief_since = None;
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

    /// Nothing was done yet, and nothing will be.
    pub(in crate::domain) fn abandon_attempt(&mut self, replica: &mut Replica, why: Hold) {
        if let Some(id) = replica.kept.attempt.as_ref().map(|attempt| attempt.id) {
            self.end_attempt(replica, id, Ending::Abandoned(why));
        }
    }

    /// The restart is paid for, in the replica's budget and in the host's.
    fn pay(&mut self, replica: &mut Replica) {
        let Some(attempt) = &mut replica.kept.attempt else {
            return;
        };
        attempt.paid = Some(Paid { at: self.now, before: replica.kept.spending.clone() });
        let id = attempt.id;
        let stamp = self.stamp();
        replica.kept.spending.spend(stamp.clone());
        self.host.spending.spend(stamp, self.policy.limits.budget);
        if let Some(trouble) = &mut replica.kept.trouble {
            trouble.attempts = trouble.attempts.saturating_add(1);
        }
        self.decide(Some(&replica.policy.name), Some(&replica.kept.name), Decision::Spent(id));
        self.agenda.touch(Owner::Host);
    }

    fn end_attempt(&mut self, replica: &mut Replica, id: AttemptId, ending: Ending) {
        let Some(attempt) = replica.kept.attempt.take() else {
            return;
        };
        self.attempts.remove(&id);
        self.host.acting.remove(&replica.kept.name);
        replica.hold = None;
        if let Some(acts) = attempt.own_acts(replica.inspection.as_deref()) {
            replica.own_acts = Some(acts);
        }
        if attempt.left_open {
            replica.own_until = Some(self.now.awake + CALL_OPEN_FOR);
            replica.kept.unanswered_since = Some(self.now);
        }
        let stamp = self.stamp();
        match &ending {
            Ending::Verified { .. } => {
                if let (Some(trouble), Phase::Verifying { instance, .. }) =
                    (&mut replica.kept.trouble, &attempt.phase)
                {
                    trouble.helped = Some(instance.clone());
                }
                replica.kept.own_stop = None;
                replica.kept.spending.last = Some(stamp);
            }
            // Whether it would have helped nobody knows; what it cost stays spent.
            Ending::TakenOver(_) => replica.kept.spending.last = Some(stamp),
            Ending::NotCured(_) | Ending::NotOurs(_) => {
                if let Some(trouble) = &mut replica.kept.trouble {
                    trouble.not_cured = trouble.not_cured.saturating_add(1);
                    let was_carried_out = u32::from(attempt.may_have_stopped());
                    trouble.carried_out = trouble.carried_out.saturating_add(was_carried_out);
                }
                replica.kept.spending.last = Some(stamp);
                // Whether it explains what is seen is asked when it is seen: now it may not be visible at all.
                // An attempt that did nothing to what an earlier one left standing takes no proof away.
                let own = attempt.own_stop().filter(|_| attempt.may_have_stopped());
                let is_left = attempt.pairs_with_own_stop() && !attempt.is_proven;
                replica.kept.own_stop = match is_left {
                    true => None,
                    false => own.or_else(|| replica.kept.own_stop.take()),
                };
                if attempt.may_still_act() {
                    replica.own_until = Some(self.now.awake + CALL_OPEN_FOR);
                }
            }
            Ending::Abandoned(_) | Ending::Refused(_) => {
                if let Some(paid) = &attempt.paid {
                    replica.kept.spending = paid.before.clone();
                    self.host.spending.refund(paid.at);
                    if let Some(trouble) = &mut replica.kept.trouble {
                        trouble.attempts = trouble.attempts.saturating_sub(1);
                    }
                }
            }
            Ending::Interrupted => {
                if let Some(trouble) = &mut replica.kept.trouble {
                    trouble.attempts = trouble.attempts.saturating_sub(1);
                }
            }
            Ending::Gone if attempt.paid.is_some() => replica.kept.spending.last = Some(stamp),
            Ending::Gone => {}
        }
        self.trial_ended(&replica.kept.name, &ending);
        let line = wording::ended_line(replica, &attempt, &ending);
        if let Some(trouble) = &mut replica.kept.trouble {
            // Of an attempt that was given up, what was found may be of another life.
            if !matches!(ending, Ending::Abandoned(_)) && !attempt.findings.is_empty() {
                trouble.findings.clone_from(&attempt.findings);
            }
            line.into_iter().for_each(|line| trouble.note(line));
        }
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
}

/// What keeps defib from the start that pairs with its own stop: only somebody who has taken the replica over meanwhile. A
/// cordon or a gate that shut in mid-ladder does not (S7): it would leave standing what defib itself stopped. Where that it
/// did is not proven, an order of people does.
fn taken_over(replica: &Replica) -> Option<Hold> {
    replica.kept.stopped_by_hand.map(|_| Hold::Touched("somebody else stopped it".to_owned()))
}

/// What somebody else did to a replica whose recovery is awaited, so that there is nothing to wait for.
fn somebody_took(replica: &Replica) -> Option<&'static str> {
    match replica.lifecycle {
        Lifecycle::Paused { .. } => Some("somebody paused it"),
        Lifecycle::Unseen
        | Lifecycle::Running { .. }
        | Lifecycle::Restarting
        | Lifecycle::Created
        | Lifecycle::Stopped(_)
        | Lifecycle::Gone
        | Lifecycle::Remote
        | Lifecycle::Odd(_) => absence::is_by_hand(replica).then_some("somebody stopped it"),
    }
}

fn is_verifying(attempt: &Attempt, healthy: &Instance) -> bool {
    match &attempt.phase {
        Phase::Verifying { instance, .. } => instance == healthy,
        Phase::Evidence
        | Phase::Inspecting
        | Phase::Intent { .. }
        | Phase::Acting { .. }
        | Phase::Observing { .. } => false,
    }
}

/// How long a restarted replica may take to be well: its grace or start period, and then as long as the config gives it, or
/// as its healthcheck needs to say so.
pub(super) fn verify_within(replica: &Replica) -> Duration {
    let check = replica.inspection.as_ref().and_then(|inspection| inspection.healthcheck);
    let start = check.map_or(Duration::ZERO, |check| check.start_period);
    let grace =
        if replica.policy.probes.is_empty() { Duration::ZERO } else { replica.policy.start_grace };
    let healthcheck_needs =
        check.map_or(Duration::ZERO, |check| (check.interval + check.timeout).saturating_mul(2));
    grace.max(start) + replica.policy.recover_within.max(healthcheck_needs)
}
