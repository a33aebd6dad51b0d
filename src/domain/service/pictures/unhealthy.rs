//! That a service fails, and how much that disturbs: nobody is woken for what is being cured, nor for what its cause stands
//! for.

use crate::domain::{
    Domain,
    acting::{
        attempt::Attempt,
        brake::Brake,
        gates::{first_order, restarts_allowed, restarts_made, stateful::may_have_any},
        hold::{Hold, Settle},
    },
    judging::verdict::Verdict,
    message::{IncidentKind, Severity},
    moment::AwakeMs,
    name::ServiceName,
    policy::{PageWhen, ServicePolicy},
    replicas::judging::fails_now,
    telling::{incident::Picture, story::Stage, wording},
    watching::replica::Replica,
};
use std::{collections::BTreeSet, time::Duration};

/// Waiting for others that are being restarted is brief for so long; then it is being held, and somebody hears of it.
const BRIEF_FOR: Duration = Duration::from_secs(60);

impl Domain {
    pub(in crate::domain::service) fn picture_unhealthy(
        &self,
        name: &ServiceName,
        policy: &ServicePolicy,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let members: Vec<&Replica> = self
            .members(name)
            .into_iter()
            .filter(|replica| replica.kept.trouble.is_some())
            .collect();
        let since = members
            .iter()
            .filter_map(|replica| replica.kept.trouble.as_ref())
            .map(|trouble| trouble.since)
            .min_by_key(|since| since.awake)?;
        for replica in &members {
            deadlines.extend(replica.brief_since.map(|since| since + BRIEF_FOR));
            deadlines.extend(replica.kept.attempt.as_ref().map(Attempt::is_cure_until));
            deadlines.extend(replica.being_stopped_until());
            if let (Some(trouble), Some(span)) =
                (&replica.kept.trouble, policy.page_after.failing_for)
            {
                deadlines.push(trouble.since.awake + span);
            }
        }
        deadlines.push(self.own_start + self.policy.settling.own_start);
        let braked = matches!(self.host.brake, Brake::Engaged(_));
        let level = members
            .iter()
            .filter_map(|replica| self.level_of(replica, policy, deadlines))
            .max()
            .filter(|_| !braked);
        let recovered = members.iter().all(|replica| wording::is_well_again(replica));
        let outlook = wording::Outlook {
            is_to_come: &|replica| self.is_to_come(replica),
            order: &|replica| first_order(&self.scene(replica)).map(|shut| shut.hold),
            needed: &|needed| wording::needed::Needed::of(&self.members(&ServiceName::new(needed))),
        };
        let content = wording::unhealthy(policy, &members, &outlook, recovered, self.now);
        let fails = |replica: &&Replica| {
            replica.verdict == Verdict::Unhealthy
                || replica.kept.attempt.is_some()
                || replica.stands_by_own_stop()
        };
        let failing = members.iter().any(fails);
        let given_up = members
            .iter()
            .filter(|replica| replica.is_given_up())
            .filter_map(|replica| replica.kept.trouble.as_ref())
            .map(|trouble| trouble.attempts.saturating_add(1))
            .max()
            .unwrap_or(0);
        Some(Picture { since, level, recovered, given_up, grown: 0, failing, content })
    }

    /// Whether only more failures, or a little time, are missing for a restart: one that is left to it.
    fn is_to_come(&self, replica: &Replica) -> bool {
        let is_left = restarts_made(replica) < restarts_allowed(replica) && may_have_any(replica);
        let waits = |hold: &Hold| matches!(hold, Hold::Recovered | Hold::Settling(Settle::Verdict));
        replica.verdict == Verdict::Unhealthy
            && is_left
            && self.first_shut(replica).is_some_and(|shut| waits(&shut.hold))
    }

