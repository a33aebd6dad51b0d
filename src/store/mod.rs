//! What must outlive us: the current state, one row a thing, and the history of decisions.
//!
//! `port` says what the daemon asks of a store. Three stand behind it: [`sqlite`] in production, [`ledger`] in simulation,
//! and [`absent`] where the state directory cannot be used and defib watches all the same. Reading order of the first:
//! `place` (the directory and who owns it), `schema` (what lies in the file), `writer` (one group, one transaction),
//! `sqlite` (the thread around it), `history` (reading beside a running daemon).

pub mod absent;
mod batch;
pub mod history;
pub mod ledger;
mod place;
pub mod port;
pub mod problem;
mod schema;
pub mod sqlite;
mod writer;
