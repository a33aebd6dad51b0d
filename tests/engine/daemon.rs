//! The daemon under test: the real binary, as its own process, so that it can be killed as it would be.

use crate::{case::Case, wait::until};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::Permissions,
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{Arc, Mutex},
    thread::JoinHandle,
    time::Duration,
};

/// How long a stop may take in which nothing is under way.
const STOP_WITHIN: Duration = Duration::from_secs(20);

/// A running `defib run`. Ends with its scope; its log is shown where the test fails.
pub(crate) struct Daemon {
    process: Child,
    log: Arc<Mutex<Vec<String>>>,
    reading: Option<JoinHandle<()>>,
}

impl Daemon {
    /// Starts it on the case's state directory. A second one on the same case takes up what the first left.
    pub(crate) fn start(case: &Case, config: &str) -> Self {
        Self::spawn(case, config, Command::new(env!("CARGO_BIN_EXE_defib")))
    }

    /// The same as a user who may do nothing.
    pub(crate) fn start_as_nobody(case: &Case, config: &str) -> Self {
        const NOBODY: u32 = 65534;
        // Copied, since a checkout under root's home cannot be reached by anybody else.
        let program = case.directory().join("defib");
        std::fs::copy(env!("CARGO_BIN_EXE_defib"), &program).unwrap();
        std::fs::set_permissions(case.directory(), Permissions::from_mode(0o755)).unwrap();
        let state = state_directory(case);
        std::fs::create_dir_all(&state).unwrap();
        std::os::unix::fs::chown(&state, Some(NOBODY), Some(NOBODY)).unwrap();
        let mut command = Command::new(program);
        command.uid(NOBODY).gid(NOBODY);
        Self::spawn(case, config, command)
    }

    fn spawn(case: &Case, config: &str, mut command: Command) -> Self {
        let file = case.directory().join("defib.toml");
        std::fs::write(&file, config).unwrap();
        let state = state_directory(case);
        std::fs::create_dir_all(&state).unwrap();
        let mut process = command
            .arg("run")
            .arg("--config")
            .arg(&file)
            .arg("--state-dir")
            .arg(&state)
            .env_remove("DOCKER_HOST")
            .env("RUST_LOG", std::env::var("RUST_LOG").unwrap_or_else(|_| "defib=debug".into()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let written = Arc::clone(&log);
        let reading = defib::tasks::thread("log", move || {
            for line in lines.map_while(Result::ok) {
                written.lock().unwrap().push(line);
            }
        });
        Self { process, log, reading: Some(reading.unwrap()) }
    }

    /// All it has logged so far.
    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// Lines of the log that contain this.
    pub(crate) fn logged(&self, part: &str) -> Vec<String> {
        self.log().into_iter().filter(|line| line.contains(part)).collect()
    }

    /// Waits until a line contains this.
    pub(crate) fn wait_for_log(&self, part: &str, within: Duration) -> String {
        until(&format!("a line of the log with {part:?}"), within, || {
            self.logged(part).into_iter().next()
        })
    }

    /// Whether it is still there.
    pub(crate) fn is_running(&mut self) -> bool {
        self.process.try_wait().unwrap().is_none()
    }

    /// Bytes of memory it holds.
    pub(crate) fn resident_bytes(&self) -> u64 {
        let file = format!("/proc/{}/status", self.process.id());
        let status = std::fs::read_to_string(file).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() * 1024
    }

    /// How many descriptors it holds.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }

    /// The hard end, at any point of whatever it does.
    pub(crate) fn kill_nine(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Asks it to end, and waits for that.
    pub(crate) fn stop(mut self) -> ExitStatus {
        let pid = Pid::from_child(&self.process);
        kill_process(pid, Signal::TERM).unwrap();
        until("the daemon to end after SIGTERM", STOP_WITHIN, || self.process.try_wait().unwrap())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may have ended by itself, or been waited for: then there is nothing to kill.
        drop(self.process.kill());
        drop(self.process.wait());
        if let Some(reading) = self.reading.take() {
            drop(reading.join());
        }
        if std::thread::panicking() {
            println!("--- the daemon's log\n{}\n---", self.log().join("\n"));
        }
    }
}

/// Where the case's daemons keep their state.
pub(crate) fn state_directory(case: &Case) -> PathBuf {
    case.directory().join("state")
}
