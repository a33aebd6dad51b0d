//! What a look changes of a replica: which of two containers it is, in which life, and whether a stop by hand still explains
//! how it stands.

use crate::domain::{
    judging::{health, verdict::Evidence},
    moment::{AwakeMs, Moment},
    name::ContainerId,
    observation::{ContainerState, HealthStatus, Inspection},
    replicas::judging::BACK_AFTER,
    watching::{
        lifecycle::Lifecycle,
        replica::{Double, Replica},
    },
};
use std::time::Duration;

/// What a container's belonging says of whether it may be a replica that another one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// As much as the other one has.
    Same,
    /// More: the config lists this one, and not the other.
    First,
    /// None: the config lists the other one, and this one not, or for another service. Anybody can copy labels, and what
    /// copies them must not hide what the config means.
    None,
}

impl Replica {
    /// Whether this container is the one that the replica is now. While a deploy re-creates it there may be two: the one
    /// that runs is it, and of two that run, or stand still, the younger. What does not run takes over from nothing that was
    /// not looked at yet: that may run. The other one of two that run is a double, which must not go unsaid for long.
    pub(super) fn takes(
        &mut self,
        claim: Claim,
        container: &ContainerId,
        inspection: &Inspection,
        double_since: Moment,
    ) -> bool {
        let same = self.kept.container.as_ref().is_none_or(|known| known == container);
        let younger = match (&self.inspection, inspection.started) {
            (Some(known), Some(started)) => known.started.is_none_or(|before| before < started),
            (None, _) | (Some(_), None) => false,
        };
        let runs = inspection.state == ContainerState::Running;
        let old_is_over = match &self.lifecycle {
            Lifecycle::Gone => true,
            Lifecycle::Unseen => runs,
            Lifecycle::Stopped(_) | Lifecycle::Created | Lifecycle::Odd(_) => runs || younger,
            Lifecycle::Running { .. }
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Remote => false,
        };
        // What defib has under way with one is brought to its end before another takes its place.
        let is_acted_on = self.lifecycle != Lifecycle::Gone
            && self.kept.attempt.as_ref().is_some_and(|attempt| {
                attempt.has_acted()
                    && self.kept.container.as_ref() == Some(&attempt.instance.container)
            });
        let takes = match claim {
            Claim::Same => same || (!is_acted_on && (old_is_over || (runs && younger))),
            Claim::First => same || !is_acted_on,
            Claim::None => false,
        };
        if !takes {
            if runs {
                let double = Double { name: inspection.name.clone(), since: double_since };
                self.doubles.insert(container.clone(), double);
            }
            return false;
        }
        if !same {
            // What was done to the one before says nothing of this one, and a call that is open names that one.
            self.forget_stop_by_hand();
            self.kept.unanswered_since = None;
            if let (false, Some(before)) = (old_is_over, &self.inspection) {
                let double = Double { name: before.name.clone(), since: double_since };
                self.doubles.insert(before.id.clone(), double);
            }
        }
        self.kept.container = Some(container.clone());
        true
    }

    /// What ended long after a stop was not ended by it, though nobody watched it run on.
    fn forget_stop_that_is_too_old(&mut self, inspection: &Inspection, now: Moment) {
        let (Some(since), Some(finished), Lifecycle::Stopped(_)) =
            (self.kept.stopped_by_hand, inspection.finished, &self.lifecycle)
        else {
            return;
        };
        if !health::is_past(finished, inspection) {
            return;
        }
        let ended_ago = inspection.engine_now.since(finished);
        let stopped_ago = now.awake.since(since.awake);
        if stopped_ago.saturating_sub(ended_ago) > self.stop_takes() {
            self.forget_stop_by_hand();
        }
    }

    /// Whoever stopped it, this is not what they stopped.
    pub(in crate::domain) fn forget_stop_by_hand(&mut self) {
        self.kept.stopped_by_hand = None;
        self.kept.stopped_life = None;
    }

