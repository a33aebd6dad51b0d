//! Containers as benchmarks need them: many, cheap, and with a healthcheck at a pace of choice.

use crate::{
    engine::Engine,
    host::{Host, run_id},
    wait::{secs, until},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::time::Duration;

/// What a container is.
pub(crate) struct Recipe {
    command: Vec<&'static str>,
    healthcheck: Option<(Vec<&'static str>, Duration)>,
    stop_timeout: Option<u64>,
}

impl Recipe {
    /// Sleeps, and nothing else: the program's servers look at signals 100 times a second, which 200 of them would make
    /// a load of its own.
    pub(crate) fn idle() -> Self {
        let command = vec!["/misbehave", "exit", "0", "--after", "1000000s"];
        Self { command, healthcheck: None, stop_timeout: None }
    }

    /// The same with a healthcheck that passes, for which Docker executes something in it.
    pub(crate) fn idle_and_checked(every: Duration) -> Self {
        let healthcheck = Some((vec!["CMD", "/misbehave", "exit", "0"], every));
        Self { healthcheck, ..Self::idle() }
    }

    /// A server that can be told to hang, and stops at once when told to. Unhealthy by its third failure, the first of
    /// which is `every` after the last pass at the latest.
    pub(crate) fn server(every: Duration) -> Self {
        let url = "http://127.0.0.1:8080/";
        let check = vec!["CMD", "/misbehave", "healthcheck", url, "--within", "250ms"];
        Self {
            command: vec!["/misbehave", "serve"],
            healthcheck: Some((check, every)),
            stop_timeout: None,
        }
    }

    /// It works on for 10 s after it was told to stop, which it may.
    pub(crate) fn that_stops_slowly(mut self) -> Self {
        self.command.extend(["--stop-takes", "10s"]);
        self.stop_timeout = Some(20);
        self
    }
}

/// A running container.
pub(crate) struct Container {
    engine: Engine,
    /// The engine's ID.
    pub(crate) id: String,
    /// Its name, without a slash.
    pub(crate) name: String,
}

impl Container {
    /// Makes and starts it.
    pub(crate) fn start(host: &Host, word: &str, recipe: &Recipe) -> Self {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap();
        let healthcheck = recipe.healthcheck.as_ref().map(|(test, every)| {
            json!({ "Test": test, "Interval": nanos(*every), "Timeout": nanos(secs(5)), "Retries": 3 })
        });
        let body = json!({
            "Image": host.image,
            "Cmd": recipe.command,
            "Labels": { "defib.test": run_id() },
            "Healthcheck": healthcheck,
            "StopTimeout": recipe.stop_timeout,
            // Whoever talks to it does so from inside; no network makes the making of hundreds bearable.
            "HostConfig": { "NetworkMode": "none" },
        });
        let name = format!("defib-test-{}-{word}", run_id());
        let path = format!("/containers/create?name={name}");
        let id = host.engine.order("POST", &path, &body)["Id"].as_str().unwrap().to_owned();
        let container = Self { engine: host.engine.clone(), id, name };
        container.engine.order(
            "POST",
            &format!("/containers/{}/start", container.id),
            &Value::Null,
        );
        container
    }

    /// From now on it accepts and never answers. Past the engine, so that nobody sees a touch.
    pub(crate) fn hang(&self) {
        let pid = self.state()["Pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
        let pid = pid.and_then(Pid::from_raw).expect("it must be running on this host");
        kill_process(pid, Signal::USR1).expect("only root can signal a container's process");
    }

    /// Waits until its healthcheck passes.
    pub(crate) fn wait_until_healthy(&self) {
        until(&format!("{} to be healthy", self.name), secs(60), || {
            (self.state()["Health"]["Status"] == "healthy").then_some(())
        });
    }

    fn state(&self) -> Value {
        let path = format!("/containers/{}/json", self.id);
        self.engine.order("GET", &path, &Value::Null)["State"].clone()
    }
}
