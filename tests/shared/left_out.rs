//! Says what a test did not do. Past libtest's capture, which would swallow it in a test that passes: `tests/run.sh` counts
//! these lines, so that what left itself out does not count as passed.
//!
//! Each target that has such tests takes this file in by its path.

use std::io::Write;

/// Says that a test did not run, and why. Once a test: each line takes one from those that passed.
pub(crate) fn left_out(test: &str, why: &str) {
    say(&format!("left out: {test}: {why}"));
}

/// Says a line past libtest's capture.
pub(crate) fn say(line: &str) {
    // One write, so that lines of parallel tests do not mix.
    drop(std::io::stderr().write_all(format!("{line}\n").as_bytes()));
}
