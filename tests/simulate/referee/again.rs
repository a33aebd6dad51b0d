//! S6 for every kind of incident: what is told to be over, and soon opened again, was over. That the engine could not be asked,
//! that the config was read again, that a new life of a container or of defib began, changes nothing of what is so.
//!
//! Only pairs are judged, an end and a new beginning: an end alone may be right for a reason that is not seen here, but where
//! the same is told again and nothing changed from before the end until then, the end was none. Bad spells of the engine are
//! no excuse: what can't be looked at is as it was.

use super::{
    Violation,
    evidence::{Reading, Says, says},
    story::{Container, Lived, Send, Span, Story},
};
use crate::account::{Clockface, Condition, Fact, Ms, ServiceRule};
use defib::domain::{
    message::{IncidentKind, MessageKind},
    observation::{ActOutcome, HealthResult},
};
use std::collections::{BTreeMap, BTreeSet};

/// What is opened later than this after its end is another matter.
const SOON_MS: Ms = 600_000;

/// What changed so long before an end may have brought it: a list may be a minute late, and later by as long as the engine could
/// not be asked.
const NOTICED_WITHIN_MS: Ms = 300_000;

/// What could not be looked at for so long is told of: what began to be so later was not what the incident was about.
const BLIND_FOR_MS: Ms = 65_000;

/// What stands still for no longer is on its way from one life to the next.
const BETWEEN_LIVES_MS: Ms = 60_000;

pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut judged: BTreeSet<(&str, Ms)> = BTreeSet::new();
    for sink in &story.rules.sinks {
        let mut known: BTreeMap<&str, Known> = BTreeMap::new();
        for send in story.sends.iter().filter(|send| send.sink == sink) {
            let decided = story.decided(send);
            let key = send.message.key.as_str();
            let known = known.entry(key).or_default();
            match send.message.kind {
                MessageKind::Resolved | MessageKind::Missed => {
                    known.ended.get_or_insert(decided);
                }
                MessageKind::Opened => {
                    if let Some(ended) = known.ended.filter(|ended| *ended < decided) {
                        let again = Again { opened: known.opened, ended, again: decided };
                        let why = again.goes_on(story, send);
                        if let Some(why) = why.filter(|_| judged.insert((key, ended))) {
                            found.push(Violation {
                                rule: "S6",
                                at: decided,
                                what: again.told(key, &why),
                            });
                        }
                        known.ended = None;
                    }
                    if known.ended.is_none() {
                        known.opened = Some(decided);
                    }
                }
                MessageKind::Raised
                | MessageKind::GivenUp
                | MessageKind::Grown
                | MessageKind::Relapsed
                | MessageKind::Recovered
                | MessageKind::Reminder => {}
            }
        }
    }
    found
}

/// What a sink knows of one matter.
#[derive(Debug, Default)]
struct Known {
    opened: Option<Ms>,
    ended: Option<Ms>,
}

/// An end, and a beginning after it.
struct Again {
    opened: Option<Ms>,
    ended: Ms,
    again: Ms,
}

impl Again {
    fn told(&self, key: &str, why: &str) -> String {
        format!("{key} is over at {}, and opened again: {why}", Clockface(self.ended))
    }

    /// From when on a change may have brought the end, until it was told again.
    fn span(&self) -> Span {
        let noticed = self.ended.saturating_sub(NOTICED_WITHIN_MS);
        Span { from: self.opened.unwrap_or(0).max(noticed), to: self.again + 1 }
    }

