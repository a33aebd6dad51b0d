//! What the digests of sinks are salted with. They are kept in the state and the journal, which may be copied, and a URL
//! that somebody has a guess at must not be confirmed by them. So they are keyed with a number that is as secret as the
//! URLs and stays where they were digested: in the state directory, readable by its owner alone.
//!
//! It has to last: with another salt every sink is another one, and has to be proven anew.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

/// Its name in the state directory.
const FILE: &str = "sinks.salt";

/// As long as the digest's own inner state.
const BYTES: usize = 32;

/// Keys the digests of one state directory.
pub struct Salt([u8; BYTES]);

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Salt(…)")
    }
}

impl Salt {
    /// Another one each time.
    ///
    /// # Errors
    /// Where the system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        rustls::crypto::ring::default_provider()
            .secure_random
            .fill(&mut bytes)
            .map_err(|_| io::Error::other("the system gives no random numbers"))?;
        Ok(Self(bytes))
    }

    /// Whether one lies in a directory: an earlier start has left it there.
    pub fn is_kept_in(dir: &Path) -> bool {
        dir.join(FILE).exists()
    }

    /// The one that is kept in this directory; made where there is none, and anew where it is no whole one.
    ///
    /// # Errors
    /// Where it can be neither read nor made.
    pub fn kept_in(dir: &Path) -> io::Result<Self> {
        let path = dir.join(FILE);
        match read(&path) {
            Ok(Some(salt)) => return Ok(salt),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let salt = Self::random()?;
        // Whole or not at all, and there once it has been used, whenever the host stops: with another one every sink would
        // have to be proven anew.
        let new = dir.join(format!("{FILE}.new"));
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(&salt.0)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        File::open(dir)?.sync_all()?;
        Ok(salt)
    }

    /// Begins a digest.
    pub(super) fn digest(&self) -> Digest {
        // HMAC takes keys of every length; the type does not know.
        Digest(Hmac::new_from_slice(&self.0).ok())
    }
}

/// `None`: it is no whole one.
fn read(path: &Path) -> io::Result<Option<Salt>> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(BYTES + 1);
    file.take(BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes.try_into().ok().map(Salt))
}

/// A digest of parts, none of which runs into the next.
pub(super) struct Digest(Option<Hmac<Sha256>>);

impl Digest {
    pub(super) fn part(&mut self, text: &str) {
        if let Some(mac) = &mut self.0 {
            mac.update(&text.len().to_be_bytes());
            mac.update(text.as_bytes());
        }
    }

    /// A part that is missing: told from every length that one can have.
    pub(super) fn missing(&mut self) {
        if let Some(mac) = &mut self.0 {
            mac.update(&u64::MAX.to_be_bytes());
        }
    }

    /// Enough to tell definitions apart.
    pub(super) fn end(self) -> u64 {
        let bytes = self.0.map(|mac| mac.finalize().into_bytes()).unwrap_or_default();
        bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn digested(salt: &Salt) -> u64 {
        let mut digest = salt.digest();
        digest.part("https://hooks.example.org/x");
        digest.end()
    }

    #[test]
    fn a_directory_keeps_its_salt_and_no_two_have_the_same() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let first = digested(&Salt::kept_in(one.path()).unwrap());
        assert_eq!(digested(&Salt::kept_in(one.path()).unwrap()), first);
        assert_ne!(digested(&Salt::kept_in(other.path()).unwrap()), first);
        let mode = fs::metadata(one.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(one.path()).unwrap().count(), 1, "nothing else is left there");
    }

    #[test]
    fn half_a_salt_is_made_anew_and_what_can_not_be_kept_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        fs::write(&path, "half").unwrap();
        fs::write(dir.path().join(format!("{FILE}.new")), "left by a crash").unwrap();
        let first = digested(&Salt::kept_in(dir.path()).unwrap());
        assert_eq!(digested(&Salt::kept_in(dir.path()).unwrap()), first);
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(Salt::kept_in(dir.path()).is_err());
        assert!(Salt::kept_in(&dir.path().join("nowhere")).is_err());
    }

    #[test]
    fn without_a_directory_each_is_another() {
        assert_ne!(digested(&Salt::random().unwrap()), digested(&Salt::random().unwrap()));
    }
}
