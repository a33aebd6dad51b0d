//! Links within the repository resolve, headings included.

use crate::{
    markdown::documents,
    places::is_under_way,
    source::{self, ROOT},
};
use std::path::Path;

#[test]
fn every_link_resolves() {
    let mut links = 0;
    for document in documents() {
        for (at, _) in document.text.match_indices("](") {
            let target = document.text[at + 2..].split(')').next().unwrap();
            if target.starts_with("http") {
                continue;
            }
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let folder = Path::new(&document.path).parent().unwrap();
            let found =
                if path.is_empty() { document.path.clone().into() } else { folder.join(path) };
            let name = found.to_string_lossy().replace("docs/../", "");
            if is_under_way(&name) {
                continue;
            }
            assert!(Path::new(ROOT).join(&found).exists(), "{}: no {target}", document.path);
            if !anchor.is_empty() {
                let text = source::read(&name);
                let known = text.lines().filter(|line| line.starts_with('#')).map(slug);
                assert!(
                    known.into_iter().any(|slug| slug == anchor),
                    "{}: no {target}",
                    document.path
                );
            }
            links += 1;
        }
    }
    assert!(links > 15, "only {links} links");
}

/// A heading's anchor.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
    text.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}
