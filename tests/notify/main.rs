//! Telling's adapters: what people read, and what a receiver gets and answers.

mod docs;
mod receiver;
mod rendering;
mod samples;
mod secrecy;
mod strict;
mod terminal;
mod transport;
