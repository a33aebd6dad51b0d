//! Reads files of secrets, each on a thread of its own.
//!
//! A disk that hangs (a network file system, a dying drive) keeps whoever reads from it, for good and past every deadline:
//! a reader can be left behind, and never called off. On the runtime's shared threads a few such files, asked for each
//! minute, would within hours leave no thread for other sinks and for evidence. So a file has at most one thread
//! (`threads`): whoever asks while it is being read waits for the same answer, and once somebody has waited in vain nobody
//! asks again until that read has come back. All files together have [`THREADS`].

use super::secret::Unreadable;
use crate::threads::{Threads, Unanswered};
use secrecy::SecretString;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Files that are read at a time. Past it a read waits for its turn, within its caller's deadline. No host has so many sinks
/// whose disks all hang, and as many threads that stand still cost a host nothing.
const THREADS: usize = 64;

type Secret = Result<SecretString, Unreadable>;
type ReadFile = dyn Fn(&Path) -> Secret + Send + Sync;

/// Reads files, one at a time of each.
pub(super) struct Reads {
    read: Arc<ReadFile>,
    threads: Threads<PathBuf, Secret>,
}

impl Reads {
    /// Reads with this, which may block for good.
    pub(super) fn with(read: Arc<ReadFile>) -> Self {
        Self { read, threads: Threads::new("secret", THREADS) }
    }

    /// What the file holds. The caller bounds the time.
    pub(super) async fn file(&self, path: &Path) -> Secret {
        let (read, path) = (Arc::clone(&self.read), path.to_owned());
        let asked = path.clone();
        let joined = self.threads.join(&path, move || read(&asked)).await;
        if joined.is_given_up() {
            return Err(Unreadable::NotBack);
        }
        joined.answer().await.unwrap_or_else(|why| match why {
            Unanswered::NoThread(error) => Err(Unreadable::Io(error)),
            Unanswered::Panicked => Err(Unreadable::NotBack),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soon::soon;
    use secrecy::ExposeSecret;
    use std::{
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
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

        drop(release);
        soon(|| reads.threads.free() == THREADS).await;
        assert_eq!(reads.file(hung).await.unwrap().expose_secret(), "s3cret");
        assert_eq!(begun.load(Ordering::SeqCst), 3, "each once, and then once more");
    }

    #[tokio::test]
    async fn a_file_for_which_no_thread_can_be_had_is_no_file_that_hangs() {
        let (mut reads, _release, begun) = reads();
        reads.threads = Threads::started_by(
            |_, _| Err(std::io::ErrorKind::WouldBlock.into()),
            "secret",
            THREADS,
        );
        for _ in 0..2 {
            let refused = reads.file(Path::new("/well")).await;
            assert!(matches!(refused, Err(Unreadable::Io(_))), "{refused:?}");
        }
        assert_eq!(begun.load(Ordering::SeqCst), 0);
    }
}
