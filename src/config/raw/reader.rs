//! Takes the keys of one table, each as the kind that is expected, and tells of what does not fit.
//!
//! By hand and not by serde: serde ends at the first wrong kind, and here everything is told in one run. A key that
//! nobody took by the end is unknown, so that none can be ignored silently.

use super::refused;
use crate::config::{
    keys::{self, Table, Use},
    nearest::nearest,
    problem::{Problem, Problems, Span, quoted},
};
use toml::{
    Spanned,
    de::{DeArray, DeTable, DeValue},
};

/// A value with its place in the file.
pub(in crate::config) type At<T> = Spanned<T>;

/// One table on its way from the file into its mirror.
pub(super) struct Reader<'a, 'p> {
    entries: &'a DeTable<'a>,
    /// The table's own place: its header, or the value.
    pub(super) at: Span,
    table: Table,
    taken: Vec<&'static str>,
    problems: &'p mut Problems,
}

impl<'a, 'p> Reader<'a, 'p> {
    pub(super) fn new(
        table: Table,
        entries: &'a DeTable<'a>,
        at: Span,
        problems: &'p mut Problems,
    ) -> Self {
        Self { entries, at, table, taken: Vec::new(), problems }
    }

    /// Whether the table has keys that are refused: then what seems to be missing may be among them.
    pub(super) fn has_refused_keys(&self) -> bool {
        let is_refused = |name: &str| {
            let known = keys::keys_of(self.table).find(|known| known.name == name);
            known.is_none_or(|known| known.used != Use::Now)
        };
        self.entries.keys().any(|name| is_refused(name.get_ref()))
    }

    /// The places of keys that no version knows.
    pub(super) fn unknown_keys(&self) -> Vec<Span> {
        let is_unknown = |name: &str| keys::keys_of(self.table).all(|known| known.name != name);
        let names = self.entries.keys().filter(|name| is_unknown(name.get_ref()));
        names.map(At::span).collect()
    }

    /// Whether this key probably stands there too, misspelt.
    fn is_misspelt_too(&self, key: &'static str) -> bool {
        self.entries.keys().any(|name| {
            let name = name.get_ref();
            keys::keys_of(self.table).all(|known| known.name != *name)
                && nearest(name, [key]).is_some()
        })
    }

    /// Whether a key stands there, with whatever value.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// The place of a key's name.
    pub(super) fn key_at(&self, key: &str) -> Option<Span> {
        self.entries.get_key_value(key).map(|(name, _)| name.span())
    }

