//! The command line's side of the control socket.

use super::{ANSWER_BYTES, Request, SOCKET, WITHIN};
use crate::{
    notify::text::one_line,
    status::snapshot::Snapshot,
    tasks::{self, NotBack},
};
use serde::Deserialize;
use std::{
    error::Error,
    fmt,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    time::Duration,
};

/// Why the daemon could not be asked.
#[derive(Debug)]
pub enum ClientProblem {
    /// The system gave this process no thread to ask with: of the daemon nothing is known.
    NoThread {
        /// What the system said.
        source: io::Error,
    },
    /// There is no socket: no daemon runs, or it runs elsewhere.
    NotRunning {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The socket may not be used by this user.
    Denied {
        /// Which socket.
        path: PathBuf,
    },
    /// It did not answer in time.
    Silent {
        /// Which socket.
        path: PathBuf,
    },
    /// It ended the connection without an answer, or in the middle of one.
    HungUp {
        /// Which socket.
        path: PathBuf,
    },
    /// The connection broke in another way.
    NoAnswer {
        /// Which socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It answered that it can't.
    Refused {
        /// Which socket.
        path: PathBuf,
        /// What it said, for people.
        why: String,
    },
    /// Its answer is longer than is read.
    TooLong {
        /// Which socket.
        path: PathBuf,
    },
    /// It answered something else.
    NotUnderstood {
        /// What, cut.
        answer: String,
    },
}

impl fmt::Display for ClientProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoThread { .. } => f.write_str(
                "the daemon was not asked: the system starts no thread for this process (is a limit of processes or of \
                 memory reached?)",
            ),
            Self::NotRunning { path } => write!(
                f,
                "no daemon listens at {}: start it with `defib run`, or say where it runs with --runtime-dir",
                path.display()
            ),
            Self::Denied { path } => {
                write!(
                    f,
                    "not allowed to use {}: become root, or a member of the socket's group",
                    path.display()
                )
            }
            Self::Silent { path } => write!(
                f,
                "the daemon at {} gives no answer within {} s: it is busy or hangs; try again, and see its log",
                path.display(),
                WITHIN.as_secs()
            ),
            Self::HungUp { path } => write!(
                f,
                "the daemon at {} closed the connection without a whole answer: it is ending, or did just now; try again, \
                 and see its log",
                path.display()
            ),
            Self::NoAnswer { path, .. } => {
                write!(f, "the daemon at {} does not answer; see its log", path.display())
            }
            Self::Refused { path, why } => {
                write!(f, "the daemon at {} answers: {why}", path.display())
            }
            Self::TooLong { path } => write!(
                f,
                "the answer of the daemon at {} is longer than {} MiB and was not read to its end: more is watched here, or \
                 said of it, than `defib status` can show; its log has what changes",
                path.display(),
                ANSWER_BYTES / (1024 * 1024)
            ),
            Self::NotUnderstood { answer } => {
                write!(
                    f,
                    "the daemon's answer can't be understood (is it of another version?): {answer}"
                )
            }
        }
    }
}

impl Error for ClientProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NoThread { source } | Self::NoAnswer { source, .. } => Some(source),
            Self::NotRunning { .. }
            | Self::Denied { .. }
            | Self::Silent { .. }
            | Self::HungUp { .. }
            | Self::Refused { .. }
            | Self::TooLong { .. }
            | Self::NotUnderstood { .. } => None,
        }
    }
}

/// Asks how things stand.
///
/// # Errors
/// See [`ClientProblem`].
pub fn status(dir: &Path) -> Result<Snapshot, ClientProblem> {
    status_within(dir, WITHIN)
}

fn status_within(dir: &Path, within: Duration) -> Result<Snapshot, ClientProblem> {
    let path = dir.join(SOCKET);
    // On a thread, so that all of it together has an end: connecting to a daemon whose queue is full waits for good, and a
    // timeout of reads begins anew with each byte.
    let asked = path.clone();
    let answer = match tasks::within("ask", within, move || ask(&asked)) {
        Ok(Ok(answer)) => answer,
        Ok(Err(source)) => return Err(broken(path, source)),
        Err(not_back) => return Err(unasked(path, not_back)),
    };
    if let Ok(snapshot) = serde_json::from_slice(&answer) {
        return Ok(snapshot);
    }
    if let Ok(Refusal { error }) = serde_json::from_slice(&answer) {
        return Err(ClientProblem::Refused { path, why: one_line(&error) });
    }
    // An answer is a line; one that has no end broke off, unless it was longer than is read.
    if !answer.ends_with(b"\n") {
        let is_all = u64::try_from(answer.len()).is_ok_and(|read| read < ANSWER_BYTES);
        return Err(if is_all {
            ClientProblem::HungUp { path }
        } else {
            ClientProblem::TooLong { path }
        });
    }
    let answer = one_line(&String::from_utf8_lossy(&answer));
    Err(ClientProblem::NotUnderstood { answer: answer.chars().take(200).collect() })
}

/// What a daemon says in the place of an answer.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

fn unasked(path: PathBuf, not_back: NotBack) -> ClientProblem {
    match not_back {
        NotBack::NoThread(source) => ClientProblem::NoThread { source },
        NotBack::TimedOut(_) => ClientProblem::Silent { path },
        NotBack::Panicked => ClientProblem::NoAnswer { path, source: not_back.into() },
    }
}

