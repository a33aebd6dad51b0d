//! `docs/CONFIG.md` says what the code does: every key, with what it takes, its default and an example.

use crate::loaded;
use defib::config::keys::{KEYS, Key, Table, Use};

fn docs() -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/CONFIG.md");
    std::fs::read_to_string(path).unwrap()
}

/// The text under a heading, up to the next one.
fn section<'a>(docs: &'a str, heading: &str) -> &'a str {
    let line = format!("\n## {heading}\n");
    let start = docs.find(&line).unwrap_or_else(|| panic!("no section {heading:?}")) + line.len();
    let rest = &docs[start..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

fn heading(table: Table) -> &'static str {
    match table {
        Table::File => "The file",
        other => other.heading(),
    }
}

fn row(key: &Key) -> String {
    let default = key.default.map_or("—".to_owned(), |default| format!("`{default}`"));
    format!("| `{}` | {} | {default} | `{}` |", key.name, key.takes, key.example)
}

#[test]
fn every_key_has_its_row_in_its_section_and_every_row_has_its_key() {
    let docs = docs();
    for table in Table::ALL {
        let section = section(&docs, heading(table));
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| `")).collect();
        let keys: Vec<&Key> =
            KEYS.iter().filter(|key| key.table == table && key.used == Use::Now).collect();
        for (index, key) in keys.iter().enumerate() {
            let row_of = row(key);
            let found = rows.get(index).is_some_and(|row| row.starts_with(&row_of));
            assert!(
                found,
                "{}: row {index} should be\n{row_of}\nof\n{}",
                table.heading(),
                rows.join("\n")
            );
            let meaning = rows[index][row_of.len()..].trim().trim_end_matches('|').trim();
            assert!(!meaning.is_empty(), "`{}` has no meaning", key.name);
        }
        assert_eq!(rows.len(), keys.len(), "{}", table.heading());
    }
}

#[test]
fn every_key_of_a_later_version_is_listed_as_such() {
    let docs = docs();
    let later = section(&docs, "Not in this version");
    for key in KEYS.iter().filter(|key| key.used == Use::Later) {
        let line =
            later.lines().find(|line| line.starts_with(&format!("- {}:", key.table.heading())));
        let name = format!("`{}`", key.name);
        assert!(line.is_some_and(|line| line.contains(&name)), "{name} of {}", key.table.heading());
    }
}

#[test]
fn every_example_in_the_docs_can_be_used() {
    let docs = docs();
    let mut examples = 0;
    for block in docs.split("```toml\n").skip(1) {
        loaded(block.split("```").next().unwrap());
        examples += 1;
    }
    assert!(examples > 2);
}
