//! What probing leaves behind: nothing. Counted in a process of its own, because the other tests of this binary open
//! descriptors and threads beside it.

use crate::{
    cases::endless,
    servers::{self, Server},
    watches::{asking, prober},
};
use defib::{domain::observation::ProbeOutcome, probe::port::Prober as _};
use futures_util::{StreamExt as _, future::join_all, stream::FuturesUnordered};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::{fs, net::SocketAddr, process::Command, sync::Arc, time::Duration};

const ADDRESSES: &str = "DEFIB_TEST_ADDRESSES";

/// Runs an ignored test of this binary in a process of its own, against `servers`.
fn in_a_process_of_its_own(test: &str, servers: &[&Server]) {
    let addresses: Vec<String> = servers.iter().map(|server| server.address.to_string()).collect();
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(ADDRESSES, addresses.join(","))
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn addresses() -> Vec<SocketAddr> {
    let text = std::env::var(ADDRESSES).expect("run by the test without `child` in its name");
    text.split(',').map(|address| address.parse().unwrap()).collect()
}

fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// A field of /proc/self/status: a number, with or without `kB`.
fn status(field: &str) -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn two_hundred_runs_leave_no_descriptor_and_no_thread() {
    let fine = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let hung = Server::new(|mut stream| servers::until_closed(&mut stream));
    let noise = Server::answering("no HTTP at all\r\n\r\n");
    let broken = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
    let test = "footprint::child_counts_descriptors_and_threads";
    in_a_process_of_its_own(test, &[&fine, &hung, &noise, &broken, &endless()]);
}

#[tokio::test]
#[ignore = "run in a process of its own"]
async fn child_counts_descriptors_and_threads() {
    let prober = prober();
    let addresses = addresses();
    let run = |n: usize| {
        let mut watch = asking(addresses[n % addresses.len()], |_| {});
        watch.probe.timeout = Duration::from_millis(100);
        prober.probe(Arc::new(watch))
    };
    let warm_up = join_all((0..10).map(run)).await;
    assert!(matches!(warm_up[0].outcome, ProbeOutcome::Ok { .. }), "{:?}", warm_up[0]);
    let before = (descriptors(), status("Threads"));
    for round in 0..10 {
        let ended = join_all((0..20).map(|n| run(round * 20 + n))).await;
        assert_eq!(ended.len(), 20);
    }
    assert_eq!((descriptors(), status("Threads")), before);

    // And without any descriptor left, the trouble is ours.
    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(1), maximum: limits.maximum }).unwrap();
    let probed = run(0).await;
    setrlimit(Resource::Nofile, limits).unwrap();
    assert!(matches!(probed.outcome, ProbeOutcome::Local(_)), "{probed:?}");
}

#[test]
fn fifty_endless_bodies_at_once_take_less_than_a_megabyte() {
    in_a_process_of_its_own("footprint::child_measures_its_peak", &[&endless()]);
}

#[tokio::test]
#[ignore = "run in a process of its own"]
async fn child_measures_its_peak() {
    let (prober, address) = (prober(), addresses()[0]);
    let run = |_| {
        let mut watch = asking(address, |_| {});
        watch.probe.timeout = Duration::from_secs(10);
        prober.probe(Arc::new(watch))
    };
    join_all((0..3).map(run)).await;
    // Without what is mapped from files: code that is run for the first time is not what a probe takes.
    let before = status("RssAnon");
    let mut under_way: FuturesUnordered<_> = (0..50).map(run).collect();
    let mut most = before;
    while let Some(probed) = under_way.next().await {
        assert_eq!(probed.outcome, ProbeOutcome::TooLarge);
        most = most.max(status("RssAnon"));
    }
    let more = most - before;
    assert!(more < 1_024, "{more} KiB more for 50");
}
