//! A scheduler that breaks down. What it does while it runs is shown in `tests/probe`.

use super::*;
use crate::{
    clock::paused::PausedClock,
    domain::moment::{AwakeMs, BootId},
    tasks::Pending,
};
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::runtime::Handle;

struct NothingToProbe;

impl Prober for NothingToProbe {
    fn probe(&self, watch: Arc<Watch>) -> Pending<'_, Probed> {
        panic!("there is nothing to probe: {watch:?}")
    }
}

/// Can be read so many times, and then breaks down.
struct Wears(AtomicU32, PausedClock);

impl Clock for Wears {
    fn now(&self) -> Moment {
        assert_ne!(self.0.fetch_sub(1, Ordering::Relaxed), 0, "worn out");
        self.1.now()
    }

    fn boot_id(&self) -> BootId {
        self.1.boot_id()
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        self.1.sleep_until(until)
    }
}

#[tokio::test(start_paused = true)]
async fn that_the_scheduler_broke_down_is_to_be_seen() {
    let (handle, mut samples) = start(Setup {
        clock: Arc::new(Wears(AtomicU32::new(2), PausedClock::at(0))),
        tasks: Tasks::on(Handle::current()),
        prober: Arc::new(NothingToProbe),
        pool: 1,
        seed: 7,
    });
    tokio::task::yield_now().await;
    assert!(!handle.stats().ended);
    // One turn more.
    handle.host_resumed(Duration::from_secs(1));
    assert_eq!(samples.recv().await, None);
    assert!(handle.stats().ended);
}
