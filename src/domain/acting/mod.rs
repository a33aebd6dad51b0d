//! Acting: whether, when and how a replica is restarted, and how it is known whether that helped.
//!
//! `gates` say why not; `budget` and `brake` what is left; `attempt` is one try from the look at why it fails to its end, `own_stop`
//! the proof that what stands still does so because of us; `hold` names every reason for doing nothing.

pub mod attempt;
pub mod brake;
pub mod budget;
pub(crate) mod gates;
pub mod hold;
pub mod own_stop;
