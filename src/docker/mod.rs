//! The container engine, seen through one typed port.
//!
//! `port` says what is asked; `connection` reaches the engine and is also bollard's transport; `raw` decodes lists, inspects
//! and events tolerantly; `adapter` puts them behind the port; `simulated` is a model of an engine behind the same port.

pub mod adapter;
pub mod address;
pub mod connection;
mod failure;
pub mod port;
mod raw;
#[cfg(test)]
pub(crate) mod scripted;
pub mod simulated;
