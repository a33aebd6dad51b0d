//! The docs say what the code does.
//!
//! What can be asked of the code is generated (`DEFIB_WRITE_DOCS=1 cargo test --test docs` writes it anew): the domain is
//! compiled in here, as for `purity`, so that its machines can be stepped cell by cell. What people wrote is checked against
//! the source as text: variants, holds, files, functions, tests, numbers, rules, dependencies, commands, links.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    reason = "all of this is a test; clippy only knows functions that are marked as one"
)]

#[path = "../../src/domain/mod.rs"]
#[allow(dead_code, unreachable_pub, unused_imports, reason = "only some of it is asked here")]
mod domain;

mod after_a_rung;
mod attempts;
mod commands;
mod dependencies;
mod evidence;
mod generated;
mod lifecycles;
mod links;
mod markdown;
mod numbers;
mod places;
mod rules;
mod source;
mod stories;
mod variants;
mod verdicts;
