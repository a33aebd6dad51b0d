//! Reads the file, within bounds. Refuses what is no regular file before reading a byte: a pipe would keep the daemon from
//! starting, and a device never ends. A disk or a share that hangs ends no read: whoever waits for one does so within a
//! time ([`in_time`]).

use super::problem::Problems;
use crate::{
    domain::moment::Spoken,
    tasks::{self, NotBack},
};
use std::{
    error::Error,
    fmt,
    fs::File,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

/// A fleet of 5,000 services is about one MiB; what is larger is some other file.
const LARGEST: u64 = 4 * 1024 * 1024;

/// A config is read within milliseconds; ten seconds are those of a disk that has to wake up and then fails a few times.
pub const CONFIG_WITHIN: Duration = Duration::from_secs(10);

/// Why there is no config.
#[derive(Debug)]
pub enum ConfigError {
    /// There is no such file.
    Missing(PathBuf),
    /// It is there and can't be read.
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is a directory, a pipe, a device or a socket.
    NotAFile {
        /// Which.
        path: PathBuf,
        /// What it is instead.
        is: &'static str,
    },
    /// Its read has not come back.
    NotBack {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: NotBack,
    },
    /// It is larger than any config.
    TooLarge(PathBuf),
    /// It is no text.
    NotUtf8 {
        /// Which file.
        path: PathBuf,
        /// The line, from 1, in which the text ends to be text.
        line: usize,
    },
    /// It was read, and something in it is wrong.
    Invalid(Box<Problems>),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Missing(path) => write!(
                f,
                "config `{}` does not exist; `run` without `--config` watches every container that has a healthcheck",
                path.display()
            ),
            ConfigError::Unreadable { path, .. } => {
                write!(f, "config `{}` can't be read", path.display())
            }
            ConfigError::NotAFile { path, is } => {
                write!(f, "config `{}` is {is}, and no file", path.display())
            }
            ConfigError::NotBack { path, source: NotBack::TimedOut(waited) } => write!(
                f,
                "config `{0}` could not be read within {1}, as when its disk or share hangs; try again once `cat {0}` comes \
                 back, or name a copy on a disk that answers",
                path.display(),
                Spoken(*waited)
            ),
            ConfigError::NotBack { path, source: NotBack::NoThread(_) | NotBack::Panicked } => {
                write!(f, "config `{}` could not be read; try again", path.display())
            }
            ConfigError::TooLarge(path) => write!(
                f,
                "config `{}` is larger than {} MiB; is this the right file?",
                path.display(),
                LARGEST / (1024 * 1024)
            ),
            ConfigError::NotUtf8 { path, line } => write!(
                f,
                "config `{}` is not UTF-8 text: line {line} has bytes that are no characters",
                path.display()
            ),
            ConfigError::Invalid(problems) => write!(f, "{problems}"),
        }
    }
}

impl Error for ConfigError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            ConfigError::Unreadable { source, .. } => Some(source),
            // How long was waited is said already.
            ConfigError::NotBack { source: NotBack::TimedOut(_), .. } => None,
            ConfigError::NotBack { source, .. } => Some(source),
            ConfigError::Missing(_)
            | ConfigError::NotAFile { .. }
            | ConfigError::TooLarge(_)
            | ConfigError::NotUtf8 { .. }
            | ConfigError::Invalid(_) => None,
        }
    }
}

/// Has `read` read this file on a thread of its own, and waits for it no longer than this.
pub(super) fn in_time<T: Send + 'static>(
    path: &Path,
    within: Duration,
    read: impl FnOnce(&Path) -> Result<T, ConfigError> + Send + 'static,
) -> Result<T, ConfigError> {
    let of_thread = path.to_owned();
    tasks::within("config", within, move || read(&of_thread))
        .unwrap_or_else(|source| Err(ConfigError::NotBack { path: path.to_owned(), source }))
}

/// The file's text.
pub(super) fn read(path: &Path) -> Result<String, ConfigError> {
    let unreadable = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => ConfigError::Missing(path.to_owned()),
        _ => ConfigError::Unreadable { path: path.to_owned(), source },
    };
    let file = open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?.file_type();
    if !kind.is_file() {
        return Err(ConfigError::NotAFile { path: path.to_owned(), is: named(kind) });
    }
    let mut bytes = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LARGEST {
        return Err(ConfigError::TooLarge(path.to_owned()));
    }
    String::from_utf8(bytes).map_err(|error| {
        let whole = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..whole].iter().filter(|byte| **byte == b'\n').count() + 1;
        ConfigError::NotUtf8 { path: path.to_owned(), line }
    })
}

/// Without waiting for a writer, should it be a pipe.
fn open(path: &Path) -> io::Result<File> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    std::fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(path)
}

fn named(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn a_config_on_a_disk_that_hangs_is_given_up_and_named() {
        // Beside, so that a read that is waited for fails the test and does not hang it.
        let (came, coming) = sync_channel(1);
        let (disk_is_mended, hangs) = sync_channel::<()>(0);
        tasks::thread("start", move || {
            let read = move |path: &Path| {
                hangs.recv().ok();
                read(path)
            };
            let path = Path::new("/etc/defib.toml");
            came.send(in_time(path, Duration::from_millis(50), read)).unwrap();
        })
        .unwrap();
        let read = coming.recv_timeout(Duration::from_secs(20)).unwrap();
        drop(disk_is_mended);
        assert_eq!(
            read.unwrap_err().to_string(),
            "config `/etc/defib.toml` could not be read within 50ms, as when its disk or share hangs; try again once `cat \
             /etc/defib.toml` comes back, or name a copy on a disk that answers"
        );
    }
}
