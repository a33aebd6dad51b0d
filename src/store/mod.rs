//! What must outlive us: the current state, one row a thing, and the history of decisions.

pub mod port;
