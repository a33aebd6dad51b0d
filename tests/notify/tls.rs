//! TLS: a sink whose certificate is not trusted gets nothing, one whose is gets the message; names go through the resolver
//! that was passed in. The authority and the server's key in `tls/` are for these tests alone.

use crate::samples::{order, page, surroundings};
use defib::{
    domain::{name::SinkName, observation::DeliveryOutcome},
    notify::{
        config::{SinkConfig, Surroundings, WebhookUrl, build},
        http::HttpClient,
    },
    tasks,
};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use secrecy::SecretString;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

const AUTHORITY: &[u8] = include_bytes!("tls/authority.pem");
const CERTIFICATE: &[u8] = include_bytes!("tls/server.pem");
const KEY: &[u8] = include_bytes!("tls/server.key.pem");

/// Answers one connection, and keeps what it could read of it. A failed handshake reads nothing.
fn serve_once(read: Arc<Mutex<Vec<u8>>>) -> u16 {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_slice(CERTIFICATE).unwrap()],
            PrivateKeyDer::from_pem_slice(KEY).unwrap(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    tasks::thread("receiver over TLS", move || {
        let (stream, _) = listener.accept().unwrap();
        let connection = ServerConnection::new(Arc::new(config)).unwrap();
        // A handshake that the client ends is what one of the tests is about.
        let _ = answer(StreamOwned::new(connection, stream), &read);
    })
    .unwrap();
    port
}

fn answer(
    mut stream: StreamOwned<ServerConnection, TcpStream>,
    read: &Mutex<Vec<u8>>,
) -> std::io::Result<()> {
    let mut chunk = [0; 4096];
    loop {
        let length = stream.read(&mut chunk)?;
        let mut read = read.lock().unwrap();
        read.extend_from_slice(&chunk[..length]);
        // The body is one JSON object, whose last field this is.
        if length == 0 || read.ends_with(b"\"durable\":true}") {
            break;
        }
    }
    stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
    stream.flush()
}

/// Knows one name.
struct OnlyLocalhost;

impl Resolve for OnlyLocalhost {
    fn resolve(&self, name: Name) -> Resolving {
        assert_eq!(name.as_str(), "localhost");
        let addresses = [SocketAddr::from(([127, 0, 0, 1], 0))];
        Box::pin(async move { Ok(Box::new(addresses.into_iter()) as Addrs) })
    }
}

async fn deliver(trusted: RootCertStore) -> (DeliveryOutcome, String) {
    let read = Arc::new(Mutex::new(vec![]));
    let port = serve_once(read.clone());
    let http = HttpClient::trusting(trusted, Some(Arc::new(OnlyLocalhost))).unwrap();
    let surroundings = Surroundings { http, ..surroundings() };
    let config = SinkConfig::Webhook {
        url: WebhookUrl::Plain(SecretString::from(format!("https://localhost:{port}/hook"))),
        secrets: vec![],
        allow_http: false,
    };
    let sink = build(&SinkName::new("oncall"), config, &surroundings).unwrap();
    let outcome = sink.deliver(order(page(), 1)).await;
    let read = String::from_utf8(read.lock().unwrap().clone()).unwrap();
    (outcome, read)
}

#[tokio::test]
async fn a_trusted_sink_gets_the_message() {
    let mut trusted = RootCertStore::empty();
    trusted.add(CertificateDer::from_pem_slice(AUTHORITY).unwrap()).unwrap();
    let (outcome, read) = deliver(trusted).await;
    assert_eq!(outcome, DeliveryOutcome::Delivered);
    assert!(read.starts_with("POST /hook HTTP/1.1\r\n"), "{read}");
}

#[tokio::test]
async fn a_sink_that_is_not_trusted_gets_nothing() {
    let (outcome, read) = deliver(RootCertStore::empty()).await;
    let DeliveryOutcome::Unknown(reason) = outcome else { panic!("{outcome:?}") };
    assert!(reason.contains("certificate"), "{reason}");
    assert_eq!(read, "");
}
