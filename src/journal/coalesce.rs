//! Leaves out what repeats itself without meaning: the hundredth pass of a probe, the list that is the same as before.
//!
//! A thousand healthy probes would otherwise push the one failure of last night out of the bounds. Of each run the first
//! few are kept, because they are what `rise` counts and what a verdict turns on; then one line at the end of the run, or
//! every five minutes, says how many there were. Anything that differs ends the run and is kept whole, so a failure is
//! never left out. Runs before the queue, so that what is left out costs neither a wake-up of the thread nor its disk.
//!
//! Targets start together, so their runs fall due together. They are told of a few with each observation: ten thousand in one
//! would be more than the queue takes.

use super::entry::Entry;
use crate::domain::{
    moment::{AwakeMs, Moment},
    name::ContainerId,
    observation::{Health, HealthStatus, Inspection, Observation, ProbeOutcome, Sample, Target},
};
use std::{
    collections::BTreeMap,
    ops::Bound::{Included, Unbounded},
    time::Duration,
};

/// So many of a run are kept whole. Above any sensible `rise`.
const KEPT_WHOLE: u32 = 5;

/// A run is told of at least so often. What a killed process can lose of it, and how late a line can be.
const TOLD_EVERY: Duration = Duration::from_secs(300);

/// So many runs that are due are told of with one observation: ten thousand within 313, which is under a second on a host that
/// has so many, and no longer for the disk than it takes for a few lines.
const TOLD_AT_ONCE: usize = 32;

/// So many runs are followed. Above what one host is built for; beyond it, nothing is left out.
const RUNS: usize = 32_768;

#[derive(Default)]
pub(super) struct Coalescer {
    runs: BTreeMap<Subject, Run>,
    /// When all runs had been looked through.
    swept: AwakeMs,
    /// Where looking through them goes on, while it is under way.
    next: Option<Subject>,
}

/// What can repeat itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Subject {
    Sample(Target),
    Inspection(ContainerId),
    List,
    UnhealthyList,
    HoldFile,
}

struct Run {
    last: Observation,
    seen: Moment,
    whole: u32,
    left_out: Option<LeftOut>,
}

struct LeftOut {
    count: u64,
    from: Moment,
    slowest: Option<Duration>,
}

impl Coalescer {
    /// What to write now that this was observed: nothing, or some entries in order, few enough to be written at once.
    pub(super) fn take(&mut self, at: Moment, observation: &Observation) -> Vec<Entry> {
        let mut entries = self.noted(at, observation);
        entries.extend(self.sweep(at.awake));
        entries
    }

    /// What of this observation, and of the run that it ends, is to be written.
    fn noted(&mut self, at: Moment, observation: &Observation) -> Vec<Entry> {
        let mut entries = Vec::new();
        let whole =
            |observation: &Observation| Entry::Seen { at, observation: observation.clone() };
        let Some(subject) = subject(observation) else {
            entries.push(whole(observation));
            return entries;
        };
        if let Some(run) = self.runs.get_mut(&subject)
            && is_uneventful(observation)
            && is_alike(&run.last, observation)
        {
            if run.whole < KEPT_WHOLE {
                run.whole += 1;
                entries.push(whole(observation));
            } else {
                let left_out =
                    run.left_out.get_or_insert(LeftOut { count: 0, from: at, slowest: None });
                left_out.count += 1;
                left_out.slowest = left_out.slowest.max(total(observation));
            }
            run.seen = at;
            if run.last != *observation {
                run.last = observation.clone();
            }
            return entries;
        }
        entries.extend(self.runs.remove(&subject).and_then(|mut run| run.told()));
        entries.push(whole(observation));
        if is_uneventful(observation) && self.runs.len() < RUNS {
            let run = Run { last: observation.clone(), seen: at, whole: 1, left_out: None };
            self.runs.insert(subject, run);
        }
        entries
    }

    /// Everything that was left out so far.
    pub(super) fn flush(&mut self) -> Vec<Entry> {
        self.runs.values_mut().filter_map(Run::told).collect()
    }

    /// Tells of some of the runs that have been left out for long enough, and forgets those of what is gone. What is due and
    /// has no room here is told of with the next observations.
    fn sweep(&mut self, now: AwakeMs) -> Vec<Entry> {
        let mut entries = Vec::new();
        let from = match self.next.take() {
            Some(subject) => Included(subject),
            None if now.since(self.swept) < TOLD_EVERY / 10 => return entries,
            None => Unbounded,
        };
        let mut gone = Vec::new();
        for (subject, run) in self.runs.range_mut((from, Unbounded)) {
            if entries.len() == TOLD_AT_ONCE {
                self.next = Some(subject.clone());
                break;
            }
            let due = run
                .left_out
                .as_ref()
                .is_some_and(|left_out| now.since(left_out.from.awake) >= TOLD_EVERY);
            if due {
                entries.extend(run.told());
            }
            if run.left_out.is_none() && now.since(run.seen.awake) >= 2 * TOLD_EVERY {
                gone.push(subject.clone());
            }
        }
        for subject in gone {
            self.runs.remove(&subject);
        }
        if self.next.is_none() {
            self.swept = now;
        }
        entries
    }
}

impl Run {
    fn told(&mut self) -> Option<Entry> {
        self.left_out.take().map(|LeftOut { count, from, slowest }| Entry::Repeated {
            count,
            from,
            at: self.seen,
            slowest,
            observation: self.last.clone(),
        })
    }
}

/// What the observation is one of many of. `None` for what is always kept whole.
fn subject(observation: &Observation) -> Option<Subject> {
    match observation {
        Observation::Sampled(sample) => Some(Subject::Sample(sample.target.clone())),
        Observation::Inspected { container, .. } => Some(Subject::Inspection(container.clone())),
        Observation::Listed(_) => Some(Subject::List),
        Observation::UnhealthyListed(_) => Some(Subject::UnhealthyList),
        Observation::HoldFile(_) => Some(Subject::HoldFile),
        _ => None,
    }
}

/// Whether a second one like it would mean nothing. A failure counts, so each one means something.
fn is_uneventful(observation: &Observation) -> bool {
    match observation {
        Observation::Sampled(sample) => {
            matches!(sample.outcome, ProbeOutcome::Ok { .. }) && sample.skipped == 0
        }
        Observation::Inspected { answer: Ok(inspection), .. } => {
            inspection.health.as_ref().is_none_or(|health| {
                health.status == HealthStatus::Healthy && health.failing_streak == 0
            })
        }
        Observation::Listed(_) | Observation::UnhealthyListed(_) | Observation::HoldFile(_) => true,
        _ => false,
    }
}

/// The same but for when it was and how long it took. Compared whole, with only that put aside, so that a field that is
/// added one day is never overlooked.
fn is_alike(earlier: &Observation, later: &Observation) -> bool {
    match (earlier, later) {
        (Observation::Sampled(earlier), Observation::Sampled(later)) => {
            *earlier == Sample { phases: earlier.phases, lag: earlier.lag, ..later.clone() }
        }
        (
            Observation::Inspected { answer: Ok(earlier), .. },
            Observation::Inspected { answer: Ok(later), .. },
        ) => {
            let log = earlier.health.as_ref().map(|health| health.log.clone()).unwrap_or_default();
            let later = Inspection {
                engine_now: earlier.engine_now,
                health: later.health.clone().map(|health| Health { log, ..health }),
                ..(**later).clone()
            };
            **earlier == later
        }
        _ => earlier == later,
    }
}

fn total(observation: &Observation) -> Option<Duration> {
    match observation {
        Observation::Sampled(sample) => Some(sample.phases.total),
        _ => None,
    }
}
