//! What an event says: that a container is to be looked at, and whether somebody else had a hand in it (S10).

use crate::domain::{
    Domain, Holder,
    acting::attempt::Attempt,
    agenda::Owner,
    judging::verdict::Evidence,
    moment::AwakeMs,
    name::ReplicaName,
    observation::{ContainerState, EngineEvent, EventAction},
    watching::{
        lifecycle::Lifecycle,
        replica::{Replica, Touch},
    },
};

/// Signals by which people end a process; others (HUP, USR1, QUIT for a thread dump) are a way of talking to it, but where
/// its image says that it is stopped by one.
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
                    if matches!(event.action, EventAction::HealthChanged(_)) {
                        (replica.fails_untold, replica.health_told) = (false, true);
                    }
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
        if is_ours(replica, event, now) {
            let ends = ends_it(replica, &event.action);
            if let (Some(attempt), true) = (&mut replica.kept.attempt, ends)
                && attempt.instance.container == event.container
            {
                attempt.stop_sent.get_or_insert(now);
            }
            return;
        }
        let is_it = replica.kept.container.as_ref() == Some(&event.container);
        let of_earlier_life = replica
            .inspection
            .as_ref()
            .is_some_and(|seen| is_it && seen.started.is_some_and(|started| event.at < started));
        let (word, by_hand) = match &event.action {
            EventAction::Stopped => ("stop", true),
            // Of what was started with `--rm` the engine's removal is no more than the end of its process.
            EventAction::Destroyed => {
                let by_engine = replica.inspection.as_ref().is_some_and(|known| known.auto_remove);
                ("remove", !by_engine)
            }
            EventAction::Killed { .. } if ends_it(replica, &event.action) => ("kill", true),
            EventAction::Killed { .. } => return,
            EventAction::Restarted => ("restart", false),
            EventAction::Paused => ("pause", false),
            EventAction::Unpaused => ("unpause", false),
            EventAction::Updated => ("update", false),
            EventAction::Renamed => ("rename", false),
            EventAction::Created => ("create", false),
            EventAction::Died { .. } => {
                // A signal that it did not die of is no stop: what ends it later is something else.
                if let (Some(touch), true) = (&mut replica.kept.touched, is_it) {
                    touch.is_ending = false;
                }
                return;
            }
            EventAction::Started | EventAction::OutOfMemory | EventAction::HealthChanged(_) => {
                return;
            }
        };
        let is_ending = is_it && matches!(event.action, EventAction::Killed { .. });
        replica.kept.touched = Some(Touch { at, what: word.to_owned(), is_ending });
        // Of a container that the replica no longer is, the end is only a touch.
        // Nor is it of this one what is told late of a life before it.
        if by_hand && is_it && !of_earlier_life && replica.kept.stopped_by_hand.is_none() {
            replica.kept.stopped_by_hand = Some(at);
            replica.kept.stopped_life = match replica.lifecycle {
                // Which life that was, the look shows that follows.
                Lifecycle::Unseen => None,
                Lifecycle::Running { .. }
                | Lifecycle::Paused { .. }
                | Lifecycle::Restarting
                | Lifecycle::Created
                | Lifecycle::Stopped(_)
                | Lifecycle::Gone
                | Lifecycle::Remote
                | Lifecycle::Odd(_) => replica.instance_seen(),
            };
        }
    }
}

/// Events carry no actor. What comes while defib has its hands on a container, and shortly after, is its own, and so is what
/// comes late and tells of then; but what ends or freezes the life that our own start began is not.
fn is_ours(replica: &Replica, event: &EngineEvent, now: AwakeMs) -> bool {
    let of_attempt = |attempt: &&Attempt| attempt.instance.container == event.container;
    let attempt = replica.kept.attempt.as_ref().filter(of_attempt);
    let by_engine = replica.inspection.as_ref().is_some_and(|known| known.auto_remove);
    if event.action == EventAction::Destroyed && !by_engine {
        // No act of ours removes anything.
        return false;
    }
    let ends_it = ends_it(replica, &event.action)
        || matches!(
            event.action,
            EventAction::Stopped | EventAction::Paused | EventAction::Destroyed
        );
    if let Some(attempt) = attempt.filter(|attempt| attempt.is_touching()) {
        return !ends_it || attempt.may_be_own_stop(event.at, now);
    }
    let of_new_life = replica.inspection.as_ref().is_some_and(|seen| {
        seen.id == event.container
            && seen.state == ContainerState::Running
            && seen.started.is_some_and(|started| started < event.at)
            && replica.kept.own_stop.as_ref().is_none_or(|own| own.started_at != seen.started_at)
    });
    let acts =
        attempt.map_or(replica.own_acts, |attempt| attempt.own_acts(replica.inspection.as_deref()));
    let of_own_time = acts.is_some_and(|(from, to)| from <= event.at && event.at <= to);
    let lately = of_own_time || replica.own_until.is_some_and(|until| now < until);
    let is_it = replica.kept.container.as_ref() == Some(&event.container);
    lately && is_it && !(of_new_life && ends_it)
}

/// Whether it says that a process was told to end: by a signal that ends most, or by the one that its image names for that.
fn ends_it(replica: &Replica, action: &EventAction) -> bool {
    let own = replica.inspection.as_ref().and_then(|known| known.stop_signal);
    match action {
        EventAction::Killed { signal: Some(signal) } => {
            STOPPING_SIGNALS.contains(signal) || own == Some(*signal)
        }
        EventAction::Killed { signal: None }
        | EventAction::Created
        | EventAction::Started
        | EventAction::Died { .. }
        | EventAction::Stopped
        | EventAction::Restarted
        | EventAction::Paused
        | EventAction::Unpaused
        | EventAction::Updated
        | EventAction::Renamed
        | EventAction::Destroyed
        | EventAction::OutOfMemory
        | EventAction::HealthChanged(_) => false,
    }
}
