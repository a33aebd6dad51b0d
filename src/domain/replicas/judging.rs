//! What is seen becomes a verdict, and verdicts a trouble: a bad time that begins, goes on over instances, and is over (S6).

use crate::domain::{
    Domain,
    acting::attempt::Attempt,
    judging::{
        absence,
        health::Reading,
        streak::Streak,
        trouble::Trouble,
        verdict::{Evidence, Verdict, judge},
    },
    moment::AwakeMs,
    record::Decision,
    service::nothing_to_judge_by,
    watching::{lifecycle::Lifecycle, replica::Replica},
};
use std::time::Duration;

/// A replica that runs for so long is back: Docker resets its own backoff after the same time.
pub(in crate::domain) const BACK_AFTER: Duration = Duration::from_secs(10);

impl Domain {
    pub(super) fn judge(&mut self, replica: &mut Replica) {
        let now = self.now;
        let in_grace = replica.in_grace(now.awake);
        let is_url = replica.lifecycle == Lifecycle::Remote;
        let probes: Vec<_> =
            replica.policy.probes.iter().filter(|probe| replica.concerns(probe)).cloned().collect();
        let verdict = judge(&replica.lifecycle, &replica.evidence, &probes, in_grace);
        if verdict != replica.verdict {
            replica.verdict = verdict;
            replica.verdict_since = now.awake;
        }
        replica.was_healthy |= verdict == Verdict::Healthy;
        replica.healthy_since = match (verdict, replica.healthy_since) {
            (Verdict::Healthy, None) => Some(now),
            (Verdict::Healthy, since) => since,
            // No evidence is no break: what could not be looked at was not seen to fail.
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
        if replica.lifecycle.running().is_some()
            && replica.being_stopped_until().is_some_and(|until| until <= now.awake)
        {
            // It runs on: whatever ends it later is something else.
            replica.forget_stop_by_hand();
        }
        replica.unjudged_since = match (nothing_to_judge_by(replica), replica.unjudged_since) {
            (true, since) => since.or(Some(now)),
            (false, _) => None,
        };
        self.leave_out_blindness(replica);
        replica.paused_since = match (&replica.lifecycle, replica.paused_since) {
            (Lifecycle::Paused { .. }, since) => since.or(Some(now)),
            (
                Lifecycle::Unseen
                | Lifecycle::Running { .. }
                | Lifecycle::Restarting
                | Lifecycle::Created
                | Lifecycle::Stopped(_)
                | Lifecycle::Gone
                | Lifecycle::Remote
                | Lifecycle::Odd(_),
                _,
            ) => None,
        };
        let stood_still = replica.kept.absent_since.is_some();
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
        match (stood_still, replica.kept.absent_since) {
            (_, None) => replica.kept.absent_life = None,
            (false, Some(_)) => replica.kept.absent_life = replica.instance_seen(),
            (true, Some(_)) => {}
        }
        self.note_standstill(replica, stood_still);
    }

    /// What ends, and what runs again, by no act of ours is said at once: whether somebody has to hear of it, time shows.
    fn note_standstill(&mut self, replica: &mut Replica, stood_still: bool) {
        let stands_still = replica.kept.absent_since.is_some();
        let ran = replica.has_run;
        replica.has_run |= replica.lifecycle.running().is_some();
        let may_be_ours = replica.kept.attempt.is_some()
            || replica.kept.own_stop.is_some()
            || replica.own_until.is_some_and(|until| until > self.now.awake);
        let decision = match (stood_still, stands_still) {
            (false, true) if ran && !may_be_ours => {
                Decision::StandsStill { state: replica.lifecycle.to_string() }
            }
            (true, false) if replica.standstill_said => Decision::RunsAgain,
            (false | true, true) | (false | true, false) => return,
        };
        replica.standstill_said = stands_still;
        self.decide(Some(&replica.policy.name), Some(&replica.kept.name), decision);
    }

    /// The time in which nobody could look is no time in which it was seen healthy.
    fn leave_out_blindness(&self, replica: &mut Replica) {
        let now = self.now.awake;
        let by_engine = replica
            .inspection
            .as_ref()
            .filter(|inspection| inspection.healthcheck.is_some())
            .and_then(|_| self.looking.blind())
            .map(|(since, _)| since.awake);
        let by_look = replica.could_not_look.as_ref().map(|(since, _)| since.awake);
        let without_evidence = (replica.verdict == Verdict::Unknown).then_some(now);
        let blind = [by_engine, by_look, without_evidence].into_iter().flatten().min();
        match (blind, replica.blind_since) {
            (Some(since), None) => replica.blind_since = Some(since),
            (None, Some(since)) => {
                if let Some(healthy) = &mut replica.healthy_since {
                    // Of a blindness that began before, only what lies after counts.
                    let unseen = now.since(since.max(healthy.awake));
                    healthy.awake = healthy.awake + unseen;
                }
                replica.blind_since = None;
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    /// The bad time begins, goes on, or is over (S6).
    pub(super) fn count_trouble(&mut self, replica: &mut Replica) {
        let instance = replica.lifecycle.running().cloned();
        let streaks: Vec<(String, Streak)> = failing_streaks(replica);
        // What stands still fails no more, whatever its streak was.
        let counts = instance.is_some() || replica.lifecycle == Lifecycle::Remote;
        if counts && !streaks.is_empty() && replica.kept.trouble.is_none() {
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
        let mut relapsed = false;
        if let Some(trouble) = &mut replica.kept.trouble {
            if let (Some((_, first)), true) = (streaks.first(), replica.was_healthy) {
                trouble.onset = first.since.unwrap_or(self.now);
                replica.was_healthy = false;
                relapsed = trouble.failures() > 0;
            }
            for evidence in passing(&replica.evidence) {
                trouble.streak_ended(&evidence);
            }
            // How it fails while defib stops it says nothing of what was wrong.
            let is_touched = replica.kept.attempt.as_ref().is_some_and(Attempt::is_touching);
            for (evidence, streak) in streaks.iter().filter(|_| counts) {
                trouble.count(evidence, instance.as_ref(), streak.failures);
                if !is_touched {
                    trouble.shows.clone_from(&streak.shows);
                }
            }
        }
        if let Some((_, Streak { shows, .. })) = streaks.first().filter(|_| relapsed) {
            let shows = shows.clone();
            self.decide(
                Some(&replica.policy.name),
                Some(&replica.kept.name),
                Decision::FailsAgain { shows },
            );
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
        let stands_for =
            absence::stands_since(replica).map(|since| self.now.awake.since(since.awake));
        let left_standing = (absence::is_by_hand(replica) || absence::is_finished(replica))
            && stands_for.is_some_and(|span| span >= replica.policy.stable_for);
        let unjudged_for = replica.unjudged_since.map(|since| self.now.awake.since(since.awake));
        let unjudged = unjudged_for.is_some_and(|span| span >= replica.policy.stable_for);
        if (left_standing || unjudged)
            && replica.kept.attempt.is_none()
            && replica.kept.trouble.take().is_some()
        {
            // What failed is over: that it stands still is told of by itself (P8), and what is not judged any more fails no more.
            self.decide(
                Some(&replica.policy.name),
                Some(&replica.kept.name),
                Decision::TroubleOver,
            );
        }
        let Some(since) = replica.healthy_since.filter(|_| replica.blind_since.is_none()) else {
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
}

/// Whether it is seen to fail now: what has just passed is not, though it takes more to be well again.
pub(in crate::domain) fn fails_now(replica: &Replica) -> bool {
    replica.verdict == Verdict::Unhealthy && !failing_streaks(replica).is_empty()
}

/// Since when it has failed without a break, in this life of it; where it stands still after a stop of ours, since it began to
/// fail. `None`: it is in no trouble.
pub(in crate::domain) fn failing_since(replica: &Replica) -> Option<AwakeMs> {
    let trouble = replica.kept.trouble.as_ref()?;
    let streaks = failing_streaks(replica);
    let since = streaks.iter().filter_map(|(_, streak)| streak.since).map(|since| since.awake);
    Some(since.min().unwrap_or(trouble.onset.awake))
}

/// Every evidence that was seen to pass last, by name.
fn passing(evidence: &Evidence) -> Vec<String> {
    let health = &evidence.health;
    let passes = health.present && health.reading == Reading::Passing && !health.streak.failing;
    let by_health = passes.then(|| "healthcheck".to_owned());
    let probes = evidence.probes.iter();
    let by_probes = probes.filter(|(_, seen)| !seen.streak.failing && seen.streak.passes > 0);
    by_health.into_iter().chain(by_probes.map(|(name, _)| name.to_string())).collect()
}

/// Every evidence that fails and counts, by name. A probe that has never passed makes no trouble (S11): it has an incident
/// of its own.
fn failing_streaks(replica: &Replica) -> Vec<(String, Streak)> {
    let health = &replica.evidence.health;
    let fails = matches!(health.reading, Reading::Failing | Reading::FailingOn);
    let by_health =
        (health.streak.failing && fails).then(|| ("healthcheck".to_owned(), health.streak.clone()));
    let by_probes = replica.policy.probes.iter().filter_map(|probe| {
        let seen = replica.evidence.probes.get(&probe.name)?;
        (seen.streak.failing && seen.streak.failures > 0 && replica.has_passed(probe))
            .then(|| (probe.name.to_string(), seen.streak.clone()))
    });
    by_health.into_iter().chain(by_probes).collect()
}
