//! What lies in the database file, and how an older one becomes today's.
//!
//! A file is looked at before anything is written to it. Until it has turned out to be sound and ours, the connection may
//! not fold the log into it on closing, so that a later version's or a damaged file stays as it was found, log included.

use super::{place::Place, problem::StoreProblem};
use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};
use std::{io, path::Path, time::Duration};

/// "dfib": marks the file as one of defib's.
const APPLICATION_ID: i32 = 0x6466_6962;

/// What brings the schema from version n to n + 1 stands at index n. Each runs in a transaction of its own. Never change
/// one that was released.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE state (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        record TEXT NOT NULL,
        seq INTEGER NOT NULL,
        PRIMARY KEY (kind, id)
    ) WITHOUT ROWID, STRICT;
    CREATE TABLE history (
        rowid INTEGER PRIMARY KEY,
        wall_ms INTEGER NOT NULL,
        record TEXT NOT NULL
    ) STRICT;
    CREATE TABLE undecodable (
        rowid INTEGER PRIMARY KEY,
        wall_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        record TEXT NOT NULL,
        seq INTEGER NOT NULL,
        reason TEXT NOT NULL
    ) STRICT;
    CREATE TABLE progress (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        last_seq INTEGER NOT NULL,
        refusals INTEGER NOT NULL
    ) STRICT;
    INSERT INTO progress VALUES (1, 0, 0);
"];

/// The tables of the latest version.
const TABLES: &[&str] = &["history", "progress", "state", "undecodable"];

/// Another process of ours (`history`) or a person with `sqlite3` may hold the file for a moment. Below the 2 s after which
/// the domain gives a batch up.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// The log is cut back to this after it was folded in.
const LOG_SIZE_LIMIT: i64 = 8 << 20;

/// The latest version this defib knows.
pub(super) fn latest() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// A file that was opened, or what is the matter with it.
pub(super) enum Found {
    /// Sound, ours, and of the latest version by now.
    Sound(Connection),
    /// Not to be read any more. What SQLite said of it.
    Damaged(String),
}

/// Opens `place`'s database, which may be empty, and brings it to the latest version.
pub(super) fn open(place: &Place) -> Result<Found, StoreProblem> {
    let file = place.database();
    if place.has_orphaned_log() {
        return Ok(Found::Damaged("there is a log, but no database to it".to_owned()));
    }
    place.make_database_file()?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(&file, flags)
        .map_err(|source| StoreProblem::from_sqlite("open", &file, source))?;
    match look(&opened, &file) {
        Ok(Looked::Sound { version }) => migrate(opened, version, &file).map(Found::Sound),
        Ok(Looked::Damaged(why)) => Ok(Found::Damaged(why)),
        Err(StoreProblem::Database { source, .. }) if is_damage(&source) => {
            Ok(Found::Damaged(source.to_string()))
        }
        Err(problem) => Err(problem),
    }
}

/// Opens the database of a store that is in use, again. It has the latest version, or is refused.
pub(super) fn reopen(file: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(file, flags)?;
    configure(&connection)?;
    Ok(connection)
}

/// Whether the file itself is in disorder, and not only out of reach.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

enum Looked {
    Sound { version: u32 },
    Damaged(String),
}

fn look(connection: &Connection, file: &Path) -> Result<Looked, StoreProblem> {
    let problem = |source| StoreProblem::from_sqlite("read", file, source);
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)
        .and_then(|_| connection.busy_timeout(BUSY_TIMEOUT))
        .and_then(|()| connection.pragma_update(None, "cell_size_check", true))
        .map_err(problem)?;
    let version: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(problem)?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(problem)?;
    let tables = tables(connection).map_err(problem)?;
    let is_empty = version == 0 && application == 0 && tables.is_empty();
    if !is_empty && application != APPLICATION_ID {
        return Err(StoreProblem::Foreign { file: file.to_owned() });
    }
    if version > latest() {
        return Err(StoreProblem::Newer { file: file.to_owned(), found: version, known: latest() });
    }
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(problem)? {
        // SQLite opens for reading what it may not write, without a word.
        return Err(StoreProblem::from_io("write", file, io::ErrorKind::PermissionDenied.into()));
    }
    let check: String =
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(problem)?;
    if check != "ok" {
        return Ok(Looked::Damaged(check));
    }
    if version == latest() && TABLES.iter().any(|table| !tables.iter().any(|held| held == table)) {
        return Ok(Looked::Damaged(format!("it should hold {TABLES:?} and holds {tables:?}")));
    }
    Ok(Looked::Sound { version })
}

fn migrate(
    mut connection: Connection,
    version: u32,
    file: &Path,
) -> Result<Connection, StoreProblem> {
    let problem = |source| StoreProblem::from_sqlite("set up", file, source);
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)
        .and_then(|_| configure(&connection))
        .map_err(problem)?;
    for (done, step) in (1_u32..).zip(MIGRATIONS).skip(version as usize) {
        let migration = connection.transaction().map_err(problem)?;
        migration
            .execute_batch(step)
            .and_then(|()| migration.pragma_update(None, "application_id", APPLICATION_ID))
            .and_then(|()| migration.pragma_update(None, "user_version", done))
            .map_err(problem)?;
        migration.commit().map_err(problem)?;
    }
    Ok(connection)
}

/// The log is what lets others read meanwhile; FULL is what makes a commit survive the power going.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let mode: String =
        connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
    if mode != "wal" {
        // Some network file systems. Commits are as safe there; only readers beside us have to wait.
        tracing::warn!(mode, "the state's file system takes no write-ahead log; going on without");
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", LOG_SIZE_LIMIT, |_| Ok(()))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    connection.pragma_update(None, "trusted_schema", false)
}

fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?
        .query_map([], |row| row.get(0))?
        .collect()
}
