//! The engine's events as they are told: the clock of all latencies here. Both ends of each are on the engine's own clock,
//! and nothing stands between defib and the engine that could slow it down.

use crate::{
    engine::{Engine, escaped},
    host::run_id,
    wait::{secs, until},
};
use serde_json::{Value, json};
use std::{
    io::BufRead,
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

/// A moment on the engine's clock, which is this host's wall clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct At(u64);

impl At {
    /// Now.
    pub(crate) fn now() -> Self {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        Self(u64::try_from(now.as_nanos()).unwrap())
    }

    /// How long after `earlier` this is.
    pub(crate) fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// What happened to whom.
struct Event {
    name: String,
    action: String,
    at: At,
}

/// Listens to the containers of this run.
pub(crate) struct Heard {
    events: Arc<Mutex<Vec<Event>>>,
    stream: UnixStream,
}

impl Heard {
    /// From now on.
    pub(crate) fn from(engine: &Engine) -> Self {
        let label = format!("defib.test={}", run_id());
        let actions = ["health_status", "kill", "start"];
        let filters = json!({ "type": ["container"], "label": [label], "event": actions });
        let path = format!("/events?filters={}", escaped(&filters.to_string()));
        let (head, answer) = engine.open("GET", &path, "application/json", b"").unwrap();
        assert_eq!(head.status(), 200, "the engine must let us listen to its events");
        let stream = answer.get_ref().try_clone().unwrap();
        stream.set_read_timeout(None).unwrap();
        let events = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&events);
        defib::tasks::thread("heard", move || {
            for line in answer.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                written.lock().unwrap().push(Event {
                    name: text(&event["Actor"]["Attributes"]["name"]),
                    action: text(&event["Action"]),
                    at: At(event["timeNano"].as_u64().unwrap_or_default()),
                });
            }
        })
        .unwrap();
        Self { events, stream }
    }

    /// When this first happened to the container of this name after `after`; waits for it.
    pub(crate) fn first(&self, name: &str, action: &str, after: At) -> At {
        until(&format!("{action} of {name}"), secs(60), || self.if_heard(name, action, after))
    }

    /// The same without waiting.
    pub(crate) fn if_heard(&self, name: &str, action: &str, after: At) -> Option<At> {
        let events = self.events.lock().unwrap();
        let found = events.iter().find(|event| {
            event.at >= after && event.name == name && event.action.starts_with(action)
        });
        found.map(|event| event.at)
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        // Ends the reading thread; where the engine closed it before, there is nothing to end.
        drop(self.stream.shutdown(Shutdown::Both));
    }
}
