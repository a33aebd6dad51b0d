//! The name of the control socket in its directory: made, looked after, and made anew.
//!
//! A socket whose name is gone is open and reaches nobody: somebody cleared the runtime directory, or a second daemon's end
//! took it along. So its name is looked at now and then, and made anew where it is missing; where that can't be done, it is
//! said once. What somebody else put in its place is left alone: another daemon's socket, and whatever is no socket.

use super::super::SOCKET;
use rustix::{
    io::Errno,
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
    },
};
use std::{
    error::Error,
    fmt, io,
    os::{
        fd::OwnedFd,
        unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::net::UnixListener;

/// Between two looks at the socket's name: `defib status` works again within the time that it takes to look why not.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Opening takes no time; a disk that hangs must not keep the daemon from starting.
pub(super) const OPEN_WITHIN: Duration = Duration::from_secs(5);

/// Why the socket could not be opened. The daemon goes on without it.
#[derive(Debug)]
pub enum SocketProblem {
    /// Another daemon answers on it, and keeps it.
    Taken {
        /// Which socket.
        path: PathBuf,
        /// What the system says when an address is taken.
        source: io::Error,
    },
    /// Something that is no socket has its name, and stays.
    InTheWay {
        /// Which socket.
        path: PathBuf,
        /// What the system says when an address is taken.
        source: io::Error,
    },
    /// Its directory does not answer, as on a disk that hangs. It is served once that comes back.
    Hangs {
        /// Which socket.
        path: PathBuf,
        /// That it took too long.
        source: io::Error,
    },
    /// Directory or socket can't be made, or it can't be found out whether somebody answers.
    Unusable {
        /// Which socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SocketProblem {
    /// What the system said.
    pub fn cause(&self) -> &io::Error {
        match self {
            Self::Taken { source, .. }
            | Self::InTheWay { source, .. }
            | Self::Hangs { source, .. }
            | Self::Unusable { source, .. } => source,
        }
    }
}

impl fmt::Display for SocketProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { path, .. } => write!(
                f,
                "another daemon answers on the control socket {} and keeps it; `defib status` shows that one and not this \
                 one: end one of them, or give this one a --runtime-dir of its own",
                path.display()
            ),
            Self::InTheWay { path, .. } => write!(
                f,
                "{} is no socket, and is left alone; `defib status` will not work until it is taken away",
                path.display()
            ),
            Self::Hangs { path, .. } => write!(
                f,
                "the control socket {} could not be opened within {} s; `defib status` will not work until its directory \
                 answers",
                path.display(),
                OPEN_WITHIN.as_secs()
            ),
            Self::Unusable { path, .. } => write!(
                f,
                "failed to open the control socket {}; `defib status` will not work",
                path.display()
            ),
        }
    }
}

impl Error for SocketProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause())
    }
}

/// The name of the socket that is listened on, and which file it stood for when it was made.
#[derive(Clone)]
pub(super) struct Name {
    dir: PathBuf,
    file: (u64, u64),
    /// Why its name is missing and could not be made anew, as said in the log.
    pub(super) said: Option<String>,
}

impl Name {
    pub(super) fn open(dir: &Path) -> Result<(Self, UnixListener), SocketProblem> {
        let path = dir.join(SOCKET);
        let problem = |source| SocketProblem::Unusable { path: path.clone(), source };
        std::fs::create_dir_all(dir).map_err(problem)?;
        match path.symlink_metadata() {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(SocketProblem::InTheWay { path, source: Errno::ADDRINUSE.into() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(problem(error)),
        }
        match connect_to(&path) {
            // A full queue is somebody's too.
            Ok(()) | Err(Errno::AGAIN) => {
                return Err(SocketProblem::Taken { path, source: Errno::ADDRINUSE.into() });
            }
            Err(Errno::NOENT) => {}
            Err(Errno::CONNREFUSED) => std::fs::remove_file(&path).map_err(problem)?,
            Err(other) => return Err(problem(other.into())),
        }
        let listener = listen_on(bound(&path).map_err(problem)?).map_err(problem)?;
        let file = file(&path).map_err(problem)?;
        Ok((Self { dir: dir.to_owned(), file, said: None }, listener))
    }

    /// Makes the socket anew where its name is gone, or stands for something else that nobody listens on. May block.
    pub(super) fn look_after(&mut self) -> Option<UnixListener> {
        let path = self.dir.join(SOCKET);
        match file(&path) {
            Ok(found) if found == self.file => self.said = None,
            // Of a name that can't be looked at nothing is known; the listener may well be reached.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.say(format!(
                    "the control socket {} can't be looked at: {error}",
                    path.display()
                ));
            }
            Ok(_) | Err(_) => match Self::open(&self.dir) {
                Ok((anew, listener)) => {
                    tracing::warn!(
                        "the control socket {} was removed or replaced while this daemon ran; it is made anew, and \
                         `defib status` works again",
                        path.display()
                    );
                    *self = anew;
                    return Some(listener);
                }
                Err(problem) => {
                    let cause = problem.cause();
                    self.say(format!(
                        "{problem}: {cause}; it was removed or replaced while this daemon ran"
                    ));
                }
            },
        }
        None
    }

    /// Once, until something changes.
    fn say(&mut self, problem: String) {
        if self.said.as_ref() != Some(&problem) {
            tracing::error!(
                "{problem}; trying again every {} s; make its directory one that defib may write, or start defib again",
                LOOK_AGAIN.as_secs()
            );
            self.said = Some(problem);
        }
    }
}

/// Connections that may wait to be accepted: more than people ever type within the time that accepting is held up.
const WAITING: i32 = 128;

/// A socket of this name, with the mode that is the permission to connect, and on which nobody listens yet. The name is made
/// with whatever mode the umask leaves; until somebody listens a connection is refused to everybody.
fn bound(path: &Path) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
    Ok(socket)
}

fn listen_on(socket: OwnedFd) -> io::Result<UnixListener> {
    listen(&socket, WAITING)?;
    UnixListener::from_std(socket.into())
}

/// Which file a name stands for.
fn file(path: &Path) -> io::Result<(u64, u64)> {
    let file = path.symlink_metadata()?;
    Ok((file.dev(), file.ino()))
}

/// Connects and hangs up. Without waiting: somebody who hangs must not keep us from starting.
pub(super) fn connect_to(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nobody_can_connect_before_the_mode_says_who_may() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(SOCKET);
        let socket = bound(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o660);
        assert_eq!(connect_to(&path), Err(Errno::CONNREFUSED));
        let _listener = listen_on(socket).unwrap();
        assert_eq!(connect_to(&path), Ok(()));
    }
}
