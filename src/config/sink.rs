//! Where messages go, by name. What a sink is says [`SinkConfig`]; the domain has only
//! [`crate::domain::policy::SinkPolicy`].

use crate::{domain::name::SinkName, notify::config::SinkConfig};

/// A sink by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSink {
    /// As in `[sink.NAME]`.
    pub name: SinkName,
    /// What it is. A terminal is plain here: whether it takes colours is known where it is opened.
    pub config: SinkConfig,
}
