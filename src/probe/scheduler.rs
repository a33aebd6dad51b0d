//! The task that owns the schedule: it takes orders, starts probes when they are due, and hands on samples.
//!
//! One task with one timer for all targets, however many: ten thousand sleeping tasks would be ten thousand timers and stacks
//! for nothing. Each probe runs as a task of its own, so that a slow one delays nobody. What is decided when is in
//! `timetable`; here is only what touches clock, tasks and lanes.
//!
//! Lanes. In: orders never wait; only the latest one of each target is kept, so there are never more than targets. Out: one
//! slot a target. A sample that was not taken holds back its target's next run, and never another's.
//!
//! In a suspended host the timers of probes in flight and the connections under them run out together at waking, before
//! anybody can say that the host slept. So this task compares the clocks itself before it believes a sample (S5).

use super::{
    pool::RunId,
    port::{Probed, Prober},
    stats::{Gauges, Stats},
    timetable::{Timetable, Turn},
};
use crate::{
    clock::Clock,
    domain::{
        effect::{ProbeOrder, Watch},
        moment::Moment,
        observation::{Sample, Target},
    },
    tasks::Tasks,
};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::Notify, task::AbortHandle};

/// Probes at a time, where the config does not say. At a timeout of 2 s it carries 128 hung targets a second in its half.
pub const POOL: usize = 512;

/// A host that slept for less has hurt no probe; readings of two clocks differ by a millisecond or so anyway.
const NAP: Duration = Duration::from_millis(500);

/// What the scheduler works with.
pub struct Setup {
    /// Ticks follow its awake time.
    pub clock: Arc<dyn Clock>,
    /// Where the scheduler and its probes run.
    pub tasks: Tasks,
    /// Runs the probes.
    pub prober: Arc<dyn Prober>,
    /// How many at a time; at least 1.
    pub pool: usize,
    /// Shifts all phases. The same seed, orders and prober give the same samples at the same times.
    pub seed: u64,
}

/// Starts the scheduler. It ends when all handles or the receiver are dropped, and ends what is in flight with it.
pub fn start(setup: Setup) -> (SchedulerHandle, SampleReceiver) {
    let shared = Arc::new(Shared::default());
    let timetable = Timetable::new(setup.seed, setup.pool);
    lock(&shared.gauges).turned(timetable.counts(&Turn::default()), &[]);
    let tasks = setup.tasks.clone();
    let scheduler = Scheduler {
        lane: CloseLane(Arc::clone(&shared)),
        slept: slept_since_boot(setup.clock.now()),
        setup,
        timetable,
        running: BTreeMap::new(),
    };
    // Where it breaks down, the lane of samples is closed with it: that is how its owner learns of it.
    tasks.spawn("probe scheduler", scheduler.run());
    let handle = SchedulerHandle { inner: Arc::new(CloseInbox(Arc::clone(&shared))) };
    (handle, SampleReceiver { inner: CloseInbox(shared) })
}

/// Orders for the scheduler. Cheap to clone; never waits.
#[derive(Clone)]
pub struct SchedulerHandle {
    inner: Arc<CloseInbox>,
}

impl SchedulerHandle {
    /// Takes an order. It is carried out at once, together with others that came meanwhile.
    pub fn order(&self, order: ProbeOrder) {
        lock(&self.shared().inbox).order(order);
        self.shared().rung.notify_one();
    }

    /// The host was suspended, or the process was stopped, for this long: samples in flight become `local`.
    pub fn host_resumed(&self, slept: Duration) {
        let mut inbox = lock(&self.shared().inbox);
        inbox.resumed = Some(inbox.resumed.map_or(slept, |earlier| earlier.max(slept)));
        drop(inbox);
        self.shared().rung.notify_one();
    }

    /// How the scheduler is doing, as of its last turn.
    pub fn stats(&self) -> Stats {
        let ended = lock(&self.shared().outbox).closed;
        Stats { ended, ..lock(&self.shared().gauges).read() }
    }

    fn shared(&self) -> &Shared {
        &self.inner.0
    }
}

/// Where samples come out, in the order in which they ended.
pub struct SampleReceiver {
    inner: CloseInbox,
}

impl SampleReceiver {
    /// The next sample; `None` once the scheduler has ended. Taking it frees its target's slot. May be dropped at any time
    /// without losing one.
    pub async fn recv(&mut self) -> Option<Sample> {
        loop {
            match self.take() {
                Taken::Sample(sample) => return Some(*sample),
                Taken::Closed => return None,
                Taken::Empty => self.inner.0.filled.notified().await,
            }
        }
    }

    /// The next sample, where one is there already.
    pub fn try_recv(&mut self) -> Option<Sample> {
        match self.take() {
            Taken::Sample(sample) => Some(*sample),
            Taken::Closed | Taken::Empty => None,
        }
    }

    fn take(&mut self) -> Taken {
        let shared = &self.inner.0;
        let sample = {
            let mut outbox = lock(&shared.outbox);
            match outbox.samples.pop_front() {
                Some(sample) => sample,
                None if outbox.closed => return Taken::Closed,
                None => return Taken::Empty,
            }
        };
        let mut inbox = lock(&shared.inbox);
        inbox.taken.push(sample.target.clone());
        // Where no target waits for its slot, the scheduler learns of it early enough at its next turn.
        let awaited = inbox.held;
        drop(inbox);
        if awaited {
            shared.rung.notify_one();
        }
        Taken::Sample(Box::new(sample))
    }
}

enum Taken {
    Sample(Box<Sample>),
    Empty,
    Closed,
}

#[derive(Default)]
struct Shared {
    inbox: Mutex<Inbox>,
    rung: Notify,
    outbox: Mutex<Outbox>,
    filled: Notify,
    gauges: Mutex<Gauges>,
}

