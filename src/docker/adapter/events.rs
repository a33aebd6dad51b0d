//! The event stream of the engine: lines as they come, until it ends or nothing has come for too long.
//!
//! Refuses to open itself anew: that is a look, and the caller's.

use crate::{
    docker::{
        connection::Exchange,
        failure,
        port::EventStream,
        raw::{
            self,
            events::Heard,
            lines::{Line, Lines},
        },
    },
    domain::{
        moment::EngineMs,
        observation::{EngineEvent, LookFailure},
    },
    tasks::Pending,
};
use std::{pin::Pin, time::Duration};
use tokio::time::{Sleep, sleep};

/// A container's labels are in each of its events.
pub(super) const EVENT_LIMIT: usize = 256 * 1024;

/// The event stream of the engine.
pub(super) struct Events {
    at: String,
    exchange: Exchange,
    lines: Lines,
    idle_for: Duration,
    /// Lives in here and not in `next`, which may be dropped and begun anew without end while nothing comes.
    idle: Pin<Box<Sleep>>,
    unreadable: u64,
}

impl Events {
    /// The events in an answer whose head has come. `at` names the engine in errors.
    pub(super) fn of(exchange: Exchange, at: String, idle_for: Duration) -> Self {
        Self {
            at,
            exchange,
            lines: Lines::up_to(EVENT_LIMIT),
            idle_for,
            idle: Box::pin(sleep(idle_for)),
            unreadable: 0,
        }
    }

    async fn read(&mut self) -> Result<EngineEvent, LookFailure> {
        loop {
            while let Some(line) = self.lines.next() {
                match line {
                    Line::Whole(line) => match raw::events::decode(&line) {
                        Heard::Event(event) => return Ok(event),
                        Heard::OfNoInterest => {}
                        Heard::Unreadable => self.passed_over("is no event that can be read"),
                    },
                    Line::TooLong => self.passed_over("is longer than 256 KiB"),
                }
            }
            let chunk = tokio::select! {
                biased;
                chunk = self.exchange.chunk() => chunk,
                () = &mut self.idle => return Err(LookFailure::TimedOut(self.idle_for)),
            };
            match chunk {
                Some(Ok(bytes)) => {
                    self.idle = Box::pin(sleep(self.idle_for));
                    self.lines.push(&bytes);
                }
                Some(Err(error)) => return Err(failure::of_look(&error, &self.at, false)),
                None => {
                    let text = format!("{}: the engine closed its event stream", self.at);
                    return Err(LookFailure::Unreachable(text));
                }
            }
        }
    }

    /// Events are hints, and the list finds what they missed: one that cannot be read costs itself. Said once a stream.
    fn passed_over(&mut self, why: &str) {
        self.unreadable = self.unreadable.saturating_add(1);
        if self.unreadable == 1 {
            tracing::warn!(
                engine = self.at,
                "a line of the event stream {why}; passed over, as will others be, until the next \
                 list"
            );
        }
    }
}

impl EventStream for Events {
    fn opened_at(&self) -> Option<EngineMs> {
        self.exchange.date()
    }

    fn next(&mut self) -> Pending<'_, Result<EngineEvent, LookFailure>> {
        Box::pin(self.read())
    }
}
