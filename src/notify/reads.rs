//! Reads files of secrets, each on a thread of its own.
//!
//! A disk that hangs (a network file system, a dying drive) keeps whoever reads from it, for good and past every deadline:
//! a reader can be left behind, and never called off. On the runtime's shared threads a few such files, asked for each
//! minute, would within hours leave no thread for other sinks and for evidence. So a file has at most one thread: whoever
//! asks while it is being read waits for the same answer, and once somebody has waited in vain nobody asks again until
//! that read has come back. All files together have [`THREADS`].

use super::secret::Unreadable;
use crate::tasks;
use secrecy::SecretString;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// Files that are read at a time. Past it a read waits for its turn, within its caller's deadline. No host has so many sinks
/// whose disks all hang, and as many threads that stand still cost a host nothing.
const THREADS: usize = 64;

type Secret = Result<SecretString, Unreadable>;
type ReadFile = dyn Fn(&Path) -> Secret + Send + Sync;

/// Reads files, one at a time of each.
pub(super) struct Reads {
    read: Arc<ReadFile>,
    places: Arc<Semaphore>,
    under_way: Arc<UnderWay>,
}

#[derive(Default)]
struct UnderWay(Mutex<BTreeMap<PathBuf, Read>>);

impl UnderWay {
    fn files(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Read>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A read that has not come back.
#[derive(Clone)]
struct Read {
    answer: watch::Receiver<Option<Secret>>,
    /// Somebody has waited for it in vain.
    given_up: Arc<AtomicBool>,
}

impl Reads {
    /// Reads with this, which may block for good.
    pub(super) fn with(read: Arc<ReadFile>) -> Self {
        let places = Arc::new(Semaphore::new(THREADS));
        Self { read, places, under_way: Arc::default() }
    }

    /// What the file holds. The caller bounds the time.
    pub(super) async fn file(&self, path: &Path) -> Secret {
        // Known before a place is waited for: what hangs must not take a second one.
        let known = self.under_way.files().get(path).cloned();
        let read = match known {
            Some(read) => read,
            None => {
                // Never closed.
                let place = Arc::clone(&self.places)
                    .acquire_owned()
                    .await
                    .map_err(|_| Unreadable::NotBack)?;
                self.begin(path, place)?
            }
        };
        read.wait().await
    }

    fn begin(&self, path: &Path, place: OwnedSemaphorePermit) -> Result<Read, Unreadable> {
        let mut files = self.under_way.files();
        // Somebody may have begun while we waited for the place.
        if let Some(read) = files.get(path) {
            return Ok(read.clone());
        }
        let (came, answer) = watch::channel(None);
        let begun = Read { answer, given_up: Arc::default() };
        let (read, path) = (Arc::clone(&self.read), path.to_owned());
        let listed = Listed { under_way: Arc::clone(&self.under_way), path: path.clone() };
        tasks::thread("secret", move || {
            let secret = read(&listed.path);
            // Off the list before it is told: whoever asks from now on reads anew.
            drop(listed);
            drop(place);
            came.send_replace(Some(secret));
        })
        .map_err(|error| Unreadable::Io(Arc::new(error)))?;
        files.insert(path, begun.clone());
        Ok(begun)
    }
}

/// Takes a file off the list when its thread ends, in whatever way.
struct Listed {
    under_way: Arc<UnderWay>,
    path: PathBuf,
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.under_way.files().remove(&self.path);
    }
}

impl Read {
    async fn wait(mut self) -> Secret {
        if self.given_up.load(Ordering::Relaxed) {
            return Err(Unreadable::NotBack);
        }
        let mut waits = Waits { given_up: Arc::clone(&self.given_up), is_over: false };
        let secret = self.answer.wait_for(Option::is_some).await.map(|secret| secret.clone());
        waits.is_over = true;
        // Without an answer its thread has ended, which only a panic does.
        secret.ok().flatten().unwrap_or(Err(Unreadable::NotBack))
    }
}

/// Whoever waits is dropped at its deadline; that is when a read is given up.
struct Waits {
    given_up: Arc<AtomicBool>,
    is_over: bool,
}

impl Drop for Waits {
    fn drop(&mut self) {
        if !self.is_over {
            self.given_up.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;
    use std::{
        sync::{atomic::AtomicUsize, mpsc},
        time::Duration,
    };
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_secs(5);

    /// Files called `hung…` come back when the sender is dropped; the count is of reads that began.
    fn reads() -> (Reads, mpsc::Sender<()>, Arc<AtomicUsize>) {
        let (release, held) = mpsc::channel::<()>();
        let (held, begun) = (Mutex::new(Some(held)), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&begun);
        let reads = Reads::with(Arc::new(move |path| {
            count.fetch_add(1, Ordering::SeqCst);
            if path.starts_with("/hung")
                && let Some(held) = held.lock().unwrap().take()
            {
                held.recv().ok();
            }
            Ok(SecretString::from("s3cret"))
        }));
        (reads, release, begun)
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_that_hangs_is_not_asked_for_again_until_it_has_come_back() {
        let (reads, release, begun) = reads();
        let hung = Path::new("/hung/a");
        assert!(timeout(SOON, reads.file(hung)).await.is_err(), "nothing comes");
        for _ in 0..600 {
            let again = timeout(SOON, reads.file(hung)).await.expect("answered at once");
            assert!(matches!(again, Err(Unreadable::NotBack)), "{again:?}");
        }
        assert!(reads.file(Path::new("/well")).await.is_ok(), "other files are read");

        let mut answer = reads.under_way.files()[hung].answer.clone();
        drop(release);
        answer.wait_for(Option::is_some).await.unwrap();
        assert_eq!(reads.file(hung).await.unwrap().expose_secret(), "s3cret");
        assert_eq!(begun.load(Ordering::SeqCst), 3, "each once, and then once more");
    }

    #[tokio::test]
    async fn whoever_asks_meanwhile_waits_for_the_same_answer() {
        let (reads, release, begun) = reads();
        let hung = Path::new("/hung/a");
        let together = async {
            let release = async {
                let until_begun = async {
                    while begun.load(Ordering::SeqCst) == 0 {
                        tokio::task::yield_now().await;
                    }
                };
                until_begun.await;
                drop(release);
            };
            tokio::join!(reads.file(hung), reads.file(hung), release)
        };
        let (one, other, ()) = timeout(SOON, together).await.unwrap();
        assert!(one.is_ok() && other.is_ok());
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn files_that_hang_are_bounded_in_number() {
        let (release, held) = mpsc::channel::<()>();
        let held = Mutex::new(held);
        let reads = Reads::with(Arc::new(move |_| {
            held.lock().unwrap().recv().ok();
            Err(Unreadable::Empty)
        }));
        for n in 0..THREADS + 20 {
            let path = format!("/hung/{n}");
            assert!(timeout(SOON, reads.file(Path::new(&path))).await.is_err());
        }
        assert_eq!(reads.under_way.files().len(), THREADS);
        drop(release);
    }
}
