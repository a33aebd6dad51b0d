//! How things stand, for a person at a terminal: first what is wrong with defib itself, then what fails, then the rest in one
//! line each.

use super::snapshot::{ReplicaStatus, Snapshot};
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
    if !snapshot.messages_reach_somebody {
        line("MESSAGES REACH NOBODY: no sink has confirmed a message yet".to_owned());
    }
    for problem in &snapshot.problems {
        line(format!("! {}", clean(problem)));
    }
    for incident in &snapshot.incidents {
        let since =
            Duration::from_millis(u64::try_from(snapshot.at_ms - incident.since_ms).unwrap_or(0));
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
        snapshot.replicas.len()
    ));
    for replica in &snapshot.replicas {
        line(replica_line(replica));
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
        let state = match (&sink.broken, sink.proven) {
            (Some(why), _) => format!("broken: {}", clean(why)),
            (None, true) => "proven".to_owned(),
            (None, false) => "not proven yet".to_owned(),
        };
        let waiting =
            if sink.waiting > 0 { format!(", {} waiting", sink.waiting) } else { String::new() };
        line(format!("  sink {}: {state}{waiting}", clean(&sink.name)));
    }
    page
}

fn replica_line(replica: &ReplicaStatus) -> String {
    let span = Spoken(Duration::from_secs(replica.verdict_for_ms / 1000));
    let mut text =
        format!("  {:NAME_WIDTH$} {:<10} for {span}", clean(&replica.name), replica.verdict);
    if replica.restarts_spent > 0 {
        text +=
            &format!("; {} of {} restarts spent", replica.restarts_spent, replica.restarts_allowed);
    }
    if replica.in_hand {
        text += "; being restarted";
    }
    if let Some(shows) = &replica.trouble {
        text += &format!("; {} failures: {}", replica.failures, clean(shows));
    }
    if let Some(hold) = &replica.hold {
        text += &format!("; not restarted: {}", clean(hold));
    }
    if let Some(why) = &replica.could_not_look {
        text += &format!("; could not look: {}", clean(why));
    }
    text
}

/// Text from outside must not move the cursor.
fn clean(text: &str) -> String {
    text::one_line(text)
}
