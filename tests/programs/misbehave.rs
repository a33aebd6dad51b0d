//! A container's only program, for tests: it serves HTTP well, or badly in a chosen way.
//!
//! Plain std and no crate, so that `rustc -C target-feature=+crt-static` makes one static file of it, which is all an image
//! needs. It is the healthcheck too: nothing else (no shell, no curl) is in the image.
//!
//! ```text
//! misbehave serve [option…]       answers on a port until told to hang or to end
//!   --port N                      8080 if not given
//!   --loopback                    listens on the container's own loopback only
//!   --status N                    what a good answer is; 200 if not given
//!   --start-takes TIME            listens only after that long
//!   --hang-after TIME             from then on accepts, and never answers; SIGUSR1 does it at once, SIGUSR2 heals
//!   --hanging-lives N             hangs in its first N lives only; it counts its starts in a file beside itself
//!   --ignore-term                 only SIGKILL ends it
//!   --stop-takes TIME             works on for that long after SIGTERM, then exits with 0
//!   --exit-after TIME             ends by itself
//!   --exit-code N                 with what; 0 if not given
//! misbehave backlog [--port N] [--length N]
//!                                 listens and never accepts; --length is the accept queue's limit
//! misbehave exit CODE [--after TIME]
//! misbehave healthcheck URL [--within TIME]
//!                                 exits 0 for a 2xx within TIME (1s if not given), else 1 and says why
//! ```
//!
//! TIME is `250ms` or `3s`. Wrong arguments end it with 64, so that a test never runs with a mode it did not ask for.

#![allow(
    clippy::disallowed_methods,
    reason = "a program of its own in a container: it shares neither clock nor tasks with defib"
)]

use std::{
    fs::OpenOptions,
    io::{Read, Write},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    os::fd::AsRawFd,
    process::exit,
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

/// How fine the main thread looks at signals and times. Far below every time that a test can tell apart.
const TICK: Duration = Duration::from_millis(10);
/// Connections held open and unanswered. Beyond it the oldest are closed, so that a hung server does not run out of
/// descriptors, which would look like another failure.
const HELD_AT_MOST: usize = 256;
const WRONG_ARGUMENTS: i32 = 64;

static HANGING: AtomicBool = AtomicBool::new(false);
static TOLD_TO_STOP: AtomicBool = AtomicBool::new(false);

fn main() {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_else(|| refuse("a command is missing"));
    let mut options = Options { words: words.collect() };
    match command.as_str() {
        "serve" => serve(&Server::from(&mut options)),
        "backlog" => never_accept(&mut options),
        "exit" => {
            let code = number(&options.positional("exit CODE"));
            thread::sleep(options.time("--after").unwrap_or_default());
            options.nothing_left();
            exit(code)
        }
        "healthcheck" => check_health(&mut options),
        other => refuse(&format!("no command `{other}`")),
    }
}

/// How the server behaves.
struct Server {
    address: SocketAddr,
    status: u16,
    start_takes: Duration,
    hang_after: Option<Duration>,
    hanging_lives: Option<u32>,
    ignore_term: bool,
    stop_takes: Duration,
    exit_after: Option<Duration>,
    exit_code: i32,
}

impl Server {
    fn from(options: &mut Options) -> Self {
        let server = Self {
            address: listening_address(options),
            status: options.value("--status").map_or(200, |status| number(&status)),
            start_takes: options.time("--start-takes").unwrap_or_default(),
            hang_after: options.time("--hang-after"),
            hanging_lives: options.value("--hanging-lives").map(|lives| number(&lives)),
            ignore_term: options.flag("--ignore-term"),
            stop_takes: options.time("--stop-takes").unwrap_or_default(),
            exit_after: options.time("--exit-after"),
            exit_code: options.value("--exit-code").map_or(0, |code| number(&code)),
        };
        options.nothing_left();
        server
    }
}

/// Serves on threads of their own; this one looks at signals and times until it ends the process.
fn serve(server: &Server) -> ! {
    signals::listen(server.ignore_term);
    let born = Instant::now();
    let life = count_this_life();
    let hang_after = match server.hanging_lives {
        Some(lives) if life > lives => None,
        Some(_) => Some(server.hang_after.unwrap_or_default()),
        None => server.hang_after,
    };
    println!("life {life}, hangs after {hang_after:?}");
    thread::sleep(server.start_takes);

    let listener = TcpListener::bind(server.address)
        .unwrap_or_else(|error| refuse(&format!("can't listen on {}: {error}", server.address)));
    let status = server.status;
    let mut hang_is_due = hang_after;
    if hang_is_due == Some(Duration::ZERO) {
        // Not left to the first tick: a probe in between would see one good answer.
        HANGING.store(true, SeqCst);
        hang_is_due = None;
    }
    thread::spawn(move || accept(&listener, status));

    loop {
        thread::sleep(TICK);
        let age = born.elapsed();
        if hang_is_due.is_some_and(|after| age >= after) {
            hang_is_due = None;
            println!("hangs now");
            HANGING.store(true, SeqCst);
        }
        if server.exit_after.is_some_and(|after| age >= after) {
            exit(server.exit_code);
        }
        if TOLD_TO_STOP.load(SeqCst) {
            println!("told to stop, takes {:?}", server.stop_takes);
            thread::sleep(server.stop_takes);
            exit(0);
        }
    }
}

fn accept(listener: &TcpListener, status: u16) {
    let mut held = Vec::new();
    for connection in listener.incoming().flatten() {
        if HANGING.load(SeqCst) {
            held.push(connection);
            if held.len() > HELD_AT_MOST {
                held.remove(0);
            }
        } else {
            held.clear();
            thread::spawn(move || answer(connection, status));
        }
    }
}

/// Reads one request's head and answers it. A server that hangs by then stays silent.
fn answer(mut connection: TcpStream, status: u16) {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match connection.read(&mut chunk) {
            Ok(read) if read > 0 && head.len() < 16 * 1024 => {
                head.extend_from_slice(&chunk[..read])
            }
            _ => return,
        }
    }
    while HANGING.load(SeqCst) {
        thread::sleep(TICK);
    }
    let body = if (200..300).contains(&status) { "well\n" } else { "not well\n" };
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status} Chosen\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    );
    // Who asked may be gone by now; that is no matter of the server's.
    drop(connection.write_all(answer.as_bytes()));
}

