//! One call to the engine: connect, one HTTP/1.1 exchange, close.
//!
//! There is no pool. A connection that a hung engine holds would be handed to the next call, and a look that is given up
//! has to close its socket, so that the engine can let go of it (moby 30605 counts 2,636 that nobody closed). Connecting over
//! a Unix socket costs some 50 µs. For the same reason nothing is spawned: whoever holds an exchange drives its
//! connection by polling it, and dropping it closes the socket.
//!
//! The API version is read from `/version` and put in front of every path. It is the highest that engine and defib both know,
//! at most [`HIGHEST_API`]: what defib reads has kept its form from [`LOWEST_API`] (Engine 20.10) to there. It is forgotten
//! when a call could not connect or broke off, since another engine may answer next.
//!
//! Refuses bodies without a bound. Knows nothing of containers; deadlines are the caller's.

use super::raw;
use crate::{domain::moment::EngineMs, tasks::Pending};
use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    Method, Request, Response,
    body::{Body, Incoming},
    client::conn::http1,
    header, http,
};
use hyper_util::rt::TokioIo;
use std::{
    fmt,
    future::poll_fn,
    io,
    path::PathBuf,
    pin::{Pin, pin},
    sync::Mutex,
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::UnixStream,
};

/// Engine 20.10, the oldest that is tested.
pub const LOWEST_API: ApiVersion = ApiVersion { major: 1, minor: 41 };

/// Docker 27. Engines from 29 on refuse less than 1.44; 1.52 begins to drop fields of events and has nothing that is needed.
pub const HIGHEST_API: ApiVersion = ApiVersion { major: 1, minor: 47 };

/// `/version` of a real engine has about 1 kB.
const VERSION_LIMIT: usize = 64 * 1024;

/// An error's body: the engine's are a sentence, a proxy's may be a page.
const ERROR_LIMIT: usize = 64 * 1024;

/// A version of the engine's API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ApiVersion {
    /// Always 1 so far.
    pub major: u32,
    /// What grows.
    pub minor: u32,
}

impl fmt::Display for ApiVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Which engine answers. Podman's compatible socket differs where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Docker, and whatever does not say what it is.
    Docker,
    /// Podman.
    Podman,
}

/// What the engine says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineVersion {
    /// Its own version, `20.10.24`, for people.
    pub version: String,
    /// The version that is spoken with it.
    pub api: ApiVersion,
    /// Which engine it is.
    pub flavour: Flavour,
}

/// A two-way stream of bytes to the engine.
pub trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Socket for S {}

/// Opens connections. The host's engine is dialled over its socket, a simulated one through memory.
pub trait Dial: Send + Sync + 'static {
    /// One new connection.
    fn dial(&self) -> Pending<'_, io::Result<Box<dyn Socket>>>;
}

/// Dials a Unix socket. The socket need not be there yet.
#[derive(Clone, Debug)]
pub struct UnixDial(pub PathBuf);

impl Dial for UnixDial {
    fn dial(&self) -> Pending<'_, io::Result<Box<dyn Socket>>> {
        Box::pin(async {
            UnixStream::connect(&self.0).await.map(|socket| Box::new(socket) as Box<dyn Socket>)
        })
    }
}

