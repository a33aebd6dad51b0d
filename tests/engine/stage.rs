//! The stage itself: that what scenarios rely on is true. Without these, a scenario in which nothing went wrong would
//! look like one that defib mastered.

use crate::{
    case::Case,
    container::Container,
    engine::Answer,
    proxy::{Fault, Proxy, Rule, Socket, most_in_parallel},
    receiver::Receiver,
    wait::{millis, secs, stays, until},
};
use serde_json::{Value, json};
use std::{
    io::{Read, Write},
    net::TcpStream,
    os::unix::net::UnixStream,
    time::Duration,
};

#[test]
fn a_container_hangs_when_told_and_docker_calls_it_unhealthy() {
    let Some(case) = Case::begin("hangs") else { return };
    let container = case.container("a").healthchecked().start();
    until("healthy", secs(30), || (container.health() == "healthy").then_some(()));
    container.hang();
    until("unhealthy", secs(30), || (container.health() == "unhealthy").then_some(()));
    assert!(container.streak() >= 2, "two failures make it unhealthy");
    assert_eq!(container.status(), "running", "it hangs and has not ended");
    container.heal();
    until("healthy again", secs(30), || (container.health() == "healthy").then_some(()));
    case.witness.expect(&container.name, &["create", "start"]);
}

#[test]
fn a_hang_ends_with_a_restart_and_comes_back_where_it_was_asked_to() {
    let Some(case) = Case::begin("relapses") else { return };
    let cured = case.container("cured").healthchecked().start();
    let arguments = ["serve", "--hanging-lives", "2"];
    let twice = case.container("twice").running(&arguments).healthchecked().start();
    cured.hang();
    for container in [&cured, &twice] {
        until("unhealthy", secs(30), || (container.health() == "unhealthy").then_some(()));
        container.order("restart");
    }
    until("cured", secs(30), || (cured.health() == "healthy").then_some(()));
    until("hangs again", secs(30), || (twice.health() == "unhealthy").then_some(()));
    twice.order("restart");
    until("fine in its third life", secs(30), || (twice.health() == "healthy").then_some(()));
    until("both seen", secs(5), || (case.witness.count(&twice.name, "restart") == 2).then_some(()));
}

#[test]
fn stops_are_prompt_slow_or_refused_as_asked() {
    let Some(case) = Case::begin("stops") else { return };
    let exit_code = |container: &Container| {
        container.order("stop");
        container.inspect()["State"]["ExitCode"].as_i64()
    };
    let prompt = case.container("prompt").start().minds_signals();
    assert_eq!(exit_code(&prompt), Some(0));
    let slow =
        case.container("slow").running(&["serve", "--stop-takes", "1s"]).start().minds_signals();
    assert_eq!(exit_code(&slow), Some(0), "slow, and yet within its grace");
    let deaf = case
        .container("deaf")
        .running(&["serve", "--ignore-term"])
        .stop_timeout(1)
        .start()
        .minds_signals();
    assert_eq!(exit_code(&deaf), Some(137), "only SIGKILL ends it");
    // Told once, then killed.
    case.witness.expect(&deaf.name, &["create", "start", "kill", "kill", "die", "stop"]);
}

#[test]
fn containers_answer_on_their_own_address() {
    let Some(case) = Case::begin("address") else { return };
    let fine = case.container("fine").start();
    let Some(address) = fine.address() else {
        crate::left_out::left_out(
            "containers_answer_on_their_own_address",
            "the engine has no bridge",
        );
        return;
    };
    until("an answer", secs(5), || {
        (status_of(&address.to_string(), secs(1)) == Some(200)).then_some(())
    });
    let wrong = case.container("wrong").running(&["serve", "--status", "404"]).start();
    let address = wrong.address().unwrap().to_string();
    until("a 404", secs(5), || (status_of(&address, secs(1)) == Some(404)).then_some(()));
    let deaf = case.container("deaf").running(&["backlog"]).start();
    let address = format!("{}:8080", deaf.address().unwrap());
    until("a connection", secs(5), || TcpStream::connect(&address).ok());
    assert_eq!(status_of(address.trim_end_matches(":8080"), millis(300)), None, "never accepts");
}

