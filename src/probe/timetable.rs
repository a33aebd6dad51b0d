//! Which target is due, which runs, which waits: the scheduler's thinking, without clock, tasks or channels.
//!
//! Each target has exactly one future tick from the order that begins it to the order that drops it, whatever becomes of its
//! samples (L1). When a tick comes, the target joins the pool's line; where it still runs or waits, the tick is skipped and
//! counted. A sample that nobody has taken yet fills the target's slot, and the next tick waits for the slot, as lag: the
//! lane to the loop holds at most one sample a target, and a loop that is late slows the probes and loses nothing.
//!
//! It refuses to judge. A failed sample is `down` here only for the pool's sake.

use super::{
    pool::{Kind, Pool, RunId},
    port::Probed,
    stats::Stats,
    ticks::Ticks,
};
use crate::domain::{
    effect::{ProbeOrder, Watch},
    moment::{AwakeMs, Spoken},
    observation::{Phases, ProbeOutcome, Sample, Target},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// A prober keeps its own deadline; one that does not is given up so much later, so that its target gets its next tick. Long
/// enough for a busy host, short beside the usual interval.
const OVERRUN: Duration = Duration::from_secs(1);

/// What one turn of the timetable wants done.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// To be run now.
    pub(super) starts: Vec<(RunId, Arc<Watch>)>,
    /// To be dropped now. Their places stay held until [`Timetable::ended`] hears that they are gone.
    pub(super) stops: Vec<RunId>,
    /// To be handed on.
    pub(super) samples: Vec<Sample>,
    /// How long each of `starts` had waited.
    pub(super) lags: Vec<Duration>,
    /// Ticks that were skipped.
    pub(super) skipped: u64,
}

/// Where a target stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Until its next tick.
    Resting,
    /// Its tick came, its slot is still full.
    Held { since: AwakeMs },
    /// In the pool's line.
    Queued { since: AwakeMs, kind: Kind },
    /// Under way.
    Running { run: RunId, since: AwakeMs, started: AwakeMs },
}

struct Row {
    watch: Arc<Watch>,
    ticks: Ticks,
    next: AwakeMs,
    last: Option<AwakeMs>,
    state: State,
    kind: Kind,
    skipped: u32,
}

/// All targets.
pub(super) struct Timetable {
    seed: u64,
    rows: BTreeMap<Target, Row>,
    due: BTreeSet<(AwakeMs, Target)>,
    runs: BTreeMap<RunId, (Target, AwakeMs)>,
    overdue: BTreeSet<(AwakeMs, RunId)>,
    full: BTreeSet<Target>,
    held: usize,
    pool: Pool,
}

impl Timetable {
    pub(super) fn new(seed: u64, pool: usize) -> Self {
        Self {
            seed,
            rows: BTreeMap::new(),
            due: BTreeSet::new(),
            runs: BTreeMap::new(),
            overdue: BTreeSet::new(),
            full: BTreeSet::new(),
            held: 0,
            pool: Pool::of(pool),
        }
    }

    /// When the next thing is due.
    pub(super) fn next_at(&self) -> Option<AwakeMs> {
        let tick = self.due.first().map(|(at, _)| *at);
        let overdue = self.overdue.first().map(|(at, _)| *at);
        tick.into_iter().chain(overdue).min()
    }

    /// Targets that wait for their slot.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// What `turn` left behind; lags and ticks of earlier turns are the caller's to add.
    pub(super) fn counts(&self, turn: &Turn) -> Stats {
        Stats {
            targets: self.rows.len(),
            pool: self.pool.places(),
            in_flight: self.pool.held(),
            in_flight_down: self.pool.held_by_down(),
            queued: self.pool.waiting(),
            held: self.held,
            skipped: turn.skipped,
            ..Stats::default()
        }
    }

    /// Takes an order.
    pub(super) fn order(&mut self, now: AwakeMs, order: ProbeOrder, turn: &mut Turn) {
        match order {
            ProbeOrder::Watch(watch) => self.watch(now, Arc::new(*watch), turn),
            ProbeOrder::Drop(target) => self.drop(now, &target, turn),
        }
    }

