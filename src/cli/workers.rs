//! The runtime of everything that waits for something outside, with an end that is bounded however a command comes to it.
//!
//! A runtime that is dropped waits for what its pool has begun until that comes back, and a look at a directory that hangs
//! never does. A daemon that waits there is worse than one that is gone: it watches nothing, and systemd, which starts it
//! again once it has ended, sees it run. So no way out, not a `?` and not a panic of the loop, drops the runtime by itself.

use std::{io, time::Duration};
use tokio::runtime::{Builder, Handle, Runtime};

/// What may not be left half done was waited for before; what is cut off here are looks, probes, and acts that the engine has
/// not answered in their time.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Ends what is left within [`END_WITHIN`] when it is dropped. Dropping blocks for so long, so it is for the thread of the
/// command alone.
pub(super) struct Workers {
    handle: Handle,
    /// There until the drop, which takes it.
    runtime: Option<Runtime>,
}

impl Workers {
    /// Starts them.
    ///
    /// # Errors
    /// Where the system refuses threads.
    pub(super) fn start() -> io::Result<Self> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("worker")
            .enable_all()
            .build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// By which work is given to them. Nothing is done by it once they have ended.
    pub(super) fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(END_WITHIN);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks;
    use std::{
        panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
        sync::mpsc::sync_channel,
    };

    /// Begins what comes back only when the test is over, and then goes this way out. Whether that came to an end.
    fn ends(way_out: impl FnOnce(Workers) + Send + 'static) -> bool {
        let (disk_is_mended, hangs) = sync_channel::<()>(0);
        let (begun, begins) = sync_channel(1);
        let (ended, end) = sync_channel(1);
        // Beside, so that an end that hangs fails the test and does not hang it.
        tasks::thread("command", move || {
            let workers = Workers::start().unwrap();
            let read = tasks::blocking(move || {
                begun.send(()).unwrap();
                hangs.recv().ok();
            });
            #[expect(clippy::disallowed_methods, reason = "what it stands for belongs to nobody")]
            drop(workers.handle().spawn(read));
            begins.recv().unwrap();
            drop(catch_unwind(AssertUnwindSafe(|| way_out(workers))));
            ended.send(()).unwrap();
        })
        .unwrap();
        let ends = end.recv_timeout(Duration::from_secs(20)).is_ok();
        drop(disk_is_mended);
        ends
    }

    #[test]
    fn what_hangs_on_the_pool_keeps_nobody_from_ending() {
        assert!(ends(drop), "by its end, or by an error");
        assert!(ends(|_workers| resume_unwind(Box::new("the loop broke down"))), "by a panic");
    }
}