    pub(super) fn text(&mut self, key: &'static str) -> Option<At<&'a str>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::String(text) => Some(Spanned::new(value.span(), text.as_ref())),
            _ => self.wrong_kind(key, value, "text"),
        }
    }

    pub(super) fn flag(&mut self, key: &'static str) -> Option<At<bool>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Boolean(flag) => Some(Spanned::new(value.span(), *flag)),
            _ => self.wrong_kind(key, value, "`true` or `false`"),
        }
    }

    pub(super) fn number(&mut self, key: &'static str) -> Option<At<i64>> {
        let value = self.value(key)?;
        match integer(value.get_ref()) {
            Some(number) => Some(Spanned::new(value.span(), number)),
            None => self.wrong_kind(key, value, "a whole number"),
        }
    }

    /// Text, a number, or a list of them.
    pub(super) fn words(&mut self, key: &'static str) -> Option<At<Vec<At<Word<'a>>>>> {
        let value = self.value(key)?;
        let word = |value: &'a At<DeValue<'a>>| -> Option<At<Word<'a>>> {
            let word = match value.get_ref() {
                DeValue::String(text) => Word::Text(text.as_ref()),
                other => Word::Number(integer(other)?),
            };
            Some(Spanned::new(value.span(), word))
        };
        let words: Option<Vec<_>> = match value.get_ref() {
            DeValue::Array(list) => list.iter().map(word).collect(),
            _ => word(value).map(|word| vec![word]),
        };
        match words {
            Some(words) => Some(Spanned::new(value.span(), words)),
            None => self.wrong_kind(key, value, "text, a number, or a list of them"),
        }
    }

    pub(super) fn texts(&mut self, key: &'static str) -> Option<At<Vec<At<&'a str>>>> {
        let value = self.value(key)?;
        let DeValue::Array(list) = value.get_ref() else {
            return self.wrong_kind(key, value, "a list of texts");
        };
        let mut texts = Vec::new();
        for value in list.iter() {
            match value.get_ref() {
                DeValue::String(text) => texts.push(Spanned::new(value.span(), text.as_ref())),
                _ => return self.wrong_kind(key, value, "text"),
            }
        }
        Some(Spanned::new(value.span(), texts))
    }

    /// Names and texts as they come, in the order of the file.
    pub(super) fn pairs(&mut self, key: &'static str) -> Vec<(At<&'a str>, At<&'a str>)> {
        let Some((_, table)) = self.entries_of(key) else { return Vec::new() };
        let mut pairs = Vec::new();
        for (name, value) in in_order(table) {
            match value.get_ref() {
                DeValue::String(text) => pairs.push((
                    Spanned::new(name.span(), name.get_ref().as_ref()),
                    Spanned::new(value.span(), text.as_ref()),
                )),
                _ => {
                    self.wrong_kind::<()>(key, value, "text");
                }
            }
        }
        pairs
    }

    /// A table, read by `read`.
    pub(super) fn table<T>(
        &mut self,
        key: &'static str,
        table: Table,
        read: impl FnOnce(&mut Reader<'a, '_>) -> T,
    ) -> Option<T> {
        let (at, entries) = self.entries_of(key)?;
        Some(self.nested(table, entries, at, read))
    }

    /// Either a table or a word.
    pub(super) fn table_or_text<T>(
        &mut self,
        key: &'static str,
        table: Table,
        read: impl FnOnce(&mut Reader<'a, '_>) -> T,
    ) -> Option<TableOrText<'a, T>> {
        match self.value(key)? {
            value if value.get_ref().is_str() => self.text(key).map(TableOrText::Text),
            _ => self.table(key, table, read).map(TableOrText::Table),
        }
    }

    /// A list of tables: `[[key]]`.
    pub(super) fn tables<T>(
        &mut self,
        key: &'static str,
        table: Table,
        mut read: impl FnMut(&mut Reader<'a, '_>) -> T,
    ) -> Vec<T> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let DeValue::Array(list) = value.get_ref() else {
            let header = match table {
                Table::Probe => "[[service.probe]]".to_owned(),
                _ => format!("[[{key}]]"),
            };
            let at = self.key_at(key).unwrap_or(value.span());
            // Under a misspelt `[[service]]` a `[[service.probe]]` begins a `service` of its own.
            let missing = self.is_misspelt_too(key);
            let problem = Problem::error(at, format!("`{key}` stands in double brackets"));
            self.problems.push(
                Problem { missing, ..problem }
                    .cause("there can be many of these")
                    .hint(format!("write `{header}`")),
            );
            return Vec::new();
        };
        self.each(key, table, list, &mut read)
    }

    /// A table, or a list of tables.
    pub(super) fn one_or_more<T>(
        &mut self,
        key: &'static str,
        table: Table,
        mut read: impl FnMut(&mut Reader<'a, '_>) -> T,
    ) -> Option<At<Vec<T>>> {
        let value = self.value(key)?;
        let all = match value.get_ref() {
            DeValue::Array(list) => {
                let all = self.each(key, table, list, &mut read);
                (all.len() == list.len()).then_some(all)
            }
            _ => self.table(key, table, read).map(|one| vec![one]),
        };
        all.map(|all| Spanned::new(value.span(), all))
    }

    /// Tables by names of the file's own choice: `[sink.NAME]`.
    pub(super) fn named_tables<T>(
        &mut self,
        key: &'static str,
        table: Table,
        mut read: impl FnMut(At<&'a str>, &mut Reader<'a, '_>) -> T,
    ) -> Vec<T> {
        let Some(value) = self.value(key) else { return Vec::new() };
        let DeValue::Table(entries) = value.get_ref() else {
            let at = self.key_at(key).unwrap_or(value.span());
            self.problems.push(
                Problem::error(at, format!("each `{key}` has a name of your choice"))
                    .cause(format!("this is {}", found(value.get_ref())))
                    .hint(format!("write `[{key}.oncall]`, or another name")),
            );
            return Vec::new();
        };
        let mut all = Vec::new();
        for (name, value) in in_order(entries) {
            let name = Spanned::new(name.span(), name.get_ref().as_ref());
            match value.get_ref() {
                DeValue::Table(entries) => {
                    if let Some(problem) = refused::no_name(table, &name, entries) {
                        self.problems.push(problem);
                        continue;
                    }
                    let at = name.span();
                    all.push(self.nested(table, entries, at, |reader| read(name, reader)));
                }
                _ => self.problems.push(
                    Problem::error(name.span(), format!("{} is no table", quoted(name.get_ref())))
                        .cause(format!("under `[{key}]` stand names of your choice"))
                        .hint(format!("begin with `[{key}.oncall]`, or another name")),
                ),
            }
        }
        all
    }

    /// Tells of the keys that nobody took.
    pub(super) fn finish(&mut self) {
        for (name, _) in in_order(self.entries) {
            let (key, at) = (name.get_ref().as_ref(), name.span());
            if self.taken.contains(&key) {
                continue;
            }
            self.problems.push(refused::key(self.table, key, at));
        }
    }

    fn nested<T>(
        &mut self,
        table: Table,
        entries: &'a DeTable<'a>,
        at: Span,
        read: impl FnOnce(&mut Reader<'a, '_>) -> T,
    ) -> T {
        let mut reader = Reader::new(table, entries, at, self.problems);
        let value = read(&mut reader);
        reader.finish();
        value
    }

    fn each<T>(
        &mut self,
        key: &'static str,
        table: Table,
        list: &'a DeArray<'a>,
        read: &mut impl FnMut(&mut Reader<'a, '_>) -> T,
    ) -> Vec<T> {
        let mut all = Vec::new();
        for value in list.iter() {
            match value.get_ref() {
                DeValue::Table(entries) => {
                    all.push(self.nested(table, entries, value.span(), &mut *read));
                }
                _ => {
                    self.wrong_kind::<()>(key, value, "a table");
                }
            }
        }
        all
    }

    fn entries_of(&mut self, key: &'static str) -> Option<(Span, &'a DeTable<'a>)> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Table(entries) => Some((value.span(), entries)),
            _ => self.wrong_kind(key, value, "a table"),
        }
    }

    /// The value as it stands; the key counts as taken.
    pub(super) fn value(&mut self, key: &'static str) -> Option<&'a At<DeValue<'a>>> {
        debug_assert!(
            keys::keys_of(self.table).any(|known| known.name == key),
            "{key} is in no list"
        );
        self.taken.push(key);
        self.entries.get(key)
    }

    fn wrong_kind<T>(&mut self, key: &str, value: &At<DeValue<'_>>, expected: &str) -> Option<T> {
        let found = found(value.get_ref());
        let known = keys::keys_of(self.table).find(|known| known.name == key);
        let expected = match known.map(|known| known.takes) {
            Some(keys::DURATION) => "a duration in quotes".to_owned(),
            Some(keys::THRESHOLD) => "failures or a duration in quotes".to_owned(),
            // The words themselves.
            Some(words) if words.starts_with('"') => match words.rsplit_once(", ") {
                Some((others, last)) => format!("{others} or {last}"),
                None => words.to_owned(),
            },
            Some(keys::TABLE_OR_OFF) => format!("a {}", keys::TABLE_OR_OFF),
            _ => expected.to_owned(),
        };
        let problem = Problem::error(value.span(), format!("`{key}` takes {expected}"))
            .cause(format!("this is {found}"));
        self.problems.push(match known {
            Some(known) => problem.hint(format!("for example: `{key} = {}`", known.example)),
            None => problem,
        });
        None
    }
}

/// Text or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::config) enum Word<'a> {
    /// In quotes.
    Text(&'a str),
    /// Without.
    Number(i64),
}

/// What may be either.
#[derive(Clone, Debug)]
pub(in crate::config) enum TableOrText<'a, T> {
    /// A table.
    Table(T),
    /// A word.
    Text(At<&'a str>),
}

/// Keys in the order of the file: the parser sorts them by name.
fn in_order<'a>(
    table: &'a DeTable<'a>,
) -> Vec<(&'a At<std::borrow::Cow<'a, str>>, &'a At<DeValue<'a>>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    entries
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

fn found(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) if integer(value).is_none() => "a number that is too large",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(true) => "`true`",
        DeValue::Boolean(false) => "`false`",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
