//! Attempts over a real socket: what arrives, and what each way of answering, or of not answering, comes to.

use crate::{
    receiver::{Receiver, Reply, http, with_header},
    samples::{hurried, largest, order, page, surroundings},
    strict::{self, FIRST_SECRET, SECOND_SECRET, whsec},
};
use defib::{
    domain::{name::SinkName, observation::DeliveryOutcome},
    notify::{
        config::{SinkConfig, WebhookUrl, build},
        port::Sink,
        secret::SecretSource,
    },
};
use secrecy::SecretString;
use std::{io::Write as _, sync::Arc, time::Duration};
use tempfile::NamedTempFile;

pub(crate) const PATH: &str = "/services/T0AAA/B0BBB/sEcReTsEcReT";

fn file_with(text: &str) -> NamedTempFile {
    let mut file = NamedTempFile::new().unwrap();
    writeln!(file, "{text}").unwrap();
    file
}

fn source(file: &NamedTempFile) -> SecretSource {
    SecretSource::File(file.path().to_owned())
}

fn build_sink(config: SinkConfig) -> Arc<dyn Sink> {
    build(&SinkName::new("oncall"), config, &surroundings()).unwrap()
}

/// A sink, and the files that its secrets are in.
struct Told {
    sink: Arc<dyn Sink>,
    _files: Vec<NamedTempFile>,
}

fn slack(receiver: &Receiver) -> Told {
    let file = file_with(&receiver.url(PATH));
    let sink = build_sink(SinkConfig::Slack { url: source(&file), allow_http: false });
    Told { sink, _files: vec![file] }
}

fn webhook(receiver: &Receiver) -> Told {
    let files = vec![file_with(&whsec(&FIRST_SECRET)), file_with(&whsec(&SECOND_SECRET))];
    let sink = build_sink(SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(receiver.url(PATH))),
        secrets: files.iter().map(source).collect(),
        allow_http: false,
    });
    Told { sink, _files: files }
}

/// One attempt of each sink against receivers that answer so.
async fn both(reply: Reply, deadline: Duration) -> [(DeliveryOutcome, Receiver); 2] {
    let receivers =
        [Receiver::start(vec![reply.clone()]).await, Receiver::start(vec![reply]).await];
    let sinks = [slack(&receivers[0]), webhook(&receivers[1])];
    let (first, second) = tokio::join!(
        sinks[0].sink.deliver(hurried(page(), deadline)),
        sinks[1].sink.deliver(hurried(page(), deadline)),
    );
    let [a, b] = receivers;
    [(first, a), (second, b)]
}

const SOON: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(20);

#[tokio::test]
async fn slack_takes_every_message() {
    let receiver = Receiver::start(vec![Reply::Judge(strict::slack)]).await;
    let told = slack(&receiver);
    let samples = crate::samples::all().into_iter().map(|(_, message)| message);
    for message in samples.chain([largest("🔥"), largest("<&>"), largest("word ")]) {
        assert_eq!(told.sink.deliver(order(message, 1)).await, DeliveryOutcome::Delivered);
    }
    assert_eq!(receiver.received().len(), 12, "one request a message");
    assert_eq!(receiver.received()[0].path, PATH);
}

#[tokio::test]
async fn a_webhook_takes_every_message_with_either_secret() {
    for judge in [strict::webhook, strict::webhook_of_the_second_secret] {
        let receiver = Receiver::start(vec![Reply::Judge(judge)]).await;
        let told = webhook(&receiver);
        let samples = crate::samples::all().into_iter().map(|(_, message)| message);
        for message in samples.chain([largest("🔥"), largest("\"")]) {
            assert_eq!(told.sink.deliver(order(message, 1)).await, DeliveryOutcome::Delivered);
        }
        assert_eq!(receiver.received().len(), 11, "one request a message");
    }
}

#[tokio::test]
async fn every_attempt_has_the_same_id_and_body_and_a_signature_of_its_own() {
    let receiver =
        Receiver::start(vec![http("500 Internal Server Error", ""), Reply::Judge(strict::webhook)])
            .await;
    let told = webhook(&receiver);
    let first = told.sink.deliver(order(page(), 1)).await;
    assert_eq!(first, DeliveryOutcome::Unknown("the sink answered 500".to_owned()));
    assert_eq!(told.sink.deliver(order(page(), 2)).await, DeliveryOutcome::Delivered);
    let [a, b] = receiver.received().try_into().unwrap();
    assert_eq!(a.headers["webhook-id"], page().idempotency_key());
    assert_eq!(a.headers["webhook-id"], b.headers["webhook-id"]);
    assert_eq!(a.body, b.body);
    assert_ne!(a.headers["webhook-timestamp"], b.headers["webhook-timestamp"]);
    assert_ne!(a.headers["webhook-signature"], b.headers["webhook-signature"]);
    assert_eq!((strict::webhook(&a), strict::webhook(&b)), (Ok(()), Ok(())));
}