    /// How much one replica's trouble disturbs. Causes first: where what it needs is told of as loudly, that incident stands
    /// for this one (S9). Where that is just back, this one is about to be cured.
    fn level_of(
        &self,
        replica: &Replica,
        policy: &ServicePolicy,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Severity> {
        let level = self.own_level_of(replica, policy)?;
        let tried = replica.kept.trouble.as_ref().is_some_and(|trouble| trouble.attempts > 0);
        let Some(Hold::DependencyNotHealthy(needed)) = replica.hold.as_ref().filter(|_| !tried)
        else {
            return Some(level);
        };
        let back = self.back_since(needed).map(|since| since + BRIEF_FOR);
        let just_back = back.is_some_and(|until| until > self.now.awake);
        deadlines.extend(back.filter(|_| just_back));
        (!just_back && !self.is_told_of(needed, level)).then_some(level)
    }

    /// Since when a service is healthy again, by the last of its replicas that is.
    fn back_since(&self, service: &str) -> Option<AwakeMs> {
        let known = self.services.get(&ServiceName::new(service))?;
        let healthy = known.healthy.iter().filter_map(|name| self.replicas.get(name));
        healthy.filter_map(|replica| replica.healthy_since).map(|since| since.awake).max()
    }

    /// The same, for itself alone: nobody is woken for what is being cured (P9).
    fn own_level_of(&self, replica: &Replica, policy: &ServicePolicy) -> Option<Severity> {
        let trouble = replica.kept.trouble.as_ref()?;
        if replica.is_stopped_by_hand(self.now.awake) {
            // Whoever stopped it knows of it.
            return None;
        }
        if wording::is_well_again(replica) {
            // What it went through was told of: another replica that fails is told of for itself.
            return None;
        }
        let failing = fails_now(replica);
        let by_count =
            policy.page_after.failures.is_some_and(|failures| trouble.failures() >= failures);
        let failing_for = self.now.awake.since(trouble.since.awake);
        let by_time = policy.page_after.failing_for.is_some_and(|span| failing_for >= span);
        let over = failing && (by_count || by_time);
        let is_young = |since: Option<AwakeMs>| {
            since.is_none_or(|since| self.now.awake.since(since) < BRIEF_FOR)
        };
        let in_hand = replica
            .kept
            .attempt
            .as_ref()
            .is_some_and(|attempt| attempt.is_cure_until() > self.now.awake)
            && is_young(replica.brief_since);
        let cure = match policy.page {
            PageWhen::IfNotCured => Severity::Notice.min(policy.severity),
            PageWhen::AtOnce => policy.severity,
        };
        // What ends by itself is no cure under way where somebody's order is behind it.
        let brief = replica.hold.as_ref().is_some_and(Hold::is_brief)
            && is_young(replica.brief_since)
            && first_order(&self.scene(replica)).is_none();
        // What has failed for longer than that was seen to before our start: one more start is no reason to wait once more.
        let settle = self.policy.settling.own_start;
        let settling = self.now.awake < self.own_start + settle && failing_for < settle;
        if trouble.not_cured > 0 || trouble.attempts > 1 || replica.is_given_up() {
            return Some(policy.severity);
        }
        if in_hand {
            return Some(cure);
        }
        if trouble.attempts == 1 {
            return Some(if over && !brief { policy.severity } else { cure });
        }
        match (over, settling, brief) {
            (false, _, _) | (true, true, _) => None,
            (true, false, true) => Some(cure),
            (true, false, false) => Some(policy.severity),
        }
    }

    /// Whether people were told at least so loudly that this service fails or is down, or of what it waits for itself.
    fn is_told_of(&self, service: &str, level: Severity) -> bool {
        let mut asked = BTreeSet::new();
        let mut next = vec![service];
        while let Some(service) = next.pop() {
            if self.is_itself_told_of(service, level) {
                return true;
            }
            if asked.insert(service) {
                next.extend(self.waited_for_by(service));
            }
        }
        false
    }

    /// What replicas of a service are held back for (S9).
    fn waited_for_by(&self, service: &str) -> impl Iterator<Item = &str> {
        let members = self.services.iter().find(|(name, _)| name.as_str() == service);
        let members = members.into_iter().flat_map(|(_, service)| &service.members);
        members.filter_map(|name| match &self.replicas.get(name)?.hold {
            Some(Hold::DependencyNotHealthy(needed)) => Some(needed.as_str()),
            Some(_) | None => None,
        })
    }

    fn is_itself_told_of(&self, service: &str, level: Severity) -> bool {
        self.incidents.values().any(|incident| {
            let same = incident.key.service.as_ref().is_some_and(|name| name.as_str() == service);
            let about = matches!(incident.key.kind, IncidentKind::Unhealthy | IncidentKind::Down);
            let loud = incident.story.level >= level;
            same && about && loud && incident.story.stage == Stage::Failing
        })
    }
}
