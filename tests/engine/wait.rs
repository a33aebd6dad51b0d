//! Waiting for what shall happen, and watching that something does not. No test sleeps and hopes: it waits for a
//! predicate until a deadline, and what never came is named.

use std::{
    fmt::Debug,
    thread::sleep,
    time::{Duration, Instant},
};

/// How fine a predicate is looked at. Below every time that a test tells apart, and cheap enough to ask an engine.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Looks until `look` finds something, at most for `within`.
///
/// # Panics
/// Where it was not found in time; says what was waited for.
pub(crate) fn until<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < within, "waited {within:?} in vain for: {what}");
        sleep(LOOK_EVERY);
    }
}

/// Watches that `look` shows `expected` now and for all of `during`.
///
/// # Panics
/// At the first look that shows something else.
pub(crate) fn stays<T: PartialEq + Debug>(
    what: &str,
    expected: T,
    during: Duration,
    mut look: impl FnMut() -> T,
) {
    let begun = Instant::now();
    while begun.elapsed() < during {
        assert_eq!(look(), expected, "{what}, after {:?} of {during:?}", begun.elapsed());
        sleep(LOOK_EVERY);
    }
}

/// Seconds, short to write in a scenario.
pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Milliseconds, short to write in a scenario.
pub(crate) const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
