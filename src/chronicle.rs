//! What was seen goes to the journal, what was decided to the log.
//!
//! The log is for people: one line a decision, with the identifiers as fields and a sentence that reads alone. `error` means
//! that a person must act, `warn` that we cope, `info` a transition. Holds are logged when their reason changes, which is
//! when the domain records them. Text from outside is said as it is: whoever writes the log escapes what would act in it
//! (`cli::log`), here and everywhere else.

use crate::{
    daemon::Witness,
    docker::port::Pending,
    domain::{
        acting::{
            attempt::{Ending, word},
            hold::Hold,
        },
        effect::Batch,
        message::Severity,
        moment::{Moment, Spoken},
        observation::{ContainerState, LookFailure, Observation},
        record::{Decision, DecisionRecord, Record},
    },
    journal::writer::Journal,
};
use std::{collections::BTreeSet, time::Duration};

/// Writes the journal and the log.
pub struct Chronicle {
    journal: Option<Journal>,
    /// Problems that were logged already: the same text is logged once, until it is over.
    engine: Option<String>,
    events: Option<String>,
    events_are_open: bool,
    store: Option<String>,
    words: BTreeSet<String>,
    /// How many containers of the last list could not be read.
    undecodable: u32,
}

/// So many unknown words of an engine are told of; an engine that makes up more is its own trouble.
const MOST_WORDS: usize = 64;

impl Chronicle {
    /// `journal`: `None` where it could not be begun; the log then goes on alone.
    pub fn new(journal: Option<Journal>) -> Self {
        Self {
            journal,
            engine: None,
            events: None,
            events_are_open: false,
            store: None,
            words: BTreeSet::new(),
            undecodable: 0,
        }
    }

    fn engine_failed(&mut self, failure: &LookFailure) {
        let text = failure.to_string();
        if self.engine.as_ref() != Some(&text) {
            tracing::error!(
                "the container engine can't be asked: {text}; trying again, probing goes on"
            );
            self.engine = Some(text);
        }
    }

    fn events_lost(&mut self, failure: &LookFailure) {
        let was_open = std::mem::take(&mut self.events_are_open);
        // On a quiet host nothing comes for as long as is waited for, and that the stream is then opened anew is how a
        // dead one is found out: no news, unless it can't be opened.
        if let (true, LookFailure::TimedOut(within)) = (was_open, failure) {
            tracing::debug!(
                "nothing came by the event stream for {}; opening it anew",
                Spoken(*within)
            );
            return;
        }
        let text = failure.to_string();
        if self.events.as_ref() != Some(&text) {
            tracing::warn!(
                "the event stream was lost: {text}; opening it again, the list stands in for it"
            );
            self.events = Some(text);
        }
    }

    fn list_read(&mut self, undecodable: u32) {
        if std::mem::replace(&mut self.undecodable, undecodable) != undecodable && undecodable > 0 {
            tracing::warn!(
                containers = undecodable,
                "some containers of the engine's list can't be read; they are not watched until they can"
            );
        }
    }

    fn state_seen(&mut self, name: &str, state: &ContainerState) {
        if let ContainerState::Unknown(word) = state
            && self.words.len() < MOST_WORDS
            && self.words.insert(word.clone())
        {
            tracing::warn!(container = name, state = %word,
                "the engine's word for this container's state is not known; the container is watched as unknown");
        }
    }
}

impl Witness for Chronicle {
    fn observed(&mut self, now: Moment, observation: &Observation) {
        // Deadlines ring by themselves in a replay.
        if let Some(journal) = self.journal.as_mut().filter(|_| *observation != Observation::Woke) {
            journal.note(now, observation);
        }
        match observation {
            Observation::ListFailed { failure, .. } => self.engine_failed(failure),
            Observation::Listed(listing) => {
                self.list_read(listing.undecodable);
                for row in &listing.containers {
                    self.state_seen(&row.name, &row.state);
                }
                if self.engine.take().is_some() {
                    tracing::info!("the container engine answers again");
                }
            }
            Observation::Refused { reason, .. } => {
                if self.store.as_ref() != Some(reason) {
                    tracing::error!(
                        "what is done can't be recorded: {reason}; nothing is restarted until it can"
                    );
                    self.store = Some(reason.clone());
                }
            }
            Observation::Committed(_) => self.store = None,
            Observation::HostResumed(slept) => {
                tracing::info!(
                    "the host or this process slept for {}; looking anew before judging",
                    Spoken(*slept)
                );
            }
            Observation::ClockStepped(by) => {
                tracing::info!(milliseconds = by, "the wall clock was set")
            }
            Observation::MemoryLost(why) => {
                tracing::error!("what was kept is damaged: {}; begun without it", why);
            }
            Observation::HoldFile(present) => {
                if *present {
                    tracing::warn!(
                        "the `hold` file exists, or can't be looked for: nothing is acted on until it is gone"
                    );
                } else {
                    tracing::info!("the `hold` file is gone: acting again");
                }
            }
            Observation::EventsLost(failure) => self.events_lost(failure),
            Observation::EventsOpened => {
                self.events_are_open = true;
                if self.events.take().is_some() {
                    tracing::info!("the event stream is open again");
                }
            }
            Observation::PolicyLoaded(_)
            | Observation::UnhealthyListed(_)
            | Observation::Inspected { .. }
            | Observation::Event(_)
            | Observation::Sampled(_)
            | Observation::EvidenceGathered { .. }
            | Observation::Acted { .. }
            | Observation::Answered { .. }
            | Observation::Woke => {}
        }
    }

