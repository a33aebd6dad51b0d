//! What is said of a key that a table does not take: that a later version will, that it belongs elsewhere, or which one
//! was probably meant.

use crate::config::{
    keys::{self, Key, Table, Use},
    nearest::nearest,
    problem::{Problem, Span, quoted},
    synonyms,
};
use toml::{Spanned, de::DeTable};

/// The problem of a key that stands in this table and was not taken.
pub(super) fn key(table: Table, key: &str, at: Span) -> Problem {
    let known = keys::keys_of(table).find(|known| known.name == key);
    match known.map(|known| known.used) {
        Some(Use::Later) => Problem::error(at, format!("`{key}` is not supported in this version"))
            .cause("a later version will know it")
            .hint("leave it out; it is refused and not ignored, so that nobody counts on it"),
        Some(Use::Never(instead)) => {
            Problem::error(at, format!("`{key}` does not stand in the config"))
                .cause("a secret belongs elsewhere: this file is copied, shown and kept")
                .hint(instead)
        }
        Some(Use::Now) | None => unknown(table, key, at),
    }
}

/// The problem of a `[sink]` without a name, whose `slack` would else be taken for one; `None` where this is a name.
pub(super) fn no_name(
    table: Table,
    name: &Spanned<&str>,
    entries: &DeTable<'_>,
) -> Option<Problem> {
    let key = *name.get_ref();
    let is_kind = keys::keys_of(table).any(|known| known.name == key && known.used == Use::Now);
    let has = |key: &str, of: &[Table]| {
        keys::KEYS.iter().any(|known| known.name == key && of.contains(&known.table))
    };
    let holds = |of: &[Table]| entries.keys().any(|name| has(name.get_ref(), of));
    let is_its_content = entries.is_empty() || holds(&[Table::Slack, Table::Webhook]);
    let is_name = !is_kind || holds(&[table]) || !is_its_content;
    (!is_name).then(|| {
        Problem::error(name.span(), format!("`{key}` stands under no sink's name"))
            .cause("each sink has a name of your choice")
            .hint(format!("write it under `[sink.oncall]`, or another name: `{key} = {{ … }}`"))
    })
}

fn unknown(table: Table, key: &str, at: Span) -> Problem {
    let problem = Problem::error(at, format!("{} has no key {}", heading(table), quoted(key)));
    let unknown = |hint: String| problem.clone().cause("unknown key").hint(hint);
    if let Some(near) = nearest(key, keys::keys_of(table).map(|known| known.name)) {
        return unknown(format!("did you mean `{near}`?"));
    }
    if let Some(meant) = synonyms::meant(table, key) {
        let known = keys::keys_of(table).find(|known| known.name == meant);
        let example = known.map_or("", |known| known.example);
        return unknown(format!("here that is `{meant}`, for example: `{meant} = {example}`"));
    }
    if let Some(known) = elsewhere(table, key) {
        // In which table a key stands is not known for sure where a header could not be read.
        return Problem { missing: true, ..problem }
            .cause(format!("`{key}` {}", belongs(known)))
            .hint(match known.table {
                Table::File => format!("give it a header of its own: `{}`", there(known)),
                _ => format!("move it there, for example: `{}`", there(known)),
            });
    }
    for beside in beside(table) {
        let names = keys::KEYS.iter().filter(|known| known.table == *beside);
        if let Some(near) = nearest(key, names.map(|known| known.name)) {
            let heading = beside.heading();
            return unknown(format!("did you mean `{near}`? It belongs in {heading}"));
        }
    }
    unknown(format!("it has {}", names(table)))
}

/// Tables whose keys are easily written one header too high or too low.
fn beside(table: Table) -> &'static [Table] {
    match table {
        Table::File => &[Table::Service],
        Table::Service => &[Table::Probe, Table::Containers],
        Table::Probe | Table::Budget | Table::Backoff | Table::Containers => {
            &[Table::Treatment, Table::Service]
        }
        Table::Sink => &[Table::Slack, Table::Webhook],
        Table::Slack | Table::Webhook | Table::Terminal => &[Table::Sink],
        Table::Fleet
        | Table::Engine
        | Table::State
        | Table::Watch
        | Table::HostLimits
        | Table::HostBudget
        | Table::Brake
        | Table::Settling
        | Table::Treatment
        | Table::Host => &[],
    }
}

/// The same key of another table. Of a name nobody can say whose it was to be, but that the file has none.
fn elsewhere(table: Table, key: &str) -> Option<&'static Key> {
    let is_it = |known: &&Key| {
        known.name == key
            && (known.name != "name" || table == Table::File)
            && known.used == Use::Now
            && known.table != table
    };
    // What most people want first, where several have it.
    let first = [Table::Service, Table::Treatment, Table::Probe, Table::Sink];
    let of = |wanted: Table| keys::KEYS.iter().filter(is_it).find(|known| known.table == wanted);
    first.into_iter().find_map(of).or_else(|| keys::KEYS.iter().find(is_it))
}

fn belongs(known: &Key) -> String {
    match known.table {
        Table::File => "is a section of the file".to_owned(),
        table => format!("belongs in {}", table.heading()),
    }
}

/// How a key is written in its own place.
fn there(known: &Key) -> String {
    let Key { name, example, .. } = known;
    let inside = |outer: &str| format!("{outer} = {{ {name} = {example} }}");
    match known.table {
        Table::File if *name == "sink" => "[sink.oncall]".to_owned(),
        Table::File if known.takes == keys::TABLES => format!("[[{name}]]"),
        Table::File => format!("[{name}]"),
        Table::HostBudget | Table::Budget => inside("budget"),
        Table::Brake => inside("brake"),
        Table::Backoff => inside("backoff"),
        Table::Containers => inside("containers"),
        Table::Slack => inside("slack"),
        Table::Webhook => inside("webhook"),
        Table::Fleet
        | Table::Engine
        | Table::State
        | Table::Watch
        | Table::HostLimits
        | Table::Settling
        | Table::Treatment
        | Table::Service
        | Table::Probe
        | Table::Sink
        | Table::Terminal
        | Table::Host => format!("{name} = {example}"),
    }
}

/// The keys that can be used, the table's own first.
fn names(table: Table) -> String {
    let (own, shared): (Vec<&Key>, Vec<&Key>) = keys::keys_of(table)
        .filter(|known| known.used == Use::Now)
        .partition(|known| known.table == table);
    let names = own.into_iter().chain(shared).map(|known| format!("`{}`", known.name));
    names.collect::<Vec<_>>().join(", ")
}

fn heading(table: Table) -> &'static str {
    match table {
        Table::Treatment => "`[defaults]`",
        other => other.heading(),
    }
}
