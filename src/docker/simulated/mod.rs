//! A model of a container engine: deterministic, scripted, and as faithful as the safety rules need it.
//!
//! Why a model and not a mock: the rules about stopped, paused and restarting containers exist because of what a real
//! engine does (its restart call starts what somebody stopped, pausing makes up an `unhealthy`, a restart goes on when
//! its caller leaves). A mock would answer what the test expects; the model answers what the engine would, and writes
//! down what truly happened ([`truth`]) for a referee that knows nothing of the domain.
//!
//! - [`truth`]: the world's clock and its log; [`script`]: what a container is made of and how its process behaves;
//! - [`world`]: the engine itself, a plain state machine without tokio, clock or randomness, over several files: `timers`,
//!   `container`, `lives`, `orders`, `requests`, `under_way`, `health`, `process`, `views`, and [`history`] for its events;
//! - [`live`]: a world that runs on a clock and wakes whoever waits for it;
//! - [`engine`]: the world behind the typed port, with [`faults`]; [`wire`]: behind HTTP on a unix socket.
//!
//! It refuses to know anything of the domain's decisions. Containers only: no images, networks or volumes of its own.

mod container;
pub mod engine;
pub mod faults;
mod health;
pub mod history;
pub mod live;
mod lives;
mod orders;
mod process;
mod requests;
pub mod script;
mod timers;
pub mod truth;
mod under_way;
mod views;
pub mod wire;
pub mod world;

#[cfg(test)]
mod tests;
