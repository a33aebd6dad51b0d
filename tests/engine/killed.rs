//! defib itself is killed in the middle of an act, and started again: it finishes or leaves alone what it began, and
//! never does it twice (S1, S4, P1).

use crate::{
    case::Case,
    config::Config,
    container::{Container, Wanted},
    daemon::Daemon,
    proxy::{Fault, Proxy, Rule},
    wait::{secs, stays, until},
};
use std::time::Duration;

/// A start of defib, its first list, one more restart.
const TAKEN_UP_WITHIN: Duration = secs(40);

#[test]
fn killed_before_the_engine_got_the_restart_it_is_done_once_afterwards() {
    let Some(case) = Case::begin("killed-before") else { return };
    let stage = Stage::set(&case, case.container("api"));
    stage.hold_restarts(Fault::Held);
    let first = stage.daemon();
    stage.container.hang();
    stage.wait_for_restart_asked(1);
    first.kill_nine();
    stage.proxy.rule(Vec::new());
    let _second = stage.daemon();
    case.receiver.wait_for("recovered", "unhealthy", TAKEN_UP_WITHIN);
    stays("done once", 1, secs(5), || stage.count("restart"));
}

#[test]
fn killed_while_the_engine_restarts_it_adds_nothing() {
    let Some(case) = Case::begin("killed-during") else { return };
    let stage = Stage::set(&case, case.container("api").running(&["serve", "--stop-takes", "6s"]));
    let first = stage.daemon();
    stage.container.hang();
    until("the stop to begin", secs(30), || (stage.count("kill") == 1).then_some(()));
    first.kill_nine();
    let _second = stage.daemon();
    until("the restart to end", secs(30), || (stage.count("restart") == 1).then_some(()));
    case.receiver.wait_for("recovered", "unhealthy", TAKEN_UP_WITHIN);
    stays("one stop, one start", (1, 2), secs(5), || (stage.count("kill"), stage.count("start")));
    assert_eq!(case.receiver.pages(), 0, "{:?}", case.receiver.story());
}

/// S1: the engine stopped it for us and did not start it again (as some do when their client goes away).
#[test]
fn killed_between_stop_and_start_it_starts_what_it_stopped() {
    let Some(case) = Case::begin("killed-between") else { return };
    let stage = Stage::set(&case, case.container("api"));
    stage.hold_restarts(Fault::TurnedInto("stop"));
    let first = stage.daemon();
    stage.container.hang();
    until("stopped", secs(30), || (stage.container.status() == "exited").then_some(()));
    first.kill_nine();
    stage.proxy.rule(Vec::new());
    let _second = stage.daemon();
    until("started again", TAKEN_UP_WITHIN, || (stage.count("start") == 2).then_some(()));
    case.receiver.wait_for("recovered", "unhealthy", TAKEN_UP_WITHIN);
    stays("and once only", 2, secs(5), || stage.count("start"));
}

/// S1 from its other side: our restart never reached the engine, somebody stopped it meanwhile.
#[test]
fn what_somebody_stopped_while_defib_was_dead_stays_stopped() {
    let Some(case) = Case::begin("stopped-meanwhile") else { return };
    let stage = Stage::set(&case, case.container("api").stop_timeout(1));
    stage.hold_restarts(Fault::Held);
    let first = stage.daemon();
    stage.container.hang();
    stage.wait_for_restart_asked(1);
    first.kill_nine();
    stage.container.heal();
    // Beyond stop, kill and start of a container with a grace of 1 s: the intent no longer covers it.
    stays("nothing happens while it is dead", 1, secs(40), || stage.count("start"));
    stage.container.order("stop");
    stage.proxy.rule(Vec::new());
    let _second = stage.daemon();
    stays("left alone", (1, 1), secs(15), || {
        (stage.count("start"), stage.proxy.asked("POST", "").len())
    });
    assert_eq!(stage.container.status(), "exited");
}

/// S4: what was spent before the kill stays spent.
#[test]
fn killing_defib_again_and_again_refills_no_budget() {
    let Some(case) = Case::begin("killed-often") else { return };
    let stage = Stage::set(&case, case.container("api").running(&["serve", "--hang-after", "0ms"]));
    for restarts in 1..=3 {
        let daemon = stage.daemon();
        until("one more restart", secs(60), || (stage.count("restart") >= restarts).then_some(()));
        daemon.kill_nine();
    }
    let _last = stage.daemon();
    case.receiver.wait_for_page("unhealthy", secs(60));
    stays("three and no more", 3, secs(15), || stage.count("restart"));
}

/// One container, a proxy before the engine, and daemons that come and go on the same state.
struct Stage<'a> {
    case: &'a Case,
    container: Container,
    proxy: Proxy,
}

impl<'a> Stage<'a> {
    fn set(case: &'a Case, container: Wanted<'_>) -> Self {
        let container = container.healthchecked().start();
        until("a verdict of Docker's", secs(30), || {
            ["healthy", "unhealthy"].contains(&container.health().as_str()).then_some(())
        });
        Self { case, container, proxy: Proxy::open(case.engine(), case.directory()) }
    }

    fn daemon(&self) -> Daemon {
        let config = Config::through(self.case, &self.proxy.address()).service(&self.container, "");
        Daemon::start(self.case, config.text())
    }

    fn hold_restarts(&self, fault: Fault) {
        self.proxy.rule(vec![Rule { method: "POST", path: "/restart".into(), fault }]);
    }

    fn wait_for_restart_asked(&self, times: usize) {
        until("the restart to be asked for", secs(30), || {
            (self.proxy.asked("POST", "/restart").len() == times).then_some(())
        });
    }

    fn count(&self, action: &str) -> usize {
        self.case.witness.count(&self.container.name, action)
    }
}
