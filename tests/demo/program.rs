//! The program under test, and the engine beside it.

use crate::left_out::left_out;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// What the demo promises.
pub(crate) const ENDS_WITHIN: Duration = Duration::from_secs(60);

/// A running demo, with a folder for temporary files of its own.
pub(crate) struct Demo {
    process: Child,
    lines: BufReader<ChildStdout>,
    began: Instant,
    said: String,
    folder: TempDir,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) took: Duration,
    pub(crate) said: String,
    pub(crate) complained: String,
    /// What is in its folder.
    pub(crate) left: Vec<PathBuf>,
}

impl Demo {
    pub(crate) fn start(arguments: &[&str], docker_host: Option<&str>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_defib"));
        command.arg("demo").args(arguments).env("TMPDIR", folder.path()).env_remove("DEFIB_LOG");
        match docker_host {
            Some(address) => command.env("DOCKER_HOST", address),
            None => command.env_remove("DOCKER_HOST"),
        };
        let began = Instant::now();
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self { process, lines, began, said: String::new(), folder }
    }

    /// Reads on until it has said this.
    pub(crate) fn wait_for(&mut self, part: &str) {
        while !self.said.contains(part) {
            let read = self.lines.read_line(&mut self.said).unwrap();
            assert!(read > 0, "it ended without saying {part:?}:\n{}", self.said);
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).unwrap();
    }

    /// All so far.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// Reads to its end.
    pub(crate) fn end(mut self) -> Ended {
        self.lines.read_to_string(&mut self.said).unwrap();
        let mut complained = String::new();
        self.process.stderr.take().unwrap().read_to_string(&mut complained).unwrap();
        let status = self.process.wait().unwrap();
        let left = std::fs::read_dir(self.folder.path()).unwrap();
        Ended {
            status,
            took: self.began.elapsed(),
            said: std::mem::take(&mut self.said),
            complained,
            left: left.map(|entry| entry.unwrap().path()).collect(),
        }
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        // Only where a test failed in between; it has ended else. SIGTERM, so that it clears up.
        if let Ok(None) = self.process.try_wait() {
            self.signal(Signal::TERM);
            drop(self.process.wait());
        }
    }
}

/// The engine to play on, or `None` after saying what is left out.
pub(crate) fn engine(test: &str) -> Option<String> {
    let address = std::env::var("DEFIB_TEST_ENGINE").unwrap_or_default();
    if ["", "none"].contains(&address.as_str()) {
        let why = "DEFIB_TEST_ENGINE names no engine; `tests/run.sh` sets it";
        left_out(test, why);
        return None;
    }
    Some(address)
}

/// The mark of a run, from what it says.
pub(crate) fn run_of(said: &str) -> String {
    let (_, rest) = said.split_once("as defib-demo-").expect("it says its mark");
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

/// Names of what is on the engine under a run's mark: containers, then images.
pub(crate) fn on_engine(address: &str, run: &str) -> Vec<String> {
    let socket = Path::new(address.strip_prefix("unix://").unwrap());
    let labelled = format!("filters=%7B%22label%22%3A%5B%22defib.demo%3D{run}%22%5D%7D");
    ["/containers/json?all=true&", "/images/json?all=true&"]
        .into_iter()
        .flat_map(|path| ask(socket, &format!("{path}{labelled}")))
        .collect()
}

fn ask(socket: &Path, path: &str) -> Vec<String> {
    let mut connection = UnixStream::connect(socket).unwrap();
    // HTTP/1.0, so that the answer is whole when the connection ends.
    write!(connection, "GET {path} HTTP/1.0\r\nHost: engine\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.contains(" 200 "), "{answer}");
    let rows: Vec<serde_json::Value> = serde_json::from_str(body).unwrap();
    rows.iter().map(|row| format!("{} {}", row["Id"], row["Names"])).collect()
}