fn status_of(address: &str, within: Duration) -> Option<u16> {
    let mut connection = TcpStream::connect((address, 8080)).ok()?;
    connection.set_read_timeout(Some(within)).ok()?;
    connection.write_all(b"GET / HTTP/1.1\r\nHost: it\r\n\r\n").ok()?;
    let mut start = [0; 12];
    connection.read_exact(&mut start).ok()?;
    std::str::from_utf8(&start[9..]).ok()?.parse().ok()
}

#[test]
fn a_case_removes_all_that_it_made_and_nothing_else() {
    let Some(other) = Case::begin("bystander") else { return };
    let bystander = other.container("b").start();
    let case = Case::begin("leaves-nothing").unwrap();
    let engine = case.engine().clone();
    let paused = case.container("paused").start();
    paused.order("pause");
    let created = case.container("created").create();
    drop(case);
    for container in [&paused, &created] {
        let path = format!("/containers/{}/json", container.id);
        assert_eq!(engine.ask("GET", &path, &Value::Null).status, 404);
    }
    assert_eq!(bystander.status(), "running");
}

#[test]
fn the_proxy_passes_lists_acts_and_streams() {
    let Some(case) = Case::begin("proxy-passes") else { return };
    let proxy = Proxy::open(case.engine(), case.directory());
    let mut events = stream(&proxy, "/events?filters=%7B%22type%22%3A%5B%22container%22%5D%7D");
    let container = case.container("a").start();
    assert_eq!(ask(&proxy, "GET", "/containers/json").status, 200);
    assert_eq!(ask(&proxy, "POST", &format!("/containers/{}/restart", container.id)).status, 204);
    let mut seen = String::new();
    until("the restart as an event", secs(10), || {
        let mut chunk = [0; 4096];
        let read = events.read(&mut chunk).unwrap();
        seen.push_str(&String::from_utf8_lossy(&chunk[..read]));
        seen.contains("\"restart\"").then_some(())
    });
    proxy.cut();
    until("the end of the stream", secs(5), || {
        (events.read(&mut [0; 4096]).ok()? == 0).then_some(())
    });
}

#[test]
fn the_proxy_holds_an_inspect_until_it_is_let_go() {
    let Some(case) = Case::begin("proxy-holds") else { return };
    let proxy = Proxy::open(case.engine(), case.directory());
    let (held, free) = (case.container("held").start(), case.container("free").start());
    let path = format!("/containers/{}/json", held.id);
    proxy.rule(vec![Rule { method: "GET", path: path.clone(), fault: Fault::Held }]);
    let mut answer = stream(&proxy, &path);
    answer.set_read_timeout(Some(millis(500))).unwrap();
    assert!(answer.read(&mut [0; 1]).is_err(), "nothing comes back");
    assert_eq!(ask(&proxy, "GET", &format!("/containers/{}/json", free.id)).status, 200);
    let second = stream(&proxy, &path);
    until("both under way", secs(5), || {
        (most_in_parallel(&proxy.asked("GET", &path)) == 2).then_some(())
    });
    drop(second);
    until("one given up", secs(5), || (proxy.open_connections() == 1).then_some(()));
    proxy.rule(Vec::new());
    let mut start = [0; 12];
    answer.set_read_timeout(Some(secs(5))).unwrap();
    answer.read_exact(&mut start).unwrap();
    assert_eq!(&start[9..], b"200");
}

