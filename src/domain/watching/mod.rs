//! Watching: which containers there are, what they are to us, and when to look again.
//!
//! `matching` says which service a container belongs to; `lifecycle` what state a replica is in; `replica` holds all that is
//! known of one; `looking` decides where to look next.

pub mod lifecycle;
pub(crate) mod looking;
pub(crate) mod matching;
pub(crate) mod replica;
