//! What is wrong with a config, and where. All of it is collected in one run, so that nobody mends a file one line at a
//! time: a check that fails reports here and the next one goes on.
//!
//! A problem says four things: what is wrong (title), the place (file, line, column, caret), the cause (at the caret) and
//! what to do (hint). What is printed of the file is its masked text (`source.rs`), never the text itself, so that no
//! error carries a secret (P7). Each problem is rendered from the few lines it touches, so that a thousand of them in a
//! large file take no longer than they must.

use super::{secret, source::Source};
pub use crate::notify::plain::Style;
use crate::redact::unseen::{is_invisible, is_joiner};
use annotate_snippets::{AnnotationKind, Group, Level as Shown, Origin, Renderer, Snippet};
use std::{fmt, ops::Range};

/// Bytes of the file.
pub type Span = Range<usize>;

/// More than this in one file are counted and not kept: somebody who reads a thousand has understood, and a file of junk
/// must not fill the memory. Warnings make way for errors, since only those keep the file from being used.
const KEPT_AT_MOST: usize = 1_000;

/// Places further apart than this are shown as two excerpts, since everything between the two is read to render one.
const LINES_IN_ONE_EXCERPT: usize = 200;

/// Longer lines are named by their place alone: nobody finds a caret in them.
const SHOWN_LINE_BYTES: usize = 2_000;

/// Whether it stops the config from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The file can't be used.
    Error,
    /// It can, but probably does not do what was meant.
    Warning,
}

/// One thing wrong, with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Whether it stops the config from being used.
    pub level: Level,
    /// What is wrong, in one line.
    pub title: String,
    /// Where.
    pub at: Span,
    /// Why it is wrong; stands at the caret.
    pub cause: String,
    /// Other places that belong to it, each with what is there.
    pub also: Vec<(Span, String)>,
    /// What to do.
    pub hint: Option<String>,
    /// Whether it says that something is missing. Where the file is no TOML, what is missing may stand in the lines that
    /// could not be read: such problems are then left out.
    pub missing: bool,
}

impl Problem {
    /// Stops the config from being used.
    pub fn error(at: Span, title: impl Into<String>) -> Self {
        Self {
            level: Level::Error,
            title: title.into(),
            at,
            cause: String::new(),
            also: Vec::new(),
            hint: None,
            missing: false,
        }
    }

    /// Lets the config be used.
    pub fn warning(at: Span, title: impl Into<String>) -> Self {
        Self { level: Level::Warning, ..Self::error(at, title) }
    }

    /// Something that should be there is not.
    pub fn missing(at: Span, title: impl Into<String>) -> Self {
        Self { missing: true, ..Self::error(at, title) }
    }

    /// Why it is wrong.
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = cause.into();
        self
    }

    /// Another place that belongs to it.
    pub fn also(mut self, at: Span, what: impl Into<String>) -> Self {
        self.also.push((at, what.into()));
        self
    }

    /// What to do.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Everything wrong with one file, in the order of the file.
#[derive(Clone, Debug)]
pub struct Problems {
    source: Source,
    kept: Vec<Problem>,
    errors: usize,
    warnings: usize,
}

impl Problems {
    /// None yet.
    pub fn new(source: Source) -> Self {
        Self { source, kept: Vec::new(), errors: 0, warnings: 0 }
    }

    /// One more.
    pub fn push(&mut self, problem: Problem) {
        match problem.level {
            Level::Error => self.errors += 1,
            Level::Warning => self.warnings += 1,
        }
        if self.kept.len() < KEPT_AT_MOST || self.makes_way(&problem) {
            self.kept.push(problem);
        }
    }

    /// Gives up the last warning for an error, where there is one among so many.
    fn makes_way(&mut self, problem: &Problem) -> bool {
        // Where errors alone fill the list no warning is looked for, a thousand times a problem.
        let may_be_kept = problem.level == Level::Error && self.errors <= KEPT_AT_MOST;
        let warning =
            may_be_kept.then(|| self.kept.iter().rposition(|kept| kept.level == Level::Warning));
        match warning.flatten() {
            Some(warning) => {
                self.kept.remove(warning);
                true
            }
            None => false,
        }
    }

