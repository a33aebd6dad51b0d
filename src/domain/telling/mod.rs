//! Telling: what people hear of, and that they do.
//!
//! `incident` is one trouble as people hear of it; its `story` is what a sink that got everything would know. `delivery`
//! keeps, for each sink, how much of the story it was told, and sees to the rest; `sink` whether messages arrive there. `wording` makes the sentences.

pub mod delivery;
pub mod incident;
pub(crate) mod sink;
pub mod story;
pub(crate) mod wording;

pub use incident::IncidentKey;
