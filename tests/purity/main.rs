//! The domain stands alone: it is compiled here by itself, and names nothing but the standard library and serde.

use std::{fs, path::Path};

#[path = "../../src/domain/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports, reason = "compiled to see that it compiles")]
mod domain;

/// What the domain may name, by the first part of a path.
const ALLOWED: [&str; 6] = ["std", "core", "serde", "super", "self", "crate"];

/// Words that would bring the world in.
const FORBIDDEN: [&str; 12] = [
    "std::fs",
    "std::net::Tcp",
    "std::env",
    "std::process",
    "std::thread",
    "SystemTime",
    "Instant",
    "async ",
    ".await",
    "HashMap",
    "HashSet",
    "rand",
];

fn each_file(dir: &Path, check: &mut impl FnMut(&Path, &str)) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            each_file(&path, check);
        } else {
            check(&path, &fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn the_domain_names_nothing_but_the_standard_library_and_serde() {
    let mut files = 0;
    each_file(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/domain")), &mut |path, text| {
        files += 1;
        let code = text.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
        for line in code {
            if let Some(rest) = line.strip_prefix("use ") {
                let first = rest.split([':', ';', ' ']).next().unwrap();
                let local = rest.starts_with("super")
                    || first.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                assert!(
                    ALLOWED.contains(&first) || (local && path.ends_with("mod.rs")),
                    "{}: {line}",
                    path.display()
                );
            }
            if line.contains("crate::") {
                assert!(line.contains("crate::domain"), "{}: {line}", path.display());
            }
            for word in FORBIDDEN {
                let named = line.contains(word)
                    && !line.contains("BTree")
                    && !line.contains("brand")
                    && !line.contains("operand");
                assert!(!named, "{}: `{word}` in {line}", path.display());
            }
        }
    });
    assert!(files > 20, "only {files} files were looked at");
}
