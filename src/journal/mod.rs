//! What was observed, kept so that a run can be replayed and explained.
//!
//! The domain is a function of its observations, so these are all that is needed to see later why it did what it did. The
//! journal is not the store: nothing is decided by it, nothing waits for it, it is not synced, and what it can't keep is
//! counted and left out. Bounded segments of text lines, each with its checksum; the oldest go first.
//!
//! On the way in: `coalesce` leaves out what repeats itself without meaning, `writer` hands the rest to a thread, `redact`
//! takes secrets out, `segment` writes. On the way out: `reader`.

mod coalesce;
pub mod entry;
pub mod reader;
mod redact;
pub mod replay;
pub mod segment;
pub mod writer;
