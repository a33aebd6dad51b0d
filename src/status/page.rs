//! How things stand, for a person at a terminal: first what is wrong with defib itself, then what it was told not to do, what
//! fails, and the rest in one line each.

use super::snapshot::{ReplicaStatus, SinkStatus, Snapshot};
use crate::{domain::moment::Spoken, notify::text};
use std::time::Duration;

/// A name is given so much room; longer ones push the rest to the right.
const NAME_WIDTH: usize = 24;

/// Says it.
pub fn page(snapshot: &Snapshot) -> String {
    let mut page = String::new();
    let mut line = |text: String| {
        page.push_str(&text);
        page.push('\n');
    };
    if let Some(nobody) = reach_nobody(snapshot) {
        line(nobody);
    }
    for problem in &snapshot.problems {
        line(format!("! {}", clean(problem)));
    }
    for note in &snapshot.notes {
        line(format!("- {}", clean(note)));
    }
    for incident in &snapshot.incidents {
        // What is well again is so since its end: the span belongs to the word before it.
        let since_ms = incident.ended_ms.unwrap_or(incident.since_ms);
        let since = Duration::from_millis(u64::try_from(snapshot.at_ms - since_ms).unwrap_or(0));
        let since = Spoken(Duration::from_secs(since.as_secs()));
        line(format!(
            "{} #{}: {} ({}, for {since})",
            incident.severity,
            incident.id,
            clean(&incident.headline),
            incident.stage
        ));
    }
    let healthy = snapshot.replicas.iter().filter(|replica| replica.verdict == "healthy").count();
    line(format!(
        "{}: watching {}, {healthy} healthy",
        clean(&snapshot.host),
        snapshot.replicas.len() + snapshot.replicas_not_shown
    ));
    for replica in &snapshot.replicas {
        line(replica_line(replica));
    }
    for service in &snapshot.unmatched {
        line(format!("  {:NAME_WIDTH$} matches no container on this host", clean(service)));
    }
    let probing = &snapshot.probing;
    if probing.targets > 0 {
        line(format!(
            "  probing {}, {} of at most {} now; {} wait, lag {} (p99), {} ticks skipped",
            probing.targets,
            probing.in_flight,
            probing.pool,
            probing.queued,
            Spoken(Duration::from_millis(probing.lag_p99_ms)),
            probing.skipped
        ));
    }
    for sink in &snapshot.sinks {
        line(sink_line(sink));
    }
    page
}

/// P10: what nobody must miss, and why it is so.
fn reach_nobody(snapshot: &Snapshot) -> Option<String> {
    let (what, counts): (_, fn(&SinkStatus) -> bool) =
        match (snapshot.messages_reach_somebody, snapshot.pages_reach_somebody) {
            (_, true) => return None,
            (true, false) => ("PAGES REACH NOBODY", |sink| sink.takes_pages),
            (false, false) => ("MESSAGES REACH NOBODY", |_| true),
        };
    let reasons: Vec<String> = snapshot
        .sinks
        .iter()
        .filter(|sink| counts(sink))
        .map(|sink| {
            let why = match (&sink.broken, sink.works) {
                (Some(why), false) => clean(why),
                (Some(_) | None, true) | (None, false) => {
                    "has not confirmed a message yet, as it is defined now".to_owned()
                }
            };
            format!("{}: {why}", clean(&sink.name))
        })
        .collect();
    let reasons =
        if reasons.is_empty() { "no sink takes them".to_owned() } else { reasons.join("; ") };
    Some(format!("{what}: {reasons}"))
}

fn sink_line(sink: &SinkStatus) -> String {
    let proven = if sink.proven { "proven" } else { "not proven yet" };
    let takes = if sink.takes_pages { "" } else { ", takes no pages" };
    let mut text = format!("  sink {}: {proven}{takes}", clean(&sink.name));
    if let Some(why) = sink.broken.as_ref().filter(|_| !sink.works) {
        text += &match sink.broken_for_ms {
            Some(span) => {
                let span = Spoken(Duration::from_secs(span / 1000));
                format!("; nothing has arrived for {span}: {}", clean(why))
            }
            None => format!("; nothing can be sent: {}", clean(why)),
        };
    }
    if sink.waiting > 0 {
        let next = Duration::from_secs(sink.next_attempt_ms.unwrap_or(0).div_ceil(1000));
        let next = if next.is_zero() { "now".to_owned() } else { format!("in {}", Spoken(next)) };
        text += &format!("; {} waiting, next attempt {next}", sink.waiting);
    }
    if sink.lacks.is_some() {
        text += "; what it lacks is looked for again each minute";
    } else if sink.waiting == 0 && sink.broken.is_some() && !sink.works {
        text += "; the next attempt is the next message";
    }
    for why in &sink.undeliverable {
        text += &format!("; was not told of something, and will not be: {}", clean(why));
    }
    text
}

fn replica_line(replica: &ReplicaStatus) -> String {
    let span = match replica.verdict_for_ms / 1000 {
        0 => "just now".to_owned(),
        seconds => format!("for {}", Spoken(Duration::from_secs(seconds))),
    };
    let mut text = format!("  {:NAME_WIDTH$} {:<10} {span}", clean(&replica.name), replica.verdict);
    if let Some(state) = standstill(replica) {
        text += &format!("; {}", clean(state));
    }
    if replica.restarts_spent > 0 {
        text +=
            &format!("; {} of {} restarts spent", replica.restarts_spent, replica.restarts_allowed);
    }
    if replica.in_hand {
        text += if replica.recovery_awaited {
            "; restarted, its recovery is awaited"
        } else {
            "; being restarted"
        };
    }
    if let Some(shows) = &replica.trouble {
        // A trouble is over only when it has stayed well: until then what it showed is past, and not how it stands.
        let had = if replica.verdict == "healthy" { "had " } else { "" };
        let failures = if replica.failures == 1 { "failure" } else { "failures" };
        text += &format!("; {had}{} {failures}: {}", replica.failures, clean(shows));
    }
    for shows in &replica.failing {
        text += &format!("; {}", clean(shows));
    }
    for begun in &replica.begins_to_fail {
        text += &format!("; {}", clean(begun));
    }
    if let Some(hold) = &replica.hold {
        text += &format!("; not restarted: {}", clean(hold));
        if let Some(left) = replica.hold_for_ms {
            text += &format!(", for {} more", Spoken(Duration::from_secs(left.div_ceil(1000))));
        }
    }
    if replica.nothing_to_judge_by {
        text += "; nothing to judge it by: it has no healthcheck and no probe, so only that it stands still can be seen";
    }
    for double in &replica.doubles {
        text += &format!(
            "; `{}` runs beside it with the same labels, and is not watched",
            clean(double)
        );
    }
    if let Some(why) = &replica.could_not_look {
        text += &format!("; could not look: {}", clean(why));
    }
    text
}

/// What its state says beyond its verdict: an exit code, or why it is not known how it is.
fn standstill(replica: &ReplicaStatus) -> Option<&str> {
    let runs = ["running", "not a container", "paused"].contains(&replica.state.as_str());
    let told = replica.state == replica.verdict || replica.could_not_look.is_some();
    let state = replica.state.strip_prefix("stopped, ").unwrap_or(&replica.state);
    (!runs && !told).then_some(state)
}

/// Text from outside must not move the cursor.
fn clean(text: &str) -> String {
    text::one_line(text)
}
