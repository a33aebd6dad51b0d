//! How incidents and sinks think: what is to be told, and that it arrives.

use super::{
    Domain,
    agenda::Owner,
    effect::{Effect, SendOrder},
    host::host_key,
    judging::absence,
    message::{IncidentKind, Message, MessageKind, Severity},
    moment::{AwakeMs, BootId},
    name::{IncidentId, MessageId, ServiceName, SinkName},
    observation::DeliveryOutcome,
    record::{Decision, DeliveryRecord, OnBoot, Record, RecordKey, SinkRecord},
    telling::{
        IncidentKey,
        delivery::Next,
        incident::{Incident, Picture},
        row::Row,
        sink::{News, Sink},
        story::{Stage, Story},
        wording,
    },
};

/// So many incidents that are over wait for sinks that do not take their end.
const MOST_OVER: usize = 200;

impl Domain {
    /// What the matter looks like now; `None`: there is nothing the matter.
    pub(super) fn set_picture(&mut self, key: IncidentKey, picture: Option<Picture>) {
        let now = self.now;
        let ending = if picture.is_none() { self.said_over(&key) } else { None };
        match (self.incidents.get_mut(&key), picture) {
            (Some(incident), Some(picture)) => {
                let before = incident.clone();
                incident.follow(picture, now);
                if *incident == before {
                    return;
                }
                let again =
                    before.story.stage == Stage::Resolved && incident.story.stage == Stage::Failing;
                let raised = incident.story.level > before.story.level;
                let (id, level) = (incident.id, incident.story.level);
                if again {
                    self.decide(
                        key.service.as_ref(),
                        None,
                        Decision::Opened(id, key.clone(), level),
                    );
                } else if raised {
                    self.decide(key.service.as_ref(), None, Decision::Raised(id, level));
                }
                self.incident_changed(&key, before.story);
            }
            (Some(incident), None) => {
                if incident.story.stage != Stage::Resolved {
                    let before = incident.story;
                    incident.resolve(ending.unwrap_or_default(), now);
                    let id = incident.id;
                    self.decide(key.service.as_ref(), None, Decision::Resolved(id));
                    self.incident_changed(&key, before);
                    self.bound_what_is_over();
                }
            }
            (None, Some(picture)) => {
                // What is well again before it was told is told no more: somebody else's incident had stood for it.
                if let Some(level) = picture.level.filter(|_| !picture.recovered) {
                    self.host.serials.incident += 1;
                    let id = IncidentId(self.host.serials.incident);
                    let incident = Incident::open(id, key.clone(), picture, level, now);
                    self.decide(
                        key.service.as_ref(),
                        None,
                        Decision::Opened(id, key.clone(), level),
                    );
                    self.incidents.insert(key.clone(), incident);
                    self.record_incident(&key);
                    self.agenda.touch(Owner::Host);
                    self.agenda.touch(Owner::Incident(key));
                    self.touch_sinks();
                }
            }
            (None, None) => {}
        }
    }

    /// What is over waits for the sinks that do not know it yet. One that takes nothing for weeks must not keep all that came
    /// and went meanwhile (L4): of too much the oldest is given up, and said to be.
    fn bound_what_is_over(&mut self) {
        let over = |incident: &&Incident| incident.story.stage == Stage::Resolved;
        let waiting = self.incidents.values().filter(over);
        let oldest = waiting.clone().min_by_key(|incident| incident.ended.map(|ended| ended.awake));
        let Some(oldest) = oldest.filter(|_| waiting.count() > MOST_OVER).cloned() else { return };
        let unsettled = self.sinks.iter().filter(|(_, sink)| !sink.is_settled(&oldest));
        let names: Vec<SinkName> = unsettled.map(|(name, _)| name.clone()).collect();
        for name in names {
            let why = format!("more than {MOST_OVER} incidents that are over wait for it");
            let given_up = Decision::Undeliverable(name, oldest.id, why);
            self.decide(oldest.key.service.as_ref(), None, given_up);
        }
        self.forget_incident(&oldest.key);
    }

    fn forget_incident(&mut self, key: &IncidentKey) {
        self.incidents.remove(key);
        self.records.push(Record::Forgotten(RecordKey::incident(key)));
        for (name, sink) in &mut self.sinks {
            if sink.rows.remove(key).is_some() {
                self.records.push(Record::Forgotten(RecordKey::delivery(name, key)));
            }
        }
    }

    /// The same; but where it is unknown whether anything is the matter, what is open stays so.
    pub(super) fn set_picture_unless(
        &mut self,
        is_unknown: bool,
        key: IncidentKey,
        picture: Option<Picture>,
    ) {
        if picture.is_some() || !is_unknown {
            self.set_picture(key, picture);
        }
    }

