//! Whether the `hold` file exists: the switch that needs neither daemon nor disk to be thrown, looked at before every turn.
//!
//! A look may hang for good where the runtime directory lies on a disk that does, and the loop must not hang with it. So a
//! thread of its own looks, and is waited for no longer than `WITHIN`. What could not be looked at in time, or at all,
//! holds: an order to hold must not be missed because of an error, and nothing that cures needs to happen then.

use crate::tasks;
use std::{
    io,
    path::{Path, PathBuf},
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    time::Duration,
};

/// A look takes some microseconds; one that takes so long hangs.
const WITHIN: Duration = Duration::from_millis(50);

/// What a look says: that it is there, that it is not, or why that can't be said.
type Look = Result<bool, String>;

/// Looks for the file.
pub struct HoldFile {
    path: PathBuf,
    ask: SyncSender<()>,
    answers: Receiver<Look>,
    /// A look has not come back.
    is_out: bool,
    /// Why it can't be looked for, as said in the log.
    said: Option<String>,
}

impl HoldFile {
    /// Of this path.
    ///
    /// # Errors
    /// Where no thread can be started for it.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        Self::with(path, look)
    }

    fn with(path: PathBuf, look: impl Fn(&Path) -> Look + Send + 'static) -> io::Result<Self> {
        let (ask, asked) = sync_channel(1);
        let (answer, answers) = sync_channel(1);
        let looked_at = path.clone();
        tasks::thread("hold", move || {
            while asked.recv().is_ok() {
                if answer.send(look(&looked_at)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { path, ask, answers, is_out: false, said: None })
    }

    /// Whether anything stands there under this name, also a link that leads nowhere; or whether that can't be said.
    pub fn holds(&mut self) -> bool {
        match self.look() {
            Ok(held) => {
                self.said = None;
                held
            }
            Err(problem) => {
                self.say(problem);
                true
            }
        }
    }

    fn look(&mut self) -> Look {
        if self.is_out {
            // What comes back late is of then and not of now.
            match self.answers.try_recv() {
                Ok(_) => self.is_out = false,
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => {
                    return Err("the disk does not answer".to_owned());
                }
            }
        }
        if self.ask.try_send(()).is_err() {
            return Err("nobody looks any more".to_owned());
        }
        self.is_out = true;
        match self.answers.recv_timeout(WITHIN) {
            Ok(look) => {
                self.is_out = false;
                look
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err("the disk does not answer".to_owned())
            }
        }
    }

    /// Once, until something changes.
    fn say(&mut self, problem: String) {
        if self.said.as_ref() != Some(&problem) {
            tracing::error!(
                "it can't be seen whether {} exists: {problem}; nothing is acted on until it can, so give defib a runtime \
                 directory that it may read",
                self.path.display()
            );
            self.said = Some(problem);
        }
    }
}

fn look(path: &Path) -> Look {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn whatever_stands_under_the_name_of_the_hold_file_holds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hold");
        let mut file = HoldFile::at(path.clone()).unwrap();
        assert!(!file.holds());
        fs::write(&path, "").unwrap();
        assert!(file.holds());
        fs::remove_file(&path).unwrap();
        assert!(!file.holds());
        symlink(dir.path().join("nowhere"), &path).unwrap();
        assert!(file.holds(), "a link that leads nowhere");
        fs::remove_file(&path).unwrap();
        symlink(&path, &path).unwrap();
        assert!(file.holds(), "a link to itself");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(file.holds(), "a directory");
    }

    #[test]
    fn a_directory_that_cannot_be_looked_into_holds_until_it_can() {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let mut file = HoldFile::at(run.join("hold")).unwrap();
        assert!(!file.holds(), "no directory, no file");
        // Root may read everything, but nobody can go through these.
        fs::write(&run, "a file").unwrap();
        assert!(file.holds());
        fs::remove_file(&run).unwrap();
        symlink(&run, &run).unwrap();
        assert!(file.holds());
        fs::remove_file(&run).unwrap();
        fs::create_dir(&run).unwrap();
        assert!(!file.holds());
    }

    #[test]
    fn a_disk_that_hangs_holds_and_holds_nothing_up_until_it_answers() {
        let (mends, mended) = sync_channel::<()>(0);
        let look = move |_: &Path| {
            // Hangs until the disk is mended, and once it is, no more.
            let _closed = mended.recv();
            Ok(false)
        };
        let mut file = HoldFile::with(PathBuf::from("hold"), look).unwrap();
        assert!(file.holds(), "it does not come back in time");
        assert!(file.holds() && file.is_out, "and is not asked for again");
        assert_eq!(file.said.as_deref(), Some("the disk does not answer"));
        drop(mends);
        let answers = (0..10_000).any(|_| {
            std::thread::yield_now();
            !file.holds()
        });
        assert!(answers && file.said.is_none());
    }
}
