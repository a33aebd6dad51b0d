//! Where a secret comes from. Read at each use, so that a rotated secret counts from the next attempt on, and held no
//! longer than that attempt. A source can be shown; what it holds cannot (P7).
//!
//! A file must be a regular one and small: a pipe would block the reader, and a wrong path that names a log would be sent
//! to a stranger as a header. A disk that hangs keeps one thread and no more (`reads`).

use super::reads::Reads;
use secrecy::{SecretString, zeroize::Zeroizing};
use serde::{Deserialize, Serialize};
use std::{
    fmt,
    fs::OpenOptions,
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

/// The largest secret: four times the longest webhook URL met in practice.
pub const LARGEST: usize = 4096;

/// One for the process, as its threads are: whichever sink asks, a file that hangs holds one of them.
static READS: LazyLock<Reads> = LazyLock::new(|| Reads::with(Arc::new(read_file)));

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    /// A file's content, white space at its ends left out.
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A systemd credential (`LoadCredential=`), by name.
    Credential(String),
}

impl fmt::Display for SecretSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SecretSource::File(path) => write!(f, "file `{}`", path.display()),
            SecretSource::Env(name) => write!(f, "environment variable `{name}`"),
            SecretSource::Credential(name) => write!(f, "systemd credential `{name}`"),
        }
    }
}

/// Why a secret could not be had. Safe to show.
#[derive(Debug)]
pub struct SecretUnreadable {
    /// Where it should have come from.
    pub source: SecretSource,
    /// Why it did not.
    pub why: Unreadable,
}

/// Why a secret could not be had.
#[derive(Clone, Debug)]
pub enum Unreadable {
    /// The system says no.
    Io(Arc<io::Error>),
    /// It has been asked for, and that read still hangs; no other is begun.
    NotBack,
    /// The variable is not set.
    NotSet,
    /// Not started by systemd with credentials.
    NoCredentials,
    /// The name of a credential must not lead out of their folder.
    BadName,
    /// A pipe, a device or a folder.
    NotAFile,
    /// Nothing in it.
    Empty,
    /// Over [`LARGEST`] bytes.
    TooLarge,
    /// Not UTF-8.
    NotText,
}

impl fmt::Display for SecretUnreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "secret could not be read from {}: ", self.source)?;
        match &self.why {
            Unreadable::Io(error) => write!(f, "{error}"),
            Unreadable::NotBack => {
                f.write_str("the read of before has not come back, as when a disk hangs")
            }
            Unreadable::NotSet => f.write_str("it is not set"),
            Unreadable::NoCredentials => {
                f.write_str("systemd passed no credentials (CREDENTIALS_DIRECTORY is not set)")
            }
            Unreadable::BadName => {
                f.write_str("the name of a credential has no `/` and is not `..`")
            }
            Unreadable::NotAFile => f.write_str("it is not a regular file"),
            Unreadable::Empty => f.write_str("it is empty"),
            Unreadable::TooLarge => write!(f, "it is larger than {LARGEST} bytes"),
            Unreadable::NotText => f.write_str("it is not UTF-8 text"),
        }
    }
}

impl std::error::Error for SecretUnreadable {}

impl SecretSource {
    /// Reads the secret, now. The caller bounds the time.
    ///
    /// # Errors
    /// Where it cannot be read, is empty, too large or not text.
    pub async fn read(&self) -> Result<SecretString, SecretUnreadable> {
        let read = match self {
            SecretSource::File(path) => READS.file(path).await,
            SecretSource::Env(name) => match std::env::var_os(name) {
                Some(value) => take(value.as_encoded_bytes()),
                None => Err(Unreadable::NotSet),
            },
            SecretSource::Credential(name) => read_credential(name).await,
        };
        read.map_err(|why| SecretUnreadable { source: self.clone(), why })
    }
}

async fn read_credential(name: &str) -> Result<SecretString, Unreadable> {
    if name.is_empty() || name.contains('/') || matches!(name, "." | "..") {
        return Err(Unreadable::BadName);
    }
    let folder = std::env::var_os("CREDENTIALS_DIRECTORY").ok_or(Unreadable::NoCredentials)?;
    READS.file(&Path::new(&folder).join(name)).await
}

/// May block for good.
fn read_file(path: &Path) -> Result<SecretString, Unreadable> {
    let failed = |error| Unreadable::Io(Arc::new(error));
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file =
        OpenOptions::new().read(true).custom_flags(nonblocking).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Unreadable::NotAFile);
    }
    let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST + 1));
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    take(&bytes)
}

fn take(bytes: &[u8]) -> Result<SecretString, Unreadable> {
    if bytes.len() > LARGEST {
        return Err(Unreadable::TooLarge);
    }
    let text = std::str::from_utf8(bytes).map_err(|_| Unreadable::NotText)?.trim();
    if text.is_empty() {
        return Err(Unreadable::Empty);
    }
    Ok(SecretString::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    async fn of_file(content: &[u8]) -> Result<SecretString, SecretUnreadable> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), content).unwrap();
        SecretSource::File(file.path().to_owned()).read().await
    }

    #[tokio::test]
    async fn a_file_is_trimmed() {
        assert_eq!(of_file(b" s3cret \r\n").await.unwrap().expose_secret(), "s3cret");
        let largest = "x".repeat(LARGEST);
        assert_eq!(of_file(largest.as_bytes()).await.unwrap().expose_secret(), largest);
    }

    #[tokio::test]
    async fn what_is_no_secret_is_refused_and_not_shown() {
        for (content, says) in [
            (&b" \n"[..], "it is empty"),
            (&[b'x'; LARGEST + 1][..], "larger than 4096 bytes"),
            (&b"s3cret\xff"[..], "not UTF-8"),
        ] {
            let error = of_file(content).await.unwrap_err().to_string();
            assert!(error.starts_with("secret could not be read from file `/"), "{error}");
            assert!(error.contains(says) && !error.contains("s3cret"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_pipe_or_a_folder_is_refused_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        for path in [folder.path().to_owned(), pipe] {
            let error = SecretSource::File(path).read().await.unwrap_err();
            assert!(matches!(error.why, Unreadable::NotAFile), "{error}");
        }
    }

    #[tokio::test]
    async fn the_environment_and_credentials_say_what_is_missing() {
        let name = "CARGO_MANIFEST_DIR".to_owned();
        assert!(SecretSource::Env(name).read().await.is_ok());
        let missing = SecretSource::Env("DEFIB_NO_SUCH_VARIABLE".to_owned()).read().await;
        assert_eq!(
            missing.unwrap_err().to_string(),
            "secret could not be read from environment variable `DEFIB_NO_SUCH_VARIABLE`: it is not set"
        );
        for name in ["", "..", "../../etc/shadow"] {
            let refused = SecretSource::Credential(name.to_owned()).read().await.unwrap_err();
            assert!(matches!(refused.why, Unreadable::BadName));
        }
    }
}
