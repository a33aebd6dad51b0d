//! What it costs to watch many containers in which nothing happens, but that Docker runs a healthcheck in each every 30 s.

use crate::{
    Size, config, container::Recipe, daemon::Daemon, figures::line, left_out::say, proxy::Proxy,
    stage::Stage, wait::secs,
};
use std::{collections::BTreeMap, thread::sleep, time::Duration};

/// Until what belongs to the start is over.
const STARTING: Duration = Duration::from_secs(30);
const MINUTES: usize = 3;

pub(crate) fn measure(stage: &Stage, size: &Size) {
    say(&format!("making {} containers with a healthcheck", size.crowd));
    let crowd = stage.make("checked", size.crowd, &Recipe::idle_and_checked(secs(30)));
    let proxy = Proxy::open(stage.engine(), stage.directory());
    let mut text = config::by_default(&proxy.path);
    config::crowd(&mut text, &crowd);
    let daemon = Daemon::start(stage, &text);
    println!("\n{} containers, a healthcheck every 30 s in each", size.crowd);
    sleep(STARTING);
    let asked_before = asked(&proxy);
    let began = daemon.cost();
    let mut minutes = Vec::new();
    for _ in 0..size.rounds.unwrap_or(MINUTES) {
        let before = daemon.cost();
        sleep(secs(60));
        minutes.push(format!("{:.2}", daemon.cost().cpu - before.cpu));
    }
    let ended = daemon.cost();
    let span = minutes.len() as f64;
    line(
        "CPU seconds a minute",
        format_args!("{:.3} (each: {})", (ended.cpu - began.cpu) / span, minutes.join(", ")),
    );
    line("CPU seconds of the start, 30 s included", format_args!("{:.2}", began.cpu));
    let mib = |bytes: u64| bytes as f64 / (1024.0 * 1024.0);
    line(
        "resident memory",
        format_args!("{:.1} MiB, {:.1} of it its own", mib(ended.resident), mib(ended.own)),
    );
    for (what, count) in asked(&proxy) {
        let before = asked_before.get(&what).copied().unwrap_or(0);
        line(
            &format!("a minute: {what}"),
            format_args!("{:.1} (and {before} at the start)", (count - before) as f64 / span),
        );
    }
}

/// How often what was asked: each container's path as one.
fn asked(proxy: &Proxy) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for method in ["GET", "POST"] {
        for asked in proxy.asked(method, "") {
            let path = asked.path.split('?').next().unwrap_or_default();
            let mut parts: Vec<&str> = path.split('/').collect();
            if let Some(id) = parts.iter_mut().find(|part| part.len() == 64) {
                *id = "ID";
            }
            let filtered = if asked.path.contains("unhealthy") { " (unhealthy ones)" } else { "" };
            *counts.entry(format!("{method} {}{filtered}", parts.join("/"))).or_insert(0) += 1;
        }
    }
    counts
}
