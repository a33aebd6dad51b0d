//! The command line's side of the control socket.

use super::{ANSWER_BYTES, Request, SOCKET, WITHIN};
use crate::status::snapshot::Snapshot;
use std::{
    error::Error,
    fmt,
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

/// Why the daemon could not be asked.
#[derive(Debug)]
pub enum ClientProblem {
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
    /// It did not answer, or not in time.
    NoAnswer {
        /// Which socket.
        path: PathBuf,
        /// Why.
        source: io::Error,
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
            Self::NoAnswer { path, .. } => {
                write!(f, "the daemon at {} does not answer; see its log", path.display())
            }
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
            Self::NoAnswer { source, .. } => Some(source),
            Self::NotRunning { .. } | Self::Denied { .. } | Self::NotUnderstood { .. } => None,
        }
    }
}

/// Asks how things stand.
///
/// # Errors
/// See [`ClientProblem`].
pub fn status(dir: &Path) -> Result<Snapshot, ClientProblem> {
    let path = dir.join(SOCKET);
    let answer = exchange(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => {
            ClientProblem::NotRunning { path: path.clone() }
        }
        io::ErrorKind::PermissionDenied => ClientProblem::Denied { path: path.clone() },
        _ => ClientProblem::NoAnswer { path: path.clone(), source },
    })?;
    serde_json::from_str(&answer)
        .map_err(|_| ClientProblem::NotUnderstood { answer: answer.chars().take(200).collect() })
}

fn exchange(path: &Path) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    let mut request = serde_json::to_vec(&Request::Status).map_err(io::Error::other)?;
    request.push(b'\n');
    stream.write_all(&request)?;
    let mut answer = String::new();
    BufReader::new(stream.take(ANSWER_BYTES)).read_line(&mut answer)?;
    Ok(answer)
}
