//! The real engine as tests ask it: the truth beside what defib believes. Shares no code with defib's own adapter.

use crate::{
    http::{self, Head},
    left_out::say,
    wait::until,
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    net::Shutdown,
    os::unix::net::UnixStream,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

/// Longer than the slowest stop of any scenario.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);
/// How far events may be behind what they tell of, on a busy host.
const EVENTS_WITHIN: Duration = Duration::from_secs(5);

/// A connection anew for each call.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    /// Where it listens.
    pub(crate) socket: PathBuf,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// As it came.
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// The body as JSON; `Null` where it is none.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

impl Engine {
    /// Asks, whatever the answer is.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        // A body where none belongs makes some engines close before it is read.
        let text = if body.is_null() { String::new() } else { body.to_string() };
        self.send(method, path, "application/json", text.as_bytes())
    }

    /// Tells it to do something that must succeed.
    ///
    /// # Panics
    /// With the engine's own words where it refuses.
    pub(crate) fn order(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.ask(method, path, body);
        let said = String::from_utf8_lossy(&answer.body);
        assert!(answer.status < 400, "{method} {path}: {} {said}", answer.status);
        answer.json()
    }

    /// Sends a body of any type and reads the whole answer.
    pub(crate) fn send(&self, method: &str, path: &str, kind: &str, body: &[u8]) -> Answer {
        self.try_send(method, path, kind, body)
            .unwrap_or_else(|error| panic!("{method} {path} at {:?}: {error}", self.socket))
    }

    /// The same where a failure must not end the test: in clearing up, and on other threads.
    pub(crate) fn try_send(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &[u8],
    ) -> std::io::Result<Answer> {
        let (head, mut rest) = self.open(method, path, kind, body)?;
        let body = http::read_answer_body(&head, &mut rest)?;
        Ok(Answer { status: head.status(), body })
    }

    /// Removes what may be gone already, and says what was left behind.
    pub(crate) fn clear(&self, path: &str) {
        match self.try_send("DELETE", path, "application/json", b"") {
            Ok(answer) if answer.status < 400 || answer.status == 404 => {}
            // Another removal of it is under way.
            Ok(answer) if answer.status == 409 => {}
            other => say(&format!("left behind: {path}: {other:?}")),
        }
    }

    /// Asks, and leaves the answer's body to be read as it comes.
    pub(crate) fn open(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &[u8],
    ) -> std::io::Result<(Head, BufReader<UnixStream>)> {
        let mut connection = UnixStream::connect(&self.socket)?;
        connection.set_read_timeout(Some(ANSWER_WITHIN))?;
        http::write_request(&mut connection, method, path, kind, body)?;
        let mut answer = BufReader::new(connection);
        let head = Head::read(&mut answer)?;
        head.map(|head| (head, answer)).ok_or_else(|| std::io::Error::other("closed, no answer"))
    }
}

/// One event of a container, as far as scenarios ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// `start`, `die`, `kill`, …
    pub(crate) action: String,
    /// The container's name, without a slash.
    pub(crate) name: String,
    /// On the engine's clock, in nanoseconds.
    pub(crate) at: u64,
}

/// Writes down all that truly happens to the containers of one case. It listens from before the first is created, since
/// the engine's own memory of 256 events is soon full of healthchecks.
pub(crate) struct Witness {
    seen: Arc<Mutex<Vec<Seen>>>,
    stream: UnixStream,
}

impl Witness {
    /// Listens from now on to containers with this label.
    pub(crate) fn of(engine: &Engine, label: &str) -> Self {
        let actions = [
            "create", "start", "restart", "die", "stop", "kill", "pause", "unpause", "rename",
            "destroy",
        ];
        let filters = json!({ "type": ["container"], "label": [label], "event": actions });
        let path = format!("/events?filters={}", escaped(&filters.to_string()));
        let (head, answer) = engine.open("GET", &path, "application/json", b"").unwrap();
        assert_eq!(head.status(), 200, "the engine must let us listen to its events");
        let stream = answer.get_ref().try_clone().unwrap();
        stream.set_read_timeout(None).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&seen);
        defib::tasks::thread("witness", move || {
            for line in answer.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                written.lock().unwrap().push(Seen {
                    action: text(&event["Action"]),
                    name: text(&event["Actor"]["Attributes"]["name"]),
                    at: event["timeNano"].as_u64().unwrap_or_default(),
                });
            }
        })
        .unwrap();
        Self { seen, stream }
    }

    /// All so far, in order.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// How often this happened to the container of this name.
    pub(crate) fn count(&self, name: &str, action: &str) -> usize {
        let same = |seen: &&Seen| seen.name == name && seen.action == action;
        self.seen.lock().unwrap().iter().filter(same).count()
    }

    /// Waits until exactly this has happened to the container of this name. Events come a moment after their causes.
    pub(crate) fn expect(&self, name: &str, actions: &[&str]) {
        until(&format!("{name} to see {actions:?}"), EVENTS_WITHIN, || {
            (self.actions(name) == actions).then_some(())
        });
    }

    /// Everything that happened to the container of this name, in order.
    pub(crate) fn actions(&self, name: &str) -> Vec<String> {
        self.seen().into_iter().filter(|seen| seen.name == name).map(|seen| seen.action).collect()
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // Ends the reading thread; where the engine closed it before, there is nothing to end.
        drop(self.stream.shutdown(Shutdown::Both));
    }
}

/// Text as it may stand in a query.
pub(crate) fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