/// What the connection broke with.
fn broken(path: PathBuf, source: io::Error) -> ClientProblem {
    use io::ErrorKind;
    match source.kind() {
        ErrorKind::NotFound | ErrorKind::ConnectionRefused => ClientProblem::NotRunning { path },
        ErrorKind::PermissionDenied => ClientProblem::Denied { path },
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ClientProblem::Silent { path },
        ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => ClientProblem::HungUp { path },
        _ => ClientProblem::NoAnswer { path, source },
    }
}

fn ask(path: &Path) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(path)?;
    let mut request = serde_json::to_vec(&Request::Status).map_err(io::Error::other)?;
    request.push(b'\n');
    stream.write_all(&request)?;
    let mut answer = Vec::new();
    BufReader::new(stream.take(ANSWER_BYTES)).read_until(b'\n', &mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
    };
    use std::{
        os::unix::net::UnixListener,
        sync::mpsc::{RecvTimeoutError, sync_channel},
    };

    /// What is said of a daemon that reads the request and answers so.
    fn said_of(answer: &[u8]) -> String {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(SOCKET)).unwrap();
        let answer = answer.to_owned();
        let daemon = tasks::thread("daemon", move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(WITHIN)).unwrap();
            let mut request = String::new();
            BufReader::new(stream.try_clone().unwrap()).read_line(&mut request).unwrap();
            stream.write_all(&answer).unwrap();
        });
        let problem = status(dir.path()).unwrap_err();
        daemon.unwrap().join().unwrap();
        let text = problem.to_string();
        text.replace(&dir.path().display().to_string(), "DIR")
    }

    #[test]
    fn a_daemon_that_hangs_up_is_told_as_that() {
        for answer in [&b""[..], b"{\"host\":\"a\",", b"{\"error\":\"the da"] {
            assert_eq!(
                said_of(answer),
                "the daemon at DIR/control.sock closed the connection without a whole answer: it is ending, or did just \
                 now; try again, and see its log"
            );
        }
    }

    #[test]
    fn what_the_daemon_says_in_the_place_of_an_answer_is_said() {
        assert_eq!(
            said_of(b"{\"error\":\"the daemon is ending; its log says what it waits for\"}\n"),
            "the daemon at DIR/control.sock answers: the daemon is ending; its log says what it waits for"
        );
    }

    #[test]
    fn an_answer_that_is_too_long_is_told_as_that() {
        let said = said_of(&vec![b'x'; usize::try_from(ANSWER_BYTES).unwrap()]);
        assert!(said.contains("is longer than 8 MiB"), "{said}");
        assert!(!said.contains("version") && !said.contains("xxx"), "{said}");
    }

    #[test]
    fn another_answer_is_of_another_version() {
        for answer in [&b"{\"new\":1}\n"[..], b"\n", b"\xff\x1b[2J\n"] {
            let said = said_of(answer);
            assert!(said.contains("is it of another version?"), "{said}");
            assert!(!said.contains('\u{1b}'), "{said}");
        }
    }

    #[test]
    fn our_own_want_of_threads_is_not_the_daemons_silence() {
        // As the system refuses a thread: the same error as of a socket that has nothing to read.
        let refused = NotBack::NoThread(io::ErrorKind::WouldBlock.into());
        let problem = unasked(PathBuf::from("control.sock"), refused);
        assert!(matches!(problem, ClientProblem::NoThread { .. }), "{problem:?}");
        assert!(problem.to_string().starts_with("the daemon was not asked: "), "{problem}");
    }

    #[test]
    fn no_daemon_is_told_as_that() {
        let dir = tempfile::tempdir().unwrap();
        let problem = status(dir.path()).unwrap_err();
        assert!(matches!(problem, ClientProblem::NotRunning { .. }), "{problem:?}");
        drop(UnixListener::bind(dir.path().join(SOCKET)).unwrap());
        let problem = status(dir.path()).unwrap_err();
        assert!(matches!(problem, ClientProblem::NotRunning { .. }), "{problem:?}");
    }

    /// Long enough for a connection on this host, and short enough to be waited for in vain.
    const SOON: Duration = Duration::from_millis(200);

    /// What is said, which must come: a client that hangs would hang the tests.
    fn silent(dir: &Path) -> bool {
        let (came, coming) = sync_channel(1);
        let path = dir.to_owned();
        tasks::thread("client", move || drop(came.send(status_within(&path, SOON)))).unwrap();
        let said = coming.recv_timeout(Duration::from_secs(10)).expect("it comes to an end");
        matches!(said, Err(ClientProblem::Silent { .. }))
    }

    #[test]
    fn a_daemon_whose_queue_is_full_is_silent() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SOCKET);
        let hangs =
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
        bind(&hangs, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        listen(&hangs, 0).unwrap();
        let _waits = UnixStream::connect(&path).unwrap();
        assert!(silent(dir.path()));
    }

    #[test]
    fn a_daemon_that_answers_byte_by_byte_is_silent() {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join(SOCKET)).unwrap();
        let daemon = tasks::thread("daemon", move || {
            let (mut stream, _) = listener.accept().unwrap();
            let (_never, wait) = sync_channel::<()>(1);
            // For ten seconds, or until the client has gone away.
            for _ in 0..1000 {
                let goes_on = stream.write_all(b" ").is_ok()
                    && wait.recv_timeout(SOON / 20) == Err(RecvTimeoutError::Timeout);
                if !goes_on {
                    return;
                }
            }
        });
        assert!(silent(dir.path()));
        drop(daemon);
    }
}
