//! The HTTP client of the sinks: one POST, one answer, one deadline.
//!
//! Told apart from other clients by what it leaves out. No proxy out of the environment (a page must not depend on what
//! a shell exported), no redirects (the body holds what was found on the host, and goes where the config says or
//! nowhere), no kept connections (a message a day does not need them, and a dead one costs the first attempt), no
//! retries (the domain's), no more than 16 KiB of an answer. The deadline is a hard total: a server that drips a byte a
//! second does not stretch it. Errors carry no URL (P7).

use super::{
    answer::{Answer, BodyEnd},
    authorities,
    redaction::Redaction,
};
use reqwest::{Client, Url, dns::Resolve, header::HeaderMap};
use rustls::{ClientConfig, RootCertStore, crypto::ring};
use std::{error::Error, fmt, io, sync::Arc, time::Duration};

/// The most that is read of an answer. What sinks say fits a few hundred bytes.
pub const LARGEST_ANSWER: usize = 16 * 1024;

/// Resolves the names of sinks. `None` where the system's resolver is good enough.
pub type Resolver = Arc<dyn Resolve>;

/// Sends one request at a time for each call. Cheap to clone.
#[derive(Clone, Debug)]
pub struct HttpClient {
    client: Client,
}

/// Why there can be no HTTP client at all.
#[derive(Debug)]
pub enum HttpClientError {
    /// TLS cannot be set up.
    Tls(rustls::Error),
    /// The client cannot be built.
    Build(reqwest::Error),
}

impl fmt::Display for HttpClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            HttpClientError::Tls(_) => "failed to set up TLS for the sinks",
            HttpClientError::Build(_) => "failed to build the HTTP client of the sinks",
        })
    }
}

impl Error for HttpClientError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            HttpClientError::Tls(error) => Some(error),
            HttpClientError::Build(error) => Some(error),
        }
    }
}

/// The end of an attempt: one for all of its parts.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(tokio::time::Instant);

impl Deadline {
    /// So long from now. Reads the runtime's clock by way of a timer, so that a paused runtime owns it.
    pub fn within(span: Duration) -> Self {
        Self(tokio::time::sleep(span).deadline())
    }

    /// What the work gives, or `None` where it had not ended in time.
    pub async fn bound<T>(self, work: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout_at(self.0, work).await.ok()
    }
}

/// Whether an answer's body is worth reading, by its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// It says more than the status, whatever that is.
    Always,
    /// A 2xx says all there is to say.
    UnlessSuccess,
}

/// One request.
pub struct Post<'a> {
    /// Where to.
    pub url: &'a Url,
    /// Beside those that every request has.
    pub headers: HeaderMap,
    /// JSON.
    pub body: Vec<u8>,
    /// Of the answer.
    pub reads: Reads,
}

impl HttpClient {
    /// A client that trusts the host's certificate authorities, or Mozilla's where the host has none or they can't be read.
    /// Blocks for the disk, at most 5 s: for the start.
    ///
    /// # Errors
    /// Where TLS or the client cannot be set up.
    pub fn new(resolver: Option<Resolver>) -> Result<Self, HttpClientError> {
        Self::trusting(authorities::of_the_host(), resolver)
    }

    /// A client that trusts these certificate authorities alone.
    ///
    /// # Errors
    /// Where TLS or the client cannot be set up.
    pub fn trusting(
        authorities: RootCertStore,
        resolver: Option<Resolver>,
    ) -> Result<Self, HttpClientError> {
        // The provider is named here: nothing hangs on which one the process has as its default.
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(HttpClientError::Tls)?
            .with_root_certificates(authorities)
            .with_no_client_auth();
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .pool_max_idle_per_host(0)
            .referer(false)
            .http1_only()
            .user_agent(concat!("defib/", env!("CARGO_PKG_VERSION")));
        if let Some(resolver) = resolver {
            builder = builder.dns_resolver(resolver);
        }
        Ok(Self { client: builder.build().map_err(HttpClientError::Build)? })
    }

    /// Sends one request. Once the answer's head is there, there is an answer, however its body ends.
    ///
    /// # Errors
    /// Where no answer came, with the reason in words and without the URL.
    pub async fn post(
        &self,
        post: Post<'_>,
        deadline: Deadline,
        redaction: &Redaction,
    ) -> Result<Answer, String> {
        let request = self
            .client
            .post(post.url.clone())
            .headers(post.headers)
            .header(reqwest::header::CONTENT_TYPE, "application/json; charset=utf-8")
            .body(post.body);
        let Some(sent) = deadline.bound(request.send()).await else {
            return Err("the sink did not answer in time".to_owned());
        };
        let mut response = sent.map_err(|error| in_words(&error.without_url(), redaction))?;
        let status = response.status();
        let mut answer = Answer {
            status: status.as_u16(),
            retry_after: response
                .headers()
                .get(reqwest::header::RETRY_AFTER)
                .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()),
            body: Vec::new(),
            end: BodyEnd::Unread,
        };
        if post.reads == Reads::Always || !status.is_success() {
            let read = deadline.bound(read_body(&mut response, &mut answer.body)).await;
            answer.end = read.unwrap_or(BodyEnd::TimedOut);
        }
        Ok(answer)
    }
}

async fn read_body(response: &mut reqwest::Response, body: &mut Vec<u8>) -> BodyEnd {
    loop {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                let room = LARGEST_ANSWER - body.len();
                body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
                if chunk.len() > room {
                    return BodyEnd::TooLarge;
                }
            }
            Ok(None) => return BodyEnd::Whole,
            Err(_) => return BodyEnd::Broke,
        }
    }
}

/// The error and what caused it, as far as it can be quoted.
fn in_words(error: &reqwest::Error, redaction: &Redaction) -> String {
    if let Some(words) = in_plain_words(error) {
        return words.to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        let said = redaction.quote(&error.to_string());
        // Some repeat their cause.
        if let Some(said) = said
            && !words.iter().any(|before| before.contains(&said))
        {
            words.push(said);
        }
        next = error.source();
    }
    if words.is_empty() { "the request failed".to_owned() } else { words.join(": ") }
}

/// What goes wrong most, without the layers that it went through.
fn in_plain_words(error: &reqwest::Error) -> Option<&'static str> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            let words = match error.kind() {
                io::ErrorKind::ConnectionRefused => Some("connection refused"),
                io::ErrorKind::ConnectionReset => Some("the connection was reset"),
                io::ErrorKind::HostUnreachable => Some("the host is unreachable"),
                io::ErrorKind::NetworkUnreachable => Some("the network is unreachable"),
                io::ErrorKind::TimedOut => Some("the connection timed out"),
                _ => None,
            };
            if words.is_some() {
                return words;
            }
        }
        next = error.source();
    }
    None
}
