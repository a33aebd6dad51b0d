//! The referee's own tests: a referee that does not see is worse than none. For each rule one account in which it holds and
//! one in which it is broken, written by hand.
#![allow(
    unreachable_pub,
    dead_code,
    clippy::print_stdout,
    reason = "shared with the simulation, whose parts see each other's items"
)]

#[path = "../simulate/account.rs"]
mod account;
#[path = "../simulate/referee/mod.rs"]
mod referee;

mod absence;
mod again;
mod book;
mod causes;
mod ending;
mod operator;
mod safety;
mod sinks;
mod steps;
mod telling;
