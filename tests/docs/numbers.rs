//! A number behind a constant's name, as in `` `COMMIT_WITHIN` (2 s) ``, is the constant's. Numbers stand in the docs this
//! way, or in a table that another test checks, or not at all.

use crate::{markdown::documents, source};
use std::collections::BTreeMap;

/// Every constant of the source that is a span or a number, in milliseconds or as it is.
fn constants() -> BTreeMap<String, Vec<u64>> {
    let mut found: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for source in source::files(&["src"], ".rs") {
        for line in source.text.lines().filter_map(|line| line.split_once("const ")) {
            let Some((name, rest)) = line.1.split_once(": ") else { continue };
            let Some((_, value)) = rest.split_once(" = ") else { continue };
            if let Some(value) = evaluated(value.trim_end_matches(';')) {
                found.entry(name.to_owned()).or_default().push(value);
            }
        }
    }
    found
}

/// `Duration::from_secs(10 * 60)`, `256`, `16 * 1024`.
fn evaluated(text: &str) -> Option<u64> {
    for (begin, unit) in [("Duration::from_secs(", 1000), ("Duration::from_millis(", 1)] {
        if let Some(inner) = text.strip_prefix(begin) {
            return Some(product(inner.strip_suffix(')')?)? * unit);
        }
    }
    product(text)
}

fn product(text: &str) -> Option<u64> {
    text.split('*').map(|factor| factor.trim().replace('_', "").parse::<u64>().ok()).product()
}

/// `2 s`, `10 min`, `26 h`, `256`.
fn said(text: &str) -> Option<u64> {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let unit = match unit {
        "" => 1,
        "ms" => 1,
        "s" => 1000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    Some(number.replace(',', "").parse::<u64>().ok()? * unit)
}

#[test]
fn the_numbers_are_the_codes() {
    let constants = constants();
    let mut checked = 0;
    for document in documents() {
        for (at, _) in document.text.match_indices("` (") {
            let name = document.text[..at].rsplit('`').next().unwrap();
            let is_constant =
                name.len() > 2 && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
            if !is_constant {
                continue;
            }
            let value = document.text[at + 3..].split(')').next().unwrap();
            let known = constants.get(name);
            let known = known.unwrap_or_else(|| panic!("{}: no number `{name}`", document.path));
            let value =
                said(value).unwrap_or_else(|| panic!("{}: {name} ({value})", document.path));
            assert!(
                known.contains(&value),
                "{}: `{name}` is {known:?}, not {value}",
                document.path
            );
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} numbers");
}
