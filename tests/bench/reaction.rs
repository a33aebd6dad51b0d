//! From the engine's `unhealthy` to the restart as the engine sees it, one container at a time among many others.
//!
//! defib and the floor run side by side, each with containers of its own, in turns, so that whatever else the machine does
//! hits both.

use crate::{
    Size, config,
    container::{Container, Recipe},
    daemon::Daemon,
    figures::{Times, line},
    floor::Floor,
    heard::{At, Heard},
    host::run_id,
    stage::Stage,
    wait::millis,
};
use std::time::Duration;

const ROUNDS: usize = 40;

/// With the defaults a container that was restarted is left alone for a while, so each is taken once; then a daemon with a
/// new state goes on.
const DAEMONS_BY_DEFAULT: usize = 3;

pub(crate) fn measure(stage: &Stage, size: &Size) {
    let crowd = stage.crowd(size.crowd);
    let ours = stage.make("ours", 4, &Recipe::server(millis(500)));
    let floors = stage.make("floors", 4, &Recipe::server(millis(500)));
    let heard = Heard::from(stage.engine());
    let floor = Floor::start(stage.engine(), format!("defib-test-{}-floors-", run_id()));
    println!("\nunhealthy → restart, {} other containers", size.crowd);

    let mut text = config::at_once(&stage.engine().socket);
    config::services(&mut text, &ours);
    config::crowd(&mut text, &crowd);
    let (mut of_defib, mut of_floor) = (Vec::new(), Vec::new());
    {
        let _daemon = Daemon::start(stage, &text).sees_healthy(ours.len());
        for round in 0..size.rounds.unwrap_or(ROUNDS) {
            of_defib.push(reaction(&heard, &ours[round % ours.len()]));
            of_floor.push(reaction(&heard, &floors[round % floors.len()]));
        }
    }
    let (of_defib, of_floor) = (Times::of(of_defib), Times::of(of_floor));
    line("floor: event → restart, nothing else", &of_floor);
    line("defib, settle 0, brake off", &of_defib);
    let beyond = of_defib.median().as_secs_f64() - of_floor.median().as_secs_f64();
    line("defib beyond the floor, medians", format_args!("{:.1} ms", beyond * 1000.0));
    drop(floor);

    let mut text = config::by_default(&stage.engine().socket);
    config::services(&mut text, &ours);
    config::crowd(&mut text, &crowd);
    let mut by_default = Vec::new();
    for _ in 0..DAEMONS_BY_DEFAULT {
        let _daemon = Daemon::start(stage, &text).sees_healthy(ours.len());
        by_default.extend(ours.iter().map(|container| reaction(&heard, container)));
    }
    line("defib with the defaults (settle 3 s)", Times::of(by_default));
}

/// Hangs it, and says how long after Docker's verdict it was restarted.
pub(crate) fn reaction(heard: &Heard, container: &Container) -> Duration {
    container.wait_until_healthy();
    let begun = At::now();
    container.hang();
    let unhealthy = heard.first(&container.name, "health_status: unhealthy", begun);
    let restart = heard.first(&container.name, "kill", begun);
    heard.first(&container.name, "start", begun);
    restart.since(unhealthy)
}
