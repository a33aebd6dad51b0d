//! The whole daemon in a simulated world, from a seed, judged by a referee.
//!
//! `cargo test --test simulate` runs a few hundred seeds; `-- --seeds 20000 --jobs 2` runs as many as wanted; `-- --seed 7`
//! runs one and prints its timeline. A seed that fails prints its timeline too, and what did not hold.
#![allow(
    unreachable_pub,
    missing_docs,
    clippy::print_stdout,
    reason = "a test of its own: it prints, and its parts see each other's items"
)]

mod account;
mod arguments;
mod ports;
mod random;
mod reach;
mod recorder;
#[path = "referee/mod.rs"]
mod referee;
mod run;
mod scenario;
mod stage;
mod time;
mod truth;

use account::Account;
use arguments::Arguments;
use reach::Reach;
use referee::Violation;
use scenario::Scenario;
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Each so-manyth seed is run twice.
const TWICE_EVERY: u64 = 10;

/// So many failing seeds are told in full; the others by number.
const TOLD_IN_FULL: usize = 1;

/// What came of one seed.
struct Outcome {
    account: Option<Account>,
    violations: Vec<Violation>,
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            println!("{problem}");
            return ExitCode::from(2);
        }
    };
    match arguments.seed {
        Some(seed) => one(seed),
        None => many(&arguments),
    }
}

fn one(seed: u64) -> ExitCode {
    let outcome = judge(seed, true);
    tell(seed, &outcome);
    if outcome.violations.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn many(arguments: &Arguments) -> ExitCode {
    let next = Arc::new(AtomicU64::new(arguments.from));
    let end = arguments.from + arguments.seeds;
    let reach = Arc::new(Mutex::new(Reach::default()));
    let failed: Arc<Mutex<Vec<(u64, Outcome)>>> = Arc::default();
    let stop_at = arguments.stop_at;
    let mut workers = Vec::new();
    for job in 0..arguments.jobs {
        let (next, reach, failed) = (Arc::clone(&next), Arc::clone(&reach), Arc::clone(&failed));
        let worker = defib::tasks::thread(&format!("seeds {job}"), move || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= end {
                    break;
                }
                let outcome = judge(seed, seed % TWICE_EVERY == 0);
                if let Some(account) = &outcome.account {
                    reach.lock().unwrap_or_else(PoisonError::into_inner).count(account);
                }
                if !outcome.violations.is_empty() {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.push((seed, outcome));
                    if failed.len() >= stop_at {
                        next.store(end, Ordering::Relaxed);
                    }
                }
            }
        });
        match worker {
            Ok(worker) => workers.push(worker),
            Err(error) => println!("no thread: {error}"),
        }
    }
    for worker in workers {
        if worker.join().is_err() {
            println!("a worker panicked outside a run");
            return ExitCode::FAILURE;
        }
    }
    report(arguments, &reach, &failed)
}

fn report(
    arguments: &Arguments,
    reach: &Mutex<Reach>,
    failed: &Mutex<Vec<(u64, Outcome)>>,
) -> ExitCode {
    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
    failed.sort_by_key(|failure| failure.0);
    if !arguments.quiet {
        println!("{}", reach.lock().unwrap_or_else(PoisonError::into_inner));
        for (seed, outcome) in failed.iter().take(TOLD_IN_FULL) {
            tell(*seed, outcome);
        }
    }
    for (seed, outcome) in failed.iter() {
        for violation in outcome.violations.iter().take(4) {
            println!("seed {seed}: {violation}");
        }
    }
    let bad = u64::try_from(failed.len()).unwrap_or(u64::MAX);
    let word = if bad == 0 { "ok" } else { "FAILED" };
    let passed = arguments.seeds.saturating_sub(bad);
    println!("{passed} passed, {bad} failed");
    println!("test result: {word}. {passed} passed; {bad} failed; 0 ignored");
    if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs and judges a seed.
fn judge(seed: u64, twice: bool) -> Outcome {
    let account = match transcribed(seed) {
        Ok(account) => account,
        Err(violation) => return Outcome { account: None, violations: vec![violation] },
    };
    let mut violations = referee::judge(&account);
    if twice {
        match transcribed(seed) {
            Ok(again) => violations.extend(difference(&account, &again)),
            Err(violation) => violations.push(violation),
        }
    }
    Outcome { account: Some(account), violations }
}

fn transcribed(seed: u64) -> Result<Account, Violation> {
    let broken = |what| Violation { rule: "H1", at: 0, what };
    let scenario = Scenario::of(seed);
    match catch_unwind(AssertUnwindSafe(|| run::run(&scenario))) {
        Ok(Ok(account)) => Ok(account),
        Ok(Err(problem)) => Err(broken(problem)),
        Err(_) => Err(broken("something panicked; see above".to_owned())),
    }
}

/// The same seed must give the same transcript, byte for byte.
fn difference(first: &Account, second: &Account) -> Option<Violation> {
    let (first_text, second_text) = (first.transcript(), second.transcript());
    if first_text == second_text {
        return None;
    }
    let pair = first_text.lines().zip(second_text.lines()).find(|pair| pair.0 != pair.1);
    let what = pair.map_or_else(
        || "one run is longer than the other".to_owned(),
        |(one, other)| format!("two runs of it differ: {one} | {other}"),
    );
    Some(Violation { rule: "H2", at: 0, what })
}

fn tell(seed: u64, outcome: &Outcome) {
    println!("seed {seed}");
    if let Some(account) = &outcome.account {
        for service in &account.rules.services {
            println!("{service:?}");
        }
        let rules = &account.rules;
        println!(
            "max_concurrent {} host_budget {:?} brake {:?} own_start {} host_boot {} hands_off {}",
            rules.max_concurrent,
            rules.host_budget,
            rules.brake,
            rules.own_start,
            rules.host_boot,
            rules.hands_off
        );
        print!("{}", account.transcript());
    }
    for violation in &outcome.violations {
        println!("seed {seed}: {violation}");
    }
}
