//! Where messages go, by name. What a sink is says [`SinkConfig`]; the domain has only
//! [`crate::domain::policy::SinkPolicy`].

use super::problem::Span;
use crate::{
    domain::name::SinkName,
    notify::{config::SinkConfig, secret::SecretSource},
};

/// A sink by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSink {
    /// As in `[sink.NAME]`.
    pub name: SinkName,
    /// What it is. A terminal is plain here: whether it takes colours is known where it is opened.
    pub config: SinkConfig,
}

/// A file in which a sink has a secret.
#[derive(Clone, Debug)]
pub struct SecretFile {
    /// Whose it is.
    pub sink: SinkName,
    /// The key that names it, as in `url_file`.
    pub key: &'static str,
    /// Where in the config it is named.
    pub at: Span,
    /// The file.
    pub source: SecretSource,
    /// A sink like it that needs no other secret: whether this one can be used is asked of that.
    pub alone: SinkConfig,
}