    /// How many stop the config from being used.
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// How many do not.
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        self.errors + self.warnings == 0
    }

    /// Those that are kept, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.kept.iter()
    }

    /// How the file is called in what is printed.
    pub fn file(&self) -> &str {
        self.source.name()
    }

    /// Line and column of a problem, both from 1, the column in characters.
    pub fn place(&self, problem: &Problem) -> (usize, usize) {
        self.source.place(problem.at.start)
    }

    /// Brings them into the order of the file.
    pub fn sort(&mut self) {
        self.kept.sort_by_key(|problem| (problem.at.start, problem.level));
    }

    /// Leaves out what only follows from lines that could not be read: what is missing, what stands in the same lines, and
    /// warnings.
    pub(super) fn drop_what_follows_from(&mut self, unreadable: &[Span], first: usize) {
        let lines: Vec<usize> = unreadable.iter().map(|at| self.source.line(at.start)).collect();
        let follows = |problem: &Problem| {
            problem.missing
                || problem.level == Level::Warning
                || lines.contains(&self.source.line(problem.at.start))
        };
        let mut index = 0;
        let stays: Vec<bool> = self
            .kept
            .iter()
            .map(|problem| {
                index += 1;
                index <= first || !follows(problem)
            })
            .collect();
        self.keep(&stays);
    }

    /// Leaves out what seems to be missing, where it may stand in a section with a name that there is not. That name's own
    /// problem stays.
    pub(super) fn drop_what_is_missing(&mut self, unknown: &[Span]) {
        let of_the_file = 0..0;
        let stays: Vec<bool> = self
            .kept
            .iter()
            .map(|problem| {
                let follows = problem.missing || problem.at == of_the_file;
                !follows || unknown.contains(&problem.at)
            })
            .collect();
        self.keep(&stays);
    }

    /// Keeps those, by their index.
    fn keep(&mut self, keep: &[bool]) {
        let mut stay = keep.iter();
        let mut dropped = (0, 0);
        self.kept.retain(|problem| {
            let stays = stay.next().copied().unwrap_or(true);
            match (stays, problem.level) {
                (true, _) => {}
                (false, Level::Error) => dropped.0 += 1,
                (false, Level::Warning) => dropped.1 += 1,
            }
            stays
        });
        self.errors -= dropped.0;
        self.warnings -= dropped.1;
    }

    /// All of them, as a person reads them.
    pub fn render(&self, style: Style) -> String {
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Coloured => Renderer::styled(),
        };
        let mut text = String::new();
        for problem in &self.kept {
            text.push_str(&renderer.render(&[self.group(problem)]));
            text.push_str("\n\n");
        }
        if let Some(left_out) = self.left_out() {
            text.push_str(&format!("and {left_out} more, not shown: mend these first\n\n"));
        }
        text
    }

    /// How many are counted and not kept, in words.
    fn left_out(&self) -> Option<String> {
        let kept = |level| self.kept.iter().filter(|problem| problem.level == level).count();
        let errors = self.errors - kept(Level::Error);
        let warnings = self.warnings - kept(Level::Warning);
        match (errors, warnings) {
            (0, 0) => None,
            (_, 0) => Some(counted(errors, "error")),
            (0, _) => Some(counted(warnings, "warning")),
            (_, _) => {
                Some(format!("{} and {}", counted(errors, "error"), counted(warnings, "warning")))
            }
        }
    }

    fn group<'a>(&'a self, problem: &'a Problem) -> Group<'a> {
        let level = match problem.level {
            Level::Error => Shown::ERROR,
            Level::Warning => Shown::WARNING,
        };
        let mut group = level.primary_title(problem.title.as_str()).elements([] as [Origin<'_>; 0]);
        for excerpt in self.excerpts(problem) {
            group = match self.snippet(&excerpt) {
                Some(snippet) => group.element(snippet),
                None => group.element(self.origin(&excerpt)),
            };
        }
        if let Some(hint) = &problem.hint {
            group = group.element(Shown::HELP.with_name("hint").message(hint.as_str()));
        }
        group
    }

    /// The places of a problem, those near one another together.
    fn excerpts<'a>(&self, problem: &'a Problem) -> Vec<Vec<Place<'a>>> {
        let primary = Place { at: &problem.at, label: &problem.cause, primary: true };
        let mut excerpts = vec![vec![primary]];
        for (at, what) in &problem.also {
            let place = Place { at, label: what, primary: false };
            let line = self.source.line(at.start);
            let near = excerpts.iter_mut().find(|excerpt| {
                excerpt.iter().all(|other| {
                    self.source.line(other.at.start).abs_diff(line) <= LINES_IN_ONE_EXCERPT
                })
            });
            match near {
                Some(excerpt) => excerpt.push(place),
                None => excerpts.push(vec![place]),
            }
        }
        excerpts
    }

    fn snippet<'a>(
        &'a self,
        excerpt: &[Place<'a>],
    ) -> Option<Snippet<'a, annotate_snippets::Annotation<'a>>> {
        let lines = excerpt.iter().map(|place| self.source.line(place.at.start));
        let (first, last) = (lines.clone().min()?, lines.max()?);
        let range = self.source.lines(first..last + 1);
        let shown = &self.source.masked()[range.clone()];
        if shown.lines().any(|line| line.len() > SHOWN_LINE_BYTES) {
            return None;
        }
        let annotations = excerpt.iter().map(|place| {
            let kind =
                if place.primary { AnnotationKind::Primary } else { AnnotationKind::Context };
            let at = self.source.on_one_line(place.at);
            let span = at.start - range.start..at.end - range.start;
            kind.span(span).label((!place.label.is_empty()).then_some(place.label))
        });
        Some(
            Snippet::source(shown)
                .path(self.source.name())
                .line_start(first + 1)
                .annotations(annotations.collect::<Vec<_>>()),
        )
    }

    fn origin<'a>(&'a self, excerpt: &[Place<'a>]) -> Origin<'a> {
        let start = excerpt.first().map_or(0, |place| place.at.start);
        let (line, column) = self.source.place(start);
        Origin::path(self.source.name()).line(line).char_column(column)
    }
}

struct Place<'a> {
    at: &'a Span,
    label: &'a str,
    primary: bool,
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(Style::Plain).trim_end())
    }
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// Text of the file inside a message: between backticks, short, with nothing in it that a terminal would obey, and with
/// what looks like a secret masked.
pub(crate) fn quoted(text: &str) -> String {
    const SHOWN: usize = 60;
    let mut quoted = String::from("`");
    for (index, c) in secret::masked_word(text).chars().enumerate() {
        if index == SHOWN {
            quoted.push('…');
            break;
        }
        if c.is_control() || is_invisible(c) || is_joiner(c) {
            quoted.extend(c.escape_unicode());
        } else {
            quoted.push(c);
        }
    }
    quoted.push('`');
    quoted
}

/// What something can't be: its text, or "empty".
pub(super) fn refused(text: &str) -> String {
    if text.is_empty() { "empty".to_owned() } else { quoted(text) }
}
