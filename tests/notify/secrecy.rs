//! P7: a sink's URL and signing secrets appear nowhere but on the wire.

use crate::{
    receiver::{Receiver, Reply, http, with_header},
    samples::{hurried, page, surroundings},
    strict::{FIRST_SECRET, whsec},
    transport::PATH,
};
use defib::{
    domain::name::SinkName,
    notify::{
        config::{SinkConfig, WebhookUrl, build},
        secret::SecretSource,
    },
};
use secrecy::SecretString;
use std::time::Duration;

const TOKENS: [&str; 4] = ["sEcReTsEcReT", "T0AAA", "AQEBAQ", "services"];

fn assert_clean(text: &str) {
    for token in TOKENS {
        assert!(!text.to_lowercase().contains(&token.to_lowercase()), "{token} in: {text}");
    }
}

#[tokio::test]
async fn no_outcome_shows_a_secret_whatever_the_sink_does() {
    let echo = format!("Cannot POST {PATH}");
    let json_echo = serde_json::json!({"error": format!("no hook at {PATH}")}).to_string();
    let replies = [
        http("200 OK", &echo),
        http("404 Not Found", &echo),
        http("404 Not Found", &json_echo),
        http("400 Bad Request", &echo.replace('/', "%2F")),
        http("500 Internal Server Error", &echo.to_uppercase()),
        with_header("302 Found", "Location", PATH, &echo),
        Reply::Http("429 Too Many Requests", vec![("Retry-After", PATH.to_owned())], echo.clone()),
        Reply::Reset,
        Reply::Hang,
        Reply::Garbage,
    ];
    for reply in replies {
        let receiver = Receiver::start(vec![reply]).await;
        let file = tempfile::NamedTempFile::new().unwrap();
        let secret = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), receiver.url(PATH)).unwrap();
        std::fs::write(secret.path(), whsec(&FIRST_SECRET)).unwrap();
        let url = SecretSource::File(file.path().to_owned());
        let secrets = vec![SecretSource::File(secret.path().to_owned())];
        for config in [
            SinkConfig::Slack { url: url.clone(), allow_http: false },
            SinkConfig::Webhook { url: WebhookUrl::Secret(url), secrets, allow_http: false },
        ] {
            let sink = build(&SinkName::new("oncall"), config, &surroundings()).unwrap();
            let outcome = sink.deliver(hurried(page(), Duration::from_millis(500))).await;
            assert_clean(&format!("{outcome:?}"));
            assert!(!format!("{outcome:?}").contains("127.0.0.1"), "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_signing_secret_that_is_echoed_is_not_quoted() {
    let receiver = Receiver::start(vec![http("403 Forbidden", &whsec(&FIRST_SECRET))]).await;
    let secret = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(secret.path(), whsec(&FIRST_SECRET)).unwrap();
    let config = SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(receiver.url(PATH))),
        secrets: vec![SecretSource::File(secret.path().to_owned())],
        allow_http: false,
    };
    let sink = build(&SinkName::new("oncall"), config, &surroundings()).unwrap();
    let outcome = sink.deliver(hurried(page(), Duration::from_secs(5))).await;
    assert_eq!(
        outcome,
        defib::domain::observation::DeliveryOutcome::Broken("the sink answered 403".to_owned())
    );
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_told_without_the_url() {
    let url = format!("https://does-not-exist.invalid{PATH}");
    let config = SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(url)),
        secrets: vec![],
        allow_http: false,
    };
    let sink = build(&SinkName::new("oncall"), config, &surroundings()).unwrap();
    let outcome = sink.deliver(hurried(page(), Duration::from_secs(2))).await;
    assert_clean(&format!("{outcome:?}"));
    assert!(!format!("{outcome:?}").contains("does-not-exist"), "{outcome:?}");
}

#[test]
fn a_config_can_be_shown() {
    let config = SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(format!("https://example.org{PATH}"))),
        secrets: vec![SecretSource::Env("DEFIB_SECRET".to_owned())],
        allow_http: true,
    };
    let shown = format!("{config:?}");
    assert_clean(&shown);
    assert!(shown.contains("DEFIB_SECRET"));
    assert_eq!(config, config.clone());
}
