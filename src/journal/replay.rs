//! A run, decided again from what it saw.
//!
//! The domain is fed with what the journal kept, at the moments it was seen; deadlines in between ring by themselves. What
//! was coalesced (passes, unchanged looks) is missing, so a question may go unanswered that was answered then: the next
//! answer about the same container is taken for it. Decisions therefore come out the same; their moments may differ by a
//! look's latency. A life that began from kept records is decided as if it had begun from none.

use super::entry::{Entry, Origin};
use crate::domain::{
    Domain,
    effect::{Batch, Effect, Look},
    moment::{AwakeMs, Moment, millis},
    name::{ContainerId, LookId, Seq},
    observation::Observation,
    record::{DecisionRecord, Record},
};
use std::collections::BTreeMap;

/// One life of a daemon, replayed.
#[derive(Debug)]
pub struct Life {
    /// Whose.
    pub origin: Origin,
    /// What was decided, in order.
    pub decisions: Vec<DecisionRecord>,
    /// Observations that are missing, because the journal could not take them. Decisions may differ then.
    pub lost: u64,
}

/// Replays every life in these entries, in order. A life whose policy is not in them is left out.
pub fn replay(entries: impl IntoIterator<Item = Entry>) -> Vec<Life> {
    let mut lives: Vec<Kept> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Began(header) => {
                if lives.last().is_none_or(|life| life.origin != header.origin) {
                    lives.push(Kept { origin: header.origin, seen: Vec::new(), lost: 0 });
                }
            }
            Entry::Seen { at, observation } | Entry::Repeated { at, observation, .. } => {
                if let Some(life) = lives.last_mut() {
                    life.seen.push((at, observation));
                }
            }
            Entry::Lost { count } => {
                if let Some(life) = lives.last_mut() {
                    life.lost += count;
                }
            }
        }
    }
    lives.into_iter().filter_map(replay_life).collect()
}

/// What the journal kept of one life.
struct Kept {
    origin: Origin,
    seen: Vec<(Moment, Observation)>,
    lost: u64,
}

fn replay_life(life: Kept) -> Option<Life> {
    let Kept { origin, mut seen, lost } = life;
    seen.sort_by_key(|(at, _)| at.awake);
    let mut seen = seen.into_iter();
    let (start, policy) = seen.find_map(|(at, observation)| match observation {
        Observation::PolicyLoaded(policy) => Some((at, policy)),
        _ => None,
    })?;
    let (domain, batch) =
        Domain::restore(policy, origin.boot_id.clone(), Vec::new(), Seq(0), start);
    let mut player = Player { domain, asked: BTreeMap::new(), decisions: Vec::new(), now: start };
    player.take(batch);
    for (at, observation) in seen {
        player.ring_until(at);
        player.see(at, observation);
    }
    Some(Life { origin, decisions: player.decisions, lost })
}

struct Player {
    domain: Domain,
    /// Questions that the domain has asked and that are not answered.
    asked: BTreeMap<ContainerId, LookId>,
    decisions: Vec<DecisionRecord>,
    now: Moment,
}

impl Player {
    /// Deadlines ring at their own time.
    fn ring_until(&mut self, at: Moment) {
        while let Some(due) = self.domain.next_deadline().filter(|due| *due < at.awake) {
            let moment = self.later(due);
            let batch = self.domain.step(moment, Observation::Woke);
            self.take(batch);
            self.now = moment;
        }
    }

    /// The moment at which the awake clock shows `due`, if nothing was set or suspended meanwhile.
    fn later(&self, due: AwakeMs) -> Moment {
        let passed = due.since(self.now.awake);
        let mut moment = self.now;
        moment.awake = moment.awake + passed;
        moment.boot = moment.boot + passed;
        moment.wall.0 =
            moment.wall.0.saturating_add(i64::try_from(millis(passed)).unwrap_or(i64::MAX));
        moment
    }

    fn see(&mut self, at: Moment, observation: Observation) {
        self.now = at;
        let Observation::Inspected { container, answer, .. } = observation else {
            let batch = self.domain.step(at, observation);
            self.take(batch);
            return;
        };
        // An answer that the domain calls outdated makes it ask once more: the same answer is the latest there is.
        for _ in 0..2 {
            let Some(look) = self.asked.remove(&container) else {
                return;
            };
            let answer = answer.clone();
            let batch = self
                .domain
                .step(at, Observation::Inspected { look, container: container.clone(), answer });
            self.take(batch);
        }
    }

    fn take(&mut self, batch: Batch) {
        for record in batch.records {
            if let Record::Decided(decided) = record {
                self.decisions.push(*decided);
            }
        }
        for effect in batch.effects {
            if let Effect::Look(Look::Inspect { look, container }) = effect {
                self.asked.insert(container, look);
            }
        }
    }
}
