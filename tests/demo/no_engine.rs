//! Where no engine answers, the demo plays on a simulated one and says why; what was given wrongly is an error.

use crate::program::Demo;
use rustix::process::Signal;
use std::os::unix::net::UnixListener;

/// Starts it, waits until it plays, ends it.
fn plays_and_says(arguments: &[&str], docker_host: Option<&str>, why: &str) {
    let mut demo = Demo::start(arguments, docker_host);
    demo.wait_for("the containers run, and defib watches them");
    let stage = format!("Engine: a simulated one, behind a socket of its own ({why}).");
    assert!(demo.said().contains(&stage), "{stage:?} is not in:\n{}", demo.said());
    demo.signal(Signal::INT);
    assert_eq!(demo.end().status.code(), Some(130));
}

#[test]
fn nobody_there() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix://{}", folder.path().join("none.sock").display());
    let why = format!("none answers at {address}");
    plays_and_says(&["--engine", &address], None, &why);
    plays_and_says(&[], Some(&address), &why);
}

#[test]
fn one_that_accepts_and_never_answers() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("hung.sock");
    let _hung = UnixListener::bind(&socket).unwrap();
    let address = format!("unix://{}", socket.display());
    let why = format!("the one at {address} has not answered within 3 s");
    plays_and_says(&["--engine", &address], None, &why);
}

#[test]
fn an_engine_elsewhere_by_the_environment() {
    let why = "DOCKER_HOST `tcp://10.0.0.1:2375` is not supported: defib watches the host it runs on, \
               over `unix:///path/to/the.sock`";
    plays_and_says(&[], Some("tcp://10.0.0.1:2375"), why);
}

#[test]
fn an_address_that_was_given_and_is_none_is_an_error() {
    let ended = Demo::start(&["--engine", "tcp://10.0.0.1:2375"], None).end();
    assert_eq!(ended.status.code(), Some(2));
    assert!(
        ended.complained.contains("`tcp://10.0.0.1:2375` is not supported"),
        "{}",
        ended.complained
    );
    assert!(ended.left.is_empty(), "{:?}", ended.left);
}
