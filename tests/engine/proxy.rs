//! Stands between defib and the engine, and goes wrong where a test says so. It takes one request a connection; what no
//! rule names passes through byte by byte, streams included.

use crate::{engine::Engine, http, http::Head};
use std::{
    collections::BTreeMap,
    io::{self, BufReader, Read, Write},
    net::Shutdown,
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
    thread::JoinHandle,
    time::{Duration, Instant},
};

/// What becomes of a request.
#[derive(Clone)]
pub(crate) enum Fault {
    /// Nothing goes on, nothing comes back, until the rules change; then as those say.
    Held,
    /// The engine is asked; its headers and half of its body come back, then nothing.
    StallsInBody,
    /// The engine is not asked; this is the answer.
    Answers(u16, &'static str),
    /// The engine is asked, and its body is changed.
    Rewritten(fn(Vec<u8>) -> Vec<u8>),
    /// The engine is asked, and before its stream comes this line.
    StreamBegins(&'static str),
    /// The engine is asked something else (the path's last part is exchanged), and nothing comes back.
    TurnedInto(&'static str),
}

/// Which requests it concerns.
#[derive(Clone)]
pub(crate) struct Rule {
    /// `GET`, `POST`, …
    pub(crate) method: &'static str,
    /// A part of the path.
    pub(crate) path: String,
    /// What becomes of them.
    pub(crate) fault: Fault,
}

/// How the socket itself is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    /// Listening.
    Open,
    /// The file is not there.
    Gone,
    /// The file is there and nobody listens.
    Refusing,
    /// Connections are taken, and nothing else happens.
    Hanging,
}

/// One request that came, for questions afterwards.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// `GET`, `POST`, …
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// When it was read.
    pub(crate) from: Instant,
    /// When the connection ended; `None` while it lasts.
    pub(crate) until: Option<Instant>,
}

#[derive(Default)]
struct State {
    rules: Vec<Rule>,
    /// Counts changes of the rules, so that what is held looks at the new ones.
    edition: u64,
    hanging: bool,
    closing: bool,
    asked: Vec<Asked>,
    open: BTreeMap<u64, UnixStream>,
    connections: u64,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// See the module.
pub(crate) struct Proxy {
    engine: Engine,
    /// Where defib is to connect.
    pub(crate) path: PathBuf,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a socket in this directory.
    pub(crate) fn open(engine: &Engine, directory: &Path) -> Self {
        let mut proxy = Self {
            engine: engine.clone(),
            path: directory.join("engine.sock"),
            shared: Arc::default(),
            listening: None,
        };
        proxy.listen();
        proxy
    }

    /// `unix://…`
    pub(crate) fn address(&self) -> String {
        format!("unix://{}", self.path.display())
    }

    /// From now on these rules hold, the first that fits wins. What was held goes on as they say.
    pub(crate) fn rule(&self, rules: Vec<Rule>) {
        let mut state = self.shared.state.lock().unwrap();
        state.rules = rules;
        state.edition += 1;
        self.shared.changed.notify_all();
    }