/// How often this container was started, this time included. The file lives as long as the container does.
fn count_this_life() -> u32 {
    let counted = || {
        let mut file = OpenOptions::new().create(true).append(true).read(true).open("/lives")?;
        file.write_all(b".")?;
        file.metadata().map(|lives| lives.len())
    };
    let lives: std::io::Result<u64> = counted();
    lives
        .map(|lives| u32::try_from(lives).unwrap_or(u32::MAX))
        .unwrap_or_else(|error| refuse(&format!("can't count lives in /lives: {error}")))
}

/// The kernel completes handshakes until the accept queue is full; nobody ever takes one out.
fn never_accept(options: &mut Options) -> ! {
    let address = listening_address(options);
    let length = options.value("--length").map_or(128, |length| number(&length));
    options.nothing_left();
    signals::listen(false);
    let listener = TcpListener::bind(address)
        .unwrap_or_else(|error| refuse(&format!("can't listen on {address}: {error}")));
    signals::limit_accept_queue(listener.as_raw_fd(), length);
    while !TOLD_TO_STOP.load(SeqCst) {
        thread::sleep(TICK);
    }
    exit(0)
}

fn listening_address(options: &mut Options) -> SocketAddr {
    let port = options.value("--port").map_or(8080, |port| number(&port));
    let host = if options.flag("--loopback") { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    SocketAddr::from((host, port))
}

fn check_health(options: &mut Options) -> ! {
    let url = options.positional("healthcheck URL");
    let within = options.time("--within").unwrap_or(Duration::from_secs(1));
    options.nothing_left();
    match status_of(&url, within) {
        Ok(status) if (200..300).contains(&status) => {
            println!("{url} answered {status}");
            exit(0)
        }
        Ok(status) => println!("{url} answered {status}, not 2xx"),
        Err(why) => println!("{url}: {why}"),
    }
    exit(1)
}

fn status_of(url: &str, within: Duration) -> Result<u16, String> {
    let rest = url.strip_prefix("http://").ok_or("only http:// is understood")?;
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let address = host
        .to_socket_addrs()
        .map_err(|error| format!("can't resolve {host}: {error}"))?
        .next()
        .ok_or_else(|| format!("{host} has no address"))?;
    let mut connection = TcpStream::connect_timeout(&address, within)
        .map_err(|error| format!("no connection within {within:?}: {error}"))?;
    connection.set_read_timeout(Some(within)).map_err(|error| error.to_string())?;
    let request = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).map_err(|error| format!("not asked: {error}"))?;
    let mut start = [0; 12];
    connection
        .read_exact(&mut start)
        .map_err(|error| format!("no answer within {within:?}: {error}"))?;
    let line = String::from_utf8_lossy(&start);
    line.split_whitespace()
        .nth(1)
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| format!("not an HTTP answer: {line:?}"))
}

