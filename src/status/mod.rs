//! How things stand, as a value that can be sent and shown. `snapshot` is the value and the schema of `status --json`;
//! `bounds` keeps it below what an answer may be; `problems` words what is wrong with defib's own surroundings; `page` says all of
//! it to a person.

mod bounds;
pub mod page;
pub mod problems;
pub mod snapshot;
