//! Whether the `hold` file exists: the switch that needs neither daemon nor disk to be thrown, looked at before every turn.
//!
//! A look may hang for good where the runtime directory lies on a disk that does, and the loop must not hang with it. So a
//! thread of its own looks, and is waited for no longer than `WITHIN`. A look that is not back by then is not the same as one
//! that hangs: on a host that is short of CPU the thread itself may wait for longer. So what was known before stands until the
//! look has been out for `STANDS_FOR`. What could not be looked at by then, or can't be looked at at all, holds: an order to
//! hold must not be missed because of an error, and nothing that cures needs to happen then.
//!
//! What this gives up (S7): while looks are late, a `hold` file that has just been made may be heeded so much later. Looks that
//! come back in time, which is all but these, are of the turn in which something is done.

use crate::{clock::Clock, domain::moment::AwakeMs, tasks};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel},
    },
    time::Duration,
};

/// A look takes some microseconds, and each turn waits for one: more than this would be seen in how fast defib is.
const WITHIN: Duration = Duration::from_millis(50);

/// A unit with a CPU quota stands still for up to 100 ms at a time, and a busy host lets a thread wait for some of that. A look
/// that is out for a second hangs.
const STANDS_FOR: Duration = Duration::from_secs(1);

/// What a look says: that it is there, that it is not, or why that can't be said.
type Look = Result<bool, String>;

/// Looks for the file.
pub struct HoldFile {
    path: PathBuf,
    clock: Arc<dyn Clock>,
    ask: SyncSender<()>,
    answers: Receiver<Look>,
    /// Since when a look has not come back.
    out_since: Option<AwakeMs>,
    /// What the last one said that came back.
    known: Option<Look>,
    /// Why it can't be looked for, as said in the log.
    said: Option<String>,
}

impl HoldFile {
    /// Of this path.
    ///
    /// # Errors
    /// Where no thread can be started for it.
    pub fn at(path: PathBuf, clock: Arc<dyn Clock>) -> io::Result<Self> {
        Self::with(path, clock, look)
    }

    fn with(
        path: PathBuf,
        clock: Arc<dyn Clock>,
        look: impl Fn(&Path) -> Look + Send + 'static,
    ) -> io::Result<Self> {
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
        Ok(Self { path, clock, ask, answers, out_since: None, known: None, said: None })
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
        if self.out_since.is_some() {
            match self.answers.try_recv() {
                // It is of then and not of now: known, and asked for again.
                Ok(late) => self.came(late),
                Err(TryRecvError::Empty) => return self.while_it_is_out(),
                Err(TryRecvError::Disconnected) => return nobody_looks(),
            }
        }
        if self.ask.try_send(()).is_err() {
            return nobody_looks();
        }
        self.out_since = Some(self.clock.now().awake);
        match self.answers.recv_timeout(WITHIN) {
            Ok(look) => {
                self.came(look.clone());
                look
            }
            Err(RecvTimeoutError::Timeout) => self.while_it_is_out(),
            Err(RecvTimeoutError::Disconnected) => nobody_looks(),
        }
    }

    fn came(&mut self, look: Look) {
        self.out_since = None;
        self.known = Some(look);
    }

    /// What was known before, for as long as that stands. At the start nothing is.
    fn while_it_is_out(&self) -> Look {
        let now = self.clock.now().awake;
        let out_for = self.out_since.map_or(Duration::ZERO, |since| now.since(since));
        match &self.known {
            Some(known) if out_for < STANDS_FOR => known.clone(),
            Some(_) | None => Err("the disk does not answer".to_owned()),
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

/// Only a panic ends the thread.
fn nobody_looks() -> Look {
    Err("nobody looks any more, which is a fault of defib".to_owned())
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
    use crate::{
        domain::moment::{BootId, BootMs, Moment, WallMs},
        tasks::Pending,
    };
    use std::{
        fs,
        os::unix::fs::symlink,
        sync::atomic::{AtomicU64, Ordering},
    };

    /// Goes on when it is told to.
    #[derive(Default)]
    struct Told(AtomicU64);

    impl Clock for Told {
        fn now(&self) -> Moment {
            let now = self.0.load(Ordering::SeqCst);
            Moment { awake: AwakeMs(now), boot: BootMs(now), wall: WallMs(0) }
        }

        fn boot_id(&self) -> BootId {
            BootId(Arc::from("boot"))
        }

        fn sleep_until(&self, _: AwakeMs) -> Pending<'_, ()> {
            Box::pin(std::future::pending())
        }
    }

    fn clock() -> Arc<Told> {
        Arc::default()
    }

    #[test]
    fn whatever_stands_under_the_name_of_the_hold_file_holds() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("hold");
        let mut file = HoldFile::at(path.clone(), clock()).unwrap();
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
        let mut file = HoldFile::at(run.join("hold"), clock()).unwrap();
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
        let mut file = HoldFile::with(PathBuf::from("hold"), clock(), look).unwrap();
        assert!(file.holds(), "it does not come back in time");
        assert!(file.holds() && file.out_since.is_some(), "and is not asked for again");
        assert_eq!(file.said.as_deref(), Some("the disk does not answer"));
        drop(mends);
        let answers = (0..10_000).any(|_| {
            std::thread::yield_now();
            !file.holds()
        });
        assert!(answers && file.said.is_none());
    }

    /// A look for which each answer is given by hand.
    fn by_hand() -> (HoldFile, Arc<Told>, SyncSender<bool>) {
        let (answers, answered) = sync_channel::<bool>(8);
        let look = move |_: &Path| Ok(answered.recv().unwrap_or(false));
        let clock = clock();
        let file = HoldFile::with(PathBuf::from("hold"), Arc::clone(&clock) as _, look).unwrap();
        (file, clock, answers)
    }

    #[test]
    fn a_look_that_is_late_is_no_hold_until_it_has_been_out_for_a_second() {
        let (mut file, clock, answers) = by_hand();
        answers.send(false).unwrap();
        assert!(!file.holds(), "it is looked for, and is not there");
        clock.0.store(5_000, Ordering::SeqCst);
        assert!(
            !file.holds() && file.out_since.is_some(),
            "what was known stands, however old it is"
        );
        clock.0.store(5_999, Ordering::SeqCst);
        assert!(!file.holds());
        assert!(file.said.is_none());
        clock.0.store(6_000, Ordering::SeqCst);
        assert!(file.holds(), "now it hangs");
        assert!(file.said.is_some());
    }

    #[test]
    fn a_hold_file_that_a_late_look_has_seen_holds_also_while_the_next_is_late() {
        let (mut file, _clock, answers) = by_hand();
        answers.send(false).unwrap();
        assert!(!file.holds());
        assert!(!file.holds(), "the second look is late");
        answers.send(true).unwrap();
        let holds = (0..10_000).any(|_| {
            std::thread::yield_now();
            file.holds()
        });
        assert!(holds && file.out_since.is_some() && file.said.is_none());
    }
}
