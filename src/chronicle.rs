//! What was seen goes to the journal, what was decided to the log.
//!
//! The log is for people: one line a decision, with the identifiers as fields and a sentence that reads alone. `error` means
//! that a person must act, `warn` that we cope, `info` a transition. Holds are logged when their reason changes, which is
//! when the domain records them. Text from outside is said as it is: whoever writes the log escapes what would act in it
//! (`cli::log`), here and everywhere else.

mod words;

use crate::{
    daemon::Witness,
    domain::{
        acting::attempt::word,
        effect::Batch,
        message::Severity,
        moment::{Moment, Spoken},
        name::IncidentId,
        observation::{ContainerState, LookFailure, Observation},
        record::{Decision, DecisionRecord, Record, RecordKey},
    },
    journal::writer::Journal,
    operator::HOLD,
    status::problems::{BROKE_DOWN, held_by},
    tasks::Pending,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};
use words::{say_ended, say_held, told};

/// Writes the journal and the log.
pub struct Chronicle {
    journal: Option<Journal>,
    /// Where the `hold` file is looked for; `None`: nowhere.
    hold_file: Option<PathBuf>,
    /// What incidents that are not told to their end are about, so that each line about one reads alone.
    incidents: BTreeMap<IncidentId, About>,
    /// Problems that were logged already: the same text is logged once, until it is over.
    engine: Unasked,
    events: Option<String>,
    events_are_open: bool,
    store: Option<String>,
    words: BTreeSet<String>,
    /// How many containers of the last list could not be read.
    undecodable: u32,
    /// That no probe runs any more was said.
    prober_ended: bool,
}

/// Why the engine's lists can't be had, each of the two polls for itself: that one is answered says nothing of the other.
#[derive(Default)]
struct Unasked {
    full: Option<String>,
    unhealthy: Option<String>,
}

impl Unasked {
    fn says(&self, text: &str) -> bool {
        [&self.full, &self.unhealthy].into_iter().any(|said| said.as_deref() == Some(text))
    }

    /// Whether that poll's answer leaves nothing that can't be asked, where something could not be.
    fn is_over(&mut self, full: bool) -> bool {
        self.of(full).take().is_some() && self.full.is_none() && self.unhealthy.is_none()
    }

    fn of(&mut self, full: bool) -> &mut Option<String> {
        if full { &mut self.full } else { &mut self.unhealthy }
    }
}

/// What an incident is about.
struct About {
    record: RecordKey,
    headline: String,
}

/// So many unknown words of an engine are told of; an engine that makes up more is its own trouble.
const MOST_WORDS: usize = 64;

impl Chronicle {
    /// `journal`: `None` where it could not be begun; the log then goes on alone.
    pub fn new(journal: Option<Journal>) -> Self {
        Self {
            journal,
            hold_file: None,
            incidents: BTreeMap::new(),
            engine: Unasked::default(),
            events: None,
            events_are_open: false,
            store: None,
            words: BTreeSet::new(),
            undecodable: 0,
            prober_ended: false,
        }
    }

    /// Whoever reads that the `hold` file holds has to know which file that is.
    pub fn with_hold_file(self, path: PathBuf) -> Self {
        Self { hold_file: Some(path), ..self }
    }

    fn engine_failed(&mut self, full: bool, failure: &LookFailure) {
        let text = failure.to_string();
        if !self.engine.says(&text) {
            tracing::error!(
                "the container engine can't be asked: {text}; trying again, probing goes on"
            );
        }
        *self.engine.of(full) = Some(text);
    }

