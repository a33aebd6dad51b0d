//! One group of batches, one transaction; and what is read back when a store is opened.
//!
//! Knows of a record only where it goes ([`Record::shelf`]) and that it is JSON. A group that fails is refused as a whole,
//! unless a record in it is to blame: then each batch is tried alone, so that one that can't be written costs no other.
//! Nothing is tried again here: the domain decides whether it still matters.
//!
//! A commit whose last fsync failed lies whole in the log all the same, and whoever opens the log next would find it: a batch
//! that was refused would be back after a restart. So after such a failure a commit that changes nothing is written over it
//! ("sealed") by the same connection, which still knows where the log truly ended. What cannot be helped is a machine that
//! loses power just there: a batch that was refused is one that nobody may count on, not one that is surely absent.

use super::{
    batch::{self, Waiting},
    history,
    place::{FileIdentity, Place},
    schema,
};
use crate::domain::{
    moment::WallMs,
    name::Seq,
    record::{Record, RecordKey, Shelf},
};
use rusqlite::{Connection, ErrorCode, Transaction};
use std::{fmt, io, path::PathBuf};

/// History rows kept. At a decision a minute this is more than two months, in some 40 MB.
const HISTORY_ROWS: i64 = 100_000;

/// At most so many rows beyond those that came in are trimmed in one transaction, so that trimming never makes a commit late.
const TRIM_STEP: i64 = 500;

/// Undecodable records kept for whoever wants to look. Each was reported when it was moved.
const UNDECODABLE_ROWS: i64 = 1_000;

/// After so many failures of the disk in a row the file is opened again: its file system may have been mounted anew, and the
/// descriptors we hold belong to the dead one.
const REOPENED_AFTER: u32 = 3;

/// A record that could not be decoded when the store was opened, and was moved out of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Where it was kept.
    pub key: RecordKey,
    /// What is wrong with it.
    pub reason: String,
}

/// What a store held when it was opened.
pub(super) struct Kept {
    pub(super) records: Vec<Record>,
    pub(super) last_seq: Seq,
    pub(super) undecodable: Vec<Undecodable>,
}

/// Writes groups. Owns the state directory for as long as it lives.
pub(super) struct Writer {
    /// `None` after it broke, until it could be opened again. Before `place`: closed before the directory is given up.
    connection: Option<Connection>,
    file: PathBuf,
    identity: FileIdentity,
    /// Failures of the disk in a row.
    failures: u32,
    _place: Place,
}

impl Writer {
    pub(super) fn new(connection: Connection, place: Place) -> io::Result<Self> {
        let file = place.database();
        let identity = FileIdentity::of(&file)?;
        Ok(Self { connection: Some(connection), file, identity, failures: 0, _place: place })
    }

    /// Writes `group` and answers for it. What was refused is logged where the answer is heard.
    pub(super) fn commit(&mut self, group: Vec<Waiting>) {
        match self.write(&group) {
            Ok(()) => batch::committed(group),
            Err(Failure { aftermath: Aftermath::OfARecord, .. }) if group.len() > 1 => {
                for waiting in group {
                    self.commit(vec![waiting]);
                }
            }
            Err(failure) => batch::refused(group, failure.to_string()),
        }
    }

    fn write(&mut self, group: &[Waiting]) -> Result<(), Failure> {
        let found = FileIdentity::of(&self.file).map_err(|source| Failure::file(&source))?;
        if found != self.identity {
            return Err(Failure::replaced());
        }
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => schema::reopen(&self.file).map_err(|error| Failure::sqlite(&error))?,
        };
        let written = transact(&mut connection, group);
        let is_usable = match written.as_ref().map_err(|failure| failure.aftermath) {
            Ok(()) => {
                self.failures = 0;
                true
            }
            Err(Aftermath::OfARecord | Aftermath::Passing) => true,
            Err(Aftermath::InDoubt) => {
                self.failures += 1;
                // Where this fails too, its frame lies over the other's, and means nothing.
                if let Err(error) = seal(&connection) {
                    tracing::debug!(%error, "the refused commit could not be sealed");
                }
                !self.failures.is_multiple_of(REOPENED_AFTER)
            }
            Err(Aftermath::Broken) => false,
        };
        if is_usable {
            self.connection = Some(connection);
        }
        written
    }
}

