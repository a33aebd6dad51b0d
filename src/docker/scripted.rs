//! An engine that says exactly what it is told to, over a real socket.

use super::{
    adapter::{DockerEngine, Limits},
    connection::UnixDial,
};
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

/// What the scripted engine does with one request.
#[derive(Clone)]
pub(crate) enum Reply {
    /// An answer with this status and body.
    Says(u16, String),
    /// These bytes, then the end.
    Raw(Vec<u8>),
    /// These bytes, then nothing more until the other side hangs up, which it reports.
    Stalls(Vec<u8>),
    /// A stream: the head, then each piece as it is handed over.
    Streams(Arc<Mutex<mpsc::Receiver<Vec<u8>>>>),
}

type Script = Box<dyn Fn(&str) -> Reply + Send + Sync>;

/// An engine that follows a script: request line (`GET /v1.41/…`) → reply.
pub(crate) struct Scripted {
    folder: tempfile::TempDir,
    ended: Arc<AtomicBool>,
    requests: Arc<Mutex<Vec<String>>>,
    pub(crate) hung_up: mpsc::Receiver<String>,
}

pub(crate) const DOCKER: &str =
    r#"{"Version":"20.10.24","ApiVersion":"1.41","Components":[{"Name":"Engine"}]}"#;
pub(crate) const PODMAN: &str =
    r#"{"Version":"4.3.1","ApiVersion":"1.41","Components":[{"Name":"Podman Engine"}]}"#;

impl Scripted {
    pub(crate) fn following(script: impl Fn(&str) -> Reply + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("engine.sock")).unwrap();
        let (ended, requests) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let (report, hung_up) = mpsc::channel();
        let script: Arc<Script> = Arc::new(Box::new(script));
        let (end, seen) = (Arc::clone(&ended), Arc::clone(&requests));
        crate::tasks::thread("scripted engine", move || {
            for socket in listener.incoming() {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let (script, seen, report) =
                    (Arc::clone(&script), Arc::clone(&seen), report.clone());
                let serve = move || serve(socket.unwrap(), &script, &seen, &report);
                crate::tasks::thread("scripted connection", serve).unwrap();
            }
        })
        .unwrap();
        Self { folder, ended, requests, hung_up }
    }

    /// One that is Docker, and answers everything else like this.
    pub(crate) fn docker(reply: Reply) -> Self {
        Self::following(move |request| match request {
            "GET /version" => Reply::Says(200, DOCKER.to_owned()),
            _ => reply.clone(),
        })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("engine.sock")
    }

    pub(crate) fn engine(&self) -> DockerEngine {
        self.engine_within(Limits::default())
    }

    pub(crate) fn engine_within(&self, limits: Limits) -> DockerEngine {
        DockerEngine::reached_by(UnixDial(self.socket()), "unix:///the.sock".to_owned(), limits)
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        drop(UnixStream::connect(self.socket()));
    }
}

fn serve(
    mut socket: UnixStream,
    script: &Script,
    seen: &Mutex<Vec<String>>,
    report: &mpsc::Sender<String>,
) {
    let mut reader = BufReader::new(socket.try_clone().unwrap());
    let mut first = String::new();
    reader.read_line(&mut first).unwrap();
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap_or(0) > 0 && line != "\r\n" {
        line.clear();
    }
    let request = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    if request.is_empty() {
        return;
    }
    seen.lock().unwrap().push(request.clone());
    // A peer that hung up early is what some of the tests are about.
    match script(&request) {
        Reply::Says(status, body) => drop(socket.write_all(answer(status, &body).as_bytes())),
        Reply::Raw(bytes) => drop(socket.write_all(&bytes)),
        Reply::Stalls(bytes) => {
            drop(socket.write_all(&bytes));
            let mut rest = Vec::new();
            drop(reader.read_to_end(&mut rest));
            drop(report.send(request));
        }
        Reply::Streams(pieces) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
            drop(socket.write_all(head.as_bytes()));
            for piece in pieces.lock().unwrap().iter() {
                if socket.write_all(&piece).is_err() {
                    break;
                }
            }
        }
    }
}

fn answer(status: u16, body: &str) -> String {
    let length = if status == 204 || status == 304 {
        String::new()
    } else {
        format!("Content-Length: {}\r\n", body.len())
    };
    format!("HTTP/1.1 {status} X\r\nDate: Mon, 01 Jan 2024 10:00:00 GMT\r\n{length}\r\n{body}")
}
