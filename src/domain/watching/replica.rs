//! All that is known of one replica: what must outlive us, and what a look brings back.

use super::lifecycle::Lifecycle;
use crate::domain::{
    acting::{
        attempt::{Attempt, BEYOND_STOP, ENGINE_STOP_TIMEOUT},
        budget::Spending,
        gates::{CALL_OPEN_FOR, restarts_made},
        hold::Hold,
        own_stop::OwnStop,
    },
    judging::{
        streak::Streak,
        trouble::Trouble,
        verdict::{Evidence, Verdict},
    },
    moment::{AwakeMs, EngineMs, Moment},
    name::{ContainerId, Instance, ProbeName, ReplicaName, ServiceName},
    observation::Inspection,
    policy::{ProbePolicy, ServicePolicy},
    replicas::probing::is_remote,
};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr, sync::Arc, time::Duration};

/// What must outlive us of a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplicaRecord {
    /// Its stable name.
    pub name: ReplicaName,
    /// Its service.
    pub service: ServiceName,
    /// Its container, as last seen.
    pub container: Option<ContainerId>,
    /// The instance that `streaks` are of.
    pub instance: Option<Instance>,
    /// Its bad time, if it has one.
    pub trouble: Option<Trouble>,
    /// Restarts spent.
    pub spending: Spending,
    /// The try to heal it, if one is under way.
    pub attempt: Option<Attempt>,
    /// Streaks of defib's own probes in `instance`.
    pub streaks: BTreeMap<ProbeName, Streak>,
    /// Which definition of a probe has passed at least once (S11).
    pub passed: BTreeMap<ProbeName, u64>,
    /// Our own stop that was not followed by a start (S1).
    pub own_stop: Option<OwnStop>,
    /// Since when, by the events, somebody else has stopped or removed it, if so.
    pub stopped_by_hand: Option<Moment>,
    /// Which life that was, once it is known: one that begins and ends after it is not what they stopped.
    #[serde(default)]
    pub stopped_life: Option<Instance>,
    /// Since when it has not been running.
    pub absent_since: Option<Moment>,
    /// Which life ended with that, where it is known.
    #[serde(default)]
    pub absent_life: Option<Instance>,
    /// When an attempt ended with a call that is still open: whoever holds it may carry it out still.
    #[serde(default)]
    pub unanswered_since: Option<Moment>,
    /// Somebody else's last touch: a stop of theirs may go on for longer than a restart of ours takes.
    #[serde(default)]
    pub touched: Option<Touch>,
}

impl ReplicaRecord {
    /// The host has booted: it ended whatever ran, so nothing proves any more that a stop of ours did (S1). That there was one
    /// is remembered: what stands still since has not finished by itself (P8).
    pub(crate) fn void_own_stop(&mut self) {
        let under_way = self.attempt.as_ref().and_then(Attempt::own_stop);
        self.own_stop =
            under_way.or(self.own_stop.take()).map(|own| OwnStop { is_void: true, ..own });
        if let Some(attempt) = &mut self.attempt {
            attempt.forget_what_reached_it();
        }
        self.unanswered_since = None;
    }
}

