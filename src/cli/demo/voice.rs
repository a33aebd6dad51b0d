//! How the demo speaks: one line a happening, each with its time.
//!
//! A reader that stands still (a paused terminal, a full pipe) must stop neither the story, whose daemon goes on meanwhile,
//! nor the clearing up. So lines go through the queue that the log has too. At the end a reader that stands still is waited
//! for, since nothing else is left to do and what was said last says how it went; whoever does not want that ends the demo,
//! as at any other time.

use super::{interrupts::Interrupts, role::Role};
use crate::{
    cli::log::queue::{MOST_WAITING, Queue},
    clock::Clock,
    domain::moment::AwakeMs,
};
use std::{
    io::{self, Write},
    sync::Arc,
    time::Duration,
};

/// Once somebody has ended the demo, what waits is written within this, or not at all.
const FLUSH_WITHIN: Duration = Duration::from_secs(1);

/// Between two looks at whether somebody ends the demo: short enough to feel like at once.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How a line looks, where the screen takes colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// Less important.
    Quiet,
    /// Something fails.
    Bad,
    /// Something is well.
    Good,
}

/// Writes lines. When it is dropped, it waits until they are written, or somebody ends the demo.
pub struct Voice {
    out: Queue,
    coloured: bool,
    clock: Arc<dyn Clock>,
    began: AwakeMs,
    interrupts: Interrupts,
}

impl Voice {
    /// Times count from now.
    ///
    /// # Errors
    /// Where the system cannot start a thread.
    pub fn begin(
        out: Box<dyn Write + Send>,
        coloured: bool,
        clock: Arc<dyn Clock>,
        interrupts: Interrupts,
    ) -> io::Result<Self> {
        let (out, began) = (Queue::start(out, MOST_WAITING)?, clock.now().awake);
        Ok(Self { out, coloured, clock, began, interrupts })
    }

    /// When it began.
    pub fn began(&self) -> AwakeMs {
        self.began
    }

    /// A line without a time.
    pub fn line(&mut self, tone: Tone, text: &str) {
        let colour = match tone {
            _ if !self.coloured => "",
            Tone::Plain => "",
            Tone::Quiet => "\u{1b}[2m",
            Tone::Bad => "\u{1b}[31m",
            Tone::Good => "\u{1b}[32m",
        };
        let end = if colour.is_empty() { "" } else { "\u{1b}[0m" };
        // The queue takes everything, or counts it as lost: where nobody reads any more, the demo still ends by itself.
        drop(self.out.write_all(format!("{colour}{text}{end}\n").as_bytes()));
    }

    /// A line with its time.
    pub fn at(&mut self, tone: Tone, text: &str) {
        let seconds = self.clock.now().awake.since(self.began).as_secs_f32();
        self.line(tone, &format!("[{seconds:5.1}s] {text}"));
    }

    /// A line with its time about one container.
    pub fn of(&mut self, role: Role, tone: Tone, text: &str) {
        self.at(tone, &format!("{role:<9} {text}"));
    }
}

impl Drop for Voice {
    fn drop(&mut self) {
        while !self.out.flush(LOOK_AGAIN) {
            if self.interrupts.came().is_some() {
                self.out.flush(FLUSH_WITHIN);
                break;
            }
        }
        self.out.close();
    }
}
