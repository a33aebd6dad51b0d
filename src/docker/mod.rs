//! The container engine, seen through one typed port.
//!
//! `port` says what is asked; `connection` reaches the engine and is also bollard's transport; `raw` decodes lists, inspects
//! and events tolerantly; `adapter` puts them behind the port; `simulated` is a model of an engine behind the same port.

pub mod port;
pub mod simulated;
