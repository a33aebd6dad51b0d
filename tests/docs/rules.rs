//! The rules S, P and L: whatever names one names one that SAFETY.md tells of, and what it says shows them is there.

use crate::{
    markdown::{documents, quoted, section},
    source,
};
use std::collections::BTreeSet;

const SAFETY: &str = "docs/SAFETY.md";

/// How many there are of each kind.
const RULES: [(char, u32); 3] = [('S', 12), ('P', 10), ('L', 7)];

fn all() -> BTreeSet<String> {
    RULES.iter().flat_map(|(kind, last)| (1..=*last).map(move |n| format!("{kind}{n}"))).collect()
}

/// `S4` and its like in a text.
fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| {
        let mut chars = word.chars();
        matches!(chars.next(), Some('S' | 'P' | 'L'))
            && word.len() > 1
            && chars.all(|c| c.is_ascii_digit())
    })
}

/// What stands in code quotes is a command's, not a rule's.
fn prose(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_rule_that_is_named_exists() {
    let all = all();
    for document in documents() {
        for line in document.text.lines() {
            for rule in named(&prose(line)) {
                assert!(all.contains(rule), "{}: {rule}", document.path);
            }
        }
    }
    for source in source::files(&["src", "tests"], ".rs") {
        for line in source.text.lines().filter_map(|line| line.split_once("//")) {
            for rule in named(&prose(line.1)) {
                assert!(all.contains(rule), "{}: {rule}", source.path);
            }
        }
    }
}

#[test]
fn every_rule_says_where_it_is_kept_what_shows_it_and_what_is_missing() {
    let text = source::read(SAFETY);
    let sources = source::files(&["src", "tests"], ".rs");
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("### ")).collect();
    let mut rules = BTreeSet::new();
    for heading in headings {
        let rule = heading.trim_start_matches("### ").split(':').next().unwrap();
        assert!(rules.insert(rule.to_owned()), "{rule} twice");
        let body = section(&text, heading);
        for part in ["**Kept in**", "**Shown by**", "**Not there yet**"] {
            assert!(body.contains(part), "{rule}: no {part}");
        }
        let shown = body.split_once("**Shown by**").unwrap().1;
        let shown = shown.split_once("**Not there yet**").unwrap().0;
        for test in quoted(shown).iter().filter(|text| text.matches('_').count() > 2) {
            let begin = format!("fn {test}(");
            // The contract's behaviours are named once, and made tests by a macro.
            let known = sources.iter().any(|source| source.text.contains(&begin));
            assert!(known, "{rule}: no test {test}");
        }
    }
    assert_eq!(rules, all());
}