    /// How it is known that the matter went on all the while.
    fn goes_on(&self, story: &Story<'_>, send: &Send<'_>) -> Option<String> {
        if self.again > self.ended + SOON_MS {
            return None;
        }
        let name = send.message.service.as_ref().map(|name| name.as_str());
        let named = |service: &&ServiceRule| {
            name.is_some_and(|name| service.name == name || service.rival.as_deref() == Some(name))
        };
        let service = story.rules.services.iter().find(named);
        let on_the_host = match send.message.incident_kind {
            IncidentKind::ActionsRefused => self.still_refused(story),
            IncidentKind::EngineUnreachable => self.never_listed(story),
            IncidentKind::StoreFailing => self.never_recorded(story),
            IncidentKind::Unhealthy
            | IncidentKind::Down
            | IncidentKind::StoppedByHand
            | IncidentKind::CannotEvaluate
            | IncidentKind::NeverPassed
            | IncidentKind::Chronic
            | IncidentKind::Ambiguous
            | IncidentKind::Brake
            | IncidentKind::MemoryLost
            | IncidentKind::SinkFailing => None,
        };
        let Some(service) = service.filter(|service| !story.is_removed(service, self.again)) else {
            return on_the_host;
        };
        // What fails while much does is told of with all the rest, and by itself again after it.
        let braked = story.sends.iter().any(|other| {
            other.message.incident_kind == IncidentKind::Brake
                && self.span().holds(story.decided(other))
        });
        match send.message.incident_kind {
            IncidentKind::Unhealthy if !braked => self.fails_on(story, service),
            IncidentKind::Down | IncidentKind::StoppedByHand if !braked => {
                self.stands_on(story, service)
            }
            IncidentKind::CannotEvaluate => self.blind_on(story, service),
            IncidentKind::NeverPassed => self.never_passed(story, service),
            IncidentKind::Ambiguous => self.unclear_on(story, service),
            // It is a day's matter, and no run is that long.
            IncidentKind::Chronic if self.is_present(story, service) => {
                Some("no day has passed".to_owned())
            }
            IncidentKind::Unhealthy
            | IncidentKind::Down
            | IncidentKind::StoppedByHand
            | IncidentKind::Chronic
            | IncidentKind::Brake
            | IncidentKind::EngineUnreachable
            | IncidentKind::ActionsRefused
            | IncidentKind::StoreFailing
            | IncidentKind::MemoryLost
            | IncidentKind::SinkFailing => None,
        }
    }

