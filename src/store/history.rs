//! Reading the history while a daemon writes it. Opens the file for reading only, takes no lock on the state directory,
//! and never makes anything.

use super::{place, problem::StoreProblem, schema};
use crate::domain::{moment::WallMs, record::Record};
use rusqlite::{Connection, OpenFlags, types::ValueRef};
use std::{io, path::Path, time::Duration};

/// No one waits longer than this for a store that is being folded.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);

/// A part of the history, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    /// What was recorded and when, by the host's clock of that time.
    pub records: Vec<(WallMs, Record)>,
    /// How many could not be decoded (written by another version, or damaged) and were left out.
    pub undecodable: u32,
}

/// The latest `limit` history records in the state directory `dir`, of those recorded at `since` or later.
///
/// # Errors
/// Where there is no store, it can't be read, or it is of a later version.
pub fn read_history(
    dir: &Path,
    limit: u32,
    since: Option<WallMs>,
) -> Result<History, StoreProblem> {
    let file = place::database(dir);
    if !file.exists() {
        return Err(StoreProblem::from_io("read", file, io::ErrorKind::NotFound.into()));
    }
    let problem = |source| StoreProblem::from_sqlite("read", &file, source);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&file, flags).map_err(problem)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(problem)?;
    let found: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(problem)?;
    if found > schema::latest() {
        return Err(StoreProblem::Newer { file, found, known: schema::latest() });
    }
    select(&connection, limit, since).map_err(problem)
}

fn select(connection: &Connection, limit: u32, since: Option<WallMs>) -> rusqlite::Result<History> {
    let mut statement = connection.prepare(
        "SELECT wall_ms, record FROM (
            SELECT rowid, wall_ms, record FROM history WHERE wall_ms >= ?1 ORDER BY rowid DESC LIMIT ?2
         ) ORDER BY rowid",
    )?;
    let mut rows = statement.query((since.map_or(i64::MIN, |since| since.0), limit))?;
    let mut history = History::default();
    while let Some(row) = rows.next()? {
        match decode(row.get_ref(1)?) {
            Ok(record) => history.records.push((WallMs(row.get(0)?), record)),
            Err(_) => history.undecodable = history.undecodable.saturating_add(1),
        }
    }
    Ok(history)
}

/// A record from its column.
pub(super) fn decode(column: ValueRef<'_>) -> Result<Record, String> {
    let text = match column {
        ValueRef::Text(text) | ValueRef::Blob(text) => text,
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {
            return Err(format!("its column holds {} and not text", column.data_type()));
        }
    };
    serde_json::from_slice(text).map_err(|error| error.to_string())
}
