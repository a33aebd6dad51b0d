//! The whole story, to its end.

use crate::program::{Demo, ENDS_WITHIN, Ended, engine, on_engine, run_of};

/// What must have been said, on any stage.
const STORY: [&str; 12] = [
    "hangs     stops answering",
    "hangs     Docker calls it unhealthy",
    "hangs     defib restarts it (1 of at most 2)",
    "hangs     healthy again",
    "hangs     --> NOTICE: hangs is unhealthy and is being restarted",
    "hangs     --> RECOVERED: hangs is healthy again after a restart",
    "stubborn  ignored SIGTERM for 2 s: Docker kills it",
    "hopeless  does not answer in its new life either",
    "hopeless  --> PAGE: hopeless is unhealthy",
    "did not help",
    "hopeless  defib leaves it alone from now on, since all of its 2 restarts are spent",
    "Each was handled rightly.",
];

fn is_right(ended: &Ended) {
    let said = &ended.said;
    assert!(ended.status.success(), "{:?}:\n{said}\n{}", ended.status, ended.complained);
    for part in STORY {
        assert!(said.contains(part), "{part:?} is not in:\n{said}");
    }
    assert!(!said.contains("] fine"), "nothing happens to it:\n{said}");
    assert_eq!(said.matches(" right  expected: ").count(), 4, "{said}");
    assert_eq!(ended.complained, "", "no log unless it is asked for");
    assert!(ended.took <= ENDS_WITHIN, "{:?}", ended.took);
    assert!(ended.left.is_empty(), "{:?}", ended.left);
}

#[test]
fn on_the_simulated_engine_each_is_handled_rightly_within_a_minute() {
    let ended = Demo::start(&["--simulated"], None).end();
    assert!(ended.said.contains("a simulated one, behind a socket of its own (as asked for)"));
    is_right(&ended);
}

#[test]
fn on_a_real_engine_each_is_handled_rightly_and_nothing_stays() {
    let Some(engine) = engine("on_a_real_engine_each_is_handled_rightly_and_nothing_stays") else {
        return;
    };
    let ended = Demo::start(&[], Some(&engine)).end();
    is_right(&ended);
    assert!(ended.said.contains(&format!("at {engine}.")), "{}", ended.said);
    assert!(ended.said.contains("Removed: 4 containers, 1 image."), "{}", ended.said);
    assert_eq!(on_engine(&engine, &run_of(&ended.said)), [""; 0]);
}
