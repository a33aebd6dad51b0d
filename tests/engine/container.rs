//! Containers of a case: how one is asked for, and what the engine says of it.

use crate::{case::Case, engine::Engine, host::run_id, wait::until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::{net::IpAddr, time::Duration};

/// A container to be made. It serves well until it is asked for something else.
pub(crate) struct Wanted<'a> {
    case: &'a Case,
    name: String,
    command: Vec<String>,
    healthcheck: Option<Value>,
    labels: Vec<(String, String)>,
    restart_policy: Value,
    stop_timeout: Option<u64>,
}

impl<'a> Wanted<'a> {
    /// A server that is fine, without a healthcheck.
    pub(crate) fn new(case: &'a Case, name: &str) -> Self {
        Self {
            case,
            name: case.name_of(name),
            command: vec!["/misbehave".into(), "serve".into()],
            healthcheck: None,
            labels: Vec::new(),
            restart_policy: json!({ "Name": "no" }),
            stop_timeout: None,
        }
    }

    /// Other arguments for the program, `serve` included.
    pub(crate) fn running(mut self, arguments: &[&str]) -> Self {
        self.command.truncate(1);
        self.command.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// A healthcheck that takes two seconds to a verdict: every 500 ms, two failures. It gives up by itself, so that
    /// a hung server is a failed check and not one that could not be run.
    pub(crate) fn healthchecked(self) -> Self {
        self.healthchecked_every(Duration::from_millis(500))
    }

    /// The same at another pace.
    pub(crate) fn healthchecked_every(mut self, interval: Duration) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
        self.healthcheck = Some(json!({
            "Test": ["CMD", "/misbehave", "healthcheck", "http://127.0.0.1:8080/", "--within", "250ms"],
            "Interval": nanos(interval),
            "Timeout": nanos(Duration::from_secs(5)),
            "Retries": 2,
        }));
        self
    }

    /// Docker's own restart policy.
    pub(crate) fn restart_policy(mut self, name: &str) -> Self {
        self.restart_policy = json!({ "Name": name });
        self
    }

    /// How long a stop waits before it kills.
    pub(crate) fn stop_timeout(mut self, seconds: u64) -> Self {
        self.stop_timeout = Some(seconds);
        self
    }

    /// Another label.
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.labels.push((key.to_owned(), value.to_owned()));
        self
    }

    /// Makes it and starts it.
    pub(crate) fn start(self) -> Container {
        let container = self.create();
        container.order("start");
        container
    }

    /// Makes it only.
    pub(crate) fn create(self) -> Container {
        let engine = self.case.engine().clone();
        let mut labels: serde_json::Map<String, Value> =
            self.labels.into_iter().map(|(key, value)| (key, value.into())).collect();
        labels.insert("defib.test".into(), run_id().into());
        labels.insert("defib.test.case".into(), self.case.id().into());
        let body = json!({
            "Image": self.case.image(),
            "Cmd": self.command,
            "Labels": labels,
            "Healthcheck": self.healthcheck,
            "StopTimeout": self.stop_timeout,
            "HostConfig": { "RestartPolicy": self.restart_policy },
        });
        let path = format!("/containers/create?name={}", self.name);
        let id = engine.order("POST", &path, &body)["Id"].as_str().unwrap().to_owned();
        Container { engine, id, name: self.name }
    }
}

/// A container that was made. It is removed with its case.
#[derive(Clone)]
pub(crate) struct Container {
    engine: Engine,
    /// The engine's ID.
    pub(crate) id: String,
    /// Its name, without a slash.
    pub(crate) name: String,
}

impl Container {
    /// `start`, `stop`, `pause`, … as an operator would.
    pub(crate) fn order(&self, what: &str) {
        self.engine.order("POST", &format!("/containers/{}/{what}", self.id), &Value::Null);
    }

    /// Removes it, running or not.
    pub(crate) fn remove(&self) {
        let path = format!("/containers/{}?force=true&v=true", self.id);
        self.engine.order("DELETE", &path, &Value::Null);
    }

    /// From now on it accepts and never answers.
    pub(crate) fn hang(&self) {
        self.signal(Signal::USR1);
    }

    /// It answers again.
    pub(crate) fn heal(&self) {
        self.signal(Signal::USR2);
    }

    /// Past the engine, so that no event of it could be taken for somebody's touch.
    fn signal(&self, signal: Signal) {
        let pid = self.clone().minds_signals().pid().expect("it must be running on this host");
        kill_process(pid, signal).expect("only root can signal a container's process");
    }

    /// Its first process, seen from here.
    fn pid(&self) -> Option<Pid> {
        Pid::from_raw(i32::try_from(self.state("Pid").as_i64()?).ok()?)
    }

    /// Waits until the server minds signals. Before that a first process has no handlers, and SIGTERM is lost on it.
    pub(crate) fn minds_signals(self) -> Self {
        until("the server to mind signals", Duration::from_secs(20), || {
            catches(self.pid()?, Signal::USR1).then_some(())
        });
        self
    }

    /// All that the engine says.
    pub(crate) fn inspect(&self) -> Value {
        self.engine.order("GET", &format!("/containers/{}/json", self.id), &Value::Null)
    }

    fn state(&self, key: &str) -> Value {
        self.inspect()["State"][key].clone()
    }

    /// `running`, `paused`, `exited`, …
    pub(crate) fn status(&self) -> String {
        self.state("Status").as_str().unwrap_or_default().to_owned()
    }

    /// `healthy`, `unhealthy`, `starting`; empty without a healthcheck.
    pub(crate) fn health(&self) -> String {
        self.state("Health")["Status"].as_str().unwrap_or_default().to_owned()
    }

    /// Failures in a row, by Docker's count.
    pub(crate) fn streak(&self) -> u64 {
        self.state("Health")["FailingStreak"].as_u64().unwrap_or_default()
    }

    /// Its address, where the engine has a bridge.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        let inspected = self.inspect();
        let networks = inspected["NetworkSettings"]["Networks"].as_object()?.clone();
        networks.values().find_map(|network| network["IPAddress"].as_str()?.parse().ok())
    }
}

/// Whether a process has a handler for a signal, by the kernel's own word.
fn catches(process: Pid, signal: Signal) -> bool {
    let file = format!("/proc/{}/status", process.as_raw_nonzero());
    let status = std::fs::read_to_string(file).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let mask = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (signal.as_raw() - 1) & 1 == 1
}
