//! What each matter of a service looks like now: one picture for each kind of incident, and how much it disturbs.

mod missing;
mod unclear;
mod unhealthy;
