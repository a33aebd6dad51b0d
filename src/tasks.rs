//! The only spawner. Every task and thread has a name, and every task belongs to a group that `daemon` owns and can end: so
//! what is left at the end can be named, and nothing outlives its daemon by accident.

use std::{
    collections::BTreeMap,
    future::Future,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};
use tokio::{
    runtime::Handle,
    task::{AbortHandle, JoinHandle},
};

/// A group of tasks on one runtime. Cheap to clone; every clone is the same group.
#[derive(Clone, Debug)]
pub struct Tasks {
    runtime: Handle,
    live: Arc<Mutex<Live>>,
}

#[derive(Debug, Default)]
struct Live {
    last: u64,
    tasks: BTreeMap<u64, (&'static str, AbortHandle)>,
}

impl Tasks {
    /// A new group on this runtime.
    pub fn on(runtime: Handle) -> Self {
        Self { runtime, live: Arc::default() }
    }

    /// Starts a task. It ends with its runtime, with its group, or when the handle is aborted; dropping the handle
    /// detaches it.
    pub fn spawn<F>(&self, name: &'static str, work: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let mut live = self.live();
        live.last += 1;
        let number = live.last;
        let group = Arc::clone(&self.live);
        let handle = self.runtime.spawn(async move {
            let output = work.await;
            group.lock().unwrap_or_else(PoisonError::into_inner).tasks.remove(&number);
            output
        });
        // A task that was aborted could not take itself out: those are swept now and then.
        if number % 1024 == 0 {
            live.tasks.retain(|_, (_, task)| !task.is_finished());
        }
        live.tasks.insert(number, (name, handle.abort_handle()));
        handle
    }

    /// The names of the tasks that have not ended.
    pub fn names(&self) -> Vec<&'static str> {
        let live = self.live();
        live.tasks.values().filter(|(_, task)| !task.is_finished()).map(|(name, _)| *name).collect()
    }

    /// Ends every task of the group.
    pub fn abort_all(&self) {
        for (_, task) in std::mem::take(&mut self.live().tasks).into_values() {
            task.abort();
        }
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts an operating-system thread, for what blocks and cannot be made not to.
///
/// # Errors
/// Where the system cannot start another thread.
pub fn thread(
    name: &str,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<thread::JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}