/// Reads what is kept, and moves what can't be decoded out of the way.
pub(super) fn load(connection: &mut Connection, now: WallMs) -> rusqlite::Result<Kept> {
    let transaction = connection.transaction()?;
    let (records, undecodable) = decode_state(&transaction)?;
    for lost in &undecodable {
        set_aside(&transaction, lost, now)?;
    }
    let last_seq: i64 =
        transaction.query_row("SELECT last_seq FROM progress", [], |row| row.get(0))?;
    transaction.commit()?;
    let last_seq = Seq(u64::try_from(last_seq).unwrap_or(0));
    Ok(Kept { records, last_seq, undecodable })
}

/// A commit that changes nothing, in place of one that failed.
fn seal(connection: &Connection) -> rusqlite::Result<usize> {
    connection.execute("UPDATE progress SET refusals = refusals + 1", [])
}

fn transact(connection: &mut Connection, group: &[Waiting]) -> Result<(), Failure> {
    let sqlite = |error: rusqlite::Error| Failure::sqlite(&error);
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(sqlite)?;
    let mut appended = 0;
    for waiting in group {
        appended += put(&transaction, waiting)?;
    }
    if appended > 0 {
        transaction
            .prepare_cached(
                "DELETE FROM history WHERE rowid IN (
                    SELECT rowid FROM history WHERE rowid <= (SELECT max(rowid) FROM history) - ?1
                    ORDER BY rowid LIMIT ?2
                 )",
            )
            .and_then(|mut trim| trim.execute((HISTORY_ROWS, appended + TRIM_STEP)))
            .map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)
}

/// Puts a batch's records in their places; returns how many went to the history.
fn put(transaction: &Transaction<'_>, waiting: &Waiting) -> Result<i64, Failure> {
    let sqlite = |error: rusqlite::Error| Failure::sqlite(&error);
    let seq =
        i64::try_from(waiting.seq.0).map_err(|_| Failure::record("its number is too large"))?;
    let mut appended = 0;
    for record in &waiting.records {
        match record.shelf() {
            Shelf::State(key) => transaction
                .prepare_cached(
                    "INSERT INTO state (kind, id, record, seq) VALUES (?1, ?2, ?3, ?4)
                     ON CONFLICT (kind, id) DO UPDATE SET record = excluded.record, seq = excluded.seq",
                )
                .map_err(sqlite)?
                .execute((&key.kind, &key.id, encode(record)?, seq))
                .map_err(sqlite)?,
            Shelf::Removed(key) => transaction
                .prepare_cached("DELETE FROM state WHERE kind = ?1 AND id = ?2")
                .map_err(sqlite)?
                .execute((&key.kind, &key.id))
                .map_err(sqlite)?,
            Shelf::AllRemoved => transaction
                .prepare_cached("DELETE FROM state")
                .map_err(sqlite)?
                .execute(())
                .map_err(sqlite)?,
            Shelf::History => {
                appended += 1;
                transaction
                    .prepare_cached("INSERT INTO history (wall_ms, record) VALUES (?1, ?2)")
                    .map_err(sqlite)?
                    .execute((waiting.wall.0, encode(record)?))
                    .map_err(sqlite)?
            }
        };
    }
    transaction
        .prepare_cached("UPDATE progress SET last_seq = max(last_seq, ?1)")
        .and_then(|mut progress| progress.execute((seq,)))
        .map_err(sqlite)?;
    Ok(appended)
}