/// Why a call has no whole answer.
#[derive(Debug)]
pub(super) enum CallError {
    /// No connection; nothing was sent.
    Connect(io::Error),
    /// The connection broke, or what came is no HTTP. The request may have arrived.
    Broken(Box<dyn std::error::Error + Send + Sync>),
    /// The answer is longer than this.
    TooLarge(usize),
    /// The answer is no JSON of the expected kind.
    Garbled(String),
    /// There is no API version that both know.
    NoCommonApi(String),
    /// `/version` was answered with an error, so that what was to be asked or done was not sent. Its own kind, because a 404
    /// here says nothing of the container that the call was about: a proxy whose engine is away answers so too.
    VersionRefused {
        /// The HTTP status.
        status: u16,
        /// What was said, cut.
        message: String,
    },
    /// The engine answered the call itself with an error.
    Status {
        /// The HTTP status.
        status: u16,
        /// The engine's message, cut.
        message: String,
    },
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(_) => f.write_str("could not connect"),
            Self::Broken(_) => f.write_str("the connection broke"),
            Self::TooLarge(limit) => write!(f, "the answer is larger than {limit} bytes"),
            Self::Garbled(why) => write!(f, "the answer could not be understood: {why}"),
            Self::NoCommonApi(why) => f.write_str(why),
            Self::VersionRefused { status, message } => {
                write!(f, "asked for its version, it answers {status}: {message}")
            }
            Self::Status { status, message } => write!(f, "status {status}: {message}"),
        }
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Connect(source) => Some(source),
            Self::Broken(source) => Some(source.as_ref()),
            Self::TooLarge(_)
            | Self::Garbled(_)
            | Self::NoCommonApi(_)
            | Self::VersionRefused { .. }
            | Self::Status { .. } => None,
        }
    }
}

/// A whole answer with a status of success.
#[derive(Debug)]
pub(super) struct Answer {
    /// The engine's clock, from its `Date` header.
    pub(super) date: Option<EngineMs>,
    /// The body, within the caller's bound.
    pub(super) body: Bytes,
}

/// The engine's door.
pub(super) struct Connection {
    dial: Box<dyn Dial>,
    version: Mutex<Option<EngineVersion>>,
}

impl Connection {
    pub(super) fn new(dial: impl Dial) -> Self {
        Self { dial: Box::new(dial), version: Mutex::new(None) }
    }

    /// What the engine says of itself; asked once, and again after [`Connection::forget_version`].
    pub(super) async fn version(&self) -> Result<EngineVersion, CallError> {
        if let Some(version) = self.known() {
            return Ok(version);
        }
        let mut exchange = self.exchange(Method::GET, "/version").await?;
        let answer = exchange.answer(VERSION_LIMIT).await.map_err(|error| match error {
            CallError::Status { status, message } => CallError::VersionRefused { status, message },
            other => other,
        })?;
        let version = raw::version::decode(&answer.body)?;
        *self.lock() = Some(version.clone());
        Ok(version)
    }

    /// The next call asks anew who answers.
    pub(super) fn forget_version(&self) {
        *self.lock() = None;
    }

    /// `GET` of a path without version, body up to `limit`.
    pub(super) async fn get(&self, path: &str, limit: usize) -> Result<Answer, CallError> {
        self.open(path).await?.answer(limit).await.inspect_err(|error| self.learn(error))
    }

    /// `GET` of a path without version, its body left to be read.
    pub(super) async fn open(&self, path: &str) -> Result<Exchange, CallError> {
        self.send(Method::GET, path).await
    }

    /// One request of a path without version, without a body. An error status is an error.
    pub(super) async fn send(&self, method: Method, path: &str) -> Result<Exchange, CallError> {
        let version = self.version().await.inspect_err(|error| self.learn(error))?;
        let path = format!("/v{}{path}", version.api);
        let result = async {
            let mut exchange = self.exchange(method, &path).await?;
            exchange.refuse_errors().await?;
            Ok(exchange)
        };
        result.await.inspect_err(|error| self.learn(error))
    }

    /// Another engine may answer next: after a lost connection, and where the version itself was refused (400).
    fn learn(&self, error: &CallError) {
        match error {
            CallError::Connect(_)
            | CallError::Broken(_)
            | CallError::NoCommonApi(_)
            | CallError::Status { status: 400, .. } => self.forget_version(),
            CallError::TooLarge(_)
            | CallError::Garbled(_)
            | CallError::VersionRefused { .. }
            | CallError::Status { .. } => {}
        }
    }

