//! The blocks that the code writes itself, between `<!-- generated: NAME -->` and `<!-- end -->`.

use crate::{after_a_rung, attempts, evidence, lifecycles, source, stories, verdicts};
use std::{fs, path::Path};

/// Document, block, and what it has to be.
fn all() -> Vec<(&'static str, &'static str, String)> {
    let states = "docs/STATES.md";
    vec![
        (states, "lifecycle by inspection", lifecycles::by_inspection()),
        (states, "lifecycle by event", lifecycles::by_event()),
        (states, "healthcheck", evidence::healthcheck()),
        (states, "streak", evidence::streak()),
        (states, "verdict", verdicts::table()),
        (states, "gates", gates()),
        (states, "attempt", attempts::by_input()),
        (states, "attempt after a rung", after_a_rung::table()),
        (states, "attempt after a crash", attempts::by_crash()),
        (states, "story", stories::owed_table()),
        ("docs/PROBES.md", "classes", evidence::classes()),
        ("docs/TESTING.md", "mutants", mutants()),
    ]
}

#[test]
fn what_is_generated_is_up_to_date() {
    let write = std::env::var_os("DEFIB_WRITE_DOCS").is_some();
    for (path, name, wanted) in all() {
        let text = source::read(path);
        let begin = format!("<!-- generated: {name} -->\n");
        let at = text.find(&begin).unwrap_or_else(|| panic!("{path}: no block `{name}`"));
        let at = at + begin.len();
        let end = at + text[at..].find("<!-- end -->").expect("a block has an end");
        let wanted = format!("\n{}\n\n", wanted.trim());
        if write {
            let whole = format!("{}{wanted}{}", &text[..at], &text[end..]);
            fs::write(Path::new(source::ROOT).join(path), whole).unwrap();
        } else {
            assert_eq!(
                text[at..end],
                wanted,
                "{path}, `{name}`: DEFIB_WRITE_DOCS=1 cargo test --test docs writes it anew"
            );
        }
    }
}

/// A table of these columns.
pub fn table(head: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head) + &line(&vec!["---".to_owned(); head.len()]);
    for row in rows {
        assert_eq!(row.len(), head.len(), "{row:?}");
        text += &line(row);
    }
    text
}

pub fn code(text: impl AsRef<str>) -> String {
    format!("`{}`", text.as_ref())
}

/// The name of a variant, by its `Debug` form.
pub fn name(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// The gates in their order, each with what its file says first.
fn gates() -> String {
    let dir = "src/domain/acting/gates";
    let order = source::read(&format!("{dir}/mod.rs"));
    let order = order.split_once("const GATES").expect("the gates have an order").1;
    let order = &order[order.find("= [").unwrap() + 3..order.find("];").unwrap()];
    let mut rows = Vec::new();
    for (index, gate) in order.split(',').map(str::trim).filter(|gate| !gate.is_empty()).enumerate()
    {
        let file = format!("{dir}/{}.rs", gate.split("::").next().unwrap());
        let text = source::read(&file);
        let said: Vec<&str> =
            text.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim).collect();
        let said = said.split(|line| line.is_empty()).next().unwrap().join(" ");
        rows.push(vec![(index + 1).to_string(), code(gate), said]);
    }
    table(&["".to_owned(), "gate".to_owned(), "what its file says".to_owned()], &rows)
}

/// The mutants by rule, each with what its patch says of itself.
fn mutants() -> String {
    let mut rows: Vec<_> = source::files(&["tests/mutants"], ".patch")
        .iter()
        .map(|patch| {
            let said = |word: &str| {
                let line = patch.text.lines().find_map(|line| line.strip_prefix(word));
                line.unwrap_or_else(|| panic!("{}: no `{word}`", patch.path)).trim().to_owned()
            };
            let name = Path::new(&patch.path).file_stem().unwrap().to_str().unwrap();
            vec![code(name), said("Rule:"), said("Breaks:")]
        })
        .collect();
    let number = |rule: &str| rule[1..].split(',').next().and_then(|n| n.parse::<u32>().ok());
    let kind = |rule: &str| "SPL".find(&rule[..1]);
    rows.sort_by_key(|row| (kind(&row[1]).unwrap_or(9), number(&row[1]), row[0].clone()));
    table(&["mutant".to_owned(), "rule".to_owned(), "what it breaks".to_owned()], &rows)
}
