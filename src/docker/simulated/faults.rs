//! When the way to the engine, not the engine, is at fault: a schedule of windows in world time.
//!
//! Faults are data, so that a seed can draw them and a failing run can print them. What goes wrong inside the engine
//! (crash loops, failing starts, a restart of the engine) belongs to the world and stands in its truth log instead.

use super::truth::WorldTime;
use crate::domain::name::ContainerId;
use std::time::Duration;

/// What is wrong during a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Nobody answers at the engine's address; the event stream breaks, answers under way are lost.
    EngineUnreachable,
    /// Calls are taken and not answered until the window ends; the event stream is silent.
    EngineHangs,
    /// Inspecting this container is not answered; the list works (moby 18848, 33870).
    InspectHangs(ContainerId),
    /// The list is not what it should be.
    ListGarbled,
    /// Acts are refused with 403, as a socket proxy does. Nothing reaches the engine.
    ActDenied,
    /// Acts are answered with 500 before anything happened.
    ActFails,
    /// Acts are carried out, but their answer is lost.
    ActAnswerLost,
    /// Acts are held by something in between, which answers nothing and drops them when the window ends.
    ActHeld,
    /// The event stream ends and cannot be opened.
    StreamCut,
    /// Events of this window never arrive.
    EventsDropped,
    /// Events of this window arrive twice.
    EventsDuplicated,
    /// Events of this window arrive so much later.
    EventsLate(Duration),
}

/// One fault and when: from `from` on, until just before `to`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultWindow {
    /// Its first millisecond.
    pub from: WorldTime,
    /// The first millisecond after it.
    pub to: WorldTime,
    /// What is wrong.
    pub kind: FaultKind,
}

/// All faults of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// In any order; they may overlap.
    pub windows: Vec<FaultWindow>,
}

impl Faults {
    /// The end of the last window that is open at `at` and whose kind `wanted` picks; `None` where none is.
    pub fn until(&self, at: WorldTime, wanted: impl Fn(&FaultKind) -> bool) -> Option<WorldTime> {
        self.windows
            .iter()
            .filter(|window| window.from <= at && at < window.to && wanted(&window.kind))
            .map(|window| window.to)
            .max()
    }

    /// Whether exactly this is wrong at `at`.
    pub fn active(&self, at: WorldTime, kind: &FaultKind) -> bool {
        self.until(at, |other| other == kind).is_some()
    }

    /// The start of the first window after `at` whose kind `wanted` picks.
    pub fn next(&self, at: WorldTime, wanted: impl Fn(&FaultKind) -> bool) -> Option<WorldTime> {
        self.windows
            .iter()
            .filter(|window| window.from > at && wanted(&window.kind))
            .map(|window| window.from)
            .min()
    }

    /// By how much an event that happened at `at` is late.
    pub fn lateness(&self, at: WorldTime) -> Duration {
        self.windows
            .iter()
            .filter(|window| window.from <= at && at < window.to)
            .filter_map(|window| match window.kind {
                FaultKind::EventsLate(by) => Some(by),
                FaultKind::EngineUnreachable
                | FaultKind::EngineHangs
                | FaultKind::InspectHangs(_)
                | FaultKind::ListGarbled
                | FaultKind::ActDenied
                | FaultKind::ActFails
                | FaultKind::ActAnswerLost
                | FaultKind::ActHeld
                | FaultKind::StreamCut
                | FaultKind::EventsDropped
                | FaultKind::EventsDuplicated => None,
            })
            .max()
            .unwrap_or_default()
    }
}