fn encode(record: &Record) -> Result<String, Failure> {
    serde_json::to_string(record).map_err(|error| Failure::record(&error.to_string()))
}

fn decode_state(
    transaction: &Transaction<'_>,
) -> rusqlite::Result<(Vec<Record>, Vec<Undecodable>)> {
    let (mut records, mut undecodable) = (Vec::new(), Vec::new());
    let mut statement =
        transaction.prepare("SELECT kind, id, record FROM state ORDER BY kind, id")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let key = RecordKey { kind: row.get(0)?, id: row.get(1)? };
        match history::decode(row.get_ref(2)?) {
            Ok(record) if record.shelf() == Shelf::State(key.clone()) => records.push(record),
            // It could never be replaced or removed again under the key that it has today.
            Ok(_) => undecodable.push(Undecodable {
                key,
                reason: "it is kept under the key of another".to_owned(),
            }),
            Err(reason) => undecodable.push(Undecodable { key, reason }),
        }
    }
    Ok((records, undecodable))
}

fn set_aside(
    transaction: &Transaction<'_>,
    lost: &Undecodable,
    now: WallMs,
) -> rusqlite::Result<()> {
    let key = &lost.key;
    transaction.execute(
        "INSERT INTO undecodable (wall_ms, kind, id, record, seq, reason)
         SELECT ?1, kind, id, record, seq, ?2 FROM state WHERE kind = ?3 AND id = ?4",
        (now.0, &lost.reason, &key.kind, &key.id),
    )?;
    transaction.execute("DELETE FROM state WHERE kind = ?1 AND id = ?2", (&key.kind, &key.id))?;
    transaction.execute(
        "DELETE FROM undecodable WHERE rowid <= (SELECT max(rowid) FROM undecodable) - ?1",
        (UNDECODABLE_ROWS,),
    )?;
    Ok(())
}

/// Why a group was not written.
struct Failure {
    reason: String,
    aftermath: Aftermath,
}

/// What a failure leaves behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aftermath {
    /// Only the batch with that record is to blame.
    OfARecord,
    /// Nothing: the next may pass.
    Passing,
    /// The group, or a part of it, may lie in the log.
    InDoubt,
    /// What the connection has in memory can't be trusted.
    Broken,
}

impl Failure {
    fn sqlite(error: &rusqlite::Error) -> Self {
        let (advice, aftermath) = match error.sqlite_error_code() {
            None => ("a record can't be written", Aftermath::OfARecord),
            Some(ErrorCode::TooBig | ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => {
                ("a record can't be written", Aftermath::OfARecord)
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                ("another process holds the store: close what has it open", Aftermath::Passing)
            }
            Some(ErrorCode::DiskFull) => ("the disk is full: free some space", Aftermath::InDoubt),
            Some(ErrorCode::SystemIoFailure) => {
                ("the disk failed: check it (`dmesg`)", Aftermath::InDoubt)
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
                "the store is damaged: restart defib, which keeps it aside and begins anew",
                Aftermath::Broken,
            ),
            Some(ErrorCode::ReadOnly) => {
                ("the store may not be written: check its owner and the mount", Aftermath::Broken)
            }
            Some(_) => ("the store failed: check the disk", Aftermath::Broken),
        };
        Self { reason: format!("{advice} ({error})"), aftermath }
    }

    fn record(why: &str) -> Self {
        let reason = format!("a record can't be written: {why}");
        Self { reason, aftermath: Aftermath::OfARecord }
    }

    fn file(source: &io::Error) -> Self {
        let reason =
            format!("the store's file can't be reached: put it back, or restart defib ({source})");
        Self { reason, aftermath: Aftermath::Passing }
    }

    /// Its connection still writes the file that was there before, which nobody will ever read again; and in the one that
    /// is there now, what defib knows is missing.
    fn replaced() -> Self {
        let reason = "the store's file was replaced while in use: restart defib".to_owned();
        Self { reason, aftermath: Aftermath::Passing }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
