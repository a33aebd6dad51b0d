//! Whether a sink has what it takes to send: its secrets, in a form that can be used. Looked at before there is a message,
//! so that a missing file is found on a quiet day. Sends nothing, and fails nothing: a sink that is not ready is run all the
//! same, and reads its secrets anew at each attempt.

use super::{
    address::{self, read_secret},
    config::{SinkConfig, WebhookUrl},
    http::Deadline,
    salt::Salt,
    secret::SecretSource,
    signature::signing_key,
};
use futures_util::future::join_all;
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
    let (mut lacks, mut unsigned, mut signs) = (None, None, false);
    // All at once: one whose disk hangs must not take the others' time.
    let secrets = config.secrets();
    let reads = secrets.iter().map(|source| read_secret(source, deadline));
    for (source, read) in secrets.iter().zip(join_all(reads).await) {
        match &read {
            Ok(secret) => digest.part(secret.expose_secret()),
            Err(_) => digest.missing(),
        }
        let used = read.and_then(|secret| usable(config, source, &secret));
        match (is_to_sign_with(config, source), used) {
            (true, Ok(())) => signs = true,
            (true, Err(why)) => unsigned = unsigned.or(Some(why)),
            (false, Ok(())) => {}
            (false, Err(why)) => lacks = lacks.or(Some(why)),
        }
    }
    // One of several secrets is enough to sign with.
    let lacks = lacks.or(unsigned.filter(|_| !signs));
    Readiness { definition: digest.end(), lacks }
}

fn is_to_sign_with(config: &SinkConfig, source: &SecretSource) -> bool {
    match config {
        SinkConfig::Webhook { url: WebhookUrl::Secret(url), .. } => url != source,
        SinkConfig::Webhook { url: WebhookUrl::Plain(_), .. } => true,
        SinkConfig::Slack { .. } | SinkConfig::Terminal { .. } => false,
    }
}

/// Whether a secret that could be read can be used.
fn usable(config: &SinkConfig, source: &SecretSource, secret: &SecretString) -> Result<(), String> {
    match config {
        SinkConfig::Webhook { .. } if is_to_sign_with(config, source) => {
            signing_key(source, secret).map(drop)
        }
        SinkConfig::Slack { allow_http, .. } | SinkConfig::Webhook { allow_http, .. } => {
            address::of(secret, *allow_http).map(drop)
        }
        SinkConfig::Terminal { .. } => Ok(()),
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
    async fn one_of_two_signing_secrets_is_enough_and_none_is_not() {
        let (_good, good) = holding("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD");
        let (_short, short) = holding("whsec_c2hvcnQ=");
        let gone = SecretSource::File("/nowhere/old".into());
        let lacks = async |secrets: [&SecretSource; 2]| {
            let url = WebhookUrl::Plain(SecretString::from("https://hooks.example.org/x"));
            let secrets = secrets.into_iter().cloned().collect();
            look(&SinkConfig::Webhook { url, secrets, allow_http: false }, &salt()).await.lacks
        };
        for other in [&gone, &short] {
            assert_eq!(lacks([&good, other]).await, None);
            assert_eq!(lacks([other, &good]).await, None);
        }
        assert!(lacks([&gone, &short]).await.unwrap().contains("`/nowhere/old`"));
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
