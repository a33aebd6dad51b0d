//! How things stand, as a value that can be sent and shown. `snapshot` is the value and the schema of `status --json`; `page`
//! says it to a person.

pub mod page;
pub mod snapshot;