    /// Takes in what the engine says of it.
    pub(super) fn apply(
        &mut self,
        inspection: &Inspection,
        events_open_since: Option<AwakeMs>,
        now: Moment,
    ) {
        let before = std::mem::replace(&mut self.lifecycle, Lifecycle::of(inspection, now.awake));
        // Which life it is the start tells by its text alone; since when, only where the clock was not set back since.
        let begun = inspection.started.filter(|started| health::is_past(*started, inspection));
        if self.fresh_after.is_some_and(|after| !health::is_past(after, inspection)) {
            let was_start = self.fresh_after == inspection.started;
            self.fresh_after = (!was_start).then_some(inspection.engine_now);
        }
        if let Lifecycle::Running { instance, since } = &mut self.lifecycle {
            if let Lifecycle::Running { instance: known, since: known_since } = &before
                && known == instance
            {
                // Its age was taken once; the engine's whole seconds would make it jitter.
                *since = *known_since;
            }
            if self.kept.instance.as_ref() != Some(instance) {
                self.kept.instance = Some(instance.clone());
                self.kept.streaks.clear();
                self.evidence = Evidence::default();
                self.fresh_after = begun;
                self.forget_stop_by_hand();
                if let Some(touch) = &mut self.kept.touched {
                    touch.is_ending = false;
                }
                self.kept.own_stop = None;
            } else if matches!(before, Lifecycle::Unseen | Lifecycle::Paused { .. }) {
                let was_paused = matches!(before, Lifecycle::Paused { .. });
                if was_paused {
                    self.fresh_after = Some(inspection.engine_now).max(self.fresh_after);
                }
                self.fresh_after = self.fresh_after.max(begun);
                self.restore_streaks();
            }
        }
        self.evidence.health.observe(inspection, self.fresh_after, now);
        self.note_untold(inspection, events_open_since);
        self.looked_at = now.awake;
        self.inspection = Some(Box::new(inspection.clone()));
        let seen = self.instance_seen();
        if before == Lifecycle::Gone && self.lifecycle != Lifecycle::Gone {
            // What had been given another name has its own again.
            self.forget_stop_by_hand();
        }
        match &self.kept.stopped_life {
            Some(stopped) if Some(stopped) != seen.as_ref() => self.forget_stop_by_hand(),
            None if self.kept.stopped_by_hand.is_some() => self.kept.stopped_life = seen,
            Some(_) | None => {}
        }
        self.forget_stop_that_is_too_old(inspection, now);
        self.forget_an_earlier_absence(inspection);
    }

    /// What ran for long enough to be back has been back, though nobody watched it: that it stands still now is another
    /// absence than the one that is known.
    fn forget_an_earlier_absence(&mut self, inspection: &Inspection) {
        let ran_for = inspection
            .started
            .zip(inspection.finished)
            .map_or(Duration::ZERO, |(started, finished)| finished.since(started));
        let is_of_this_life =
            self.kept.absent_life.is_none() || self.kept.absent_life == self.instance_seen();
        if matches!(self.lifecycle, Lifecycle::Stopped(_))
            && !is_of_this_life
            && ran_for >= BACK_AFTER
        {
            self.kept.absent_since = None;
        }
    }

    /// Docker tells of each turn of a healthcheck by its events. What two looks show to have turned without is a stream that was
    /// open all the while and tells nothing.
    fn note_untold(&mut self, now: &Inspection, events_open_since: Option<AwakeMs>) {
        if events_open_since.is_none_or(|since| since > self.looked_at) {
            // Of what happened while there was none it need not tell.
            self.fails_untold = false;
            return;
        }
        let is_unhealthy = |seen: &Inspection| {
            seen.health.as_ref().is_some_and(|health| health.status == HealthStatus::Unhealthy)
        };
        if !is_unhealthy(now) {
            (self.fails_untold, self.health_told) = (false, false);
            return;
        }
        let before = self.inspection.as_deref().filter(|before| {
            before.id == now.id
                && before.started_at == now.started_at
                && before.state == ContainerState::Running
        });
        let turned = before.is_some_and(|before| !is_unhealthy(before));
        self.fails_untold = (self.fails_untold || turned) && !self.health_told;
    }

    /// After a restart of ours the instance is the same, and so are its streaks.
    pub(in crate::domain) fn restore_streaks(&mut self) {
        // What is not asked any more says nothing any more.
        let probes = &self.policy.probes;
        self.kept.streaks.retain(|name, _| probes.iter().any(|probe| probe.name == *name));
        for (name, streak) in &self.kept.streaks {
            let seen = self.evidence.probes.entry(name.clone()).or_default();
            if seen.last_evidence.is_none() {
                seen.streak = streak.clone();
            }
        }
    }
}