    fn known(&self) -> Option<EngineVersion> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<EngineVersion>> {
        self.version.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    async fn exchange(&self, method: Method, path: &str) -> Result<Exchange, CallError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "engine")
            .header(header::CONNECTION, "close")
            .header(header::USER_AGENT, concat!("defib/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(Bytes::new()))
            .map_err(|error| {
                CallError::Garbled(format!("no request can be made of it: {error}"))
            })?;
        let socket = self.dial.dial().await.map_err(CallError::Connect)?;
        let (mut sender, driver) = http1::handshake(TokioIo::new(socket)).await.map_err(broken)?;
        let mut driver = Driver(Some(Box::pin(driver)));
        let response = {
            let mut response = pin!(sender.send_request(request));
            poll_fn(|cx| {
                driver.poll(cx);
                response.as_mut().poll(cx)
            })
            .await
            .map_err(broken)?
        };
        let (head, body) = response.into_parts();
        Ok(Exchange { head, body, driver })
    }
}

fn broken(error: hyper::Error) -> CallError {
    CallError::Broken(Box::new(error))
}

/// What moves the bytes of one connection; gone when the connection is done.
struct Driver(Option<Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>>);

impl Driver {
    /// Moves what can be moved. Its error is told through the response and its body, which it feeds. True when it ended now.
    fn poll(&mut self, cx: &mut Context<'_>) -> bool {
        let ended = self.0.as_mut().is_some_and(|driver| driver.as_mut().poll(cx).is_ready());
        if ended {
            self.0 = None;
        }
        ended
    }
}

/// An answer whose head is there and whose body is still to be read. Dropping it closes the connection.
pub(super) struct Exchange {
    head: http::response::Parts,
    body: Incoming,
    driver: Driver,
}

impl Exchange {
    /// The next piece of the body; `None` at its end. May be dropped and asked again without losing a byte.
    pub(super) async fn chunk(&mut self) -> Option<Result<Bytes, CallError>> {
        poll_fn(|cx| {
            loop {
                match Pin::new(&mut self.body).poll_frame(cx) {
                    Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                        Ok(data) if !data.is_empty() => return Poll::Ready(Some(Ok(data))),
                        Ok(_) | Err(_) => continue, // Nothing, or trailers.
                    },
                    Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(broken(error)))),
                    Poll::Ready(None) => return Poll::Ready(None),
                    Poll::Pending => {}
                }
                // A driver that ends drops its side of the body, which then has an end or an error to tell.
                if !self.driver.poll(cx) {
                    return Poll::Pending;
                }
            }
        })
        .await
    }

    /// The engine's clock, from its `Date` header: in whole seconds, rounded down.
    pub(super) fn date(&self) -> Option<EngineMs> {
        let value = self.head.headers.get(header::DATE)?;
        raw::time::http_date(value.as_bytes())
    }

    /// The whole answer, its body up to `limit`. An error status is an error.
    async fn answer(&mut self, limit: usize) -> Result<Answer, CallError> {
        self.refuse_errors().await?;
        let date = self.date();
        let body = self.read(limit).await?;
        Ok(Answer { date, body })
    }

    /// Turns a status other than success into an error, with the message from its body.
    async fn refuse_errors(&mut self) -> Result<(), CallError> {
        let status = self.head.status;
        if status.is_success() || status == http::StatusCode::NOT_MODIFIED {
            return Ok(());
        }
        // The status is the finding; a body that is broken or has no end only costs the words.
        let message = match self.read(ERROR_LIMIT).await {
            Ok(body) => raw::text::error_message(&body),
            Err(error) => error.to_string(),
        };
        Err(CallError::Status { status: status.as_u16(), message })
    }

    async fn read(&mut self, limit: usize) -> Result<Bytes, CallError> {
        if self.body.size_hint().lower() > u64::try_from(limit).unwrap_or(u64::MAX) {
            return Err(CallError::TooLarge(limit));
        }
        let mut whole = Vec::new();
        while let Some(chunk) = self.chunk().await {
            let chunk = chunk?;
            if whole.len() + chunk.len() > limit {
                return Err(CallError::TooLarge(limit));
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(Bytes::from(whole))
    }

    /// The head, for bollard. The connection is closed: the answers to actions have no body (204, 304) or one that nobody
    /// reads.
    pub(super) fn into_response(self) -> Response<Incoming> {
        Response::from_parts(self.head, self.body)
    }
}