#[derive(Default)]
struct Outbox {
    samples: VecDeque<Sample>,
    closed: bool,
}

/// All that came since the last turn. Bounded: orders and taken samples by targets, ended runs by the pool.
#[derive(Default)]
struct Inbox {
    orders: BTreeMap<Target, Orders>,
    ended: Vec<(RunId, Option<Probed>)>,
    taken: Vec<Target>,
    resumed: Option<Duration>,
    held: bool,
    closed: bool,
}

/// The latest word on one target, in this order.
#[derive(Default)]
struct Orders {
    drop: bool,
    watch: Option<Box<Watch>>,
}

impl Inbox {
    fn order(&mut self, order: ProbeOrder) {
        match order {
            ProbeOrder::Watch(watch) => {
                let orders = self.orders.entry(watch.target.clone()).or_default();
                orders.watch = Some(watch);
            }
            // Kept also where a new watch follows: what is in flight ends for it.
            ProbeOrder::Drop(target) => {
                self.orders.insert(target, Orders { drop: true, watch: None });
            }
        }
    }
}

struct Scheduler {
    lane: CloseLane,
    setup: Setup,
    timetable: Timetable,
    running: BTreeMap<RunId, AbortHandle>,
    slept: Duration,
}

impl Scheduler {
    async fn run(mut self) {
        let shared = Arc::clone(&self.lane.0);
        loop {
            let news = {
                let mut inbox = lock(&shared.inbox);
                let held = inbox.held;
                let news = std::mem::take(&mut *inbox);
                inbox.held = held;
                news
            };
            if news.closed {
                break;
            }
            self.turn(news);
            let again = {
                let mut inbox = lock(&shared.inbox);
                inbox.held = self.timetable.held() > 0;
                // Taken after this turn had looked and before it said that it waits: nobody rang for those.
                inbox.held && !inbox.taken.is_empty()
            };
            if again {
                continue;
            }
            match self.timetable.next_at() {
                Some(at) => tokio::select! {
                    biased;
                    () = shared.rung.notified() => {}
                    () = self.setup.clock.sleep_until(at) => {}
                },
                None => shared.rung.notified().await,
            }
        }
        for run in self.running.values() {
            run.abort();
        }
    }

    fn turn(&mut self, news: Inbox) {
        let moment = self.setup.clock.now();
        let now = moment.awake;
        let mut turn = Turn::default();

        let slept = slept_since_boot(moment);
        let nap = slept.saturating_sub(std::mem::replace(&mut self.slept, slept));
        let resumed = news.resumed.or(Some(nap).filter(|nap| *nap > NAP));
        // First of all, so that what ended at waking is not believed.
        if let Some(slept) = resumed {
            self.timetable.resumed(now, slept, &mut turn);
        }
        // Before results and ticks: a result of an instance that is known to be gone says nothing of the new one.
        for (target, orders) in news.orders {
            if orders.drop {
                self.timetable.order(now, ProbeOrder::Drop(target), &mut turn);
            }
            if let Some(watch) = orders.watch {
                self.timetable.order(now, ProbeOrder::Watch(watch), &mut turn);
            }
        }
        for target in &news.taken {
            self.timetable.taken(target);
        }
        for (run, probed) in news.ended {
            self.running.remove(&run);
            self.timetable.ended(run, probed, &mut turn);
        }
        self.timetable.advance(now, &mut turn);
        self.carry_out(turn);
    }

    fn carry_out(&mut self, turn: Turn) {
        lock(&self.lane.0.gauges).turned(self.timetable.counts(&turn), &turn.lags);
        for run in turn.stops {
            if let Some(handle) = self.running.get(&run) {
                handle.abort();
            }
        }
        for (run, watch) in turn.starts {
            let handle = self.start(run, watch);
            self.running.insert(run, handle);
        }
        if !turn.samples.is_empty() {
            lock(&self.lane.0.outbox).samples.extend(turn.samples);
            self.lane.0.filled.notify_one();
        }
    }

    fn start(&self, run: RunId, watch: Arc<Watch>) -> AbortHandle {
        let prober = Arc::clone(&self.setup.prober);
        let mut end = End { shared: Arc::clone(&self.lane.0), run, probed: None };
        let task = async move {
            // Moved in, so that the end is told also of a probe that is aborted or panics.
            let end = &mut end;
            end.probed = Some(prober.probe(watch).await);
        };
        self.setup.tasks.spawn("probe", task).abort_handle()
    }
}

/// Tells the scheduler that a run is over, however it ended.
struct End {
    shared: Arc<Shared>,
    run: RunId,
    probed: Option<Probed>,
}

impl Drop for End {
    fn drop(&mut self) {
        lock(&self.shared.inbox).ended.push((self.run, self.probed.take()));
        self.shared.rung.notify_one();
    }
}

/// Ends the scheduler when the last handle, or the receiver, goes.
struct CloseInbox(Arc<Shared>);

impl Drop for CloseInbox {
    fn drop(&mut self) {
        lock(&self.0.inbox).closed = true;
        self.0.rung.notify_one();
    }
}

/// Tells the receiver that nothing more comes, however the scheduler ended.
struct CloseLane(Arc<Shared>);

impl Drop for CloseLane {
    fn drop(&mut self) {
        lock(&self.0.outbox).closed = true;
        self.0.filled.notify_one();
    }
}

/// For how long the host has been suspended since it booted.
fn slept_since_boot(moment: Moment) -> Duration {
    Duration::from_millis(moment.boot.0.saturating_sub(moment.awake.0))
}

/// Nothing in here panics while it holds a lock; a poisoned one still holds sound data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
