//! Markdown, as far as these docs use it.

use crate::source::{self, Source};

/// Every document of the project.
pub fn documents() -> Vec<Source> {
    let mut found = source::files(&["docs"], ".md");
    for name in ["README.md", "CHANGELOG.md"] {
        found.push(Source { path: name.to_owned(), text: source::read(name) });
    }
    found
}

/// What stands under a heading, down to the next of the same or a higher level.
pub fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let begin = format!("\n{heading}\n");
    let at = text.find(&begin).unwrap_or_else(|| panic!("no heading `{heading}`")) + begin.len();
    let level = heading.chars().take_while(|c| *c == '#').count();
    let mut end = text.len();
    for other in 1..=level {
        let next = format!("\n{} ", "#".repeat(other));
        end = end.min(text[at..].find(&next).map_or(text.len(), |found| at + found));
    }
    &text[at..end]
}

/// The cells of the first table in a text, without its head.
pub fn table(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

/// What stands in single backticks.
pub fn quoted(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found
}

/// The fenced blocks of a language.
pub fn blocks(text: &str, language: &str) -> Vec<String> {
    let begin = format!("```{language}\n");
    let rest = text.split(&begin).skip(1);
    rest.map(|block| block.split("```").next().unwrap().to_owned()).collect()
}
