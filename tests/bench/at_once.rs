//! Twenty services fail at the same time, and all may be restarted at once.
//!
//! Measured in two ways. *Released*: all are unhealthy and known, defib is held by its `hold` file, and from the moment that
//! is removed until the last runs again; this is beside `xargs -P20 docker restart` of the same containers. *Found*: all are told
//! to hang at once, and from Docker's first `unhealthy` until the last runs again; this is beside the floor. Docker's
//! verdicts themselves come over some seconds then.

use crate::{
    Size, config,
    container::{Container, Recipe},
    daemon::Daemon,
    figures::{Times, line},
    floor::Floor,
    heard::{At, Heard},
    host::run_id,
    stage::{Stage, in_parallel},
    wait::{secs, until},
};
use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

const SERVICES: usize = 20;
const ROUNDS: usize = 3;

pub(crate) fn measure(stage: &Stage, size: &Size) {
    let failing = stage.make("failing", SERVICES, &Recipe::server(secs(2)));
    let heard = Heard::from(stage.engine());
    let mut text = config::at_once(&stage.engine().socket);
    config::services(&mut text, &failing);
    println!("\n{SERVICES} services fail at once, until the last runs again");
    let (mut by_xargs, mut released) = (Vec::new(), Vec::new());
    let (mut found, mut by_floor) = (Vec::new(), Vec::new());
    for _ in 0..size.rounds.unwrap_or(ROUNDS) {
        all_hang(&heard, &failing);
        by_xargs.push(xargs(stage, &heard, &failing));

        settle(&failing);
        {
            let daemon = Daemon::start_held(stage, &text, true).sees_healthy(SERVICES);
            all_hang(&heard, &failing);
            until("defib to know of all", secs(30), || {
                (daemon.judged("unhealthy") == SERVICES).then_some(())
            });
            let begun = At::now();
            daemon.release();
            released.push(last_start(&heard, &failing, begun).since(begun));
            settle(&failing);
        }
        {
            let _daemon = Daemon::start(stage, &text).sees_healthy(SERVICES);
            found.push(from_first_to_last(&heard, &failing));
            settle(&failing);
        }
        let _floor = Floor::start(stage.engine(), format!("defib-test-{}-failing-", run_id()));
        by_floor.push(from_first_to_last(&heard, &failing));
        settle(&failing);
    }
    let (by_xargs, released) = (Times::of(by_xargs), Times::of(released));
    let ratio = released.median().as_secs_f64() / by_xargs.median().as_secs_f64();
    line(&format!("xargs -P{SERVICES} docker restart"), &by_xargs);
    line("defib, released", &released);
    line("defib to xargs, medians", format_args!("{ratio:.2}"));
    line("floor, from the first verdict on", Times::of(by_floor));
    line("defib, from the first verdict on", Times::of(found));
}

/// Tells all to hang, and waits for Docker's verdicts.
fn all_hang(heard: &Heard, containers: &[Container]) -> At {
    settle(containers);
    let begun = At::now();
    containers.iter().for_each(Container::hang);
    let verdicts = containers
        .iter()
        .map(|container| heard.first(&container.name, "health_status: unhealthy", begun));
    verdicts.min().unwrap()
}

fn settle(containers: &[Container]) {
    in_parallel(containers.iter().collect(), Container::wait_until_healthy);
}

fn last_start(heard: &Heard, containers: &[Container], after: At) -> At {
    containers.iter().map(|container| heard.first(&container.name, "start", after)).max().unwrap()
}

fn from_first_to_last(heard: &Heard, containers: &[Container]) -> Duration {
    let first = all_hang(heard, containers);
    last_start(heard, containers, first).since(first)
}

fn xargs(stage: &Stage, heard: &Heard, containers: &[Container]) -> Duration {
    let begun = At::now();
    let mut xargs = Command::new("xargs")
        .args([&format!("-P{SERVICES}"), "-n1", "docker", "restart"])
        .env("DOCKER_HOST", format!("unix://{}", stage.engine().socket.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let names: String =
        containers.iter().map(|container| format!("{}\n", container.name)).collect();
    xargs.stdin.take().unwrap().write_all(names.as_bytes()).unwrap();
    let taken = last_start(heard, containers, begun).since(begun);
    assert!(xargs.wait().unwrap().success(), "docker restart must succeed");
    taken
}
