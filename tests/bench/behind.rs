//! How long a container waits for its restart while another's restart hangs in a stop that takes 10 s.

use crate::{
    Size, config,
    container::Recipe,
    daemon::Daemon,
    figures::{Times, line},
    heard::{At, Heard},
    reaction::reaction,
    stage::Stage,
    wait::millis,
};

const ROUNDS: usize = 5;

pub(crate) fn measure(stage: &Stage, size: &Size) {
    let slow = stage.make("slow", 1, &Recipe::server(millis(500)).that_stops_slowly());
    let other = stage.make("other", 1, &Recipe::server(millis(500)));
    let heard = Heard::from(stage.engine());
    let mut text = config::at_once(&stage.engine().socket);
    config::services(&mut text, &slow);
    config::services(&mut text, &other);
    let _daemon = Daemon::start(stage, &text).sees_healthy(2);
    println!("\nunhealthy → restart of another, behind a stop that takes 10 s");
    let (mut behind, mut alone) = (Vec::new(), Vec::new());
    for _ in 0..size.rounds.unwrap_or(ROUNDS) {
        alone.push(reaction(&heard, &other[0]));
        slow[0].wait_until_healthy();
        other[0].wait_until_healthy();
        let begun = At::now();
        slow[0].hang();
        heard.first(&slow[0].name, "kill", begun);
        let waited = reaction(&heard, &other[0]);
        // Where the stop was over before, nobody waited behind it.
        match heard.if_heard(&slow[0].name, "start", begun) {
            None => behind.push(waited),
            Some(_) => println!("  (a round does not count: the stop was over too soon)"),
        }
        heard.first(&slow[0].name, "start", begun);
    }
    line("alone", Times::of(alone));
    line("behind the stop", Times::of(behind));
}
