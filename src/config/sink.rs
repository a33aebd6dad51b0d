//! Where messages go, as far as the adapters need it: addresses and where secrets are. The domain has only
//! [`crate::domain::policy::SinkPolicy`].

use crate::domain::name::SinkName;
use std::path::PathBuf;

/// A sink by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSink {
    /// As in `[sink.NAME]`.
    pub name: SinkName,
    /// What it is.
    pub config: SinkConfig,
}

/// What a sink is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkConfig {
    /// A Slack incoming webhook. Its URL is a secret.
    Slack {
        /// Where the URL is.
        url: SecretSource,
    },
    /// A generic webhook.
    Webhook {
        /// Where to.
        url: WebhookUrl,
        /// What to sign with: none, one, or two while the secret is being changed.
        secrets: Vec<SecretSource>,
    },
    /// Standard output of the daemon.
    Terminal,
}

/// Where a generic webhook goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookUrl {
    /// Stands in the config.
    Plain(String),
    /// Is a secret.
    Secret(SecretSource),
}

/// Where a secret is. Read by the sink when it is needed, so that a changed one is taken up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// A file's content, white space at its ends left out.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A systemd credential, by name.
    Credential(String),
}
