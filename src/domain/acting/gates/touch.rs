//! Somebody else acted on it just now: they are at it; or whether anybody is can't be seen (S10).

use super::{Scene, Shut};
use crate::domain::{
    acting::{attempt::Attempt, hold::Hold},
    watching::replica::Touch,
};
use std::time::Duration;

/// How long somebody's touch holds: as long as a person needs to see what it did.
pub(crate) const TOUCH_HOLDS_FOR: Duration = Duration::from_secs(60);

/// How long a signal that ends things holds while what got it runs on: `docker stop -t` may give it any time, of which the
/// engine says nothing, and a restart would undo that stop.
pub(crate) const ENDING_HOLDS_FOR: Duration = Duration::from_secs(600);

pub(super) fn gate(scene: &Scene<'_>) -> Option<Shut> {
    touched(scene).or_else(|| {
        // Only events say that somebody stops it, whatever time they gave it for that. What was begun is not left half done.
        let has_begun = scene.replica.kept.attempt.as_ref().is_some_and(Attempt::has_acted);
        let back_until = scene.events_back_at.map(|at| at + TOUCH_HOLDS_FOR);
        let back_until = back_until.filter(|until| *until > scene.now.awake);
        let unseen = scene.no_events || back_until.is_some() || scene.replica.fails_untold;
        (unseen && !has_begun).then_some(Shut { hold: Hold::TouchesUnseen, until: back_until })
    })
}

fn touched(scene: &Scene<'_>) -> Option<Shut> {
    let Touch { at, what, is_ending } = scene.replica.kept.touched.as_ref()?;
    let stop = scene.replica.stop_takes();
    let span = if *is_ending { ENDING_HOLDS_FOR.max(stop) } else { TOUCH_HOLDS_FOR };
    let until = at.awake + span;
    if until > scene.now.awake { Shut::until(Hold::Touched(what.clone()), until) } else { None }
}
