//! Telling people. A sink makes one attempt at one delivery; everything else (when, whether, how often) is the domain's.

pub mod port;
