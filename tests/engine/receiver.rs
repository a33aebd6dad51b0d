//! Who gets the messages: a webhook receiver on this host that writes down each request and when it came.

use crate::{http, http::Head, wait::until};
use serde_json::Value;
use std::{
    io::BufReader,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU16, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    /// When its last byte was here.
    pub(crate) at: Instant,
    /// `webhook-id`: the same for each attempt at one message.
    pub(crate) key: String,
    /// What it says.
    pub(crate) body: Value,
}

impl Received {
    /// `opened`, `raised`, `recovered`, `resolved`, …
    pub(crate) fn kind(&self) -> &str {
        self.text("kind")
    }

    /// `notice`, `ticket`, `page`.
    pub(crate) fn severity(&self) -> &str {
        self.text("severity")
    }

    /// `unhealthy`, `down`, `engine_unreachable`, …
    pub(crate) fn incident_kind(&self) -> &str {
        self.body["incident"]["kind"].as_str().unwrap_or_default()
    }

    /// Whole, as one would search it by eye.
    pub(crate) fn whole(&self) -> String {
        self.body.to_string()
    }

    fn text(&self, key: &str) -> &str {
        self.body[key].as_str().unwrap_or_default()
    }
}

/// See the module.
pub(crate) struct Receiver {
    address: SocketAddr,
    received: Arc<Mutex<Vec<Received>>>,
    status: Arc<AtomicU16>,
    closed: Arc<AtomicBool>,
}

impl Receiver {
    /// Listens on a free port and answers 200.
    pub(crate) fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self {
            address: listener.local_addr().unwrap(),
            received: Arc::default(),
            status: Arc::new(AtomicU16::new(200)),
            closed: Arc::default(),
        };
        let received = Arc::clone(&receiver.received);
        let status = Arc::clone(&receiver.status);
        let closed = Arc::clone(&receiver.closed);
        defib::tasks::thread("receiver", move || {
            for connection in listener.incoming().flatten() {
                if closed.load(SeqCst) {
                    return;
                }
                // One after another: an order of arrival is then an order of sending.
                if let Some(request) = answered(&connection, status.load(SeqCst)) {
                    received.lock().unwrap().push(request);
                }
            }
        })
        .unwrap();
        receiver
    }

    /// Where to send to.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// What it answers from now on. What it refuses is written down too.
    pub(crate) fn answer_with(&self, status: u16) {
        self.status.store(status, SeqCst);
    }

    /// All so far, in order.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// `kind/severity/incident kind` of all so far, in order: a scenario's story in one line.
    pub(crate) fn story(&self) -> Vec<String> {
        let line = |message: &Received| {
            let (kind, severity) = (message.kind(), message.severity());
            format!("{kind}/{severity}/{}", message.incident_kind())
        };
        self.received.lock().unwrap().iter().map(line).collect()
    }

    /// Waits for a message about such an incident.
    pub(crate) fn wait_for(&self, kind: &str, incident_kind: &str, within: Duration) -> Received {
        until(&format!("message {kind} of {incident_kind}"), within, || {
            self.received()
                .into_iter()
                .find(|message| message.kind() == kind && message.incident_kind() == incident_kind)
        })
    }

    /// Waits until people know that it is well again: a notice ends with its answer, the rest is resolved.
    pub(crate) fn wait_for_end(&self, incident_kind: &str, within: Duration) -> Received {
        until(&format!("the end of {incident_kind}"), within, || {
            self.received().into_iter().find(|message| {
                let ended = match message.severity() {
                    "notice" => ["recovered", "resolved"].contains(&message.kind()),
                    _ => message.kind() == "resolved",
                };
                ended && message.incident_kind() == incident_kind
            })
        })
    }

    /// Waits until a page was received, opened as one or raised to one.
    pub(crate) fn wait_for_page(&self, incident_kind: &str, within: Duration) -> Received {
        until(&format!("a page of {incident_kind}"), within, || {
            self.received().into_iter().find(|message| {
                message.severity() == "page" && message.incident_kind() == incident_kind
            })
        })
    }

    /// How many pages were received.
    pub(crate) fn pages(&self) -> usize {
        let a_page = |message: &&Received| {
            message.severity() == "page" && matches!(message.kind(), "opened" | "raised")
        };
        self.received.lock().unwrap().iter().filter(a_page).count()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.closed.store(true, SeqCst);
        // Wakes the thread, so that it sees that; where it has ended there is nobody to wake.
        drop(TcpStream::connect(self.address));
    }
}

/// Reads and answers one request; `None` where the sender broke off.
fn answered(connection: &TcpStream, status: u16) -> Option<Received> {
    connection.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let mut from = BufReader::new(connection);
    let head = Head::read(&mut from).ok()??;
    let body = head.read_request_body(&mut from).ok()?;
    let received = Received {
        at: Instant::now(),
        key: head.header("webhook-id").unwrap_or_default().to_owned(),
        body: serde_json::from_slice(&body).unwrap_or_default(),
    };
    let mut to = connection;
    // Written down even where the sender is gone by now: it did arrive.
    drop(http::write_answer(&mut to, status, "text/plain", b""));
    Some(received)
}