#[tokio::test]
async fn a_429_pauses_in_all_of_its_forms() {
    // The clock stands at 12:02:11 UTC and steps a second a reading.
    for (reply, from, to) in [
        (with_header("429 Too Many Requests", "Retry-After", "3", ""), 3.0, 3.0),
        (
            http(
                "429 Too Many Requests",
                r#"{"retry_after":2.5,"ok":false,"error":"rate_limited"}"#,
            ),
            2.5,
            2.5,
        ),
        (
            with_header(
                "429 Too Many Requests",
                "retry-after",
                "Wed, 02 Sep 2026 12:02:41 GMT",
                "",
            ),
            25.0,
            30.0,
        ),
        (with_header("503 Service Unavailable", "Retry-After", "86400", ""), 3600.0, 3600.0),
    ] {
        for (outcome, receiver) in both(reply.clone(), LONG).await {
            let DeliveryOutcome::Paused { wait: Some(wait), .. } = outcome else {
                panic!("{outcome:?} of {reply:?}");
            };
            assert!((from..=to).contains(&wait.as_secs_f64()), "{wait:?} of {reply:?}");
            assert_eq!(receiver.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn what_never_answers_or_never_ends_is_left_at_the_deadline() {
    for reply in [Reply::Hang, Reply::DripHead] {
        for (outcome, _) in both(reply, SOON).await {
            assert_eq!(
                outcome,
                DeliveryOutcome::Unknown("the sink did not answer in time".to_owned())
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_drips_is_judged_by_its_head_at_the_deadline() {
    let [(by_slack, _), (by_webhook, _)] = both(Reply::Drip("HTTP/1.1 200 OK\r\n\r\n"), SOON).await;
    let DeliveryOutcome::Unknown(reason) = by_slack else { panic!("{by_slack:?}") };
    assert!(reason.contains("had not ended at the deadline"), "{reason}");
    assert_eq!(by_webhook, DeliveryOutcome::Delivered);
    let limited = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 3\r\n\r\n";
    for (outcome, _) in both(Reply::Drip(limited), SOON).await {
        let wait = Some(Duration::from_secs(3));
        assert!(
            matches!(outcome, DeliveryOutcome::Paused { wait: w, .. } if w == wait),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn what_breaks_on_the_way_may_have_arrived() {
    for reply in [Reply::Reset, Reply::Garbage] {
        for (outcome, receiver) in both(reply.clone(), LONG).await {
            assert!(matches!(outcome, DeliveryOutcome::Unknown(_)), "{outcome:?} of {reply:?}");
            assert_eq!(receiver.received().len(), 1, "tried once");
        }
    }
    let [(outcome, _), _] = both(Reply::Truncate("200 OK", "ok"), LONG).await;
    assert!(matches!(outcome, DeliveryOutcome::Unknown(_)), "{outcome:?}");
}

#[tokio::test]
async fn nobody_listening_may_be_cured() {
    let receiver = Receiver::start(vec![Reply::Hang]).await;
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}{PATH}", listener.local_addr().unwrap())
    };
    drop(receiver);
    let file = file_with(&closed);
    let sink = build_sink(SinkConfig::Slack { url: source(&file), allow_http: false });
    let outcome = sink.deliver(order(page(), 1)).await;
    let DeliveryOutcome::Unknown(reason) = outcome else { panic!("{outcome:?}") };
    assert_eq!(reason, "connection refused");
}

#[tokio::test]
async fn a_huge_answer_is_not_swallowed() {
    for status in ["200 OK", "500 Internal Server Error"] {
        for (outcome, receiver) in both(Reply::Flood(status), LONG).await {
            let is_right = match outcome {
                DeliveryOutcome::Delivered | DeliveryOutcome::Unknown(_) => true,
                DeliveryOutcome::Paused { .. }
                | DeliveryOutcome::Rejected(_)
                | DeliveryOutcome::Broken(_)
                | DeliveryOutcome::NotSent(_) => false,
            };
            assert!(is_right, "{outcome:?}");
            assert!(receiver.bytes_flooded() < 50_000_000, "{}", receiver.bytes_flooded());
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Receiver::start(vec![http("200 OK", "ok")]).await;
    for status in
        ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let reply = with_header(status, "Location", &elsewhere.url("/stolen"), "");
        for (outcome, receiver) in both(reply, LONG).await {
            let DeliveryOutcome::Broken(reason) = outcome else { panic!("{outcome:?}") };
            assert!(
                reason.contains("redirects are not followed") && !reason.contains("stolen"),
                "{reason}"
            );
            assert_eq!(receiver.received().len(), 1);
        }
    }
    assert!(elsewhere.received().is_empty());
}

#[tokio::test]
async fn a_sink_that_is_gone_is_broken() {
    for (outcome, receiver) in both(http("404 Not Found", "no_active_hooks"), LONG).await {
        assert_eq!(
            outcome,
            DeliveryOutcome::Broken("the sink answered 404: no_active_hooks".to_owned())
        );
        assert_eq!(receiver.received().len(), 1);
    }
}

#[tokio::test]
async fn what_refuses_the_message_is_asked_once_an_attempt() {
    for status in ["400 Bad Request", "413 Payload Too Large", "422 Unprocessable Content"] {
        for (outcome, receiver) in both(http(status, "invalid_blocks"), LONG).await {
            assert!(matches!(outcome, DeliveryOutcome::Rejected(_)), "{outcome:?}");
            assert_eq!(receiver.received().len(), 1);
        }
    }
}

#[tokio::test]
async fn a_secret_is_read_anew_at_each_attempt() {
    let receiver = Receiver::start(vec![http("200 OK", "ok")]).await;
    let file = file_with("");
    let sink = build_sink(SinkConfig::Slack { url: source(&file), allow_http: false });
    let outcome = sink.deliver(order(page(), 1)).await;
    let DeliveryOutcome::NotSent(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.starts_with("secret could not be read from file `"), "{reason}");
    std::fs::write(file.path(), receiver.url(PATH)).unwrap();
    assert_eq!(sink.deliver(order(page(), 2)).await, DeliveryOutcome::Delivered);
}

#[tokio::test]
async fn a_signing_secret_that_cannot_be_used_breaks_the_sink_before_anything_is_sent() {
    let receiver = Receiver::start(vec![http("200 OK", "ok")]).await;
    let file = file_with("whsec_c2hvcnQ=");
    let sink = build_sink(SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(receiver.url(PATH))),
        secrets: vec![source(&file)],
        allow_http: false,
    });
    let outcome = sink.deliver(order(page(), 1)).await;
    let DeliveryOutcome::NotSent(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("decodes to 5 bytes") && !reason.contains("c2hvcnQ"), "{reason}");
    assert!(receiver.received().is_empty());
}

#[tokio::test]
async fn while_secrets_rotate_one_that_is_gone_or_useless_withholds_nothing() {
    let receiver = Receiver::start(vec![Reply::Judge(strict::webhook)]).await;
    let (new, short) = (file_with(&whsec(&FIRST_SECRET)), file_with("whsec_c2hvcnQ="));
    let gone = || SecretSource::File("/nowhere/old".into());
    for secrets in [
        vec![source(&new), gone()],
        vec![gone(), source(&new)],
        vec![source(&new), source(&short)],
        vec![source(&short), source(&new)],
    ] {
        let sink = build_sink(SinkConfig::Webhook {
            url: WebhookUrl::Plain(SecretString::from(receiver.url(PATH))),
            secrets,
            allow_http: false,
        });
        assert_eq!(sink.deliver(order(page(), 1)).await, DeliveryOutcome::Delivered);
    }
    let sink = build_sink(SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(receiver.url(PATH))),
        secrets: vec![gone(), source(&short)],
        allow_http: false,
    });
    let DeliveryOutcome::NotSent(why) = sink.deliver(order(page(), 1)).await else { panic!() };
    assert!(why.contains("`/nowhere/old`") && why.contains("decodes to 5 bytes"), "{why}");
}

#[tokio::test]
async fn without_secrets_a_webhook_is_not_signed() {
    let receiver = Receiver::start(vec![http("204 No Content", "")]).await;
    let sink = build_sink(SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(receiver.url(PATH))),
        secrets: vec![],
        allow_http: false,
    });
    assert_eq!(sink.deliver(order(page(), 1)).await, DeliveryOutcome::Delivered);
    let headers = &receiver.received()[0].headers;
    assert!(headers.contains_key("webhook-id") && !headers.contains_key("webhook-signature"));
    assert!(headers["user-agent"].starts_with("defib/"));
}