    fn watch(&mut self, now: AwakeMs, watch: Arc<Watch>, turn: &mut Turn) {
        let target = watch.target.clone();
        if let Some(row) = self.rows.get_mut(&target)
            && same_question(&row.watch, &watch)
        {
            let paced = row.watch.probe.every != watch.probe.every;
            row.watch = watch;
            if paced {
                self.pace(now, &target);
            }
            return;
        }
        self.drop(now, &target, turn);
        let ticks = Ticks::of(self.seed, &target, watch.probe.every);
        let next = ticks.first(now);
        self.due.insert((next, target.clone()));
        let row = Row {
            watch,
            ticks,
            next,
            last: None,
            state: State::Resting,
            kind: Kind::Up,
            skipped: 0,
        };
        self.rows.insert(target, row);
    }

    /// A target's pace has changed; its phase stays.
    fn pace(&mut self, now: AwakeMs, target: &Target) {
        let Some(row) = self.rows.get_mut(target) else { return };
        self.due.remove(&(row.next, target.clone()));
        row.ticks = row.ticks.paced(row.watch.probe.every);
        // A slower grid's tick may lie further away than the one that was promised: that is what slower means. Ticks between
        // the last one and now belonged to the old pace and are not missed ones.
        row.next = match row.last {
            Some(last) => row.ticks.next(last, now).0,
            None => row.ticks.first(now).min(row.next),
        };
        self.due.insert((row.next, target.clone()));
    }

    fn drop(&mut self, now: AwakeMs, target: &Target, turn: &mut Turn) {
        self.stop(now, target, ProbeOutcome::Gone, turn);
        let Some(row) = self.rows.remove(target) else { return };
        self.due.remove(&(row.next, target.clone()));
        match row.state {
            State::Held { .. } => self.held -= 1,
            State::Queued { since, kind } => self.pool.leave(since, target, kind),
            State::Resting | State::Running { .. } => {}
        }
    }

    /// Samples in flight are no evidence: the host slept under them.
    pub(super) fn resumed(&mut self, now: AwakeMs, slept: Duration, turn: &mut Turn) {
        let running: Vec<Target> = self.runs.values().map(|(target, _)| target.clone()).collect();
        for target in running {
            let slept = Spoken(slept);
            let why = format!("the host or this process slept for {slept} while the probe ran");
            self.stop(now, &target, ProbeOutcome::Local(why), turn);
        }
    }

    /// Ends what runs for `target`, where something does, with `outcome`.
    fn stop(&mut self, now: AwakeMs, target: &Target, outcome: ProbeOutcome, turn: &mut Turn) {
        let Some(row) = self.rows.get(target) else { return };
        let State::Running { run, started, .. } = row.state else { return };
        turn.stops.push(run);
        let phases = Phases { total: now.since(started), ..Phases::default() };
        self.sample(target, Probed { outcome, phases, address: None }, turn);
    }

    /// A run is over, and nothing of it is open any more. Without a result where it was stopped, or broke down.
    pub(super) fn ended(&mut self, run: RunId, probed: Option<Probed>, turn: &mut Turn) {
        self.pool.give_back(run);
        let Some((target, deadline)) = self.runs.remove(&run) else { return };
        self.overdue.remove(&(deadline, run));
        let Some(row) = self.rows.get(&target) else { return };
        if !matches!(row.state, State::Running { run: current, .. } if current == run) {
            return;
        }
        let probed = probed.unwrap_or_else(|| Probed {
            outcome: ProbeOutcome::Local("the probe broke down; this is a fault of defib".into()),
            phases: Phases::default(),
            address: None,
        });
        self.sample(&target, probed, turn);
    }