#[test]
fn the_proxy_stalls_refuses_rewrites_and_stops_short() {
    let Some(case) = Case::begin("proxy-faults") else { return };
    let proxy = Proxy::open(case.engine(), case.directory());
    let container = case.container("a").start();
    let restart = format!("/containers/{}/restart", container.id);
    let inspect = format!("/containers/{}/json", container.id);
    let rule = |method, path: &str, fault| Rule { method, path: path.to_owned(), fault };
    proxy.rule(vec![
        rule("GET", &inspect, Fault::StallsInBody),
        rule("POST", "/restart", Fault::Answers(403, r#"{"message":"not allowed"}"#)),
        rule("GET", "/containers/json", Fault::Rewritten(|_| b"[]".to_vec())),
    ]);
    assert_eq!(ask(&proxy, "POST", &restart).status, 403);
    assert_eq!(ask(&proxy, "GET", "/containers/json").json(), json!([]));
    let mut stalled = stream(&proxy, &inspect);
    stalled.set_read_timeout(Some(millis(500))).unwrap();
    let mut got = Vec::new();
    assert!(stalled.read_to_end(&mut got).is_err(), "it never ends");
    assert!(String::from_utf8_lossy(&got).contains(&container.id), "headers and half a body");
    assert_eq!(case.witness.actions(&container.name), ["create", "start"], "it was not reached");

    proxy.rule(vec![rule("POST", "/restart", Fault::TurnedInto("stop"))]);
    let mut lost = stream_of(&proxy, "POST", &restart);
    until("stopped", secs(10), || (container.status() == "exited").then_some(()));
    lost.set_read_timeout(Some(millis(500))).unwrap();
    assert!(lost.read(&mut [0; 1]).is_err(), "no answer of a restart that stopped short");
}

#[test]
fn the_proxys_socket_goes_refuses_hangs_and_comes_back() {
    let Some(case) = Case::begin("proxy-socket") else { return };
    let mut proxy = Proxy::open(case.engine(), case.directory());
    let connect = |proxy: &Proxy| UnixStream::connect(&proxy.path).map_err(|error| error.kind());
    proxy.become_socket(Socket::Gone);
    assert_eq!(connect(&proxy).unwrap_err(), std::io::ErrorKind::NotFound);
    proxy.become_socket(Socket::Open);
    assert_eq!(ask(&proxy, "GET", "/_ping").status, 200);
    proxy.become_socket(Socket::Refusing);
    assert_eq!(connect(&proxy).unwrap_err(), std::io::ErrorKind::ConnectionRefused);
    proxy.become_socket(Socket::Hanging);
    let mut hanging = stream(&proxy, "/_ping");
    hanging.set_read_timeout(Some(millis(500))).unwrap();
    assert!(hanging.read(&mut [0; 1]).is_err(), "taken, and never answered");
    proxy.become_socket(Socket::Open);
    assert_eq!(hanging.read(&mut [0; 1]).unwrap(), 0, "a change cuts what is open");
    assert_eq!(ask(&proxy, "GET", "/_ping").status, 200);
}

#[test]
fn the_receiver_writes_down_what_came_and_answers_as_told() {
    let receiver = Receiver::open();
    let told = json!({ "kind": "opened", "severity": "page", "incident": { "kind": "unhealthy" } });
    let send = || {
        let address = receiver.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
        let mut to = TcpStream::connect(address).unwrap();
        let body = told.to_string();
        write!(
            to,
            "POST / HTTP/1.1\r\nHost: it\r\nwebhook-id: k1\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        to.read_to_string(&mut answer).unwrap();
        answer
    };
    assert!(send().starts_with("HTTP/1.1 200"));
    receiver.answer_with(500);
    assert!(send().starts_with("HTTP/1.1 500"));
    let first = receiver.wait_for_page("unhealthy", secs(5));
    assert_eq!((first.kind(), first.key.as_str()), ("opened", "k1"));
    assert_eq!(receiver.story(), ["opened/page/unhealthy"; 2]);
    stays("nothing more comes", 2, millis(200), || receiver.pages());
}

/// Asks through the proxy.
fn ask(proxy: &Proxy, method: &str, path: &str) -> Answer {
    crate::engine::Engine { socket: proxy.path.clone() }.ask(method, path, &Value::Null)
}

/// Asks through the proxy and leaves the answer to the test.
fn stream(proxy: &Proxy, path: &str) -> UnixStream {
    stream_of(proxy, "GET", path)
}

fn stream_of(proxy: &Proxy, method: &str, path: &str) -> UnixStream {
    let mut connection = UnixStream::connect(&proxy.path).unwrap();
    crate::http::write_request(&mut connection, method, path, "application/json", b"").unwrap();
    connection
}
