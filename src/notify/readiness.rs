//! Whether a sink has what it takes to send: its secrets, in a form that can be used. Looked at before there is a message,
//! so that a missing file is found on a quiet day. Sends nothing, and fails nothing: a sink that is not ready is run all the
//! same, and reads its secrets anew at each attempt.

use super::{
    address::{self, read_secret},
    config::{SinkConfig, WebhookUrl},
    http::Deadline,
    salt::Salt,
    secret::SecretSource,
    signature::SigningKey,
};
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;

/// Reading a small file takes no time; a disk that hangs must not keep the daemon from starting.
pub const WITHIN: Duration = Duration::from_secs(5);

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readiness {
    /// Tells the sink from one that goes elsewhere, by its secrets too: a URL in a file is an address like any other. Without
    /// the salt it says nothing of them, and confirms no guess.
    pub definition: u64,
    /// Why it can't send, in words that may be shown.
    pub lacks: Option<String>,
}

/// Reads what a sink needs, within [`WITHIN`] for all of it.
pub async fn look(config: &SinkConfig, salt: &Salt) -> Readiness {
    let deadline = Deadline::within(WITHIN);
    let mut digest = salt.digest();
    config.identify(&mut digest);
    let mut lacks = None;
    for source in config.secrets() {
        match read_secret(source, deadline).await {
            Ok(secret) => {
                digest.part(secret.expose_secret());
                lacks = lacks.or_else(|| unusable(config, source, &secret));
            }
            Err(why) => {
                digest.missing();
                lacks = lacks.or(Some(why));
            }
        }
    }
    Readiness { definition: digest.end(), lacks }
}

/// Why a secret that could be read can't be used.
fn unusable(config: &SinkConfig, source: &SecretSource, secret: &SecretString) -> Option<String> {
    match config {
        SinkConfig::Slack { allow_http, .. } => address::of(secret, *allow_http).err(),
        SinkConfig::Webhook { url: WebhookUrl::Secret(url), allow_http, .. } if url == source => {
            address::of(secret, *allow_http).err()
        }
        SinkConfig::Webhook { .. } => SigningKey::decode(secret)
            .err()
            .map(|error| format!("the signing secret from {source} cannot be used: {error}")),
        SinkConfig::Terminal { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn salt() -> Salt {
        Salt::random().unwrap()
    }

    fn slack(url: SecretSource) -> SinkConfig {
        SinkConfig::Slack { url, allow_http: false }
    }

    fn holding(text: &str) -> (tempfile::NamedTempFile, SecretSource) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let source = SecretSource::File(file.path().to_owned());
        (file, source)
    }

    #[tokio::test]
    async fn what_can_not_be_read_or_used_is_said_without_showing_it() {
        for (content, says) in [
            ("", Some("it is empty")),
            ("ftp://hooks.example.org/s3cret", Some("begins neither with https://")),
            ("http://hooks.example.org/s3cret", Some("plain http to another machine")),
            ("https://hooks.example.org/s3cret", None),
        ] {
            let (_file, source) = holding(content);
            let lacks = look(&slack(source), &salt()).await.lacks;
            assert_eq!(lacks.is_some(), says.is_some(), "{lacks:?}");
            let lacks = lacks.unwrap_or_default();
            assert!(lacks.contains(says.unwrap_or_default()) && !lacks.contains("s3cret"));
        }
        let (_url, url) = holding("https://hooks.example.org/x");
        let (_secret, secret) = holding("whsec_c2hvcnQ=");
        let webhook = SinkConfig::Webhook {
            url: WebhookUrl::Secret(url),
            secrets: vec![secret],
            allow_http: false,
        };
        let lacks = look(&webhook, &salt()).await.lacks.unwrap();
        assert!(lacks.contains("decodes to 5 bytes") && !lacks.contains("c2hvcnQ"), "{lacks}");
    }

    #[tokio::test]
    async fn a_sink_is_another_when_its_kind_its_place_or_what_stands_there_changes() {
        let (file, source) = holding("https://hooks.example.org/1");
        let (_other, other) = holding("https://hooks.example.org/1");
        let salt = salt();
        let config = slack(source.clone());
        let first = look(&config, &salt).await;
        assert_eq!(look(&config, &salt).await, first, "it is the same as long as nothing changes");
        let webhook = SinkConfig::Webhook {
            url: WebhookUrl::Secret(source),
            secrets: Vec::new(),
            allow_http: false,
        };
        let mut seen = vec![first.definition];
        seen.push(look(&slack(other), &salt).await.definition);
        seen.push(look(&webhook, &salt).await.definition);
        std::fs::write(file.path(), "https://hooks.example.org/2").unwrap();
        seen.push(look(&config, &salt).await.definition);
        std::fs::remove_file(file.path()).unwrap();
        let gone = look(&config, &salt).await;
        assert!(gone.lacks.is_some());
        seen.push(gone.definition);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 5);
    }

    #[tokio::test]
    async fn a_definition_confirms_no_guess_without_its_salt() {
        let (_file, source) = holding("https://hooks.example.org/1");
        let plain = SecretString::from("https://hooks.example.org/1");
        let webhook = SinkConfig::Webhook {
            url: WebhookUrl::Plain(plain),
            secrets: Vec::new(),
            allow_http: false,
        };
        for config in [slack(source), webhook] {
            let (ours, theirs) = (look(&config, &salt()).await, look(&config, &salt()).await);
            assert_ne!(ours.definition, theirs.definition);
        }
    }
}
