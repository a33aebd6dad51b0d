//! Why it fails, read from outside: no exec, no attach, nothing that a hung process could hang.
//!
//! `port` says what is asked. What is read from `/proc` grows here; for now it is what the first thread is doing and whether
//! connections wait to be accepted.

pub mod port;
pub mod proc;