    /// One of it failed in one and the same life, nothing was shown but that, and it had been shown when it was called over.
    fn fails_on(&self, story: &Story<'_>, service: &ServiceRule) -> Option<String> {
        let span = self.span();
        let fails = |container: &&Container<'_>| {
            let lived = container.lived_at(span.from);
            lived.is_some_and(|lived| lived.span.to >= span.to)
                && container
                    .conditions
                    .iter()
                    .rfind(|turned| turned.0 <= span.from)
                    .is_some_and(|turned| matches!(turned.1, Condition::Failing | Condition::Wrong))
                && !container
                    .conditions
                    .iter()
                    .any(|turned| turned.0 > span.from && span.holds(turned.0))
                && !container.pauses.iter().any(|pause| pause.meets(span))
                && !container.stops.iter().any(|stop| span.holds(stop.0))
                && container
                    .checks
                    .iter()
                    .filter(|check| span.holds(check.0))
                    .all(|check| check.2 == HealthResult::Failed)
                && container
                    .samples
                    .iter()
                    .filter(|shown| span.holds(shown.at))
                    .all(|shown| matches!(says(shown.what), Says::Curable | Says::Incurable))
                && lived.is_some_and(|lived| self.was_shown(service, container, lived.instance))
        };
        let replica = service
            .replicas
            .iter()
            .find(|replica| story.containers_of(replica).iter().any(fails))?;
        Some(format!("{replica} failed all the while"))
    }

    /// Whether what this life showed by the end amounted to a verdict.
    fn was_shown(&self, service: &ServiceRule, container: &Container<'_>, instance: &str) -> bool {
        let probes = service.probes.iter().filter_map(|probe| {
            container.probe_streak(service, probe, instance, self.ended, Reading::Least)
        });
        let health = container.health_streak(instance, self.ended, Reading::Least);
        probes.chain(health).any(|streak| streak.verdict <= self.ended)
    }

    /// Nothing was started, stopped, frozen, made or removed.
    fn stands_on(&self, story: &Story<'_>, service: &ServiceRule) -> Option<String> {
        let span = self.span();
        let moved = service.replicas.iter().flat_map(|replica| story.containers_of(replica)).any(
            |container| {
                span.holds(container.created)
                    || container.destroyed.is_some_and(|at| span.holds(at))
                    || container
                        .instances
                        .iter()
                        .any(|lived| span.holds(lived.span.from) || ended_in(lived, span))
                    || container.stops.iter().any(|stop| span.holds(stop.0))
                    || container.events.iter().any(|shown| span.holds(shown.at))
                    || container
                        .pauses
                        .iter()
                        .any(|pause| span.holds(pause.from) || span.holds(pause.to))
            },
        );
        (!moved).then(|| format!("nothing of {} was started or stopped", service.name))
    }

    /// One probe, or the healthcheck, of one replica told nothing since long before the end.
    fn blind_on(&self, story: &Story<'_>, service: &ServiceRule) -> Option<String> {
        let from = self.span().from.min(self.ended.saturating_sub(BLIND_FOR_MS));
        let span = Span { from, to: self.span().to };
        service.replicas.iter().find_map(|replica| {
            if !is_there(story, replica, span) {
                return None;
            }
            let containers = story.containers_of(replica);
            let checks = || containers.iter().flat_map(|container| &container.checks);
            let before = checks().rfind(|check| check.0 < from).map(|check| check.2);
            let mut during = checks().filter(|check| span.holds(check.0)).peekable();
            let unchecked = before == Some(HealthResult::CouldNotRun)
                && during.peek().is_some()
                && during.all(|check| check.2 == HealthResult::CouldNotRun);
            if unchecked {
                return Some(format!("the healthcheck of {replica} could not run all the while"));
            }
            let unprobed = service.probes.iter().find(|probe| {
                let samples = || {
                    let all = containers.iter().flat_map(|container| &container.samples);
                    all.filter(|shown| shown.what.probe == probe.name && !shown.what.slept)
                };
                let tells_nothing = |what| says(what) == Says::Nothing;
                let before = samples().rfind(|shown| shown.at < from);
                let mut during = samples().filter(|shown| span.holds(shown.at)).peekable();
                before.is_some_and(|shown| tells_nothing(shown.what))
                    && during.peek().is_some()
                    && during.all(|shown| tells_nothing(shown.what))
            });
            unprobed.map(|probe| format!("{} of {replica} told nothing all the while", probe.name))
        })
    }

    /// None of its probes had ever passed.
    fn never_passed(&self, story: &Story<'_>, service: &ServiceRule) -> Option<String> {
        let passed =
            service.probes.iter().any(|probe| story.ever_passed(service, &probe.name, self.again));
        (!passed && self.is_present(story, service)).then(|| "nothing had ever passed".to_owned())
    }

    /// Two services match it, as before.
    fn unclear_on(&self, story: &Story<'_>, service: &ServiceRule) -> Option<String> {
        let rival = service.rival.as_ref().filter(|_| self.is_present(story, service))?;
        Some(format!("{rival} and {} match it all the while", service.name))
    }

    /// Nothing but refusals was answered.
    fn still_refused(&self, story: &Story<'_>) -> Option<String> {
        let since = Span { from: self.opened?, to: self.again + 1 };
        let accepted = story.acts.iter().any(|act| {
            act.answered.is_some_and(|(at, outcome)| {
                since.holds(at) && !matches!(outcome, ActOutcome::Denied(_))
            })
        });
        let allowed = story.entries.iter().any(|entry| {
            let Fact::EngineWeather { what, fine: true } = &entry.fact else { return false };
            since.holds(entry.at) && what == "ActDenied"
        });
        (!accepted && !allowed).then(|| "the engine refused all the while".to_owned())
    }

    /// No list came.
    fn never_listed(&self, story: &Story<'_>) -> Option<String> {
        let since = Span { from: self.opened?, to: self.again + 1 };
        let listed = story
            .entries
            .iter()
            .any(|entry| since.holds(entry.at) && entry.fact == Fact::Listed { failure: None });
        (!listed).then(|| "no list had come".to_owned())
    }

    /// Nothing became safe.
    fn never_recorded(&self, story: &Story<'_>) -> Option<String> {
        let since = Span { from: self.opened?, to: self.again + 1 };
        let safe = story.commits.iter().any(|commit| since.holds(commit.0));
        (!safe).then(|| "nothing had become safe".to_owned())
    }

    /// Whether one of its replicas was there all the while, be it in one life after the other.
    fn is_present(&self, story: &Story<'_>, service: &ServiceRule) -> bool {
        service.replicas.iter().any(|replica| is_there(story, replica, self.span()))
    }
}

fn ended_in(lived: &Lived<'_>, span: Span) -> bool {
    lived.ended.is_some() && span.holds(lived.span.to)
}

/// Whether a replica ran all the while, but for what lies between one life and the next, and was not frozen.
fn is_there(story: &Story<'_>, replica: &str, span: Span) -> bool {
    let containers = story.containers_of(replica);
    let frozen = containers.iter().any(|one| one.pauses.iter().any(|pause| pause.meets(span)));
    let mut lives: Vec<Span> = containers
        .iter()
        .flat_map(|container| &container.instances)
        .map(|lived| lived.span)
        .filter(|lived| lived.meets(span))
        .collect();
    lives.sort_by_key(|lived| lived.from);
    let mut until = span.from;
    for lived in &lives {
        if lived.from > until + BETWEEN_LIVES_MS {
            return false;
        }
        until = until.max(lived.to);
    }
    !frozen && !lives.is_empty() && until + BETWEEN_LIVES_MS >= span.to
}
