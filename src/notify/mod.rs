//! Telling people. A sink makes one attempt at one delivery; everything else (when, whether, how often) is the domain's.
//!
//! A message is rendered in two pure steps: [`wording`] says it in plain words, the same for every sink, then the sink's
//! own file gives it the sink's form and limits. [`answer`] turns what came back into a delivery's outcome.

mod address;
pub mod answer;
mod authorities;
pub mod config;
pub mod dns;
pub mod http;
pub mod plain;
pub mod port;
pub mod readiness;
mod reads;
pub mod redaction;
pub mod salt;
pub mod secret;
pub mod signature;
pub mod slack;
pub mod terminal;
pub mod text;
pub mod times;
pub mod webhook;
pub mod wording;
