//! Sinks that are named by a name, with a resolver that stops answering (P4).

use crate::{
    receiver::{Receiver, http},
    samples::{hurried, page, surroundings},
};
use defib::{
    domain::{name::SinkName, observation::DeliveryOutcome},
    notify::{
        config::{SinkConfig, Surroundings, WebhookUrl, build},
        dns::sinks_resolver,
        http::HttpClient,
    },
    resolve::Resolver,
};
use secrecy::SecretString;
use std::{
    io,
    net::IpAddr,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

/// The shortest `timeout` that a sink may have.
const SHORTEST: Duration = Duration::from_secs(1);

/// Knows every name at the first question, and answers no other until the sender is dropped.
fn answers_once() -> (mpsc::Sender<()>, Arc<Resolver>) {
    let (let_go, hangs) = mpsc::channel::<()>();
    let (hangs, asked) = (Mutex::new(hangs), Mutex::new(0));
    let resolver = Resolver::with_lookup(Arc::new(move |_: &str| {
        let first = {
            let mut asked = asked.lock().unwrap();
            *asked += 1;
            *asked == 1
        };
        if first {
            return Ok(vec![IpAddr::from([127, 0, 0, 1])]);
        }
        hangs.lock().unwrap().recv().ok();
        Err(io::Error::other("down"))
    }));
    (let_go, Arc::new(resolver))
}

#[tokio::test]
async fn with_a_resolver_that_never_answers_the_last_good_addresses_serve_the_shortest_timeout() {
    let receiver = Receiver::start(vec![http("204 No Content", "")]).await;
    let (_let_go, resolver) = answers_once();
    let http = HttpClient::new(Some(sinks_resolver(&resolver))).unwrap();
    let surroundings = Surroundings { http, ..surroundings() };
    let named = receiver.url("/hook").replace("127.0.0.1", "hooks.example");
    let config = SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(named)),
        secrets: vec![],
        allow_http: true,
    };
    let sink = build(&SinkName::new("oncall"), config, &surroundings).unwrap();
    for times in 1..=3 {
        let outcome = sink.deliver(hurried(page(), SHORTEST)).await;
        assert_eq!(outcome, DeliveryOutcome::Delivered, "message {times}");
        assert_eq!(receiver.received().len(), times);
    }
}
