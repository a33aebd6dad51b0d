//! How the demo speaks: one line a happening, each with its time.

use super::role::Role;
use crate::{clock::Clock, domain::moment::AwakeMs};
use std::{io::Write, sync::Arc};

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

/// Writes lines.
pub struct Voice {
    out: Box<dyn Write + Send>,
    coloured: bool,
    clock: Arc<dyn Clock>,
    began: AwakeMs,
}

impl Voice {
    /// Times count from now.
    pub fn begin(out: Box<dyn Write + Send>, coloured: bool, clock: Arc<dyn Clock>) -> Self {
        let began = clock.now().awake;
        Self { out, coloured, clock, began }
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
        // Where nobody reads any more, the demo still ends by itself and clears up.
        drop(writeln!(self.out, "{colour}{text}{end}").and_then(|()| self.out.flush()));
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
