//! Every direct dependency has its reason in DEPENDENCIES.md, and is used.

use crate::{
    markdown::{quoted, section, table},
    source,
};

fn of_manifest(heading: &str) -> Vec<String> {
    let manifest = source::read("Cargo.toml");
    let part = manifest.split_once(&format!("\n{heading}\n")).unwrap().1;
    let part = part.split("\n[").next().unwrap();
    let names = part.lines().filter(|line| !line.starts_with('#'));
    names.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned()).collect()
}

fn of_docs(heading: &str) -> Vec<String> {
    let text = source::read("docs/DEPENDENCIES.md");
    let rows = table(section(&text, heading));
    rows.iter()
        .map(|row| {
            assert!(row.iter().all(|cell| cell.len() > 2), "{row:?}");
            quoted(&row[0])[0].clone()
        })
        .collect()
}

fn is_used(dirs: &[&str], name: &str) -> bool {
    let path = name.replace('-', "_");
    source::files(dirs, ".rs").iter().any(|source| {
        let code = source::code(&source.text);
        code.match_indices(&path).any(|(at, _)| {
            let before = code[..at].chars().next_back().unwrap_or(' ');
            let after = &code[at + path.len()..];
            let macro_or_path = after.starts_with("::") || after.starts_with(';');
            !(before.is_alphanumeric() || before == '_' || before == ':') && macro_or_path
        })
    })
}

#[test]
fn every_dependency_has_a_reason_and_none_is_listed_that_is_not_there() {
    for (heading, manifest) in
        [("## In the product", "[dependencies]"), ("## In tests only", "[dev-dependencies]")]
    {
        assert_eq!(of_docs(heading), of_manifest(manifest), "{heading}");
    }
}

#[test]
fn every_dependency_is_used() {
    for name in of_manifest("[dependencies]") {
        assert!(is_used(&["src"], &name), "{name} is not used in src");
    }
    for name in of_manifest("[dev-dependencies]") {
        assert!(is_used(&["src", "tests"], &name), "{name} is not used in tests");
    }
}

#[test]
fn what_is_banned_is_said() {
    let script = source::read("tests/licences.sh");
    let banned = script.split_once("BANNED=\"").unwrap().1.split_once('"').unwrap().0;
    let text = source::read("docs/DEPENDENCIES.md");
    for line in banned.lines() {
        let name = line.split(' ').next().unwrap();
        assert!(quoted(&text).contains(&name.to_owned()), "{name}");
    }
}
