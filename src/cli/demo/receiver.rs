//! Whoever gets the pages: a webhook receiver on this host's loopback, as anybody would write one. It takes defib's JSON
//! (`docs/PAGING.md`), answers 204, and takes a message whose ID it knows as done.

use crate::{
    domain::message::{MessageKind, Severity},
    tasks::Tasks,
};
use futures_util::{StreamExt, stream::FuturesUnordered};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use std::{collections::BTreeSet, io, net::SocketAddr, sync::Mutex, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

/// A message is below 64 KiB.
const BODY: usize = 256 * 1024;

/// Served at once. defib sends one message at a time to a sink.
const CONNECTIONS: usize = 8;

/// For one message.
const WITHIN: Duration = Duration::from_secs(10);

/// A message as it arrived: the fields that the demo shows.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Told {
    /// The idempotency key.
    pub id: String,
    /// What it says of its incident.
    pub kind: MessageKind,
    /// How much it disturbs.
    pub severity: Severity,
    /// About which service; none: about the host.
    pub service: Option<String>,
    /// What is wrong.
    pub headline: String,
    /// What defib did.
    pub done: Vec<String>,
    /// What was found.
    pub findings: Vec<String>,
    /// What to do.
    pub next_steps: Vec<String>,
}

/// Listens from now on, and hands on what arrives. Says where it listens.
///
/// # Errors
/// Where there is no port to listen on.
pub async fn listen(told: mpsc::Sender<Told>, tasks: &Tasks) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let at = listener.local_addr()?;
    tasks.spawn("receiver", accept(listener, told));
    Ok(at)
}

async fn accept(listener: TcpListener, told: mpsc::Sender<Told>) {
    let known = Mutex::new(BTreeSet::new());
    let mut connections = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            Some(()) = connections.next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok((stream, _)) => connections.push(converse(stream, &told, &known)),
                Err(error) => {
                    tracing::warn!(%error, "the demo's receiver could not take a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
}

async fn converse(stream: TcpStream, told: &mpsc::Sender<Told>, known: &Mutex<BTreeSet<String>>) {
    let service = service_fn(|request| take(request, told, known));
    let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    match tokio::time::timeout(WITHIN, served).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a connection to the demo's receiver broke"),
        Err(_) => tracing::warn!("a message did not arrive whole in time"),
    }
}

async fn take(
    request: Request<Incoming>,
    told: &mpsc::Sender<Told>,
    known: &Mutex<BTreeSet<String>>,
) -> Result<Response<Empty<Bytes>>, hyper::Error> {
    let answer = |status| {
        let mut response = Response::new(Empty::new());
        *response.status_mut() = status;
        Ok(response)
    };
    let Ok(body) = Limited::new(request.into_body(), BODY).collect().await else {
        return answer(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let message: Told = match serde_json::from_slice(&body.to_bytes()) {
        Ok(message) => message,
        Err(error) => {
            tracing::warn!(%error, "what arrived is no message of defib's");
            return answer(StatusCode::BAD_REQUEST);
        }
    };
    let is_known = |id: &String| {
        !known.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(id.clone())
    };
    if is_known(&message.id) {
        return answer(StatusCode::NO_CONTENT);
    }
    match told.send(message).await {
        Ok(()) => answer(StatusCode::NO_CONTENT),
        // The story is over.
        Err(_) => answer(StatusCode::SERVICE_UNAVAILABLE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        domain::{
            message::{IncidentKind, Message},
            moment::WallMs,
            name::{HostName, IncidentId, MessageId, ServiceName},
        },
        notify::webhook::payload,
    };

    fn message() -> Message {
        Message {
            id: MessageId(7),
            incident: IncidentId(3),
            key: "demo/kit-1/hangs/unhealthy".to_owned(),
            kind: MessageKind::Raised,
            severity: Severity::Page,
            incident_kind: IncidentKind::Unhealthy,
            fleet: "demo".to_owned(),
            host: HostName::new("kit-1"),
            service: Some(ServiceName::new("hangs")),
            headline: "hangs is unhealthy".to_owned(),
            since: WallMs(0),
            until: None,
            decided: WallMs(0),
            members: Vec::new(),
            done: vec!["nothing yet".to_owned()],
            findings: Vec::new(),
            next_steps: Vec::new(),
            runbook: None,
            note: None,
        }
    }

    #[tokio::test]
    async fn it_takes_what_the_webhook_sends_once() {
        let (told, mut arrived) = mpsc::channel(4);
        let at = listen(told, &Tasks::on(tokio::runtime::Handle::current())).await.unwrap();
        let body = serde_json::to_vec(&payload(&message(), true)).unwrap();
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(crate::cli::demo::receiver::tests::no_tls())
            .build()
            .unwrap();
        let post = async |body: Vec<u8>| {
            client.post(format!("http://{at}/")).body(body).send().await.unwrap().status()
        };
        assert_eq!(post(body.clone()).await, 204);
        assert_eq!(post(body).await, 204, "again, and it is done already");
        assert_eq!(post(b"{}".to_vec()).await, 400);
        let told = arrived.recv().await.unwrap();
        assert_eq!((told.kind, told.severity), (MessageKind::Raised, Severity::Page));
        assert_eq!(told.service.as_deref(), Some("hangs"));
        assert_eq!(told.done, ["nothing yet"]);
        assert!(arrived.try_recv().is_err(), "it was handed on once");
    }

    fn no_tls() -> rustls::ClientConfig {
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth()
    }
}
