//! The source, read as text: good enough for code that rustfmt has laid out.

use std::{fs, path::Path};

pub const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// One file, with its path from the repository's root.
pub struct Source {
    pub path: String,
    pub text: String,
}

/// A file by its path from the repository's root.
pub fn read(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file below `dirs` that ends so.
pub fn files(dirs: &[&str], ending: &str) -> Vec<Source> {
    let mut found = Vec::new();
    for dir in dirs {
        walk(&Path::new(ROOT).join(dir), ending, &mut found);
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn walk(dir: &Path, ending: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            let text = fs::read_to_string(&path).unwrap();
            let path = path.strip_prefix(ROOT).unwrap().to_string_lossy().into_owned();
            found.push(Source { path, text });
        }
    }
}

/// The names of all enums in a file.
pub fn enums(text: &str) -> Vec<String> {
    let lines = code(text);
    let names = lines.lines().filter_map(|line| line.split_once("enum "));
    names
        .filter(|(before, _)| before.is_empty() || before.trim_start().starts_with("pub"))
        .map(|(_, rest)| word(rest))
        .collect()
}

/// The variants of an enum, in their order.
pub fn variants(text: &str, name: &str) -> Vec<String> {
    let text = code(text);
    let begin = format!("enum {name}");
    let at = text.match_indices(&begin).find(|(at, _)| {
        !text[at + begin.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_')
    });
    let at = at.unwrap_or_else(|| panic!("there is no enum {name}")).0;
    let body = &text[at..][text[at..].find('{').unwrap() + 1..];
    let (mut depth, mut part, mut parts) = (0, String::new(), Vec::new());
    for c in body.chars() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' if depth == 0 => break,
            '}' | ')' | ']' => depth -= 1,
            ',' if depth == 0 => parts.push(std::mem::take(&mut part)),
            _ if depth == 0 => part.push(c),
            _ => {}
        }
    }
    parts.push(part);
    // What an attribute leaves is its `#`.
    let names = parts.iter().map(|part| word(part.replace('#', " ").trim()));
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether a function of this name is in the text; with a type, in one of its `impl`s or in a trait of that name.
pub fn has_function(text: &str, of: Option<&str>, name: &str) -> bool {
    let begin = format!("fn {name}");
    let is_whole = |at: usize| text[at + begin.len()..].starts_with(['(', '<']);
    let mut found = text.match_indices(&begin).filter(|(at, _)| is_whole(*at));
    match of {
        None => found.next().is_some(),
        Some(of) => found.any(|(at, _)| {
            let owner = text[..at]
                .lines()
                .rev()
                .find(|line| !line.starts_with(' ') && line.trim_end().ends_with('{'));
            owner.is_some_and(|line| words(line).any(|word| word == of))
        }),
    }
}

/// A file without its comments.
pub fn code(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
}

fn word(text: &str) -> String {
    text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
}
