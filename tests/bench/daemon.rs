//! The daemon that is measured: the real binary with its real store and journal, logging as it does by default.

use crate::{stage::Stage, wait::until};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;

/// The kernel's unit of CPU time in `/proc`, the same on every architecture that Docker runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// A running `defib run` with a state of its own; ends with its scope.
pub(crate) struct Daemon {
    process: Child,
    home: TempDir,
}

/// What the kernel counted.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// Seconds of CPU so far.
    pub(crate) cpu: f64,
    /// Bytes in memory.
    pub(crate) resident: u64,
    /// Those among them that are its own, and no mapped file.
    pub(crate) own: u64,
}

impl Daemon {
    /// Starts it, and waits until it can be asked.
    pub(crate) fn start(stage: &Stage, config: &str) -> Self {
        Self::start_held(stage, config, false)
    }

    /// The same; `held`: the switch that keeps it from acting is on from the start.
    pub(crate) fn start_held(stage: &Stage, config: &str, held: bool) -> Self {
        let home = tempfile::tempdir_in(stage.directory()).unwrap();
        let file = home.path().join("defib.toml");
        std::fs::write(&file, config).unwrap();
        let runtime = home.path().join("run");
        std::fs::create_dir(&runtime).unwrap();
        if held {
            std::fs::write(runtime.join("hold"), "").unwrap();
        }
        // Whoever wants to see where the time goes sets DEFIB_LOG and reads standard error.
        let log =
            if std::env::var_os("DEFIB_LOG").is_some() { Stdio::inherit() } else { Stdio::null() };
        let process = Command::new(env!("CARGO_BIN_EXE_defib"))
            .args(["run", "--config"])
            .arg(&file)
            .arg("--state-dir")
            .arg(home.path().join("state"))
            .arg("--runtime-dir")
            .arg(&runtime)
            .env_remove("DOCKER_HOST")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let daemon = Self { process, home };
        until("the daemon to be there", Duration::from_secs(20), || {
            let entries = std::fs::read_dir(daemon.runtime_dir()).unwrap().flatten();
            entries.map(|entry| entry.path()).find_map(|path| UnixStream::connect(path).ok())
        });
        daemon
    }

    fn runtime_dir(&self) -> PathBuf {
        self.home.path().join("run")
    }

    /// What it says of itself, as `status --json`.
    fn status(&self) -> serde_json::Value {
        let answer = Command::new(env!("CARGO_BIN_EXE_defib"))
            .args(["status", "--json", "--runtime-dir"])
            .arg(self.runtime_dir())
            .output()
            .unwrap();
        serde_json::from_slice(&answer.stdout).unwrap_or_default()
    }

    /// How many replicas it judges so.
    pub(crate) fn judged(&self, verdict: &str) -> usize {
        let status = self.status();
        let replicas = status["replicas"].as_array();
        replicas.into_iter().flatten().filter(|replica| replica["verdict"] == verdict).count()
    }

    /// Waits until it has seen that so many are healthy.
    pub(crate) fn sees_healthy(self, replicas: usize) -> Self {
        until(&format!("{replicas} to be seen healthy"), Duration::from_secs(60), || {
            (self.judged("healthy") == replicas).then_some(())
        });
        self
    }

    /// It may act from now on. Asking it makes it look at the switch at once and not at its next turn.
    pub(crate) fn release(&self) {
        std::fs::remove_file(self.runtime_dir().join("hold")).unwrap();
        self.status();
    }

    /// What it has cost so far.
    pub(crate) fn cost(&self) -> Cost {
        let proc = Path::new("/proc").join(self.process.id().to_string());
        let stat = std::fs::read_to_string(proc.join("stat")).unwrap();
        // The name in parentheses may hold anything; user and system time are the 12th and 13th after it.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks = |index: usize| fields[index].parse::<f64>().unwrap();
        let status = std::fs::read_to_string(proc.join("status")).unwrap();
        let bytes = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
            line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
        };
        Cost {
            cpu: (ticks(11) + ticks(12)) / TICKS_PER_SECOND,
            resident: bytes("VmRSS:"),
            own: bytes("RssAnon:"),
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Told to end as systemd would; where it has ended by itself there is nobody to tell.
        if kill_process(Pid::from_child(&self.process), Signal::TERM).is_ok() {
            drop(self.process.wait());
        }
    }
}
