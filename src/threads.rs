//! Work that blocks and can't be called off, on a thread a key.
//!
//! A resolver or a disk that hangs keeps whoever asks it, past every deadline and for good: such a thread can be left behind,
//! and never ended. So a key has one thread at most: whoever asks for it meanwhile waits for the same answer. All keys
//! together have a bounded number; past it one waits for a place, within its own deadline. Whoever waits no longer leaves
//! the thread its place until the work comes back. Threads of their own and not the runtime's pool for what blocks, because
//! others need that pool, and a runtime waits for it when it stops.
//!
//! The system may refuse a thread, and the standard library then drops the work right where it was to be started. What is
//! dropped with it takes the key off the list: so no thread is started with the list locked, or its owner would wait for
//! itself.

use crate::tasks;
use std::{
    collections::BTreeMap,
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, watch};

/// What a thread is to do.
type Work = Box<dyn FnOnce() + Send>;
/// Starts a thread of this name.
type Start = fn(&'static str, Work) -> io::Result<()>;
/// `None` until there is one.
type Answer<V> = Option<Result<V, Unanswered>>;

/// One of the bounded number. Never refused: the semaphore is never closed.
type Place = Result<OwnedSemaphorePermit, AcquireError>;

/// Threads, one a key.
pub(crate) struct Threads<K, V> {
    name: &'static str,
    start: Start,
    places: Arc<Semaphore>,
    under_way: Arc<UnderWay<K, V>>,
}

/// Why work gave no answer.
#[derive(Clone, Debug)]
pub(crate) enum Unanswered {
    /// The system could not start a thread.
    NoThread(Arc<io::Error>),
    /// The thread ended without an answer, which only a panic does.
    Panicked,
}

/// Work that is under way, for somebody who waits for it.
pub(crate) struct Joined<V> {
    answer: watch::Receiver<Answer<V>>,
    given_up: Arc<AtomicBool>,
}

struct UnderWay<K, V>(Mutex<BTreeMap<K, Listed<V>>>);

struct Listed<V> {
    answer: watch::Receiver<Answer<V>>,
    /// Somebody has waited in vain.
    given_up: Arc<AtomicBool>,
}

impl<K, V> Threads<K, V>
where
    K: Clone + Ord + Send + 'static,
    V: Clone + Send + Sync + 'static,
{
    /// At most `most` at a time, all of this name.
    pub(crate) fn new(name: &'static str, most: usize) -> Self {
        Self::started_by(|name, work| tasks::thread(name, work).map(drop), name, most)
    }

    /// With a start of the caller's, which may refuse.
    pub(crate) fn started_by(start: Start, name: &'static str, most: usize) -> Self {
        let under_way = Arc::new(UnderWay(Mutex::default()));
        Self { name, start, places: Arc::new(Semaphore::new(most)), under_way }
    }

    /// Joins the work for this key where it is under way, else begins it as soon as there is a place. The caller bounds the
    /// time.
    pub(crate) async fn join(
        &self,
        key: &K,
        work: impl FnOnce() -> V + Send + 'static,
    ) -> Joined<V> {
        // Known before a place is waited for: what hangs must not take a second one.
        let known = self.under_way.keys().get(key).map(Listed::join);
        if let Some(known) = known {
            return known;
        }
        let place: Place = Arc::clone(&self.places).acquire_owned().await;
        let (tell, answer) = watch::channel(None);
        let joined = {
            let mut keys = self.under_way.keys();
            // Somebody may have begun while this one waited for a place.
            if let Some(known) = keys.get(key) {
                return known.join();
            }
            let listed = Listed { answer, given_up: Arc::default() };
            let joined = listed.join();
            keys.insert(key.clone(), listed);
            joined
        };
        self.begin(
            Entry { under_way: Arc::clone(&self.under_way), key: key.clone(), _place: place },
            tell,
            work,
        );
        joined
    }

    /// The list is not locked here: see the module.
    fn begin(
        &self,
        entry: Entry<K, V>,
        tell: watch::Sender<Answer<V>>,
        work: impl FnOnce() -> V + Send + 'static,
    ) {
        let of_thread = tell.clone();
        let started = (self.start)(
            self.name,
            Box::new(move || {
                let value = work();
                // Off the list before it is told: whoever asks after the answer gets work of its own.
                drop(entry);
                of_thread.send_replace(Some(Ok(value)));
            }),
        );
        if let Err(error) = started {
            tell.send_replace(Some(Err(Unanswered::NoThread(Arc::new(error)))));
        }
    }

    /// Places that are free.
    pub(crate) fn free(&self) -> usize {
        self.places.available_permits()
    }
}

impl<V: Clone> Joined<V> {
    /// Somebody has waited for it in vain before.
    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Waits for it. Whoever is dropped before there is an answer has given it up.
    pub(crate) async fn answer(mut self) -> Result<V, Unanswered> {
        let told = self.answer.wait_for(Option::is_some).await.ok().and_then(|told| told.clone());
        told.unwrap_or(Err(Unanswered::Panicked))
    }
}

impl<V> Drop for Joined<V> {
    fn drop(&mut self) {
        if self.answer.borrow().is_none() {
            self.given_up.store(true, Ordering::Relaxed);
        }
    }
}

impl<K, V> UnderWay<K, V> {
    /// Nothing panics while it is locked; a poisoned one still holds sound data.
    fn keys(&self) -> MutexGuard<'_, BTreeMap<K, Listed<V>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<V> Listed<V> {
    fn join(&self) -> Joined<V> {
        Joined { answer: self.answer.clone(), given_up: Arc::clone(&self.given_up) }
    }
}

/// Takes a key off the list and gives its place back when its thread ends, in whatever way, or was never started.
struct Entry<K: Ord, V> {
    under_way: Arc<UnderWay<K, V>>,
    key: K,
    /// Given back after the key is off the list: whoever gets the place must not find the key there.
    _place: Place,
}

impl<K: Ord, V> Drop for Entry<K, V> {
    fn drop(&mut self) {
        self.under_way.keys().remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::soon::soon;
    use std::{
        sync::{
            atomic::AtomicUsize,
            mpsc::{Receiver, Sender, channel},
        },
        time::Duration,
    };
    use tokio::time::timeout;

    const SOON: Duration = Duration::from_secs(5);
    const PLACES: usize = 4;

    fn threads() -> Threads<&'static str, u32> {
        Threads::new("work", PLACES)
    }

    /// As the standard library refuses: what was to be done is dropped right here.
    fn refused(_: &'static str, work: Work) -> io::Result<()> {
        drop(work);
        Err(io::ErrorKind::WouldBlock.into())
    }

    /// Work that comes back when the sender is dropped.
    fn hangs() -> (Sender<()>, impl FnOnce() -> u32 + Send + 'static) {
        let (release, held): (Sender<()>, Receiver<()>) = channel();
        (release, move || {
            held.recv().ok();
            1
        })
    }

    async fn all_are_free(threads: &Threads<&'static str, u32>) {
        soon(|| threads.free() == PLACES).await;
        assert!(threads.under_way.keys().is_empty());
    }

    #[test]
    fn a_thread_that_is_refused_is_told_and_keeps_neither_its_key_nor_its_place() {
        // Beside, so that a deadlock fails the test and does not hang it.
        let (came, coming) = channel();
        crate::tasks::thread("beside", move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let threads = Threads::<_, u32>::started_by(refused, "work", PLACES);
                for _ in 0..3 {
                    let answer = threads.join(&"a", || 1).await.answer().await;
                    assert!(matches!(answer, Err(Unanswered::NoThread(_))), "{answer:?}");
                    assert_eq!(threads.free(), PLACES);
                    assert!(threads.under_way.keys().is_empty());
                }
                came.send(()).unwrap();
            });
        })
        .unwrap();
        coming.recv_timeout(SOON).expect("it comes to an end");
    }

    #[tokio::test]
    async fn whoever_asks_meanwhile_waits_for_the_same_answer() {
        let (threads, (release, work)) = (threads(), hangs());
        let one = threads.join(&"a", work).await;
        let other = threads.join(&"a", || panic!("it is under way")).await;
        assert_eq!(threads.free(), PLACES - 1);
        drop(release);
        let both = timeout(SOON, async { (one.answer().await, other.answer().await) }).await;
        assert!(matches!(both, Ok((Ok(1), Ok(1)))), "{both:?}");
        let anew = threads.join(&"a", || 2).await;
        assert!(matches!(anew.answer().await, Ok(2)), "after the answer there is another");
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_waited_for_in_vain_is_given_up_until_it_has_come_back() {
        let (threads, (release, work)) = (threads(), hangs());
        let first = threads.join(&"a", work).await;
        assert!(!first.is_given_up());
        assert!(timeout(SOON, first.answer()).await.is_err());
        assert!(threads.join(&"a", || 2).await.is_given_up());
        assert!(!threads.join(&"b", || 2).await.is_given_up(), "that one alone");
        drop(release);
        all_are_free(&threads).await;
        assert!(!threads.join(&"a", || 2).await.is_given_up());
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_hang_are_bounded_in_number() {
        let threads = threads();
        let mut held = Vec::new();
        for key in ["a", "b", "c", "d"] {
            let (release, work) = hangs();
            held.push(release);
            assert!(timeout(SOON, threads.join(&key, work).await.answer()).await.is_err());
        }
        let begun = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&begun);
        let work = move || {
            count.fetch_add(1, Ordering::SeqCst);
            5
        };
        assert!(timeout(SOON, threads.join(&"e", work.clone())).await.is_err(), "no place");
        assert_eq!((threads.under_way.keys().len(), begun.load(Ordering::SeqCst)), (PLACES, 0));
        held.clear();
        all_are_free(&threads).await;
        assert!(matches!(threads.join(&"e", work).await.answer().await, Ok(5)));
    }

    #[tokio::test]
    async fn work_that_panics_gives_its_key_and_its_place_back() {
        let threads = threads();
        let answer = timeout(SOON, threads.join(&"a", || panic!("broken")).await.answer()).await;
        assert!(matches!(answer, Ok(Err(Unanswered::Panicked))), "{answer:?}");
        all_are_free(&threads).await;
    }
}
