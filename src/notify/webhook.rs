//! defib's own webhook: every field of a message as JSON, with a version, signed by Standard Webhooks. The schema stands in
//! `docs/PAGING.md`; within a version fields are only added.
//!
//! The text fields are plain text, cleaned and cut here so that a body stays under 64 KiB; what the receiver shows it with
//! is the receiver's to escape. What stays in every attempt at a message is its id. The body may change: `durable` is
//! as true as it was when this attempt was made, and after a refusal the message comes reduced to what matters. The timestamp
//! and so the signature are new each time.

use super::{
    address::{self, Address, add_header, read_secret},
    answer::{Answer, Dialect, classify},
    config::{Surroundings, WebhookUrl},
    http::{Deadline, HttpClient, Post, Reads},
    port::Sink,
    secret::SecretSource,
    signature::{self, SigningKey, signing_key},
    text::{Room, cut, fitting, one_line, several_lines},
    times,
};
use crate::{
    clock::Clock,
    domain::{
        effect::SendOrder,
        message::{IncidentKind, Message, MessageKind, Severity},
        name::SinkName,
        observation::DeliveryOutcome,
    },
    tasks::Pending,
};
use futures_util::future::join_all;
use reqwest::header::HeaderMap;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::sync::{Arc, Mutex, PoisonError};

/// The schema's version. A new one only where a receiver of the old one would misread it.
pub const VERSION: u32 = 1;

/// In bytes. Four lists, a note and the short fields stay under 64 KiB together, escapes of JSON included, which is what
/// the stricter receivers take.
const LINE: usize = 1000;
const LIST: Room = Room { lines: 50, each: LINE, total: 6000 };
const NOTE: usize = 4000;

/// The body of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Payload {
    /// [`VERSION`].
    pub version: u32,
    /// The idempotency key, the same as the header `webhook-id`: take a message with a known one as done.
    pub id: String,
    /// What it says about the incident.
    pub kind: MessageKind,
    /// How much it disturbs.
    pub severity: Severity,
    /// What it is about.
    pub incident: Incident,
    /// The fleet's name.
    pub fleet: String,
    /// Which host tells this.
    pub host: String,
    /// Which service; null for a host incident.
    pub service: Option<String>,
    /// What is wrong, in one line.
    pub headline: String,
    /// When this message was decided, RFC 3339 in UTC.
    pub decided: Option<String>,
    /// What each member shows, one line each.
    pub members: Vec<String>,
    /// What defib did and whether it helped, one line each.
    pub done: Vec<String>,
    /// What was found, one line each.
    pub findings: Vec<String>,
    /// What to do next, one line each; those that start with `$ ` are to be pasted.
    pub next_steps: Vec<String>,
    /// The service's runbook.
    pub runbook: Option<String>,
    /// The service's note; may have several lines.
    pub note: Option<String>,
    /// False where it could not be recorded before it was sent, and so may come twice under another id.
    pub durable: bool,
}

/// The incident of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Incident {
    /// Its number on this host.
    pub id: u64,
    /// Its stable key: fleet/host/service/kind.
    pub key: String,
    /// What kind of trouble.
    pub kind: IncidentKind,
    /// When its trouble began, RFC 3339 in UTC.
    pub since: Option<String>,
    /// When it ended; null while it has not.
    pub until: Option<String>,
}

/// Renders the body.
pub fn payload(message: &Message, durable: bool) -> Payload {
    let line = |text: &str| cut(&one_line(text), LINE, bytes).into_owned();
    let list = |lines: &[String]| {
        let lines: Vec<String> = lines.iter().map(|line| one_line(line)).collect();
        fitting(&lines, LIST, bytes)
    };
    let note = |text: &String| cut(&several_lines(text), NOTE, bytes).into_owned();
    Payload {
        version: VERSION,
        id: wire_id(message),
        kind: message.kind,
        severity: message.severity,
        incident: Incident {
            id: message.incident.0,
            key: line(&message.key),
            kind: message.incident_kind,
            since: times::rfc3339(message.since),
            until: message.until.and_then(times::rfc3339),
        },
        fleet: line(&message.fleet),
        host: line(message.host.as_str()),
        service: message.service.as_ref().map(|service| line(service.as_str())),
        headline: line(&message.headline),
        decided: times::rfc3339(message.decided),
        members: list(&message.members),
        done: list(&message.done),
        findings: list(&message.findings),
        next_steps: list(&message.next_steps),
        runbook: message.runbook.as_deref().map(line),
        note: message.note.as_ref().map(note),
        durable,
    }
}

/// What a character takes in JSON.
fn bytes(c: char) -> usize {
    match c {
        '"' | '\\' | '\n' => 2,
        c => c.len_utf8(),
    }
}

/// The longest id that goes into a header as it is.
pub const LONGEST_ID: usize = 200;