/// What is left of the command line. Each option is taken out as it is read; whatever remains was not understood.
struct Options {
    words: Vec<String>,
}

impl Options {
    fn flag(&mut self, name: &str) -> bool {
        let at = self.words.iter().position(|word| word == name);
        at.map(|at| self.words.remove(at)).is_some()
    }

    fn value(&mut self, name: &str) -> Option<String> {
        let at = self.words.iter().position(|word| word == name)?;
        if at + 1 == self.words.len() {
            refuse(&format!("{name} needs a value"));
        }
        self.words.remove(at);
        Some(self.words.remove(at))
    }

    fn time(&mut self, name: &str) -> Option<Duration> {
        self.value(name).map(|text| {
            let (digits, unit) = match text.strip_suffix("ms") {
                Some(digits) => (digits, Duration::from_millis(1)),
                None => (text.strip_suffix('s').unwrap_or_default(), Duration::from_secs(1)),
            };
            unit * number::<u32>(digits)
        })
    }

    fn positional(&mut self, usage: &str) -> String {
        match self.words.first() {
            Some(word) if !word.starts_with("--") => self.words.remove(0),
            _ => refuse(&format!("usage: misbehave {usage}")),
        }
    }

    fn nothing_left(&self) {
        if !self.words.is_empty() {
            refuse(&format!("not understood: {:?}", self.words));
        }
    }
}

fn number<T: std::str::FromStr>(text: &str) -> T {
    text.parse().unwrap_or_else(|_| refuse(&format!("`{text}` is no number that fits here")))
}

fn refuse(why: &str) -> ! {
    eprintln!("misbehave: {why}");
    exit(WRONG_ARGUMENTS)
}

/// The three calls that std does not have. A first process without handlers ignores SIGTERM, so a server that is to
/// end on it needs one.
mod signals {
    use super::{HANGING, SeqCst, TOLD_TO_STOP, refuse};
    use std::ffi::c_int;

    const SIGUSR1: c_int = 10;
    const SIGUSR2: c_int = 12;
    const SIGTERM: c_int = 15;
    const IGNORE: usize = 1;

    unsafe extern "C" {
        fn signal(number: c_int, handler: usize) -> usize;
        #[link_name = "listen"]
        fn listen_with(socket: c_int, backlog: c_int) -> c_int;
    }

    extern "C" fn hang(_: c_int) {
        HANGING.store(true, SeqCst);
    }

    extern "C" fn heal(_: c_int) {
        HANGING.store(false, SeqCst);
    }

    extern "C" fn stop(_: c_int) {
        TOLD_TO_STOP.store(true, SeqCst);
    }

    pub fn listen(ignore_term: bool) {
        let on_term = if ignore_term { IGNORE } else { stop as *const () as usize };
        // SAFETY: the handlers only store to atomics, which is allowed in a signal handler.
        unsafe {
            signal(SIGTERM, on_term);
            signal(SIGUSR2, heal as *const () as usize);
            // The last: where this one is caught, all are minded. Tests wait for that.
            signal(SIGUSR1, hang as *const () as usize);
        }
    }

    pub fn limit_accept_queue(socket: c_int, length: c_int) {
        // SAFETY: a plain call on a descriptor that the caller holds open; listening again only changes the limit.
        if unsafe { listen_with(socket, length) } != 0 {
            refuse("can't set the accept queue's limit");
        }
    }
}
