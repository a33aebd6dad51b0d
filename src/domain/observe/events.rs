//! What an event says: that a container is to be looked at, and whether somebody else had a hand in it (S10).

use crate::domain::{
    Domain, Holder,
    acting::attempt::{BEYOND_STOP, ENGINE_STOP_TIMEOUT},
    agenda::Owner,
    judging::verdict::Evidence,
    name::ReplicaName,
    observation::{EngineEvent, EventAction},
    watching::lifecycle::Lifecycle,
};
use std::time::Duration;

/// Events of our own acts may come this much later than their answer.
const OWN_EVENTS_WITHIN: Duration = Duration::from_secs(5);

/// Signals by which people end a process; others (HUP, USR1, QUIT for a thread dump) are a way of talking to it.
const STOPPING_SIGNALS: [u32; 3] = [2, 9, 15];

impl Domain {
    pub(super) fn event(&mut self, event: EngineEvent) {
        let container = event.container.clone();
        if event.action == EventAction::Destroyed {
            if let Some(Holder::Replica(name)) = self.containers.get(&container).cloned() {
                self.note_touch(&name, &event);
            }
            self.container_gone(&container);
            self.agenda.touch(Owner::Looking);
            return;
        }
        match self.containers.get(&container).cloned() {
            None => {
                self.containers.insert(container.clone(), Holder::Pending);
                self.looking.want(&container);
            }
            Some(Holder::Pending) => self.looking.want(&container),
            Some(Holder::Foreign) if event.action == EventAction::Renamed => {
                self.looking.want(&container)
            }
            Some(Holder::Foreign) => return,
            Some(Holder::Replica(name)) => {
                self.note_touch(&name, &event);
                if let Some(replica) = self.replicas.get_mut(&name)
                    && replica.kept.container.as_ref() == Some(&container)
                {
                    let before = std::mem::replace(&mut replica.lifecycle, Lifecycle::Unseen);
                    replica.lifecycle = before.after(&event.action);
                    if matches!(event.action, EventAction::Paused | EventAction::Unpaused) {
                        replica.fresh_after = Some(event.at).max(replica.fresh_after);
                        replica.evidence = Evidence::default();
                        replica.kept.streaks.clear();
                    }
                }
                self.looking.want(&container);
                self.agenda.touch(Owner::Replica(name));
            }
        }
        self.agenda.touch(Owner::Looking);
    }

    /// Events carry no actor: what is not ours is somebody else's (S10).
    fn note_touch(&mut self, name: &ReplicaName, event: &EngineEvent) {
        let (now, at) = (self.now.awake, self.now);
        let Some(replica) = self.replicas.get_mut(name) else {
            return;
        };
        let ours = replica.kept.attempt.as_ref().is_some_and(|attempt| attempt.is_touching())
            || replica.own_act.is_some_and(|at| now.since(at) < OWN_EVENTS_WITHIN);
        if ours {
            return;
        }
        let (word, by_hand) = match &event.action {
            EventAction::Stopped => ("stop", true),
            // Of what was started with `--rm` the engine's removal is no more than the end of its process.
            EventAction::Destroyed => {
                let by_engine = replica.inspection.as_ref().is_some_and(|known| known.auto_remove);
                ("remove", !by_engine)
            }
            EventAction::Killed { signal } => match signal {
                Some(signal) if STOPPING_SIGNALS.contains(signal) => ("kill", true),
                Some(_) | None => return,
            },
            EventAction::Restarted => ("restart", false),
            EventAction::Paused => ("pause", false),
            EventAction::Unpaused => ("unpause", false),
            EventAction::Updated => ("update", false),
            EventAction::Renamed => ("rename", false),
            EventAction::Created => ("create", false),
            EventAction::Died { .. } => {
                // A signal that it did not die of is no stop: what ends it later is something else.
                let stop = replica.inspection.as_ref().and_then(|known| known.stop_timeout);
                let within = stop.unwrap_or(ENGINE_STOP_TIMEOUT) + BEYOND_STOP;
                let touched_late =
                    replica.touched.as_ref().is_none_or(|(at, _)| now.since(*at) > within);
                if touched_late {
                    replica.kept.stopped_by_hand = None;
                }
                return;
            }
            EventAction::Started | EventAction::OutOfMemory | EventAction::HealthChanged(_) => {
                return;
            }
        };
        replica.touched = Some((now, word.to_owned()));
        if by_hand {
            replica.kept.stopped_by_hand.get_or_insert(at);
        }
    }
}
