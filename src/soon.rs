//! What threads do comes in real time, which a paused runtime's clock runs ahead of.

use std::{thread, time::Duration};

/// Waits until that is so, and fails where it is not within 20 s of real time.
pub(crate) async fn soon(is_so: impl Fn() -> bool) {
    for _ in 0..2000 {
        if is_so() {
            return;
        }
        // Whoever it is about may be a task of this runtime too.
        tokio::task::yield_now().await;
        thread::sleep(Duration::from_millis(10));
    }
    panic!("it does not come to that within 20 s");
}
