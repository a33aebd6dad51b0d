//! The program, and ends of pipes that nobody reads.

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
    process::{Pid, Signal, kill_process},
};
use std::{
    fs::File,
    io::{PipeReader, PipeWriter, Read},
    path::Path,
    process::{Child, Command, ExitStatus, Output, Stdio},
    time::{Duration, Instant},
};

/// Far longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Between two looks at a process.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// The program with these arguments, by itself: no engine, no environment that would change what it does.
pub(crate) fn defib(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_defib"));
    command.args(arguments).stdin(Stdio::null());
    for name in ["DEFIB_LOG", "DOCKER_HOST", "STATE_DIRECTORY", "RUNTIME_DIRECTORY"] {
        command.env_remove(name);
    }
    command
}

/// A running daemon without an engine; killed when the test is over.
pub(crate) struct Daemon {
    process: Child,
    folder: tempfile::TempDir,
}

impl Daemon {
    /// Starts it with this as its log.
    pub(crate) fn start(log: impl Into<Stdio>, level: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let engine = format!("unix://{}", in_folder("no.sock"));
        let (state, run) = (in_folder("state"), in_folder("run"));
        let process =
            defib(&["run", "--engine", &engine, "--state-dir", &state, "--runtime-dir", &run])
                .env("DEFIB_LOG", level)
                .stdout(Stdio::null())
                .stderr(log)
                .spawn()
                .unwrap();
        Self { process, folder }
    }

    pub(crate) fn runtime_dir(&self) -> std::path::PathBuf {
        self.folder.path().join("run")
    }

    /// Waits until `defib status` has an answer: the loop turns.
    pub(crate) fn answers(&mut self) {
        let begun = Instant::now();
        loop {
            let asked = status(&self.runtime_dir());
            if matches!(asked.status.code(), Some(0 | 1)) && !asked.stdout.is_empty() {
                return;
            }
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none(), "it ended: {ended:?}");
            assert!(begun.elapsed() < PATIENCE, "no answer: {asked:?}");
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Tells it to end and says how it did.
    pub(crate) fn end(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.process), Signal::TERM).unwrap();
        ended(&mut self.process)
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Ended already where all went well.
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

pub(crate) fn status(runtime_dir: &Path) -> Output {
    let mut command = defib(&["status", "--runtime-dir", runtime_dir.to_str().unwrap()]);
    command.output().unwrap()
}

/// Waits until it has ended.
pub(crate) fn ended(process: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = process.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            process.kill().unwrap();
            panic!("it does not end");
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// Writing into this fails as on a full disk.
pub(crate) fn full_disk() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// A pipe whose reader is gone.
pub(crate) fn closed_pipe() -> PipeWriter {
    std::io::pipe().unwrap().1
}

/// A pipe with no room left, and its reader, which does not read.
pub(crate) fn full_pipe() -> (PipeReader, PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    let flags = fcntl_getfl(&writer).unwrap();
    fcntl_setfl(&writer, flags | OFlags::NONBLOCK).unwrap();
    // First large, then small, so that not a single byte has room.
    for chunk in [&[b'.'; 4096][..], b"."] {
        while rustix::io::write(&writer, chunk)
            .map_err(|error| assert_eq!(error, Errno::AGAIN))
            .is_ok()
        {}
    }
    fcntl_setfl(&writer, flags).unwrap();
    (reader, writer)
}

/// Reads on until `part` has come.
pub(crate) fn read_until(mut reader: PipeReader, part: &'static str) -> String {
    let (said, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let (mut text, mut bytes) = (String::new(), [0; 4096]);
        while !text.contains(part) {
            match reader.read(&mut bytes) {
                Ok(read) if read > 0 => text.push_str(&String::from_utf8_lossy(&bytes[..read])),
                Ok(_) | Err(_) => break,
            }
        }
        drop(said.send(text));
    });
    heard.recv_timeout(PATIENCE).unwrap()
}
