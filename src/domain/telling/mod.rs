//! Telling: what people hear of, and that they do.
//!
//! `incident` is one trouble as people hear of it; its `story` is what a sink that got everything would know. `row`
//! is what one sink was told of one incident; `delivery` sees to the rest, `answer` takes in what the sink says to it, and `sink`
//! knows whether messages arrive there. `wording` makes the sentences.

pub mod answer;
pub mod delivery;
pub mod incident;
pub mod row;
pub(crate) mod sink;
pub mod story;
pub(crate) mod wording;

pub use incident::IncidentKey;