/// The idempotency key as a header takes it. A host's name may hold anything: what a header must not hold is written as
/// `%` and two hex digits, and what is too long as its hash, so that different keys stay different.
pub fn wire_id(message: &Message) -> String {
    let key = message.idempotency_key();
    let mut id = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'_' | b'.' => id.push(byte.into()),
            other => id.push_str(&format!("%{other:02X}")),
        }
    }
    if id.len() > LONGEST_ID { format!("sha256-{:x}", Sha256::digest(key.as_bytes())) } else { id }
}

/// Posts messages to a webhook.
pub struct WebhookSink {
    name: SinkName,
    url: WebhookUrl,
    secrets: Vec<SecretSource>,
    allow_http: bool,
    http: HttpClient,
    clock: Arc<dyn Clock>,
    /// What was logged last of secrets that could not sign, so that it is said once.
    logged: Mutex<Option<String>>,
}

impl WebhookSink {
    /// A sink for this URL. Nothing is read or connected yet.
    pub fn new(
        name: SinkName,
        url: WebhookUrl,
        secrets: Vec<SecretSource>,
        allow_http: bool,
        surroundings: &Surroundings,
    ) -> Self {
        let Surroundings { clock, http, .. } = surroundings.clone();
        Self { name, url, secrets, allow_http, http, clock, logged: Mutex::default() }
    }

    async fn attempt(&self, order: &SendOrder) -> Result<DeliveryOutcome, DeliveryOutcome> {
        let deadline = Deadline::within(order.deadline);
        let mut address = self.address(deadline).await.map_err(DeliveryOutcome::NotSent)?;
        // Half of it: a secret whose disk hangs leaves time to send what another one has signed.
        let soon = Deadline::within(order.deadline / 2);
        let keys = self.keys(&mut address, soon).await.map_err(DeliveryOutcome::NotSent)?;
        let answer = self.post(order, &address, &keys, deadline).await?;
        Ok(classify(&answer, Dialect::Plain, &address.redaction, self.clock.now().wall))
    }

    async fn address(&self, deadline: Deadline) -> Result<Address, String> {
        match &self.url {
            WebhookUrl::Plain(url) => address::of(url, self.allow_http),
            WebhookUrl::Secret(source) => {
                address::of(&read_secret(source, deadline).await?, self.allow_http)
            }
        }
    }

    /// The keys that can be had. One is enough: while secrets rotate a receiver takes either signature, and the old secret
    /// may be gone before the config says so. None of several is why nothing is sent.
    async fn keys(
        &self,
        address: &mut Address,
        deadline: Deadline,
    ) -> Result<Vec<SigningKey>, String> {
        let (mut keys, mut lacking) = (Vec::with_capacity(self.secrets.len()), Vec::new());
        let reads = self.secrets.iter().map(|source| read_secret(source, deadline));
        for (source, read) in self.secrets.iter().zip(join_all(reads).await) {
            let key = read.and_then(|secret| {
                address.redaction.guard(&secret);
                signing_key(source, &secret)
            });
            match key {
                Ok(key) => keys.push(key),
                Err(why) => lacking.push(why),
            }
        }
        let lacking = (!lacking.is_empty()).then(|| lacking.join("; "));
        if keys.is_empty()
            && let Some(why) = lacking
        {
            return Err(why);
        }
        self.log(lacking);
        Ok(keys)
    }

    /// Says which secrets did not sign, once until the words change.
    fn log(&self, lacking: Option<String>) {
        let mut logged = self.logged.lock().unwrap_or_else(PoisonError::into_inner);
        if *logged != lacking {
            if let Some(why) = &lacking {
                let sink = self.name.as_str();
                tracing::warn!(
                    sink,
                    "messages to {sink} are signed without one of its secrets: {why}"
                );
            }
            *logged = lacking;
        }
    }

    async fn post(
        &self,
        order: &SendOrder,
        address: &Address,
        keys: &[SigningKey],
        deadline: Deadline,
    ) -> Result<Answer, DeliveryOutcome> {
        let payload = payload(&order.message, order.durable);
        let body = serde_json::to_vec(&payload).map_err(|error| {
            DeliveryOutcome::Rejected(format!("cannot be written as JSON: {error}"))
        })?;
        let timestamp = times::unix_seconds(self.clock.now().wall);
        let mut headers = HeaderMap::new();
        add_header(&mut headers, "webhook-id", &payload.id);
        add_header(&mut headers, "webhook-timestamp", &timestamp.to_string());
        if let Some(signature) = signature::header(keys, &payload.id, timestamp, &body) {
            add_header(&mut headers, "webhook-signature", &signature);
        }
        let post = Post { url: &address.url, headers, body, reads: Reads::UnlessSuccess };
        self.http.post(post, deadline, &address.redaction).await.map_err(DeliveryOutcome::Unknown)
    }
}

impl Sink for WebhookSink {
    fn deliver(&self, order: Arc<SendOrder>) -> Pending<'_, DeliveryOutcome> {
        Box::pin(async move { self.attempt(&order).await.unwrap_or_else(|outcome| outcome) })
    }
}
