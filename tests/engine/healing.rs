//! The main job: what hangs is restarted, the recovery is proven, and a person hears what they need to hear.

use crate::{
    case::Case,
    config::Config,
    container::Container,
    daemon::Daemon,
    engine::Seen,
    left_out::left_out,
    proxy::Proxy,
    wait::{secs, stays, until},
};
use std::time::{Duration, Instant};

/// Hang to verdict by Docker (2 s), defib's look at it, one restart, start to healthy (1 s), with room for a busy host.
const HEALED_WITHIN: Duration = secs(30);

#[test]
fn an_unhealthy_container_is_restarted_verified_and_its_notice_answered() {
    let Some(case) = Case::begin("heals") else { return };
    let container = healthy(&case, "api");
    let daemon = Daemon::start(&case, Config::of(&case).service(&container, "").text());
    container.hang();
    let notice = case.receiver.wait_for("opened", "unhealthy", HEALED_WITHIN);
    assert_eq!(notice.severity(), "notice", "nobody is woken for what is being cured (P9)");
    assert!(notice.whole().contains(&container.name), "it says which");
    case.receiver.wait_for("recovered", "unhealthy", HEALED_WITHIN);
    assert_eq!(container.health(), "healthy");
    assert_eq!(restarts(&case, &container), 1);
    // Longer than `stable_for`: an answered notice needs no second end.
    let story = ["opened/notice/unhealthy", "recovered/notice/unhealthy"].map(String::from);
    stays("told and answered", story.to_vec(), secs(6), || case.receiver.story());
    assert!(daemon.stop().success());
}

#[test]
fn what_a_restart_does_not_cure_becomes_one_page() {
    let Some(case) = Case::begin("not-cured") else { return };
    let container = never_well(&case, "api");
    let config = Config::of(&case)
        .with("budget", "budget = { restarts = 2, refill_after_healthy = \"30m\" }")
        .service(&container, "");
    let _daemon = Daemon::start(&case, config.text());
    let page = case.receiver.wait_for_page("unhealthy", secs(60));
    assert!(page.whole().contains(&container.name));
    until("the budget to be spent", secs(60), || (restarts(&case, &container) == 2).then_some(()));
    stays("no restart beyond the budget, no further page", (2, 1), secs(10), || {
        (restarts(&case, &container), case.receiver.pages())
    });
}

#[test]
fn a_probe_of_defibs_own_finds_what_has_no_healthcheck() {
    let Some(case) = Case::begin("own-probe") else { return };
    let container = case.container("api").start();
    if container.address().is_none() {
        return left_out("a_probe_of_defibs_own", "the engine has no bridge");
    }
    let config = Config::of(&case).service(&container, "").probe(FAST_PROBE);
    let _daemon = Daemon::start(&case, config.text());
    stays("well, and left so", 0, secs(3), || restarts(&case, &container));
    container.hang();
    case.receiver.wait_for("recovered", "unhealthy", HEALED_WITHIN);
    assert_eq!(restarts(&case, &container), 1);
    assert_eq!(case.receiver.pages(), 0);
}

/// Case 2 of the engine's: a stop of 45 s is longer than any general deadline.
#[test]
fn a_slow_stop_is_one_kill_and_one_start_and_never_called_failed() {
    let Some(case) = Case::begin("slow-stop") else { return };
    let wanted = case.container("api").running(&["serve", "--ignore-term"]).stop_timeout(45);
    let container = wanted.healthchecked().start();
    wait_for_health(&container, "healthy");
    let proxy = Proxy::open(case.engine(), case.directory());
    let config = Config::through(&case, &proxy.address()).service(&container, "");
    let daemon = Daemon::start(&case, config.text());
    container.hang();
    case.receiver.wait_for("recovered", "unhealthy", secs(90));
    // Told once, killed once after its own grace, started once.
    case.witness.expect(
        &container.name,
        &["create", "start", "kill", "kill", "die", "stop", "start", "restart"],
    );
    let asked = proxy.asked("POST", "/containers/");
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(!asked[0].path.contains("t="), "the container's own stop timeout holds: {asked:?}");
    assert_eq!(daemon.logged("failed to restart"), Vec::<String>::new());
    assert!(!case.receiver.received().iter().any(|message| message.whole().contains("failed to")));
}

/// Case 4 of the engine's, its first half; defib is killed and started again in between.
#[test]
fn what_never_recovers_is_restarted_ever_more_rarely_and_given_up_across_our_own_restart() {
    let Some(case) = Case::begin("given-up") else { return };
    let container = never_well(&case, "api");
    let config = Config::of(&case)
        .with("backoff", "backoff = { first = \"3s\", max = \"60s\" }")
        .service(&container, "");
    let first = Daemon::start(&case, config.text());
    until("two restarts", secs(60), || (restarts(&case, &container) == 2).then_some(()));
    first.kill_nine();
    let _second = Daemon::start(&case, config.text());
    until("the third", secs(60), || (restarts(&case, &container) == 3).then_some(()));
    case.receiver.wait_for_page("unhealthy", secs(60));
    stays("the cap holds over our restart; one page", (3, 1), secs(15), || {
        (restarts(&case, &container), case.receiver.pages())
    });
    let gaps = gaps(&case.witness.seen(), &container);
    assert!(gaps[1] > gaps[0], "gaps grow: {gaps:?}");
}

