//! What defib must not touch, and what it must not do on the strength of an old judgement (S1, S2, S6).
//!
//! Each looks at what was asked of the engine, through the proxy: not one `POST` is a stronger proof than a container that
//! looks untouched.

use crate::{
    case::Case,
    config::Config,
    container::Container,
    daemon::Daemon,
    proxy::{Fault, Proxy, Rule},
    wait::{secs, stays, until},
};

#[test]
fn what_does_not_run_is_left_alone() {
    let Some(case) = Case::begin("not-running") else { return };
    let container = |name: &str| case.container(name).healthchecked();
    let created = container("created").create();
    let stopped = container("stopped").start().minds_signals();
    let exited = container("exited").running(&["exit", "3"]).start();
    let restarting =
        container("restarting").running(&["exit", "3"]).restart_policy("always").start();
    let paused = container("paused").running(&["serve", "--hang-after", "0ms"]).start();
    until("unhealthy", secs(20), || (paused.health() == "unhealthy").then_some(()));
    paused.order("pause");
    stopped.order("stop");
    until("exited", secs(20), || (exited.status() == "exited").then_some(()));
    let all = [&created, &stopped, &exited, &restarting, &paused];

    let proxy = Proxy::open(case.engine(), case.directory());
    let config = all
        .iter()
        .fold(Config::through(&case, &proxy.address()), |file, one| file.service(one, ""));
    let mut daemon = Daemon::start(&case, config.text());
    wait_for_first_list(&proxy);
    stays("nothing is asked but looks", 0, secs(15), || proxy.asked("POST", "").len());
    assert!(daemon.is_running());
    assert_eq!(created.status(), "created");
    assert_eq!(stopped.status(), "exited");
    assert_eq!(paused.status(), "paused");
    assert_eq!(case.witness.count(&stopped.name, "start"), 1);
}

/// Case 1 of the engine's, in a sixth of the time: the pause outlasts several intervals of the healthcheck.
#[test]
fn a_pause_is_no_trouble_and_neither_is_its_end() {
    let Some(case) = Case::begin("pause") else { return };
    let container = case.container("api").healthchecked_every(secs(5)).start();
    until("healthy", secs(30), || (container.health() == "healthy").then_some(()));
    let proxy = Proxy::open(case.engine(), case.directory());
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let _daemon = Daemon::start(&case, config.text());
    wait_for_first_list(&proxy);
    container.order("pause");
    let quiet = || (proxy.asked("POST", "").len(), case.receiver.pages());
    stays("no restart and no page while paused", (0, 0), secs(20), quiet);
    container.order("unpause");
    stays("nor after it, until a real check has run", (0, 0), secs(12), quiet);
    assert_eq!(container.health(), "healthy");
}

/// S2: the instance that is acted on must be the one that was judged.
#[test]
fn a_container_that_was_restarted_in_between_is_not_restarted_by_the_old_judgement() {
    let Some(case) = Case::begin("restarted-between") else { return };
    let (container, proxy, _daemon) = judged_and_held(&case);
    container.order("restart");
    proxy.rule(Vec::new());
    stays("the new instance is left alone", 0, secs(10), || proxy.asked("POST", "").len());
    assert_eq!(case.witness.count(&container.name, "restart"), 1, "only ours");
}

/// S2, S6: a new container of the same name is another instance of the same replica.
#[test]
fn a_container_that_was_recreated_in_between_is_not_restarted_by_the_old_judgement() {
    let Some(case) = Case::begin("recreated-between") else { return };
    let (container, proxy, _daemon) = judged_and_held(&case);
    container.remove();
    let successor = case.container("api").healthchecked().start();
    proxy.rule(Vec::new());
    stays("the successor is left alone", 0, secs(10), || proxy.asked("POST", "").len());
    assert_eq!(successor.health(), "healthy");
    // The trouble went on in the successor, and it is well: what was opened is answered.
    case.receiver.wait_for_end("unhealthy", secs(30));
}

