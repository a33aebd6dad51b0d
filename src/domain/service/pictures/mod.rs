//! What each matter of a service looks like now: one picture for each kind of incident, and how much it disturbs.
//!
//! `unhealthy` for what fails, `missing` for what does not run, `by_hand` for what somebody left so, `unclear` for what can't be judged,
//! `chronic` for what is restarted again and again.

mod by_hand;
mod chronic;
mod missing;
mod unclear;
mod unhealthy;