/// Case 11 of the engine's, and the second half of case 4: well for a moment in each life.
#[test]
fn a_quiet_loop_is_one_trouble_with_one_budget_and_one_page() {
    let Some(case) = Case::begin("quiet-loop") else { return };
    let arguments = ["serve", "--hang-after", "3s"];
    let container = case.container("api").running(&arguments).healthchecked().start();
    let config = Config::of(&case)
        .with("stable_for", "stable_for = \"30s\"")
        .with("budget", "budget = { restarts = 3, refill_after_healthy = \"30m\" }")
        .service(&container, "");
    let _daemon = Daemon::start(&case, config.text());
    until("the budget spent", secs(90), || (restarts(&case, &container) == 3).then_some(()));
    case.receiver.wait_for_page("unhealthy", secs(60));
    stays("spent once, not per life", (3, 1), secs(15), || {
        (restarts(&case, &container), case.receiver.pages())
    });
    let opened = case.receiver.story().iter().filter(|line| line.starts_with("opened")).count();
    assert_eq!(opened, 1, "one incident over all lives: {:?}", case.receiver.story());
}

/// Case 12 of the engine's.
#[test]
fn a_probe_that_never_passed_is_told_so_and_restarts_nothing() {
    let Some(case) = Case::begin("never-passed") else { return };
    let container = case.container("api").running(&["serve", "--status", "404"]).start();
    if container.address().is_none() {
        return left_out("a_probe_that_never_passed", "the engine has no bridge");
    }
    let config = Config::of(&case).service(&container, "").probe(FAST_PROBE);
    let _daemon = Daemon::start(&case, config.text());
    case.receiver.wait_for("opened", "never_passed", secs(30));
    stays("never restarted", 0, secs(10), || restarts(&case, &container));
}

/// Case 9 of paging: the streak is long before we come, and stays.
#[test]
fn a_standing_failure_pages_once_and_not_again_after_our_restarts() {
    let Some(case) = Case::begin("standing") else { return };
    let container = never_well(&case, "api");
    until("a long streak", secs(60), || (container.streak() >= 10).then_some(()));
    let service = "restart = \"never\"\npage = \"at_once\"";
    let config = Config::of(&case).service(&container, service);
    let first = Daemon::start(&case, config.text());
    let page = case.receiver.wait_for_page("unhealthy", secs(30));
    assert!(page.whole().contains("restart"), "it says why nothing is done: {}", page.whole());
    assert!(first.stop().success());
    let second = Daemon::start(&case, config.text());
    stays("no page after a clean restart", 1, secs(8), || case.receiver.pages());
    second.kill_nine();
    let _third = Daemon::start(&case, config.text());
    stays("nor after a hard one", 1, secs(8), || case.receiver.pages());
    let story = case.receiver.story();
    assert!(!story.iter().any(|line| line.starts_with("resolved")), "nothing is over: {story:?}");
    assert_eq!(restarts(&case, &container), 0);
}

/// P1: what could not be sent is sent later, under the same key.
#[test]
fn a_receiver_that_fails_for_a_while_gets_the_message_under_the_same_key() {
    let Some(case) = Case::begin("sink-heals") else { return };
    let container = never_well(&case, "api");
    case.receiver.answer_with(503);
    let service = "restart = \"never\"\npage = \"at_once\"";
    let daemon = Daemon::start(&case, Config::of(&case).service(&container, service).text());
    until("two attempts", secs(60), || (case.receiver.received().len() >= 2).then_some(()));
    daemon.kill_nine();
    let before = case.receiver.received().len();
    case.receiver.answer_with(200);
    let _again = Daemon::start(&case, Config::of(&case).service(&container, service).text());
    until("one more", secs(90), || (case.receiver.received().len() > before).then_some(()));
    let after = case.receiver.received().len();
    stays("delivered, and not again", after, secs(5), || case.receiver.received().len());
    let keys = case.receiver.received().into_iter().map(|message| message.key);
    let keys: std::collections::BTreeSet<String> = keys.collect();
    assert_eq!(keys.len(), 1, "one message, one key: {keys:?}");
}

/// Incident 4: from the hang to the first word, and to the proven recovery.
#[test]
fn from_hang_to_recovery_it_takes_less_than_a_minute() {
    let Some(case) = Case::begin("pace") else { return };
    let container = healthy(&case, "api");
    let config = Config::of(&case).with("settle", "settle = \"3s\"").service(&container, "");
    let _daemon = Daemon::start(&case, config.text());
    let hung = Instant::now();
    container.hang();
    let first = case.receiver.wait_for("opened", "unhealthy", secs(60));
    let cured = case.receiver.wait_for("recovered", "unhealthy", secs(60));
    let (told, cured) = (first.at.duration_since(hung), cured.at.duration_since(hung));
    println!("told after {told:?}, cured after {cured:?}");
    assert!(cured < secs(60));
}

/// Twice a second, so that a scenario is short; `fall` as shipped.
const FAST_PROBE: &str = r#"  http    = ":8080/"
  every   = "500ms"
  timeout = "400ms"
  fall    = 3
  rise    = 2"#;

fn healthy(case: &Case, name: &str) -> Container {
    let container = case.container(name).healthchecked().start();
    wait_for_health(&container, "healthy");
    container
}

/// Hangs from the first moment of every life.
fn never_well(case: &Case, name: &str) -> Container {
    let container =
        case.container(name).running(&["serve", "--hang-after", "0ms"]).healthchecked().start();
    wait_for_health(&container, "unhealthy");
    container
}

fn wait_for_health(container: &Container, health: &str) {
    until(health, secs(30), || (container.health() == health).then_some(()));
}

fn restarts(case: &Case, container: &Container) -> usize {
    case.witness.count(&container.name, "restart")
}

/// Between one restart and the next, in the engine's nanoseconds.
fn gaps(seen: &[Seen], container: &Container) -> Vec<u64> {
    let ours = |seen: &&Seen| seen.name == container.name && seen.action == "restart";
    let times: Vec<u64> = seen.iter().filter(ours).map(|seen| seen.at).collect();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}
