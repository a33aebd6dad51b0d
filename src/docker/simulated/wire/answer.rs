//! Answers as Engine 20.10 writes them: its headers, its error bodies, and bodies that break on purpose.

use super::{super::truth::Answer, faults::Misbehaviour};
use crate::domain::moment::EngineMs;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    Response, StatusCode,
    body::Frame,
    header::{CONTENT_TYPE, DATE, HeaderValue, SERVER},
};
use serde_json::{Value, json};
use std::{fmt, future};

/// What the API version of the model is.
pub(super) const API_VERSION: &str = "1.41";
/// What version it claims.
pub(super) const ENGINE_VERSION: &str = "20.10.24+simulated";
/// Blanks of an endless body, per frame.
const ENDLESS_CHUNK: usize = 16 * 1024;

/// The connection ends here, without more.
#[derive(Debug)]
pub(super) struct Broken;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated engine broke the connection")
    }
}

impl std::error::Error for Broken {}

pub(super) type WireBody = UnsyncBoxBody<Bytes, Broken>;
pub(super) type WireResponse = Response<WireBody>;

pub(super) fn whole(bytes: impl Into<Bytes>) -> WireBody {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// A response with the engine's headers. Its clock is in the `Date`.
pub(super) fn response(status: StatusCode, body: WireBody, now: EngineMs) -> WireResponse {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert("api-version", HeaderValue::from_static(API_VERSION));
    headers.insert("ostype", HeaderValue::from_static("linux"));
    headers.insert(SERVER, HeaderValue::from_static("Docker/20.10.24+simulated (linux)"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let date = jiff::Timestamp::from_millisecond(now.0)
        .map(|time| time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string());
    if let Some(date) = date.ok().and_then(|date| HeaderValue::from_str(&date).ok()) {
        headers.insert(DATE, date);
    }
    response
}

pub(super) fn json(body: &Value, now: EngineMs) -> WireResponse {
    response(StatusCode::OK, whole(format!("{body}\n")), now)
}

pub(super) fn error(status: StatusCode, message: &str, now: EngineMs) -> WireResponse {
    let body = json!({ "message": message });
    response(status, whole(format!("{body}\n")), now)
}

/// The answer to a request that changes something; the engine that went away answers nothing.
pub(super) fn changed(
    answer: &Answer,
    reference: &str,
    now: EngineMs,
) -> Result<WireResponse, Broken> {
    Ok(match answer {
        Answer::Done => response(StatusCode::NO_CONTENT, whole(""), now),
        Answer::NotModified => response(StatusCode::NOT_MODIFIED, whole(""), now),
        Answer::NoSuchContainer => missing(reference, now),
        Answer::Conflict(text) => error(StatusCode::CONFLICT, text, now),
        Answer::Denied(text) => error(StatusCode::FORBIDDEN, text, now),
        Answer::Failed(text) => error(StatusCode::INTERNAL_SERVER_ERROR, text, now),
        Answer::Lost => return Err(Broken),
    })
}

pub(super) fn missing(reference: &str, now: EngineMs) -> WireResponse {
    error(StatusCode::NOT_FOUND, &format!("No such container: {reference}"), now)
}

/// Spoils an answer that was ready.
pub(super) async fn spoiled(
    response: WireResponse,
    how: &Misbehaviour,
) -> Result<WireResponse, Broken> {
    let (head, body) = response.into_parts();
    let half = |bytes: Bytes| bytes.slice(..bytes.len() / 2);
    let body = match how {
        Misbehaviour::Silent | Misbehaviour::Denied | Misbehaviour::Fails(_) => body,
        Misbehaviour::Garbled => whole("<html><body>Welcome to nginx!</body></html>\n"),
        Misbehaviour::StalledBody => {
            then(half(body.collect().await?.to_bytes()), stream::pending())
        }
        Misbehaviour::CutBody => {
            let end = stream::once(future::ready(Err(Broken)));
            then(half(body.collect().await?.to_bytes()), end)
        }
        Misbehaviour::EndlessBody => {
            let blanks = Bytes::from(vec![b' '; ENDLESS_CHUNK]);
            let blanks = stream::repeat_with(move || Ok(Frame::data(blanks.clone())));
            then(half(body.collect().await?.to_bytes()), blanks)
        }
    };
    Ok(Response::from_parts(head, body))
}

fn then(
    first: Bytes,
    rest: impl stream::Stream<Item = Result<Frame<Bytes>, Broken>> + Send + 'static,
) -> WireBody {
    use futures_util::StreamExt;
    let first = stream::once(future::ready(Ok(Frame::data(first))));
    StreamBody::new(first.chain(rest)).boxed_unsync()
}