    fn engine_answered(&mut self, full: bool) {
        if self.engine.is_over(full) {
            tracing::info!("the container engine answers again");
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
        if self.events.as_ref() == Some(&text) {
            return;
        }
        if self.engine.says(&text) {
            tracing::debug!("the event stream can't be opened either");
        } else if was_open {
            tracing::warn!(
                "the event stream was lost: {text}; opening it again, and nothing is restarted until it is open"
            );
        } else {
            tracing::warn!(
                "the event stream can't be opened: {text}; trying again, and nothing is restarted until it is open"
            );
        }
        self.events = Some(text);
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
            Observation::ListFailed { full, failure } => self.engine_failed(*full, failure),
            Observation::Listed(listing) => {
                self.list_read(listing.undecodable);
                for row in &listing.containers {
                    self.state_seen(&row.name, &row.state);
                }
                self.engine_answered(true);
            }
            Observation::UnhealthyListed(_) => self.engine_answered(false),
            Observation::Refused { reason, .. } => {
                if self.store.as_ref() != Some(reason) {
                    tracing::error!(
                        "what is done can't be recorded: {reason}; nothing is restarted until it can"
                    );
                    self.store = Some(reason.clone());
                }
            }
            Observation::Committed(_) => {
                if self.store.take().is_some() {
                    tracing::info!("what is done can be recorded again");
                }
            }
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
                tracing::error!("{why}; defib goes on without what was lost");
            }
            Observation::HoldFile(present) => {
                let path = self.hold_file.as_deref();
                if *present {
                    tracing::warn!("{}", held_by(path));
                } else {
                    let path = path.unwrap_or(Path::new(HOLD)).display();
                    tracing::info!("`{path}` is gone: acting again");
                }
            }
            // Told of again with each probe that is ordered since.
            Observation::ProberEnded(_) => {
                if !std::mem::replace(&mut self.prober_ended, true) {
                    tracing::error!("{BROKE_DOWN}");
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
            | Observation::Inspected { .. }
            | Observation::Event(_)
            | Observation::Sampled(_)
            | Observation::EvidenceGathered { .. }
            | Observation::Acted { .. }
            | Observation::Answered { .. }
            | Observation::Ending
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
        // An incident's record comes after the decision that it is about.
        for record in &batch.records {
            if let Record::Incident(incident) = record {
                let about = About {
                    record: RecordKey::incident(&incident.kept.key),
                    headline: incident.kept.content.headline.clone(),
                };
                self.incidents.insert(incident.kept.id, about);
            }
        }
        for record in &batch.records {
            match record {
                Record::Decided(decided) => self.say(decided),
                // It is told to its end.
                Record::Forgotten(key) => self.incidents.retain(|_, about| about.record != *key),
                Record::Host(_)
                | Record::Replica(_)
                | Record::Incident(_)
                | Record::Delivery(_)
                | Record::Sink(_)
                | Record::Cleared => {}
            }
        }
    }
}

impl Chronicle {
    /// What an incident is about, in words. One of before our start may not be known yet.
    fn about(&self, incident: IncidentId, service: &str) -> String {
        match (self.incidents.get(&incident), service) {
            (Some(About { headline, .. }), _) => headline.clone(),
            (None, "") => format!("incident {} of this host", incident.0),
            (None, service) => format!("incident {} of {service}", incident.0),
        }
    }

    fn say(&self, record: &DecisionRecord) {
        let service = record.service.as_ref().map_or("", |name| name.as_str());
        let who = record.replica.as_ref().map_or(service, |name| name.as_str());
        match &record.decision {
            Decision::TroubleBegan { shows } => {
                tracing::warn!(service, "{who} is unhealthy: {shows}")
            }
            Decision::FailsAgain { shows } => {
                tracing::warn!(service, "{who} is unhealthy again: {shows}")
            }
            Decision::Recovered => tracing::info!(
                service,
                "{who} is healthy again; its trouble is over when it has stayed so"
            ),
            Decision::TroubleOver => tracing::info!(service, "{who}: its trouble is over"),
            Decision::StandsStill { state } => {
                tracing::info!(service, "{who} stands still, and defib did not stop it: {state}");
            }
            Decision::RunsAgain => tracing::info!(service, "{who} runs again"),
            Decision::Held(hold) => say_held(service, who, hold),
            Decision::Spent(attempt) => {
                tracing::info!(service, attempt = attempt.0, "{who} is to be restarted")
            }
            Decision::Acting(attempt, rung) => {
                tracing::warn!(service, attempt = attempt.0, "{who}: {} begins", word(*rung))
            }
            Decision::Ended(attempt, ending) => say_ended(service, who, attempt.0, ending),
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
            Decision::Opened(incident, key, level) => {
                let (about, kind) = (self.about(*incident, service), key.kind.word());
                let incident = incident.0;
                match level {
                    Severity::Page => tracing::error!(incident, service, kind, "page: {about}"),
                    Severity::Notice | Severity::Ticket => {
                        tracing::warn!(incident, service, kind, "{level}: {about}")
                    }
                }
            }
            Decision::Raised(incident, level) => {
                let about = self.about(*incident, service);
                tracing::error!(incident = incident.0, service, "now a {level}: {about}")
            }
            Decision::Resolved(incident) => {
                let about = self.about(*incident, service);
                tracing::info!(incident = incident.0, service, "resolved: {about}")
            }
            Decision::Told(sink, incident, kind) => {
                let (about, told) = (self.about(*incident, service), told(*kind));
                let sink = sink.as_str();
                tracing::info!(
                    incident = incident.0,
                    service,
                    sink,
                    "{sink} was told {told}: {about}"
                );
            }
            Decision::Undeliverable(sink, incident, why) => {
                let (about, sink) = (self.about(*incident, service), sink.as_str());
                tracing::error!(
                    incident = incident.0,
                    service,
                    sink,
                    "{sink} will never take this message: {why}; it was about: {about}"
                );
            }
            Decision::SinkFails(sink, why, again) => {
                let again = Spoken(Duration::from_secs(*again));
                let sink = sink.as_str();
                tracing::error!(
                    sink,
                    "messages do not arrive at {sink}: {why}; what is owed is kept, the next attempt is in {again}"
                );
            }
            Decision::SinkWaits(sink, why, again) => {
                let again = Spoken(Duration::from_secs(*again));
                let sink = sink.as_str();
                tracing::warn!(
                    sink,
                    "{sink} asks to wait: {why}; what is owed is kept, the next attempt is in {again}"
                );
            }
            Decision::Unmatched(services) => {
                let names: Vec<&str> = services.iter().map(|name| name.as_str()).collect();
                let names = names.join(", ");
                tracing::warn!(
                    services = names,
                    "these services match no container on this host, and nothing of them is watched here: {names}"
                );
            }
            Decision::SinkWorks(sink) => {
                let sink = sink.as_str();
                tracing::info!(sink, "messages arrive at {sink} again");
            }
        }
    }
}

#[cfg(test)]
mod tests;
