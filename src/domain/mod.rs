//! The domain: pure, and owner of every decision.

pub mod effect;
pub mod message;
pub mod moment;
pub mod name;
pub mod observation;
pub mod policy;
pub mod record;
