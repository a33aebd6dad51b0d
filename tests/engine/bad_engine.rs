//! The engine itself misbehaves: it hangs for one container, goes away, speaks words nobody knows, or refuses.

use crate::{
    case::Case,
    config::Config,
    container::Container,
    daemon::Daemon,
    proxy::{Fault, Proxy, Rule, Socket, most_in_parallel},
    wait::{millis, secs, stays, until},
};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;

/// Case 3 of the engine's.
#[test]
fn one_container_that_cannot_be_inspected_delays_no_other() {
    let Some(case) = Case::begin("one-bad") else { return };
    let [hangs, stalls, curable] = ["hangs", "stalls", "curable"].map(|name| healthy(&case, name));
    let proxy = Proxy::open(case.engine(), case.directory());
    let inspect = |container: &Container| format!("/containers/{}/json", container.id);
    let rule = |container, fault| Rule { method: "GET", path: inspect(container), fault };
    proxy.rule(vec![rule(&hangs, Fault::Held), rule(&stalls, Fault::StallsInBody)]);
    let config = [&hangs, &stalls, &curable]
        .iter()
        .fold(Config::through(&case, &proxy.address()), |file, one| file.service(one, ""));
    let daemon = Daemon::start(&case, config.text());
    for container in [&hangs, &stalls, &curable] {
        container.hang();
    }
    until("the third to be restarted", secs(30), || {
        (case.witness.count(&curable.name, "restart") == 1).then_some(())
    });
    for container in [&hangs, &stalls] {
        let told = || {
            let about = |message: &crate::receiver::Received| {
                message.incident_kind() == "cannot_evaluate"
                    && message.whole().contains(&container.name)
            };
            case.receiver.received().into_iter().find(about)
        };
        until("told that it can't be evaluated", secs(120), told);
        let asked = proxy.asked("GET", &inspect(container));
        assert_eq!(most_in_parallel(&asked), 1, "single flight: {asked:?}");
        assert_eq!(case.witness.count(&container.name, "restart"), 0, "unseen is not unhealthy");
    }
    assert!(proxy.open_connections() <= 8, "no slot leaks: {}", proxy.open_connections());
    assert!(daemon.stop().success(), "and what hangs does not keep it from ending");
}

/// Case 7 of the engine's, in less time: gone, refusing, hanging, back.
#[test]
fn an_engine_that_goes_away_is_one_trouble_and_kills_nobody() {
    let Some(case) = Case::begin("engine-gone") else { return };
    let container = healthy(&case, "api");
    let mut proxy = Proxy::open(case.engine(), case.directory());
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let mut daemon = Daemon::start(&case, config.text());
    wait_for_first_list(&proxy);
    let (memory, descriptors) = (daemon.resident_bytes(), daemon.descriptors());
    for socket in [Socket::Gone, Socket::Refusing, Socket::Hanging] {
        proxy.become_socket(socket);
        stays("the daemon lives on", true, secs(25), || daemon.is_running());
    }
    case.receiver.wait_for("opened", "engine_unreachable", secs(30));
    assert!(daemon.resident_bytes() < memory + 8 * 1024 * 1024, "memory stays flat");
    assert!(daemon.descriptors() < descriptors + 16, "sockets stay flat");
    proxy.become_socket(Socket::Open);
    case.receiver.wait_for("resolved", "engine_unreachable", secs(60));
    assert_eq!(case.witness.actions(&container.name), ["create", "start"], "nothing was done");
    let story = case.receiver.story();
    assert!(story.iter().all(|line| line.ends_with("engine_unreachable")), "no other: {story:?}");

    container.hang();
    // The event stream was away for long: what began meanwhile is given a minute to show.
    case.receiver.wait_for("recovered", "unhealthy", secs(120));
}

/// Bad input of the commands: `run` before there is an engine.
#[test]
fn without_an_engine_it_says_so_keeps_trying_and_goes_on_when_one_comes() {
    let Some(case) = Case::begin("no-engine-yet") else { return };
    let container = healthy(&case, "api");
    let mut proxy = Proxy::open(case.engine(), case.directory());
    proxy.become_socket(Socket::Gone);
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let mut daemon = Daemon::start(&case, config.text());
    daemon.wait_for_log(proxy.path.to_str().unwrap(), secs(20));
    stays("it keeps trying", true, secs(5), || daemon.is_running());
    proxy.become_socket(Socket::Open);
    wait_for_first_list(&proxy);
    container.hang();
    case.receiver.wait_for("recovered", "unhealthy", secs(40));
}

/// Case 8 of the engine's.
#[test]
fn words_nobody_knows_cost_one_container_and_no_other() {
    let Some(case) = Case::begin("unknown-words") else { return };
    // Which of them the rewriting takes; it is a plain function and knows the label only.
    let odd = case.container("odd").label("defib.test.odd", "yes").healthchecked().start();
    let curable = healthy(&case, "curable");
    let proxy = Proxy::open(case.engine(), case.directory());
    let event = r#"{"Type":"seance","Action":"knock","Actor":{"ID":"x","Attributes":{}},"time":1}"#;
    let rule = |path: &str, fault| Rule { method: "GET", path: path.to_owned(), fault };
    proxy.rule(vec![
        rule("/containers/json", Fault::Rewritten(odd_state)),
        rule("/events", Fault::StreamBegins(event)),
    ]);
    let config = Config::through(&case, &proxy.address()).service(&odd, "").service(&curable, "");
    let mut daemon = Daemon::start(&case, config.text());
    wait_for_first_list(&proxy);
    curable.hang();
    case.receiver.wait_for("recovered", "unhealthy", secs(40));
    assert_eq!(case.witness.count(&curable.name, "restart"), 1);
    assert_eq!(case.witness.count(&odd.name, "restart"), 0);
    assert!(!daemon.logged("meditating").is_empty(), "the odd one is shown with its word");
    assert!(daemon.is_running());
}

