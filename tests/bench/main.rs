//! What defib costs and how fast it is, on a real engine, beside the least that could do the same in the same run. Prints
//! figures and asserts nothing: what they were and what they mean stands in `docs/PERFORMANCE.md`.
//!
//! Run by `tests/run.sh bench [PART…]`, which finds or starts the engine. Without one (plain `cargo test`) it says so and
//! ends. Parts: `reaction`, `behind`, `at-once`, `idle`; all of them where none is named. `--rounds N` and `--crowd N` in place
//! of what each part takes.
//!
//! Nothing is taken from defib itself: times are those of the engine's own events, requests are counted by a proxy on the
//! socket, CPU and memory are the kernel's.

#![allow(
    clippy::disallowed_methods,
    reason = "benchmarks watch real time pass, beside processes that know nothing of a clock of ours"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a stage that breaks shall end the run at that place, and figures are for standard output"
)]

// Parts of the stage that scenarios have; each is used here for a part of what it can do.
#[allow(dead_code, reason = "scenarios use the rest")]
#[path = "../engine/engine.rs"]
mod engine;
#[allow(dead_code, reason = "scenarios use the rest")]
#[path = "../engine/host.rs"]
mod host;
#[path = "../engine/http.rs"]
mod http;
#[path = "../shared/left_out.rs"]
mod left_out;
#[allow(dead_code, reason = "scenarios use the rest")]
#[path = "../engine/proxy.rs"]
mod proxy;
#[allow(dead_code, reason = "scenarios use the rest")]
#[path = "../engine/wait.rs"]
mod wait;

mod at_once;
mod behind;
mod config;
mod container;
mod daemon;
mod figures;
mod floor;
mod heard;
mod idle;
mod reaction;
mod stage;

use stage::Stage;

/// Measures something, and prints it.
type Part = fn(&Stage, &Size);

/// The parts, in the order in which they are run.
const PARTS: [(&str, Part); 4] = [
    ("reaction", reaction::measure),
    ("behind", behind::measure),
    ("at-once", at_once::measure),
    ("idle", idle::measure),
];

/// How much is measured.
pub(crate) struct Size {
    /// Other containers on the host.
    pub(crate) crowd: usize,
    /// Rounds of each part, where said.
    pub(crate) rounds: Option<usize>,
}

fn main() {
    let Some(stage) = Stage::set() else {
        println!("benchmarks are run by `tests/run.sh bench`; nothing is measured here");
        return;
    };
    let (size, parts) = read_arguments(std::env::args().skip(1));
    if cfg!(debug_assertions) {
        println!(
            "built for debugging: these figures say little; `tests/run.sh bench` builds it as released"
        );
    }
    let mut measured = 0;
    for (name, measure) in PARTS {
        if parts.is_empty() || parts.iter().any(|part| part == name) {
            measure(&stage, &size);
            measured += 1;
        }
    }
    drop(stage);
    // In the form that `tests/run.sh` counts.
    println!("\ntest result: ok. {measured} passed; 0 failed; measured, nothing is asserted");
}

fn read_arguments(mut arguments: impl Iterator<Item = String>) -> (Size, Vec<String>) {
    let (mut size, mut parts) = (Size { crowd: 200, rounds: None }, Vec::new());
    while let Some(argument) = arguments.next() {
        let mut number = || {
            let value = arguments.next().unwrap_or_default();
            value.parse().unwrap_or_else(|_| panic!("{argument} needs a number, not {value:?}"))
        };
        match argument.as_str() {
            "--rounds" => size.rounds = Some(number()),
            "--crowd" => size.crowd = number(),
            part if PARTS.iter().any(|(name, _)| *name == part) => parts.push(argument),
            other => panic!("no part {other:?}; there are {:?}", PARTS.map(|(name, _)| name)),
        }
    }
    (size, parts)
}
