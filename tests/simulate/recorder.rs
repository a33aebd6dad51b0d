//! Writes the account while the run goes on, and lets defib die at the places that the scenario chose.

use crate::{
    account::{Clockface, Entry, Fact, Ms},
    scenario::{CrashPlan, CrashPoint},
    time::{Time, wait_until},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// More turns or facts than this within one millisecond are a loop that will never end.
const MOST_AT_ONCE: u64 = 100_000;

/// Writes the account.
pub struct Recorder {
    /// The run's time.
    pub time: Arc<Time>,
    notes: Mutex<Notes>,
    armed: Notify,
}

#[derive(Default)]
struct Notes {
    entries: Vec<Entry>,
    life: u32,
    calls: u64,
    sends: u64,
    /// When the host slept, by the run's time, and for how long.
    slept: Vec<(Ms, Ms)>,
    plan: Option<CrashPlan>,
    /// When defib dies.
    crash_at: Option<Ms>,
    /// What happened within the present millisecond.
    busy: (Ms, u64),
}

impl Recorder {
    /// An empty account.
    pub fn new(time: Arc<Time>) -> Arc<Self> {
        Arc::new(Self { time, notes: Mutex::default(), armed: Notify::new() })
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something happened, now.
    pub fn note(&self, fact: Fact) {
        let at = self.time.now();
        let elapsed = self.time.elapsed();
        self.beat();
        let mut notes = self.notes();
        let place = place(&fact);
        let life = notes.life;
        notes.entries.push(Entry { at, elapsed, life, fact });
        if let Some(place) = place {
            self.reach(&mut notes, place, at);
        }
    }

    /// Something went on, now.
    ///
    /// # Panics
    /// Where so much goes on within one millisecond that time will never pass again; the run is then judged as broken.
    #[expect(clippy::panic, reason = "there is no other way out of a loop that does not end")]
    pub fn beat(&self) {
        let at = self.time.now();
        let stuck = {
            let busy = &mut self.notes().busy;
            if busy.0 == at {
                busy.1 += 1;
            } else {
                *busy = (at, 0);
            }
            busy.1 > MOST_AT_ONCE
        };
        if stuck {
            let last = {
                let mut notes = self.notes();
                notes.busy.1 = 0;
                let last = notes.entries.iter().rev().take(12).map(ToString::to_string);
                last.collect::<Vec<_>>().join("; ")
            };
            panic!("{}: time stands still, the loop turns and turns; last: {last}", Clockface(at));
        }
    }

    /// A place that is no fact of its own was reached.
    pub fn reached(&self, place: CrashPoint) {
        let at = self.time.now();
        self.reach(&mut self.notes(), place, at);
    }

    fn reach(&self, notes: &mut Notes, reached: CrashPoint, at: Ms) {
        if let Some(CrashPlan::After { place, nth, delay }) = &mut notes.plan
            && *place == reached
        {
            *nth = nth.saturating_sub(1);
            if *nth == 0 {
                notes.crash_at = Some(at + *delay);
                notes.plan = None;
                self.armed.notify_waiters();
            }
        }
    }

    /// A life of defib begins; it ends as planned.
    pub fn life_begins(&self, plan: Option<CrashPlan>) {
        {
            let mut notes = self.notes();
            notes.life += 1;
            notes.crash_at = match plan {
                Some(CrashPlan::At(at)) => Some(at),
                Some(CrashPlan::After { .. }) | None => None,
            };
            notes.plan = plan;
        }
        self.note(Fact::DefibStarted);
    }

    /// Waits until it is time for defib to die.
    pub async fn crash(&self) {
        loop {
            let armed = self.armed.notified();
            tokio::pin!(armed);
            armed.as_mut().enable();
            let at = self.notes().crash_at;
            match at {
                Some(at) => return wait_until(&self.time, at).await,
                None => armed.await,
            }
        }
    }

    /// The number of the next call.
    pub fn next_call(&self) -> u64 {
        let mut notes = self.notes();
        notes.calls += 1;
        notes.calls
    }

    /// The number of the next attempt at delivery.
    pub fn next_send(&self) -> u64 {
        let mut notes = self.notes();
        notes.sends += 1;
        notes.sends
    }

    /// The host slept.
    pub fn slept(&self, span: Ms) {
        let at = self.time.now();
        self.notes().slept.push((at, span));
        self.note(Fact::HostSlept(span));
    }

    /// The account so far, and when the host slept.
    pub fn take(&self) -> (Vec<Entry>, Vec<(Ms, Ms)>) {
        let mut notes = self.notes();
        (std::mem::take(&mut notes.entries), notes.slept.clone())
    }
}

fn place(fact: &Fact) -> Option<CrashPoint> {
    match fact {
        Fact::Submitted { .. } => Some(CrashPoint::Submitted),
        Fact::Committed { .. } => Some(CrashPoint::Committed),
        Fact::ActCalled { .. } => Some(CrashPoint::ActCalled),
        Fact::ActAnswered { .. } => Some(CrashPoint::ActAnswered),
        Fact::SendBegun { .. } => Some(CrashPoint::SendBegun),
        Fact::Landed { .. } => Some(CrashPoint::Landed),
        Fact::SendAnswered { .. } => Some(CrashPoint::SendAnswered),
        _ => None,
    }
}