    fn end(&mut self) -> Pending<'static, ()> {
        match self.journal.take() {
            Some(journal) => journal.close(),
            None => Box::pin(async {}),
        }
    }

    fn decided(&mut self, _: Moment, batch: &Batch) {
        for record in &batch.records {
            if let Record::Decided(decided) = record {
                say(decided);
            }
        }
    }
}

fn say(record: &DecisionRecord) {
    let service = record.service.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default();
    let replica = record.replica.as_ref().map(|name| name.as_str().to_owned()).unwrap_or_default();
    let who = if replica.is_empty() { &service } else { &replica };
    match &record.decision {
        Decision::TroubleBegan { shows } => {
            tracing::warn!(service, "{who} is unhealthy: {}", shows)
        }
        Decision::TroubleOver => {
            tracing::info!(service, "{who}: its trouble is over")
        }
        Decision::Held(Hold::Dry) => {
            tracing::warn!(service, "{who} would be restarted now (dry run)")
        }
        Decision::Held(hold) => {
            tracing::info!(service, hold = hold.word(), "{who} is not restarted: {hold}")
        }
        Decision::Spent(attempt) => {
            tracing::info!(service, attempt = attempt.0, "{who} is to be restarted")
        }
        Decision::Acting(attempt, rung) => {
            tracing::warn!(service, attempt = attempt.0, "{who}: {} begins", word(*rung))
        }
        Decision::Ended(attempt, ending) => match ending {
            Ending::Verified { after_ms } => {
                let after = Spoken(Duration::from_millis(*after_ms));
                tracing::info!(
                    service,
                    attempt = attempt.0,
                    "{who} is healthy again, {after} after the attempt began"
                );
            }
            Ending::NotCured(why) => tracing::error!(
                service,
                attempt = attempt.0,
                "{who}: the attempt did not help: {why}"
            ),
            Ending::Abandoned(hold) => {
                tracing::info!(
                    service,
                    attempt = attempt.0,
                    "{who}: nothing was done after all: {hold}"
                );
            }
            Ending::Refused(why) => tracing::error!(
                service,
                attempt = attempt.0,
                "{who}: the engine refuses to act: {why}"
            ),
            Ending::Interrupted => {
                tracing::warn!(
                    service,
                    attempt = attempt.0,
                    "{who}: the restart did not reach the engine, as far as can be seen; judging anew"
                );
            }
            Ending::Gone => {
                tracing::info!(service, attempt = attempt.0, "{who} was removed meanwhile")
            }
            Ending::TakenOver(what) => {
                tracing::info!(
                    service,
                    attempt = attempt.0,
                    "{who}: {what} before it was seen to be well; left alone"
                );
            }
            Ending::NotOurs(why) => {
                tracing::error!(service, attempt = attempt.0, "{who}: {why}; left alone")
            }
        },
        Decision::Resumed(attempt) => {
            tracing::warn!(
                service,
                attempt = attempt.0,
                "{who}: an attempt was interrupted; looking at what it did"
            );
        }
        Decision::BrakeEngaged => {
            tracing::error!("much fails at once: restarts are held back on this host")
        }
        Decision::TrialChosen => {
            tracing::warn!(service, "{who} may be restarted, to see whether that helps")
        }
        Decision::BrakeReleased(why) => tracing::info!("restarts are free again: {why}"),
        Decision::Opened(incident, key, Severity::Page) => {
            tracing::error!(incident = incident.0, "page: {key}")
        }
        Decision::Opened(incident, key, level) => {
            tracing::warn!(incident = incident.0, "{level}: {key}")
        }
        Decision::Raised(incident, level) => {
            tracing::error!(incident = incident.0, service, "is a {level} now")
        }
        Decision::Resolved(incident) => tracing::info!(incident = incident.0, service, "resolved"),
        Decision::Told(sink, incident, kind) => {
            tracing::info!(incident = incident.0, sink = sink.as_str(), "told: {kind:?}");
        }
        Decision::Undeliverable(sink, incident, why) => {
            tracing::error!(
                incident = incident.0,
                sink = sink.as_str(),
                "the sink will never take this message: {why}"
            );
        }
        Decision::SinkFails(sink, why, again) => {
            let again = Spoken(Duration::from_secs(*again));
            tracing::error!(
                sink = sink.as_str(),
                "messages do not arrive: {why}; what is owed is kept, the next attempt is in {again}"
            );
        }
        Decision::Unmatched(services) => {
            let names: Vec<&str> = services.iter().map(|name| name.as_str()).collect();
            tracing::warn!(
                services = names.join(", "),
                "these services match no container on this host; nothing of them is watched here"
            );
        }
        Decision::SinkWorks(sink) => {
            tracing::info!(sink = sink.as_str(), "messages arrive again");
        }
    }
}

#[cfg(test)]
mod tests;
