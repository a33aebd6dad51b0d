//! What the docs point at in the repository is there: files, functions, tests.

use crate::{
    markdown::{documents, quoted, section, table},
    source::{self, ROOT, has_function},
};
use std::path::Path;

/// Where the top level's names begin.
const TREES: [&str; 5] = ["src/", "tests/", "docs/", "config/", ".ci/"];

/// Parts that come with a merge of their own; an entry goes when they are there.
pub const UNDER_WAY: [&str; 2] = ["tests/bench", "docs/PERFORMANCE.md"];

pub fn is_under_way(path: &str) -> bool {
    UNDER_WAY.iter().any(|begin| path.starts_with(begin))
}

#[test]
fn every_path_is_there() {
    let mut paths = 0;
    for document in documents() {
        for text in quoted(&document.text) {
            let path = text.split([' ', ':']).next().unwrap().trim_end_matches('/');
            let is_path = TREES.iter().any(|tree| path.starts_with(tree));
            if is_path && !path.contains(['*', '…', '<']) && !is_under_way(path) {
                assert!(Path::new(ROOT).join(path).exists(), "{}: no {path}", document.path);
                paths += 1;
            }
        }
    }
    assert!(paths > 40, "only {paths} paths");
}

/// `name()` or `Type::name()`.
fn function(text: &str) -> Option<(Option<&str>, &str)> {
    let called = text.strip_suffix("()")?;
    let is_name = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '_');
    match called.rsplit_once("::") {
        Some((of, name)) => is_name(of).then_some((Some(of), name)),
        None => is_name(called).then_some((None, called)),
    }
}

#[test]
fn every_function_is_there() {
    let sources = source::files(&["src", "tests"], ".rs");
    let mut functions = 0;
    for document in documents() {
        for text in quoted(&document.text) {
            let Some((of, name)) = function(&text) else { continue };
            let known = sources.iter().any(|source| has_function(&source.text, of, name));
            assert!(known, "{}: no {text}", document.path);
            functions += 1;
        }
    }
    assert!(functions > 40, "only {functions} functions");
}

#[test]
fn the_walk_names_functions_of_the_file_beside_them() {
    let text = source::read("docs/ARCHITECTURE.md");
    let walk = table(section(&text, "## One incident, step by step"));
    assert!(walk.len() > 20, "{} steps", walk.len());
    for row in walk {
        let file = &quoted(&row[1])[0];
        let code = source::read(file);
        for text in quoted(&row[2]) {
            let (of, name) = function(&text).unwrap_or_else(|| panic!("{text} is no function"));
            assert!(has_function(&code, of, name), "step {}: no {text} in {file}", row[0]);
        }
    }
}
