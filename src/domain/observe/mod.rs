//! What an observation changes, before anybody thinks about it: `lists`, `looks` (with `taking_in` and `renamed`), `events` and
//! `samples`.

mod events;
mod lists;
mod looks;
mod renamed;
mod samples;
mod taking_in;

use super::{
    Domain,
    acting::attempt::Input,
    agenda::Owner,
    name::ReplicaName,
    observation::{ActOutcome, Observation},
    policy::{Policy, ServicePolicy},
};
use std::sync::Arc;

impl Domain {
    pub(super) fn observe(&mut self, observation: Observation) {
        match observation {
            Observation::PolicyLoaded(policy) => self.policy_loaded(policy),
            Observation::Listed(listing) => self.listed(listing),
            Observation::UnhealthyListed(containers) => self.unhealthy_listed(&containers),
            Observation::ListFailed { full, failure } => {
                self.looking.list_failed(full, failure, self.policy.looking, self.now);
                self.agenda.touch(Owner::Looking);
                self.agenda.touch(Owner::Host);
            }
            Observation::Inspected { look, container, answer } => {
                self.inspected(look, &container, answer)
            }
            Observation::Event(event) => self.event(event),
            Observation::EventsOpened => {
                self.looking.events_opened(self.now.awake);
                self.agenda.touch(Owner::Looking);
                self.touch_waiting();
            }
            // A stream that ends says nothing about the engine: proxies cut idle ones. That it is away is seen by asking.
            Observation::EventsLost(failure) => {
                self.looking.events_lost(failure, self.now);
                self.agenda.touch(Owner::Looking);
            }
            Observation::Sampled(sample) => self.sampled(&sample),
            Observation::EvidenceGathered { attempt, findings } => {
                if let Some(name) = self.attempts.get(&attempt).cloned() {
                    self.attempt_input(&name, Input::Evidence(findings));
                }
            }
            Observation::Acted { attempt, outcome } => {
                match &outcome {
                    ActOutcome::Done => self.act_carried_out(),
                    ActOutcome::Denied(why) => {
                        self.host.refused(self.now, why.clone());
                        self.agenda.touch(Owner::Host);
                    }
                    ActOutcome::NoSuchContainer
                    | ActOutcome::Failed { .. }
                    | ActOutcome::TimedOut(_)
                    | ActOutcome::Unreachable(_) => {}
                }
                if let Some(name) = self.attempts.get(&attempt).cloned() {
                    self.attempt_input(&name, Input::Acted(outcome));
                }
            }
            Observation::Committed(seq) => {
                self.durability.committed(seq, self.now.awake);
                self.agenda.store_answered();
                self.agenda.touch(Owner::Host);
            }
            Observation::Refused { seq, reason } => {
                self.durability.refused(seq, reason, self.now.awake);
                self.agenda.store_answered();
                self.agenda.touch(Owner::Host);
            }
            Observation::Answered { sink, message, attempt, outcome } => {
                self.answered(&sink, message, attempt, outcome);
            }
            Observation::HostResumed(_) => {
                // What came meanwhile is taken in, and the list comes, before anybody's deadline counts.
                self.list_first();
            }
            Observation::ClockStepped(_) => {}
            Observation::MemoryLost(why) => self.memory_lost(&why),
            Observation::HoldFile(present) => {
                if self.host.hold_file != present {
                    self.host.hold_file = present;
                    self.touch_held();
                }
            }
            Observation::ProberEnded(why) => self.prober_ended(&why),
            Observation::Ending => self.look_at_what_is_begun(),
            Observation::Woke => {}
        }
    }

    fn policy_loaded(&mut self, policy: Arc<Policy>) {
        self.policy = policy;
        self.adopt_policy();
    }
}

/// The name of the replica that stands in for a service's URL.
pub(super) fn stand_in_name(service: &ServicePolicy) -> ReplicaName {
    ReplicaName::new(format!("{} (URL)", service.name))
}