    /// Hands on what a running target showed, and lets it rest.
    fn sample(&mut self, target: &Target, probed: Probed, turn: &mut Turn) {
        let Some(row) = self.rows.get_mut(target) else { return };
        let State::Running { since, started, .. } = row.state else { return };
        row.state = State::Resting;
        row.kind = match &probed.outcome {
            ProbeOutcome::Ok { .. } => Kind::Up,
            ProbeOutcome::Gone => row.kind,
            _ => Kind::Down,
        };
        self.full.insert(target.clone());
        turn.samples.push(Sample {
            target: target.clone(),
            service: row.watch.service.clone(),
            instance: row.watch.instance.clone(),
            outcome: probed.outcome,
            phases: probed.phases,
            address: probed.address,
            lag: started.since(since),
            skipped: std::mem::take(&mut row.skipped),
        });
    }

    /// The target's sample was taken: its slot is free.
    pub(super) fn taken(&mut self, target: &Target) {
        self.full.remove(target);
        if let Some(row) = self.rows.get_mut(target)
            && let State::Held { since } = row.state
        {
            self.held -= 1;
            row.state = State::Queued { since, kind: row.kind };
            self.pool.queue(since, target.clone(), row.kind);
        }
    }

    /// Lets time pass up to `now`, and fills the pool.
    pub(super) fn advance(&mut self, now: AwakeMs, turn: &mut Turn) {
        while let Some((_, run)) = pop_until(&mut self.overdue, now) {
            let target = self.runs.get(&run).map(|(target, _)| target.clone());
            if let Some(target) = target.filter(|target| self.is_running(target, run)) {
                let why = "the probe did not keep its own deadline, and was given up";
                self.stop(now, &target, ProbeOutcome::Local(why.into()), turn);
            }
        }
        while let Some((at, target)) = pop_until(&mut self.due, now) {
            self.tick(at, now, target, turn);
        }
        while let Some((run, target)) = self.pool.take() {
            self.start(run, target, now, turn);
        }
    }

    fn tick(&mut self, at: AwakeMs, now: AwakeMs, target: Target, turn: &mut Turn) {
        let Some(row) = self.rows.get_mut(&target) else { return };
        let (next, missed) = row.ticks.next(at, now);
        (row.last, row.next) = (Some(at), next);
        self.due.insert((next, target.clone()));
        let mut skipped = u32::try_from(missed).unwrap_or(u32::MAX);
        match row.state {
            State::Resting if self.full.contains(&target) => {
                row.state = State::Held { since: at };
                self.held += 1;
            }
            State::Resting => {
                row.state = State::Queued { since: at, kind: row.kind };
                self.pool.queue(at, target, row.kind);
            }
            State::Held { .. } | State::Queued { .. } | State::Running { .. } => {
                skipped = skipped.saturating_add(1);
            }
        }
        row.skipped = row.skipped.saturating_add(skipped);
        turn.skipped = turn.skipped.saturating_add(u64::from(skipped));
    }

    fn start(&mut self, run: RunId, target: Target, now: AwakeMs, turn: &mut Turn) {
        let Some(row) = self.rows.get_mut(&target) else {
            self.pool.give_back(run);
            return;
        };
        let since = match row.state {
            State::Queued { since, .. } => since,
            State::Resting | State::Held { .. } | State::Running { .. } => now,
        };
        row.state = State::Running { run, since, started: now };
        turn.lags.push(now.since(since));
        let deadline = now + row.watch.probe.timeout + OVERRUN;
        turn.starts.push((run, Arc::clone(&row.watch)));
        self.overdue.insert((deadline, run));
        self.runs.insert(run, (target, deadline));
    }

    fn is_running(&self, target: &Target, run: RunId) -> bool {
        let row = self.rows.get(target);
        row.is_some_and(
            |row| matches!(row.state, State::Running { run: current, .. } if current == run),
        )
    }
}

/// Whether a sample of the one answers for the other too: pace and thresholds may differ.
fn same_question(one: &Watch, other: &Watch) -> bool {
    one.instance == other.instance
        && one.address == other.address
        && one.service == other.service
        && one.probe.definition == other.probe.definition
        && one.probe.spec == other.probe.spec
        && one.probe.timeout == other.probe.timeout
}

fn pop_until<T: Ord>(queue: &mut BTreeSet<(AwakeMs, T)>, now: AwakeMs) -> Option<(AwakeMs, T)> {
    if queue.first()?.0 <= now { queue.pop_first() } else { None }
}
