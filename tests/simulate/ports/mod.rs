//! What stands behind defib's ports in a run: the simulated engine, prober, sinks and store, each with an ear that writes down
//! what was asked and answered.

pub mod engine;
pub mod prober;
pub mod sink;
pub mod store;