/// One replica.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    /// What must outlive us.
    pub(crate) kept: ReplicaRecord,
    /// What of `kept` was recorded last, to record only what changed.
    pub(crate) recorded: Option<ReplicaRecord>,
    pub(crate) policy: Arc<ServicePolicy>,
    pub(crate) listed: bool,
    pub(crate) lifecycle: Lifecycle,
    /// What the engine said last.
    pub(crate) inspection: Option<Box<Inspection>>,
    /// When it said that.
    pub(crate) looked_at: AwakeMs,
    pub(crate) evidence: Evidence,
    /// Healthcheck results that began before this do not count.
    pub(crate) fresh_after: Option<EngineMs>,
    pub(crate) verdict: Verdict,
    pub(crate) verdict_since: AwakeMs,
    /// Since when it has been healthy without a break, as far as we saw: our own absence is a break.
    pub(crate) healthy_since: Option<Moment>,
    /// Since when it runs, and nothing of it is judged.
    pub(crate) unjudged_since: Option<Moment>,
    /// Since when nobody could see whether it is still so: that time does not count as healthy.
    pub(crate) blind_since: Option<AwakeMs>,
    /// It was healthy since its trouble's last onset.
    pub(crate) was_healthy: bool,
    /// A look showed its healthcheck to have begun to fail, and no event has said that anything of it changed since it was well: then
    /// the stream tells nothing, of others' acts neither.
    pub(crate) fails_untold: bool,
    /// An event said that its healthcheck's status changed, after the last look that showed it to be well.
    pub(crate) health_told: bool,
    /// It was seen to run since our start.
    pub(crate) has_run: bool,
    /// That it stands still, by no act of ours, was said.
    pub(crate) standstill_said: bool,
    /// Since when it could not be looked at, and why.
    pub(crate) could_not_look: Option<(Moment, String)>,
    /// Since when it has been frozen, as far as we saw.
    pub(crate) paused_since: Option<Moment>,
    /// Until when what happens to it may be defib's own doing.
    pub(crate) own_until: Option<AwakeMs>,
    /// From when to when, by the engine's clock, defib's last attempt acted on it: what is told of that time later (an event
    /// stream that was cut is told it all again) is its doing too.
    pub(crate) own_acts: Option<(EngineMs, EngineMs)>,
    /// What it is held back by, as last recorded.
    pub(crate) hold: Option<Hold>,
    /// Since when it has been held back for what ends by itself within seconds, one such hold after another, with nothing done in
    /// between.
    pub(crate) brief_since: Option<AwakeMs>,
    /// The container's name by which it was matched last; `None`: before our start.
    pub(crate) matched_as: Option<String>,
    /// Other services of the config that match it too.
    pub(crate) rivals: Vec<ServiceName>,
    /// Since when that is so.
    pub(crate) rivals_since: Option<Moment>,
    /// Other running containers that carry its labels, and are not watched.
    pub(crate) doubles: BTreeMap<ContainerId, Double>,
    /// What the prober was last told.
    pub(crate) watched: Option<Watched>,
}

/// What somebody else did to a replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Touch {
    /// When.
    pub at: Moment,
    /// The engine's word for it.
    pub what: String,
    /// Its process was told to end, and this life has not ended since.
    pub is_ending: bool,
}

/// A container that runs beside a replica and is the same by its labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Double {
    /// Its own name.
    pub(crate) name: String,
    /// Since when it was seen so.
    pub(crate) since: Moment,
}

/// What a replica's probes stand on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Watched {
    /// Which life; `None`: a URL.
    pub(crate) instance: Option<Instance>,
    /// Where it can be reached.
    pub(crate) addresses: Vec<(String, IpAddr)>,
    pub(crate) policy: Arc<ServicePolicy>,
}

impl Replica {
    pub(crate) fn new(
        name: ReplicaName,
        policy: Arc<ServicePolicy>,
        listed: bool,
        now: Moment,
    ) -> Self {
        let service = policy.name.clone();
        let kept = ReplicaRecord {
            name,
            service,
            container: None,
            instance: None,
            trouble: None,
            spending: Spending::default(),
            attempt: None,
            streaks: BTreeMap::new(),
            passed: BTreeMap::new(),
            own_stop: None,
            stopped_by_hand: None,
            stopped_life: None,
            absent_since: None,
            absent_life: None,
            unanswered_since: None,
            touched: None,
        };
        Self::restored(kept, policy, listed, now)
    }

    pub(crate) fn restored(
        kept: ReplicaRecord,
        policy: Arc<ServicePolicy>,
        listed: bool,
        now: Moment,
    ) -> Self {
        // A call that is open may still be carried out, and that is our doing then.
        let own_until = kept.unanswered_since.map(|since| since.awake + CALL_OPEN_FOR);
        Self {
            kept,
            recorded: None,
            policy,
            listed,
            lifecycle: Lifecycle::Unseen,
            inspection: None,
            looked_at: now.awake,
            evidence: Evidence::default(),
            fresh_after: None,
            verdict: Verdict::Unknown,
            verdict_since: now.awake,
            healthy_since: None,
            unjudged_since: None,
            blind_since: None,
            was_healthy: false,
            fails_untold: false,
            health_told: false,
            has_run: false,
            standstill_said: false,
            could_not_look: None,
            own_until,
            own_acts: None,
            paused_since: None,
            hold: None,
            brief_since: None,
            matched_as: None,
            rivals: Vec::new(),
            rivals_since: None,
            doubles: BTreeMap::new(),
            watched: None,
        }
    }