    /// Ends every connection that is open now.
    pub(crate) fn cut(&self) {
        for stream in self.shared.state.lock().unwrap().open.values() {
            // One that ended by itself meanwhile is as cut as it can be.
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Changes the socket itself. What is open is cut.
    pub(crate) fn become_socket(&mut self, socket: Socket) {
        self.shared.state.lock().unwrap().hanging = socket == Socket::Hanging;
        match socket {
            Socket::Open | Socket::Hanging => self.listen(),
            Socket::Refusing => self.close(),
            Socket::Gone => {
                self.close();
                std::fs::remove_file(&self.path).unwrap();
            }
        }
        self.cut();
    }

    /// All requests so far whose method is this and whose path contains this.
    pub(crate) fn asked(&self, method: &str, path: &str) -> Vec<Asked> {
        let state = self.shared.state.lock().unwrap();
        let fits = |asked: &&Asked| asked.method == method && asked.path.contains(path);
        state.asked.iter().filter(fits).cloned().collect()
    }

    /// How many connections are open now.
    pub(crate) fn open_connections(&self) -> usize {
        self.shared.state.lock().unwrap().open.len()
    }

    fn listen(&mut self) {
        if self.listening.is_some() {
            return;
        }
        if self.path.exists() {
            std::fs::remove_file(&self.path).unwrap();
        }
        let listener = UnixListener::bind(&self.path).unwrap();
        let (shared, engine) = (Arc::clone(&self.shared), self.engine.clone());
        self.shared.state.lock().unwrap().closing = false;
        let accept = move || {
            for client in listener.incoming().flatten() {
                if shared.state.lock().unwrap().closing {
                    return;
                }
                let (shared, engine) = (Arc::clone(&shared), engine.clone());
                defib::tasks::thread("proxied", move || serve(&shared, &engine, client)).unwrap();
            }
        };
        self.listening = Some(defib::tasks::thread("proxy", accept).unwrap());
    }

    fn close(&mut self) {
        let Some(listening) = self.listening.take() else { return };
        self.shared.state.lock().unwrap().closing = true;
        // Wakes the accepting thread, so that it sees that; its listener goes with it.
        drop(UnixStream::connect(&self.path));
        listening.join().unwrap();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.rule(Vec::new());
        self.close();
        self.cut();
    }
}

/// The most of these requests that were under way at the same time.
pub(crate) fn most_in_parallel(asked: &[Asked]) -> usize {
    let under_way_at = |moment: Instant| {
        let covers =
            |other: &&Asked| other.from <= moment && other.until.is_none_or(|until| until > moment);
        asked.iter().filter(covers).count()
    };
    asked.iter().map(|one| under_way_at(one.from)).max().unwrap_or(0)
}

fn serve(shared: &Shared, engine: &Engine, client: UnixStream) {
    let number = {
        let mut state = shared.state.lock().unwrap();
        state.connections += 1;
        let number = state.connections;
        state.open.insert(number, client.try_clone().unwrap());
        number
    };
    let mut asked_at = None;
    let ended = relay(shared, engine, &client, &mut asked_at);
    let mut state = shared.state.lock().unwrap();
    state.open.remove(&number);
    if let Some(index) = asked_at {
        let asked: &mut Asked = &mut state.asked[index];
        asked.until = Some(Instant::now());
    }
    // A connection that broke off is what faults are for; who asked sees it, and the test judges that.
    drop(ended);
    drop(client.shutdown(Shutdown::Both));
}

fn relay(
    shared: &Shared,
    engine: &Engine,
    client: &UnixStream,
    asked_at: &mut Option<usize>,
) -> io::Result<()> {
    let mut from = BufReader::new(client);
    let mut to = client;
    if shared.state.lock().unwrap().hanging {
        return wait_for_end(client);
    }
    let Some(head) = Head::read(&mut from)? else { return Ok(()) };
    let body = head.read_request_body(&mut from)?;
    *asked_at = Some(write_down(shared, &head));

    match fate(shared, client, &head)? {
        None => pass(engine, client, &head, &body),
        Some(Fault::Held) => Ok(()),
        Some(Fault::Answers(status, text)) => {
            http::write_answer(&mut to, status, "application/json", text.as_bytes())
        }
        Some(Fault::Rewritten(rewrite)) => {
            let answer = engine.send(head.word(0), head.word(1), "application/json", &body);
            http::write_answer(&mut to, answer.status, "application/json", &rewrite(answer.body))
        }
        Some(Fault::StallsInBody) => {
            let answer = engine.send(head.word(0), head.word(1), "application/json", &body);
            let length = answer.body.len();
            write!(
                to,
                "HTTP/1.1 {} Chosen\r\nContent-Type: application/json\r\n\
                 Content-Length: {length}\r\n\r\n",
                answer.status
            )?;
            to.write_all(&answer.body[..length / 2])?;
            wait_for_end(client)
        }
        Some(Fault::StreamBegins(line)) => {
            let (_, mut stream) =
                engine.open(head.word(0), head.word(1), "application/json", b"")?;
            let kind = "Content-Type: application/json\r\nConnection: close";
            write!(to, "HTTP/1.1 200 Chosen\r\n{kind}\r\n\r\n{line}\n")?;
            io::copy(&mut stream, &mut to).map(drop)
        }
        Some(Fault::TurnedInto(other)) => {
            let path = head.word(1).split('?').next().unwrap_or_default();
            let (container, _) = path.rsplit_once('/').unwrap_or((path, ""));
            engine.send(head.word(0), &format!("{container}/{other}"), "application/json", &body);
            wait_for_end(client)
        }
    }
}

fn write_down(shared: &Shared, head: &Head) -> usize {
    let mut state = shared.state.lock().unwrap();
    state.asked.push(Asked {
        method: head.word(0).to_owned(),
        path: head.word(1).to_owned(),
        from: Instant::now(),
        until: None,
    });
    state.asked.len() - 1
}

/// What the rules say, waiting where they say to hold. `Held` comes back only where the client has gone meanwhile.
fn fate(shared: &Shared, client: &UnixStream, head: &Head) -> io::Result<Option<Fault>> {
    let mut state = shared.state.lock().unwrap();
    loop {
        let fits = |rule: &&Rule| rule.method == head.word(0) && head.word(1).contains(&rule.path);
        match state.rules.iter().find(fits).map(|rule| rule.fault.clone()) {
            Some(Fault::Held) => {}
            other => return Ok(other),
        }
        let edition = state.edition;
        let unchanged = |state: &mut State| state.edition == edition;
        let pause = Duration::from_millis(100);
        state = shared.changed.wait_timeout_while(state, pause, unchanged).unwrap().0;
        if has_gone(client)? {
            return Ok(Some(Fault::Held));
        }
    }
}

/// Whether the other side has closed; nothing is expected from it any more.
fn has_gone(client: &UnixStream) -> io::Result<bool> {
    client.set_nonblocking(true)?;
    let mut look = client;
    let read = look.read(&mut [0]);
    client.set_nonblocking(false)?;
    match read {
        Ok(read) => Ok(read == 0),
        Err(error) => Ok(error.kind() != io::ErrorKind::WouldBlock),
    }
}

fn wait_for_end(client: &UnixStream) -> io::Result<()> {
    let mut client = client;
    io::copy(&mut client, &mut io::sink()).map(drop)
}

/// Passes a request on and its answer back, as it comes. Where either side closes, the other is closed too: an engine
/// may do something else once its client has gone.
fn pass(engine: &Engine, client: &UnixStream, head: &Head, body: &[u8]) -> io::Result<()> {
    let upstream = UnixStream::connect(&engine.socket)?;
    let mut to = &upstream;
    write!(to, "{}\r\n", head.first)?;
    for (name, value) in &head.headers {
        if !name.eq_ignore_ascii_case("connection") {
            write!(to, "{name}: {value}\r\n")?;
        }
    }
    write!(to, "Connection: close\r\n\r\n")?;
    to.write_all(body)?;

    let (mut watched, engine_side) = (client.try_clone()?, upstream.try_clone()?);
    defib::tasks::thread("proxied client", move || {
        // Read until the client closes, or until it is closed from here when the answer is over.
        drop(io::copy(&mut watched, &mut io::sink()));
        drop(engine_side.shutdown(Shutdown::Both));
    })?;
    let (mut from, mut back) = (&upstream, client);
    io::copy(&mut from, &mut back).map(drop)
}
