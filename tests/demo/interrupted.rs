//! Ended in the middle: what was made is removed all the same.

use crate::program::{Demo, engine, on_engine, run_of};
use rustix::process::Signal;

#[test]
fn ctrl_c_in_mid_story_leaves_nothing_on_the_engine() {
    let Some(engine) = engine("ctrl_c_in_mid_story_leaves_nothing_on_the_engine") else { return };
    let mut demo = Demo::start(&["--engine", &engine], None);
    demo.wait_for("hopeless  Docker calls it unhealthy");
    let run = run_of(demo.said());
    assert_eq!(on_engine(&engine, &run).len(), 5, "four containers and an image");
    demo.signal(Signal::INT);
    let ended = demo.end();
    assert_eq!(ended.status.code(), Some(130), "{}", ended.said);
    assert!(ended.said.contains("Ctrl-C: ending here"), "{}", ended.said);
    assert_eq!(on_engine(&engine, &run), [""; 0]);
    assert!(ended.left.is_empty(), "{:?}", ended.left);
}

#[test]
fn a_signal_while_the_stage_is_being_set_leaves_nothing_either() {
    let Some(engine) = engine("a_signal_while_the_stage_is_being_set_leaves_nothing_either") else {
        return;
    };
    let mut demo = Demo::start(&["--engine", &engine], None);
    demo.wait_for("Made for this run");
    demo.signal(Signal::TERM);
    let ended = demo.end();
    assert_eq!(ended.status.code(), Some(143), "{}", ended.said);
    assert_eq!(on_engine(&engine, &run_of(&ended.said)), [""; 0]);
    assert!(ended.left.is_empty(), "{:?}", ended.left);
}

#[test]
fn a_signal_ends_the_simulated_one_too() {
    let mut demo = Demo::start(&["--simulated"], None);
    demo.wait_for("the containers run");
    demo.signal(Signal::TERM);
    let ended = demo.end();
    assert_eq!(ended.status.code(), Some(143), "{}", ended.said);
    assert!(ended.left.is_empty(), "{:?}", ended.left);
}
