//! Every enum of the machines stands in STATES.md with its variants, and nothing stands there that is not.

use crate::{
    markdown::{quoted, section, table},
    source::{self, enums, variants},
};
use std::collections::BTreeSet;

const STATES: &str = "docs/STATES.md";

/// Enums of the machines that are no states, and why they stand elsewhere or nowhere.
const ELSEWHERE: [(&str, &str); 6] = [
    ("Input", "the rows of the attempt's table, which is generated"),
    ("Output", "the cells of the attempt's table, which is generated"),
    ("Next", "what a sink's thinking hands to the domain: no state"),
    ("Case", "what the evidence gate weighs: its outcome is a hold"),
    ("Meaning", "docs/PROBES.md, whose table is generated"),
    ("State", "which of four sentences a message begins with"),
];

/// Where the machines are.
const MACHINES: [&str; 4] =
    ["src/domain/watching", "src/domain/judging", "src/domain/acting", "src/domain/telling"];

/// Files beside them that hold a machine, or what one takes in and says.
const BESIDE: [&str; 4] = [
    "src/domain/agenda.rs",
    "src/domain/durability.rs",
    "src/domain/message.rs",
    "src/domain/effect.rs",
];

/// Enums of the last that are data for adapters, and no machine's.
const DATA: [&str; 4] = ["Effect", "Look", "ProbeOrder", "Primitive"];

/// What the docs say: `<!-- enum: NAME in FILE -->` stands above a table whose first column names the variants.
fn tables(text: &str) -> Vec<(String, String, Vec<String>)> {
    let marks = text.split("<!-- enum: ").skip(1).map(|part| part.split_once(" -->").unwrap());
    marks
        .map(|(mark, rest)| {
            let (name, file) = mark.split_once(" in ").expect("`NAME in FILE`");
            let rows = table(rest);
            let first = |row: &Vec<String>| quoted(&row[0]).first().cloned().unwrap_or_default();
            (name.to_owned(), file.to_owned(), rows.iter().map(first).collect())
        })
        .collect()
}

#[test]
fn every_table_names_the_variants_that_there_are() {
    let texts = [source::read(STATES), source::read("docs/PROBES.md")];
    let tables: Vec<_> = texts.iter().flat_map(|text| tables(text)).collect();
    assert!(tables.len() > 15, "only {} tables", tables.len());
    for (name, file, mut rows) in tables {
        // One variant may need several rows.
        rows.dedup();
        assert_eq!(rows, variants(&source::read(&file), &name), "{name} in {file}");
    }
}

#[test]
fn every_enum_of_the_machines_has_its_table() {
    let text = source::read(STATES);
    let known: BTreeSet<String> = tables(&text).into_iter().map(|(name, _, _)| name).collect();
    let mut found = BTreeSet::new();
    let mut sources = source::files(&MACHINES, ".rs");
    sources
        .extend(BESIDE.map(|path| source::Source { path: path.into(), text: source::read(path) }));
    for source in sources {
        for name in enums(&source.text) {
            let excused = ELSEWHERE.iter().any(|(other, _)| *other == name);
            assert!(
                known.contains(&name) || excused || DATA.contains(&name.as_str()),
                "{name} of {} is missing in {STATES}",
                source.path
            );
            found.insert(name);
        }
    }
    for (name, _) in ELSEWHERE {
        assert!(found.contains(name), "there is no enum {name} any more");
    }
}

#[test]
fn every_hold_has_its_word_and_its_meaning() {
    let hold = source::read("src/domain/acting/hold.rs");
    let words = hold.split_once("fn word(&self)").unwrap().1.split_once("\n    }\n").unwrap().0;
    let words: BTreeSet<String> = words.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let text = source::read(STATES);
    let rows = table(section(&text, "### Every hold"));
    let mut said = BTreeSet::new();
    for row in &rows {
        assert!(row[2].len() > 10, "{} has no meaning", row[1]);
        assert!(said.insert(quoted(&row[1])[0].clone()), "{} twice", row[1]);
    }
    assert_eq!(said, words);
}
