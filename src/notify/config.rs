//! What the config says of a sink, and the sinks built from it. A sink's secrets are named here and read at each attempt;
//! none of this can show one.

use super::{
    http::HttpClient,
    plain::Style,
    port::Sink,
    salt::Digest,
    secret::SecretSource,
    slack::SlackSink,
    terminal::{Terminal, TerminalSink},
    webhook::WebhookSink,
};
use crate::{clock::Clock, domain::name::SinkName};
use jiff::tz::TimeZone;
use secrecy::{ExposeSecret, SecretString};
use std::{error::Error, fmt, io, sync::Arc};

/// One sink, as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SinkConfig {
    /// A Slack incoming webhook, or something that speaks like one.
    Slack {
        /// Its URL is its password.
        url: SecretSource,
        /// Also where the URL is plain http to another machine.
        allow_http: bool,
    },
    /// defib's own JSON (`docs/PAGING.md`).
    Webhook {
        /// Where to.
        url: WebhookUrl,
        /// Signing secrets, the newest first; several while they rotate, none for unsigned messages.
        secrets: Vec<SecretSource>,
        /// Also where the URL is plain http to another machine.
        allow_http: bool,
    },
    /// Whoever looks at defib's own output.
    Terminal {
        /// Whether it takes colours.
        style: Style,
    },
}

/// A webhook's URL. Treated as a secret also where it stands in the config.
#[derive(Clone, Debug)]
pub enum WebhookUrl {
    /// Kept elsewhere.
    Secret(SecretSource),
    /// Written in the config.
    Plain(SecretString),
}

impl PartialEq for WebhookUrl {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (WebhookUrl::Secret(a), WebhookUrl::Secret(b)) => a == b,
            (WebhookUrl::Plain(a), WebhookUrl::Plain(b)) => a.expose_secret() == b.expose_secret(),
            (WebhookUrl::Secret(_), WebhookUrl::Plain(_))
            | (WebhookUrl::Plain(_), WebhookUrl::Secret(_)) => false,
        }
    }
}

impl Eq for WebhookUrl {}

impl SinkConfig {
    /// What tells it from a sink that goes elsewhere, but for what its secrets hold.
    pub(super) fn identify(&self, digest: &mut Digest) {
        match self {
            SinkConfig::Slack { url, allow_http } => {
                digest.part("slack");
                digest.part(&url.to_string());
                digest.part(&allow_http.to_string());
            }
            SinkConfig::Webhook { url, secrets, allow_http } => {
                digest.part("webhook");
                match url {
                    WebhookUrl::Secret(source) => digest.part(&source.to_string()),
                    WebhookUrl::Plain(url) => digest.part(url.expose_secret()),
                }
                digest.part(&allow_http.to_string());
                for secret in secrets {
                    digest.part(&secret.to_string());
                }
            }
            // Whether it takes colours changes nothing about who sees it.
            SinkConfig::Terminal { .. } => digest.part("terminal"),
        }
    }

    /// Where its secrets are kept, in a fixed order.
    pub fn secrets(&self) -> Vec<&SecretSource> {
        match self {
            SinkConfig::Slack { url, .. } => vec![url],
            SinkConfig::Webhook { url, secrets, .. } => {
                let url = match url {
                    WebhookUrl::Secret(source) => Some(source),
                    WebhookUrl::Plain(_) => None,
                };
                url.into_iter().chain(secrets).collect()
            }
            SinkConfig::Terminal { .. } => Vec::new(),
        }
    }
}

/// What all sinks share.
#[derive(Clone)]
pub struct Surroundings {
    /// For signatures and for pauses that end at a date.
    pub clock: Arc<dyn Clock>,
    /// The reader's time zone.
    pub tz: TimeZone,
    /// How HTTP is spoken.
    pub http: HttpClient,
    /// What terminal sinks write to.
    pub terminal: Terminal,
}

/// Why a sink could not be built.
#[derive(Debug)]
pub struct SinkNotBuilt {
    /// Which.
    pub sink: SinkName,
    /// No thread for it.
    pub source: io::Error,
}

impl fmt::Display for SinkNotBuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to start the thread that writes for sink `{}`", self.sink)
    }
}

impl Error for SinkNotBuilt {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Builds the sink. Needs no network and reads no secret: a sink whose secret is missing is built, and says so at each
/// attempt.
///
/// # Errors
/// Where the system refuses a thread to a terminal sink.
pub fn build(
    name: &SinkName,
    config: SinkConfig,
    surroundings: &Surroundings,
) -> Result<Arc<dyn Sink>, SinkNotBuilt> {
    Ok(match config {
        SinkConfig::Slack { url, allow_http } => {
            Arc::new(SlackSink::new(url, allow_http, surroundings))
        }
        SinkConfig::Webhook { url, secrets, allow_http } => {
            Arc::new(WebhookSink::new(name.clone(), url, secrets, allow_http, surroundings))
        }
        SinkConfig::Terminal { style } => {
            let terminal = TerminalSink::on(&surroundings.terminal, style, surroundings.tz.clone());
            Arc::new(terminal.map_err(|source| SinkNotBuilt { sink: name.clone(), source })?)
        }
    })
}
