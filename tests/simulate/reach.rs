//! How often each hold reason, rung, crash point and outcome was reached. A rule that no run ever came near is not tested by
//! all these runs.

use crate::account::{Account, Fact};
use defib::domain::message::MessageKind;
use std::{collections::BTreeMap, fmt};

/// The first reminder's; a sink that was slow heard of it a little later.
const HOUR_MS: u64 = 3_540_000;

/// Counts, by group and what.
#[derive(Clone, Debug, Default)]
pub struct Reach {
    counts: BTreeMap<(&'static str, String), u64>,
}

impl Reach {
    /// Counts one run.
    pub fn count(&mut self, account: &Account) {
        for service in &account.rules.services {
            if service.page_after_ms.is_some() {
                self.one("threshold", "page_after by time".to_owned());
            }
            if service.restart_after_ms.is_some() {
                self.one("threshold", "restart_after by time".to_owned());
            }
        }
        if !account.rules.choosy.is_empty() {
            self.one("sink", "one that takes no notices".to_owned());
        }
        let mut opened = BTreeMap::new();
        for entry in &account.entries {
            if let Fact::SendBegun { sink, message, .. } = &entry.fact {
                let since = *opened.entry((sink, message.incident)).or_insert(entry.at);
                let hour = message.kind == MessageKind::Reminder && entry.at >= since + HOUR_MS;
                if hour {
                    self.one("message", "Reminder after an hour".to_owned());
                }
            }
            match &entry.fact {
                Fact::Decided { decision, reason, .. } => self.decided(decision, reason),
                Fact::ActCalled { primitive, .. } => self.one("act", primitive.to_string()),
                Fact::ActAnswered { outcome, .. } => self.one("act answered", word(outcome)),
                Fact::SendBegun { message, durable, .. } => {
                    self.one("message", format!("{:?} {}", message.kind, message.severity));
                    self.one("incident", message.incident_kind.word().to_owned());
                    if !durable {
                        self.one("message", "sent from memory".to_owned());
                    }
                }
                Fact::SendAnswered { outcome, .. } => self.one("delivery", word(outcome)),
                Fact::Sampled(sampled) => {
                    let asleep = if sampled.slept { " (asleep)" } else { "" };
                    self.one("sample", format!("{}{asleep}", word(&sampled.outcome)));
                }
                Fact::DefibCrashed(place) => self.one("crash", place.clone()),
                Fact::RecordsRefused { .. } => self.one("store", "refused".to_owned()),
                Fact::InspectFailed { failure, .. } => self.one("inspect failed", word(failure)),
                Fact::Listed { failure: Some(failure) } => self.one("list failed", word(failure)),
                Fact::HoldFile { exists: true } => self.one("operator", "hold file".to_owned()),
                Fact::Reloaded { removed, hands_off } => {
                    let what = match (removed, hands_off) {
                        (Some(_), _) => "without a service",
                        (None, true) => "with never_act",
                        (None, false) => "as it was",
                    };
                    self.one("operator", format!("reload {what}"));
                }
                Fact::HostBooted => self.one("clock", "host booted".to_owned()),
                Fact::HostSlept(_) => self.one("clock", "host slept".to_owned()),
                Fact::WallStepped(_) => self.one("clock", "wall clock set".to_owned()),
                _ => {}
            }
        }
    }

    fn decided(&mut self, decision: &str, reason: &str) {
        match decision {
            "Held" => self.one("hold", first(reason)),
            "Acting" => self.one("rung", reason.rsplit(", ").next().map(first).unwrap_or_default()),
            "Ended" => {
                let ending = reason.split_once(", ").map_or(reason, |parts| parts.1);
                let why = ending
                    .strip_prefix("Abandoned(")
                    .map(|hold| format!("Abandoned {}", first(hold)));
                self.one("attempt", why.unwrap_or_else(|| first(ending)));
            }
            _ => self.one("decided", decision.to_owned()),
        }
    }

    fn one(&mut self, group: &'static str, what: String) {
        *self.counts.entry((group, what)).or_default() += 1;
    }
}

/// The first word of a value as Rust writes it.
fn first(text: &str) -> String {
    text.trim_start_matches('(').chars().take_while(char::is_ascii_alphanumeric).collect()
}

fn word(value: &impl fmt::Debug) -> String {
    first(&format!("{value:?}"))
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = "";
        for ((of, what), count) in &self.counts {
            if *of != group {
                writeln!(f, "{of}")?;
                group = of;
            }
            writeln!(f, "  {count:>9}  {what}")?;
        }
        Ok(())
    }
}