    /// It is in trouble, was not healthy since that last began, and nothing is being done about it. Of what is unknown, as
    /// all is after a start of ours, that can't be said.
    pub(crate) fn ails_unattended(&self) -> bool {
        let is_known = self.verdict != Verdict::Unknown;
        let ails = self.kept.trouble.is_some() && !self.was_healthy;
        is_known && ails && self.kept.attempt.is_none()
    }

    /// It is healthy, and nothing has begun to speak against that: others may rest on it (S3, S9).
    pub(crate) fn is_surely_healthy(&self) -> bool {
        let begins_to_fail = self.evidence.probes.values().any(|probe| probe.streak.failures > 0);
        self.verdict == Verdict::Healthy && !begins_to_fail
    }

    /// It is not well, and no restart is left for it.
    pub(crate) fn is_given_up(&self) -> bool {
        match &self.hold {
            Some(Hold::BudgetSpent { .. }) => true,
            Some(Hold::Stateful) => restarts_made(self) > 0,
            Some(_) | None => false,
        }
    }

    /// S1: it stands still, and our own stop explains it.
    pub(crate) fn stands_by_own_stop(&self) -> bool {
        let explained = match (&self.kept.own_stop, &self.inspection) {
            (Some(own), Some(inspection)) => own.explains(inspection),
            (None, _) | (_, None) => false,
        };
        self.lifecycle.stands_still() && explained && self.kept.stopped_by_hand.is_none()
    }

    /// Whether somebody is stopping it just now, or has stopped it and it was not seen to run since. What runs on for longer
    /// than a stop can take was not stopped.
    pub(crate) fn is_stopped_by_hand(&self, now: AwakeMs) -> bool {
        match (&self.lifecycle, self.being_stopped_until()) {
            (_, None) => false,
            (Lifecycle::Running { .. }, Some(until)) => now < until,
            (
                Lifecycle::Unseen | Lifecycle::Created | Lifecycle::Stopped(_) | Lifecycle::Gone,
                Some(_),
            ) => true,
            (
                Lifecycle::Paused { .. }
                | Lifecycle::Restarting
                | Lifecycle::Remote
                | Lifecycle::Odd(_),
                Some(_),
            ) => false,
        }
    }

    /// By when a stop that somebody else began has ended it, or never will.
    pub(crate) fn being_stopped_until(&self) -> Option<AwakeMs> {
        self.kept.stopped_by_hand.map(|since| since.awake + self.stop_takes())
    }

    /// How long the engine may need for a stop of it.
    pub(crate) fn stop_takes(&self) -> Duration {
        let own = self.inspection.as_ref().and_then(|known| known.stop_timeout);
        own.unwrap_or(ENGINE_STOP_TIMEOUT) + BEYOND_STOP
    }

    /// The instance that the engine showed last.
    pub(crate) fn instance_seen(&self) -> Option<Instance> {
        let seen = self.inspection.as_ref()?;
        Some(Instance { container: seen.id.clone(), started_at: seen.started_at.clone() })
    }

    /// Whether there is anything to remember once its container is gone.
    pub(crate) fn is_worth_keeping(&self) -> bool {
        self.kept.trouble.is_some() || self.kept.attempt.is_some() || self.kept.spending.spent > 0
    }

    /// Whether the running instance is too young for failures of its probes to count.
    pub(crate) fn in_grace(&self, now: AwakeMs) -> bool {
        self.grace_ends().is_some_and(|at| at > now)
    }

    /// When failures of the probes of this life begin to count.
    pub(crate) fn grace_ends(&self) -> Option<AwakeMs> {
        match &self.lifecycle {
            Lifecycle::Running { since, .. } => Some(*since + self.policy.start_grace),
            Lifecycle::Unseen
            | Lifecycle::Paused { .. }
            | Lifecycle::Restarting
            | Lifecycle::Created
            | Lifecycle::Stopped(_)
            | Lifecycle::Gone
            | Lifecycle::Remote
            | Lifecycle::Odd(_) => None,
        }
    }

    /// Whether a probe is of this replica: of a URL's stand-in those that go to a URL, of a container all others.
    pub(crate) fn concerns(&self, probe: &ProbePolicy) -> bool {
        let is_stand_in = self.lifecycle == Lifecycle::Remote;
        is_remote(&probe.spec) == is_stand_in
    }

    /// Whether a probe has ever passed as it is defined now.
    pub(crate) fn has_passed(&self, probe: &ProbePolicy) -> bool {
        self.kept.passed.get(&probe.name) == Some(&probe.definition)
    }
}