fn odd_state(list: Vec<u8>) -> Vec<u8> {
    let mut list: Value = serde_json::from_slice(&list).unwrap();
    for container in list.as_array_mut().into_iter().flatten() {
        if container["Labels"]["defib.test.odd"] == "yes" {
            container["State"] = "meditating".into();
        }
    }
    list.to_string().into_bytes()
}

/// Case 9 of the engine's, its second half: a proxy that lists and does not let act.
#[test]
fn refused_actions_are_one_page_and_no_storm() {
    let Some(case) = Case::begin("refused") else { return };
    let [first, second] = ["first", "second"].map(|name| healthy(&case, name));
    let proxy = Proxy::open(case.engine(), case.directory());
    let refusal = Fault::Answers(403, r#"{"message":"POST is not allowed here"}"#);
    proxy.rule(vec![Rule { method: "POST", path: String::new(), fault: refusal }]);
    let config = Config::through(&case, &proxy.address()).service(&first, "").service(&second, "");
    let _daemon = Daemon::start(&case, config.text());
    first.hang();
    second.hang();
    case.receiver.wait_for_page("actions_refused", secs(40));
    let pages = || {
        let of_refusal = |message: &crate::receiver::Received| {
            message.severity() == "page" && message.incident_kind() == "actions_refused"
        };
        case.receiver.received().into_iter().filter(of_refusal).count()
    };
    stays("one page for both", 1, secs(15), pages);
    let tried = proxy.asked("POST", "").len();
    assert!(tried <= 6, "no storm: {tried} tries");
}

/// What answers in the engine's place has stopped nothing, and what was not stopped does not hang in its stop.
#[test]
fn an_answer_in_the_engines_place_is_told_and_is_no_reason_to_kill() {
    let Some(case) = Case::begin("in-its-place") else { return };
    let container = healthy(&case, "api");
    let proxy = Proxy::open(case.engine(), case.directory());
    let answer = Fault::Answers(503, "no server is available to handle this request");
    proxy.rule(vec![Rule { method: "POST", path: "/restart".to_owned(), fault: answer }]);
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let _daemon = Daemon::start(&case, config.text());
    container.hang();
    let page = case.receiver.wait_for_page("unhealthy", secs(60));
    assert!(page.whole().contains("503"), "{}", page.whole());
    let others = || {
        let asked = proxy.asked("POST", "/containers/");
        asked.into_iter().filter(|asked| !asked.path.contains("/restart")).count()
    };
    stays("neither killed nor started", 0, secs(15), others);
    assert_eq!(container.status(), "running");
}

/// Case 9 of the engine's, its first half.
#[test]
fn a_socket_without_rights_is_named_with_the_remedy_and_kept_trying() {
    let Some(case) = Case::begin("no-rights") else { return };
    let container = healthy(&case, "api");
    let proxy = Proxy::open(case.engine(), case.directory());
    std::fs::set_permissions(&proxy.path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let mut daemon = Daemon::start_as_nobody(&case, config.text());
    let line = daemon.wait_for_log("ermission denied", secs(20));
    let socket = proxy.path.to_str().unwrap();
    assert!(line.contains(socket) || !daemon.logged(socket).is_empty(), "it names the path");
    stays("it keeps trying", true, secs(5), || daemon.is_running());
    std::fs::set_permissions(&proxy.path, std::fs::Permissions::from_mode(0o666)).unwrap();
    wait_for_first_list(&proxy);
}

/// Case 3's kin: the stream is cut, and what happened meanwhile is seen all the same.
#[test]
fn a_stream_that_is_cut_holds_restarts_and_loses_nothing() {
    let Some(case) = Case::begin("stream-cut") else { return };
    let container = healthy(&case, "api");
    let proxy = Proxy::open(case.engine(), case.directory());
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let _daemon = Daemon::start(&case, config.text());
    until("the stream", secs(20), || proxy.asked("GET", "/events").into_iter().next());
    proxy.rule(vec![Rule { method: "GET", path: "/events".into(), fault: Fault::Held }]);
    proxy.cut();
    container.hang();
    until("unhealthy, unseen by the stream", secs(20), || {
        (container.health() == "unhealthy").then_some(())
    });
    // The lists tell that it fails; that nobody else is at it only the stream would.
    let told = case.receiver.wait_for("opened", "unhealthy", secs(40));
    let done = told.whole();
    assert!(done.contains("the engine's event stream is away"), "{done}");
    stays("and not restarted", 0, secs(8), || case.witness.count(&container.name, "restart"));
    proxy.rule(Vec::new());
    until("restarted a minute after the stream is back", secs(120), || {
        (case.witness.count(&container.name, "restart") == 1).then_some(())
    });
    case.receiver.wait_for("recovered", "unhealthy", secs(40));
    stays("and once", 1, millis(3000), || case.witness.count(&container.name, "restart"));
}

fn healthy(case: &Case, name: &str) -> Container {
    let container = case.container(name).healthchecked().start();
    until("healthy", secs(30), || (container.health() == "healthy").then_some(()));
    container
}

fn wait_for_first_list(proxy: &Proxy) {
    until("a list that the daemon got", secs(30), || {
        proxy.asked("GET", "/containers/json").into_iter().find(|asked| asked.until.is_some())
    });
}