    /// How to say that this is over; `None`: it is not open.
    fn said_over(&self, key: &IncidentKey) -> Option<String> {
        let incident = self.incidents.get(key)?;
        if incident.story.stage == Stage::Resolved {
            return None;
        }
        if incident.content.done.iter().any(|line| line == wording::over::GONE_FOR_GOOD) {
            return Some(wording::over::gone(key));
        }
        let service = key.service.as_ref();
        let members: Vec<_> = self
            .replicas
            .values()
            .filter(|replica| service == Some(&replica.policy.name))
            .collect();
        let count = absence::count(&members, None);
        let missing = u32::try_from(count.missing.len()).unwrap_or(u32::MAX);
        let configured = self.policy.services.iter().find(|policy| service == Some(&policy.name));
        let wanted = configured
            .and_then(|policy| policy.replicas)
            .unwrap_or(count.running.saturating_add(missing));
        let running = wording::over::Running { running: count.running, wanted };
        Some(wording::over::headline(key, &incident.content.headline, running))
    }

    fn incident_changed(&mut self, key: &IncidentKey, before: Story) {
        let Some(incident) = self.incidents.get(key) else {
            return;
        };
        // The words alone (a count, a span) change all the time: they are written when the story moves.
        if incident.story != before {
            self.record_incident(key);
            self.touch_sinks();
        }
        self.agenda.touch(Owner::Incident(key.clone()));
    }

    fn record_incident(&mut self, key: &IncidentKey) {
        if let Some(incident) = self.incidents.get(key) {
            let kept = OnBoot { boot_id: self.boot_id.clone(), kept: incident.clone() };
            self.records.push(Record::Incident(Box::new(kept)));
        }
    }

    fn touch_sinks(&mut self) {
        let names: Vec<SinkName> = self.sinks.keys().cloned().collect();
        for name in names {
            self.agenda.touch(Owner::Sink(name));
        }
    }

    /// Incidents of what is no longer configured end with that reason.
    pub(super) fn close_incidents_of(&mut self, service: &ServiceName) {
        let keys: Vec<IncidentKey> = self
            .incidents
            .keys()
            .filter(|key| key.service.as_ref() == Some(service))
            .cloned()
            .collect();
        for key in keys {
            if let Some(incident) = self.incidents.get_mut(&key) {
                incident.content.done.push(wording::over::GONE_FOR_GOOD.to_owned());
            }
            self.set_picture(key, None);
        }
    }

    pub(super) fn think_incident(&mut self, key: &IncidentKey) -> Option<AwakeMs> {
        let incident = self.incidents.get_mut(key)?;
        let before = incident.story;
        let next = incident.remind(self.now.awake);
        if incident.story != before {
            self.record_incident(key);
            self.touch_sinks();
        }
        let incident = self.incidents.get(key)?;
        let resolved = incident.story.stage == Stage::Resolved;
        if resolved && self.sinks.values().all(|sink| sink.is_settled(incident)) {
            self.forget_incident(key);
            return None;
        }
        next
    }

    pub(super) fn think_sink(&mut self, name: &SinkName) -> Option<AwakeMs> {
        let mut sink = self.sinks.remove(name)?;
        let seq = self.durability.current();
        let serials = &mut self.host.serials;
        let (policy, now) = (&self.policy, self.now);
        let before = serials.message;
        let durability = &self.durability;
        let next = sink.think(
            &self.incidents,
            now,
            seq,
            |seq| durability.fate(seq),
            |incident, kind| {
                serials.message += 1;
                compose(policy, incident, kind, MessageId(serials.message), now)
            },
        );
        if serials.message != before || !next.is_empty() {
            self.agenda.touch(Owner::Host);
        }
        for step in next {
            match step {
                Next::Record(key) => {
                    if let Some(row) = sink.rows.get(&key) {
                        self.records.push(record_of(&self.boot_id, name, &key, row));
                    }
                }
                Next::WaitForCommit => self.agenda.wait_for_commit(Owner::Sink(name.clone())),
                Next::Send { message, attempt, deadline, durable, late } => {
                    let order = SendOrder {
                        sink: name.clone(),
                        message: *message,
                        attempt,
                        deadline,
                        durable,
                        late,
                    };
                    self.effects.push(Effect::Send(Box::new(order)));
                }
            }
        }
        let deadline = sink.next_deadline(self.now.awake);
        // An answer that never came is a failure too.
        let news = sink.news(self.now.awake);
        self.sinks.insert(name.clone(), sink);
        self.decide_news(name, news);
        deadline
    }

