//! The least that could do the job: a filtered event stream, and a restart at once for each `unhealthy`. No inspect, no state,
//! no safety; nothing can be much faster on the same engine. What defib takes beyond it is what its care costs.

use crate::engine::{Engine, escaped};
use serde_json::{Value, json};
use std::{io::BufRead, net::Shutdown, os::unix::net::UnixStream};

/// Restarts what is called so, until dropped.
pub(crate) struct Floor(UnixStream);

impl Floor {
    /// For containers whose name begins so.
    pub(crate) fn start(engine: &Engine, prefix: String) -> Self {
        let filters = json!({ "type": ["container"], "event": ["health_status: unhealthy"] });
        let path = format!("/events?filters={}", escaped(&filters.to_string()));
        let (_, events) = engine.open("GET", &path, "application/json", b"").unwrap();
        let stream = events.get_ref().try_clone().unwrap();
        stream.set_read_timeout(None).unwrap();
        let engine = engine.clone();
        defib::tasks::thread("floor", move || {
            for line in events.lines().map_while(Result::ok) {
                let event: Value = serde_json::from_str(&line).unwrap_or_default();
                let id = event["Actor"]["ID"].as_str().unwrap_or_default().to_owned();
                let name = event["Actor"]["Attributes"]["name"].as_str().unwrap_or_default();
                if name.starts_with(&prefix) {
                    let engine = engine.clone();
                    defib::tasks::thread("floor's restart", move || {
                        let path = format!("/containers/{id}/restart");
                        engine.try_send("POST", &path, "application/json", b"").unwrap();
                    })
                    .unwrap();
                }
            }
        })
        .unwrap();
        Self(stream)
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        drop(self.0.shutdown(Shutdown::Both));
    }
}