/// S2: paused between the judgement and the act.
#[test]
fn a_container_that_was_paused_in_between_is_not_restarted() {
    let Some(case) = Case::begin("paused-between") else { return };
    let (container, proxy, _daemon) = judged_and_held(&case);
    container.order("pause");
    proxy.rule(Vec::new());
    stays("paused is paused", 0, secs(10), || proxy.asked("POST", "").len());
    assert_eq!(container.status(), "paused");
}

/// What somebody stops while defib waits for it to be well is theirs: not started again, and no page.
#[test]
fn what_somebody_stops_while_its_recovery_is_awaited_stays_stopped_and_pages_nobody() {
    let Some(case) = Case::begin("stopped-while-awaited") else { return };
    let container =
        case.container("api").running(&["serve", "--hang-after", "0ms"]).healthchecked().start();
    let config = Config::of(&case)
        .with("recover_within", "recover_within = \"30s\"")
        .service(&container, "");
    let daemon = Daemon::start(&case, config.text());
    until("a restart", secs(60), || {
        (case.witness.count(&container.name, "restart") == 1).then_some(())
    });
    container.order("stop");
    daemon.wait_for_log("somebody stopped it", secs(15));
    stays("stopped, and nobody is woken", ("exited".to_owned(), 0), secs(15), || {
        (container.status(), case.receiver.pages())
    });
    assert_eq!(case.witness.count(&container.name, "restart"), 1);
}

/// Two services that match one container are an error of the config; what can't be told is not acted on (S7).
#[test]
fn a_container_that_two_services_match_is_told_of_and_not_touched() {
    let Some(case) = Case::begin("two-services") else { return };
    let container =
        case.container("api").running(&["serve", "--hang-after", "0ms"]).healthchecked().start();
    let proxy = Proxy::open(case.engine(), case.directory());
    let pattern = format!("name = \"{}*\"", &container.name[..container.name.len() - 1]);
    let config = Config::through(&case, &proxy.address()).service(&container, "").service_matching(
        "never",
        &pattern,
        "restart = \"never\"",
    );
    let _daemon = Daemon::start(&case, config.text());
    let ticket = case.receiver.wait_for("opened", "ambiguous", secs(30));
    assert!(ticket.whole().contains("never"), "{}", ticket.whole());
    case.receiver.wait_for_page("unhealthy", secs(30));
    stays("nothing is asked but looks", 0, secs(8), || proxy.asked("POST", "").len());
}

/// `--dry-run` decides and tells, and touches nothing (S7).
#[test]
fn a_service_that_says_dry_is_told_of_and_not_touched() {
    let Some(case) = Case::begin("dry") else { return };
    let container =
        case.container("api").running(&["serve", "--hang-after", "0ms"]).healthchecked().start();
    let proxy = Proxy::open(case.engine(), case.directory());
    let config = Config::through(&case, &proxy.address()).service(&container, "restart = \"dry\"");
    let _daemon = Daemon::start(&case, config.text());
    case.receiver.wait_for("opened", "unhealthy", secs(30));
    stays("nothing is asked but looks", 0, secs(8), || proxy.asked("POST", "").len());
}

/// An unhealthy container that was told of, and whose restart waits for an inspect that is held back, or for its
/// settling. What happens to it now happens between the judgement and the act.
fn judged_and_held(case: &Case) -> (Container, Proxy, Daemon) {
    let container = case.container("api").healthchecked().start();
    until("healthy", secs(30), || (container.health() == "healthy").then_some(()));
    let proxy = Proxy::open(case.engine(), case.directory());
    let config = Config::through(case, &proxy.address())
        .with("settle", "settle = \"3s\"")
        .service(&container, "");
    let daemon = Daemon::start(case, config.text());
    wait_for_first_list(&proxy);
    container.hang();
    case.receiver.wait_for("opened", "unhealthy", secs(30));
    let inspect = format!("/containers/{}/json", container.id);
    proxy.rule(vec![Rule { method: "GET", path: inspect, fault: Fault::Held }]);
    assert_eq!(proxy.asked("POST", "").len(), 0, "it must not have been restarted before");
    (container, proxy, daemon)
}

fn wait_for_first_list(proxy: &Proxy) {
    until("the daemon's first list", secs(15), || {
        proxy.asked("GET", "/containers/json").into_iter().find(|asked| asked.until.is_some())
    });
}