    /// A sink answered.
    pub(super) fn answered(
        &mut self,
        name: &SinkName,
        message: MessageId,
        attempt: u32,
        outcome: DeliveryOutcome,
    ) {
        let now = self.now;
        let Some(sink) = self.sinks.get_mut(name) else {
            return;
        };
        let was_proven = sink.proven_as;
        let Some(heard) = sink.answered(message, attempt, outcome.clone(), now) else {
            return;
        };
        let proven = sink.proven_as;
        let news = sink.news(now.awake);
        if let Some(row) = sink.rows.get(&heard.key) {
            self.records.push(record_of(&self.boot_id, name, &heard.key, row));
        }
        if proven != was_proven {
            self.record_sink(name);
        }
        if heard.is_done_with {
            let decision = match outcome {
                DeliveryOutcome::Rejected(why) => {
                    Decision::Undeliverable(name.clone(), heard.incident, why)
                }
                DeliveryOutcome::Delivered
                | DeliveryOutcome::Unknown(_)
                | DeliveryOutcome::Paused { .. }
                | DeliveryOutcome::Broken(_)
                | DeliveryOutcome::NotSent(_) => {
                    Decision::Told(name.clone(), heard.incident, heard.kind)
                }
            };
            self.decide(heard.key.service.as_ref(), None, decision);
        }
        self.decide_news(name, news);
        self.agenda.touch(Owner::Host);
        self.agenda.touch(Owner::Sink(name.clone()));
        self.agenda.touch(Owner::Incident(heard.key));
    }

    fn decide_news(&mut self, name: &SinkName, news: Option<News>) {
        match news {
            Some(News::Fails { why, again }) => {
                self.decide(None, None, Decision::SinkFails(name.clone(), why, again.as_secs()));
            }
            Some(News::Waits { why, again }) => {
                self.decide(None, None, Decision::SinkWaits(name.clone(), why, again.as_secs()));
            }
            Some(News::Works) => self.decide(None, None, Decision::SinkWorks(name.clone())),
            None => {}
        }
    }

    fn record_sink(&mut self, name: &SinkName) {
        if let Some(definition) = self.sinks.get(name).and_then(|sink| sink.proven_as) {
            let record = SinkRecord { sink: name.clone(), proven: true, definition };
            self.records.push(Record::Sink(record));
        }
    }

    /// Sinks at which nothing arrives are told of through the others (P4). Returns when to look at them again.
    pub(super) fn tell_of_sinks(&mut self) -> Option<AwakeMs> {
        let now = self.now;
        // A restart of ours ends nothing that was told: until such a sink has answered, what was known of it stands (S6).
        if self.sinks.values().any(Sink::is_unheard) {
            return None;
        }
        let key = host_key(IncidentKind::SinkFailing);
        // Whoever was told of it hears its end when all is well again. While nobody was, it is about what is due.
        let is_open = self.incidents.get(&key).is_some_and(|incident| {
            let knows = |sink: &Sink| sink.knows_of(incident);
            incident.story.stage == Stage::Failing && self.sinks.values().any(knows)
        });
        let matters: Vec<_> = self.sinks.values().filter_map(Sink::tell_of).collect();
        let next = matters.iter().map(|matter| matter.due).filter(|due| *due > now.awake).min();
        let due: Vec<_> =
            matters.iter().filter(|matter| is_open || matter.due <= now.awake).collect();
        let Some(since) = due.iter().map(|matter| matter.since).min_by_key(|since| since.awake)
        else {
            self.set_picture(key, None);
            return next;
        };
        let pages_arrive = self.sinks.values().any(|sink| sink.takes_pages() && sink.is_working());
        let level = if pages_arrive { Severity::Ticket } else { Severity::Page };
        let content = wording::host::sink_failing(&due, pages_arrive);
        self.set_picture(key, Some(Picture::failing(since, Some(level), content)));
        next
    }

    /// After a refusal: what every sink was told, once more.
    pub(super) fn record_all_sinks(&mut self) {
        let names: Vec<SinkName> = self.sinks.keys().cloned().collect();
        for name in &names {
            self.record_sink(name);
        }
        for (name, sink) in &self.sinks {
            for (key, row) in &sink.rows {
                self.records.push(record_of(&self.boot_id, name, key, row));
            }
        }
    }
}

fn record_of(boot_id: &BootId, sink: &SinkName, incident: &IncidentKey, row: &Row) -> Record {
    let kept = DeliveryRecord { sink: sink.clone(), incident: incident.clone(), row: row.clone() };
    Record::Delivery(Box::new(OnBoot { boot_id: boot_id.clone(), kept }))
}

/// One neutral message.
fn compose(
    policy: &super::policy::Policy,
    incident: &Incident,
    kind: MessageKind,
    id: MessageId,
    now: super::moment::Moment,
) -> Message {
    let content = &incident.content;
    let over = matches!(kind, MessageKind::Recovered | MessageKind::Resolved | MessageKind::Missed);
    Message {
        id,
        incident: incident.id,
        key: format!("{}/{}/{}", policy.fleet, policy.host, incident.key),
        kind,
        severity: incident.story.level,
        incident_kind: incident.key.kind,
        fleet: policy.fleet.clone(),
        host: policy.host.clone(),
        service: incident.key.service.clone(),
        headline: content.headline.clone(),
        since: incident.since.wall,
        until: incident.ended.filter(|_| over).map(|ended| ended.wall),
        decided: now.wall,
        members: content.members.clone(),
        done: content.done.clone(),
        findings: content.findings.clone(),
        next_steps: content.next_steps.clone(),
        runbook: content.runbook.clone(),
        note: content.note.clone(),
    }
}
