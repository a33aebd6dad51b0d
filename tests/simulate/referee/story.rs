//! The account, put in the order in which the rules ask: by container, by act, by attempt at delivery. Draws no conclusions,
//! but refuses accounts that contradict themselves: a broken harness must not look like a clean run.

use super::Violation;
use crate::account::{Account, Condition, Entry, Fact, Ms, Rules, Sampled, Seen, ServiceRule, Who};
use defib::domain::{
    effect::Primitive,
    message::Message,
    observation::{ActOutcome, ContainerState, DeliveryOutcome, EventAction, HealthResult},
};
use std::collections::BTreeMap;

/// The account, in order.
pub struct Story<'a> {
    /// What it is judged by.
    pub rules: &'a Rules,
    /// All that happened.
    pub entries: &'a [Entry],
    /// When the run ended.
    pub end: Ms,
    /// Every container there was.
    pub containers: BTreeMap<&'a str, Container<'a>>,
    /// defib's lives, from 1.
    pub lives: Vec<Span>,
    /// The host's boots after the first.
    pub boots: Vec<Ms>,
    /// When the host slept, by the entries' time, and for how long.
    pub sleeps: Vec<(Ms, Ms)>,
    /// When the wall clock was set, in time that never stops, and by how much.
    pub steps: Vec<(Ms, i64)>,
    /// Every act that defib called for.
    pub acts: Vec<Act<'a>>,
    /// Every attempt at delivery.
    pub sends: Vec<Send<'a>>,
    /// When records were submitted and when they were safe: (index, at, seq).
    pub submits: Vec<(Ms, u64)>,
    /// When records were safe.
    pub commits: Vec<(Ms, u64)>,
    /// When the `hold` file existed.
    pub holds: Vec<Span>,
    /// When the config was read again.
    pub reloads: Vec<Ms>,
    /// Services that the config does not name any more, and since when.
    pub removed: BTreeMap<&'a str, Ms>,
    /// Since when the config says that nothing on this host is acted on, where it has come to say so.
    pub hands_off_from: Option<Ms>,
    /// When looking at the engine did not work.
    pub engine_bad: Vec<Span>,
    /// What keeps looking at it from working, by the last entry that was read, and how often.
    engine_ills: BTreeMap<&'a str, u32>,
    /// When defib had been told that there is no event stream.
    pub no_events: Vec<Span>,
    /// When the store did not work.
    pub store_bad: Vec<Span>,
    /// When a sink did not work.
    pub sinks_bad: BTreeMap<&'a str, Vec<Span>>,
}

/// From a moment up to, not including, another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first millisecond.
    pub from: Ms,
    /// The first one after it.
    pub to: Ms,
}

impl Span {
    /// How long.
    pub fn length(self) -> Ms {
        self.to.saturating_sub(self.from)
    }

    /// Whether this moment is in it.
    pub fn holds(self, at: Ms) -> bool {
        self.from <= at && at < self.to
    }

    /// Whether it shares a moment with this span.
    pub fn meets(self, other: Span) -> bool {
        self.from < other.to && other.from < self.to
    }
}

/// One container, from its creation.
#[derive(Debug, Default)]
pub struct Container<'a> {
    /// Its replica.
    pub replica: &'a str,
    /// How many failures of its healthcheck the engine calls unhealthy.
    pub retries: u32,
    /// Its lives.
    pub instances: Vec<Lived<'a>>,
    /// How it would have answered, from when on.
    pub conditions: Vec<(Ms, Condition)>,
    /// When it was told to stop, and by whom.
    pub stops: Vec<(Ms, Who)>,
    /// When it was frozen.
    pub pauses: Vec<Span>,
    /// When it was made.
    pub created: Ms,
    /// When it was removed.
    pub destroyed: Option<Ms>,
    /// Who removed it.
    pub destroyed_by: Option<Who>,
    /// What inspects told: (entry, when, in which life of defib).
    pub inspected: Vec<Shown<&'a Seen>>,
    /// What events told.
    pub events: Vec<Shown<&'a EventAction>>,
    /// What probes told.
    pub samples: Vec<Shown<&'a Sampled>>,
    /// What its healthcheck truly showed, and in which life of it.
    pub checks: Vec<(Ms, &'a str, HealthResult)>,
}

/// Something that defib was told.
#[derive(Clone, Copy, Debug)]
pub struct Shown<T> {
    /// When.
    pub at: Ms,
    /// In which life of defib.
    pub life: u32,
    /// What.
    pub what: T,
}

/// One life of a container.
#[derive(Clone, Copy, Debug)]
pub struct Lived<'a> {
    /// Which.
    pub instance: &'a str,
    /// When it ran.
    pub span: Span,
    /// Who ended it, where it ended, and with which exit code.
    pub ended: Option<(Who, i64)>,
}

/// One act that defib called for.
#[derive(Clone, Debug)]
pub struct Act<'a> {
    /// When it was called for.
    pub at: Ms,
    /// The same, in time that never stops.
    pub elapsed: Ms,
    /// In which life of defib.
    pub life: u32,
    /// On which container.
    pub container: &'a str,
    /// On which replica.
    pub replica: &'a str,
    /// Of which service.
    pub service: &'a ServiceRule,
    /// What.
    pub primitive: Primitive,
    /// When the engine got it, and what it met.
    pub received: Option<(Ms, &'a ContainerState, &'a str)>,
    /// When defib got the answer.
    pub answered: Option<(Ms, &'a ActOutcome)>,
}

impl Act<'_> {
    /// Whether this is a restart, the one primitive that begins an attempt.
    pub fn restarts(&self) -> bool {
        matches!(self.primitive, Primitive::Restart { .. })
    }

    /// Whether it counts against budgets: what the engine refused outright did nothing, and may be paid back.
    pub fn spends(&self) -> bool {
        let refused =
            matches!(self.answered, Some((_, ActOutcome::Denied(_) | ActOutcome::NoSuchContainer)));
        self.restarts() && !refused
    }

    /// For people.
    pub fn told(&self) -> String {
        format!("{} of {} ({})", self.primitive, self.replica, self.container)
    }
}

/// One attempt at delivery.
#[derive(Clone, Debug)]
pub struct Send<'a> {
    /// When it began.
    pub at: Ms,
    /// The same, in time that never stops.
    pub elapsed: Ms,
    /// In which life of defib.
    pub life: u32,
    /// To which sink.
    pub sink: &'a str,
    /// What.
    pub message: &'a Message,
    /// Whether it was safe before it was sent.
    pub durable: bool,
    /// When it truly arrived.
    pub landed: Option<Ms>,
    /// What defib was told.
    pub answered: Option<(Ms, &'a DeliveryOutcome)>,
}

impl<'a> Story<'a> {
    /// Puts an account in order.
    pub fn of(account: &'a Account) -> Self {
        let mut story = Self {
            rules: &account.rules,
            entries: &account.entries,
            end: account.end,
            containers: BTreeMap::new(),
            lives: Vec::new(),
            boots: Vec::new(),
            sleeps: Vec::new(),
            steps: Vec::new(),
            acts: Vec::new(),
            sends: Vec::new(),
            submits: Vec::new(),
            commits: Vec::new(),
            holds: Vec::new(),
            reloads: Vec::new(),
            removed: BTreeMap::new(),
            hands_off_from: None,
            engine_bad: Vec::new(),
            engine_ills: BTreeMap::new(),
            no_events: Vec::new(),
            store_bad: Vec::new(),
            sinks_bad: BTreeMap::new(),
        };
        let mut calls: BTreeMap<u64, usize> = BTreeMap::new();
        let mut sends: BTreeMap<u64, usize> = BTreeMap::new();
        for entry in &account.entries {
            story.take(entry, account.end, &mut calls, &mut sends);
        }
        story
    }

    fn take(
        &mut self,
        entry: &'a Entry,
        end: Ms,
        calls: &mut BTreeMap<u64, usize>,
        sends: &mut BTreeMap<u64, usize>,
    ) {
        let at = entry.at;
        let life = entry.life;
        match &entry.fact {
            Fact::DefibStarted => self.lives.push(Span { from: at, to: end }),
            Fact::DefibCrashed(_) => close(&mut self.lives, at),
            Fact::HostBooted => self.boots.push(at),
            Fact::HoldFile { exists } => turn(&mut self.holds, at, end, !exists),
            Fact::Reloaded { removed, hands_off } => {
                self.reloads.push(at);
                self.removed.extend(removed.iter().map(|name| (name.as_str(), at)));
                self.hands_off_from = self.hands_off_from.or(hands_off.then_some(at));
            }
            Fact::HostSlept(ms) => self.sleeps.push((at, *ms)),
            Fact::Created { container, replica } => {
                let made = self.containers.entry(container).or_default();
                made.replica = replica;
                made.created = at;
                let rule = self.rules.service_of(replica);
                let checked = rule.and_then(|rule| rule.healthcheck.as_ref());
                made.retries = checked.map_or(1, |checked| checked.retries);
            }
            Fact::Started { container, instance, .. } => {
                let span = Span { from: at, to: end };
                self.container(container).instances.push(Lived { instance, span, ended: None });
            }
            Fact::Stopping { container, by } => self.container(container).stops.push((at, *by)),
            Fact::Died { container, by, exit_code } => {
                let container = self.container(container);
                if let Some(lived) = container.instances.last_mut() {
                    lived.span.to = at;
                    lived.ended = Some((*by, *exit_code));
                }
                close(&mut container.pauses, at);
            }
            Fact::Paused { container } => {
                self.container(container).pauses.push(Span { from: at, to: end });
            }
            Fact::Unpaused { container } => close(&mut self.container(container).pauses, at),
            Fact::Destroyed { container, by } => {
                let container = self.container(container);
                container.destroyed = Some(at);
                container.destroyed_by = Some(*by);
            }
            Fact::Turned { container, condition } => {
                self.container(container).conditions.push((at, *condition));
            }
            Fact::HealthChecked { container, instance, result } => {
                self.container(container).checks.push((at, instance, *result));
            }
            Fact::EngineWeather { fine, what } => {
                let ills = self.engine_ills.entry(what).or_default();
                *ills = if *fine { ills.saturating_sub(1) } else { *ills + 1 };
                let all_fine = self.engine_ills.values().all(|ills| *ills == 0);
                turn(&mut self.engine_bad, at, end, all_fine);
            }
            Fact::EventStream { open } => turn(&mut self.no_events, at, end, *open),
            Fact::StoreWeather { fine, .. } => turn(&mut self.store_bad, at, end, *fine),
            Fact::SinkWeather { sink, fine, .. } => {
                turn(self.sinks_bad.entry(sink).or_default(), at, end, *fine);
            }
            Fact::Inspected { container, seen } => {
                self.container(container).inspected.push(Shown { at, life, what: seen });
            }
            Fact::EventTold { container, action } => {
                self.container(container).events.push(Shown { at, life, what: action });
            }
            Fact::Sampled(sampled) => {
                let shown = Shown { at, life, what: sampled };
                self.container(&sampled.container).samples.push(shown);
            }
            Fact::ActCalled { call, container, primitive } => {
                self.call(entry, *call, container, *primitive, calls);
            }
            Fact::ActReceived { call, found, instance, .. } => {
                if let Some(act) = calls.get(call).and_then(|index| self.acts.get_mut(*index)) {
                    act.received = Some((at, found, instance));
                }
            }
            Fact::ActAnswered { call, outcome } => {
                if let Some(act) = calls.get(call).and_then(|index| self.acts.get_mut(*index)) {
                    act.answered = Some((at, outcome));
                }
            }
            Fact::SendBegun { send, sink, message, durable, .. } => {
                sends.insert(*send, self.sends.len());
                self.sends.push(Send {
                    at,
                    elapsed: entry.elapsed,
                    life,
                    sink,
                    message,
                    durable: *durable,
                    landed: None,
                    answered: None,
                });
            }
            Fact::Landed { send } => {
                if let Some(sent) = sends.get(send).and_then(|index| self.sends.get_mut(*index)) {
                    sent.landed = Some(at);
                }
            }
            Fact::SendAnswered { send, outcome } => {
                if let Some(sent) = sends.get(send).and_then(|index| self.sends.get_mut(*index)) {
                    sent.answered = Some((at, outcome));
                }
            }
            Fact::Submitted { seq, .. } => self.submits.push((at, *seq)),
            Fact::Committed { seq } => self.commits.push((at, *seq)),
            Fact::WallStepped(by) => self.steps.push((entry.elapsed, *by)),
            Fact::InspectFailed { .. }
            | Fact::Listed { .. }
            | Fact::RecordsRefused { .. }
            | Fact::Decided { .. } => {}
        }
    }

    fn call(
        &mut self,
        entry: &Entry,
        call: u64,
        container: &'a str,
        primitive: Primitive,
        calls: &mut BTreeMap<u64, usize>,
    ) {
        let replica = self.container(container).replica;
        let Some(service) = self.rules.service_of(replica) else { return };
        calls.insert(call, self.acts.len());
        self.acts.push(Act {
            at: entry.at,
            elapsed: entry.elapsed,
            life: entry.life,
            container,
            replica,
            service,
            primitive,
            received: None,
            answered: None,
        });
    }

    fn container(&mut self, id: &'a str) -> &mut Container<'a> {
        self.containers.entry(id).or_default()
    }

    /// The containers of a replica, in the order of their making.
    pub fn containers_of(&self, replica: &str) -> Vec<&Container<'a>> {
        let mut found: Vec<&Container<'a>> =
            self.containers.values().filter(|container| container.replica == replica).collect();
        found.sort_by_key(|container| container.created);
        found
    }

    /// Whether the config did not name a service any more at this moment.
    pub fn is_removed(&self, service: &ServiceRule, at: Ms) -> bool {
        self.removed.get(service.name.as_str()).is_some_and(|from| *from <= at)
    }

    /// The life of defib that this moment lies in.
    pub fn life_at(&self, at: Ms) -> Option<Span> {
        self.lives.iter().copied().find(|life| life.holds(at))
    }

    /// When the wall clock showed this, the last time up to a moment of time that never stops; `None`: it never did.
    pub fn when(&self, wall: i64, until: Ms) -> Option<Ms> {
        let mut until = until;
        let before: Vec<(Ms, i64)> =
            self.steps.iter().copied().filter(|step| step.0 <= until).collect();
        for number in (0..=before.len()).rev() {
            let (earlier, _) = before.split_at(number);
            let from = earlier.last().map_or(0, |step| step.0);
            let set: i64 = earlier.iter().map(|step| step.1).sum();
            let elapsed = Ms::try_from(wall - self.rules.wall_began - set).ok();
            if let Some(elapsed) = elapsed.filter(|at| (from..=until).contains(at)) {
                return Some(self.awake(elapsed));
            }
            until = from;
        }
        None
    }

    /// A moment of time that never stops, in time that stops while the host sleeps.
    fn awake(&self, elapsed: Ms) -> Ms {
        let mut slept = 0;
        for (at, span) in &self.sleeps {
            if elapsed <= at + slept {
                break;
            }
            if elapsed < at + slept + span {
                return *at;
            }
            slept += span;
        }
        elapsed - slept
    }

    /// When a message was decided: it may have waited for its sink since, or for the next life of defib. What can't be told
    /// from the wall clock counts from when it was sent.
    pub fn decided(&self, send: &Send<'_>) -> Ms {
        self.when(send.message.decided.0, send.elapsed).unwrap_or(send.at).min(send.at)
    }

    /// Whether defib lived through all of this, saw the engine all the time, and could write.
    pub fn unhindered(&self, span: Span) -> bool {
        self.life_at(span.from).is_some_and(|life| life.to >= span.to)
            && !self.engine_bad.iter().any(|bad| bad.meets(span))
    }

    /// Whether this sink worked all the time.
    pub fn sink_fine(&self, sink: &str, span: Span) -> bool {
        !self.sinks_bad.get(sink).is_some_and(|bad| bad.iter().any(|bad| bad.meets(span)))
    }

    /// How a replica would have answered at this moment.
    pub fn condition(&self, replica: &str, at: Ms) -> Condition {
        self.containers_of(replica)
            .iter()
            .filter_map(|container| {
                container.conditions.iter().rev().find(|turned| turned.0 <= at).copied()
            })
            .filter(|turned| turned.1 != Condition::Absent)
            .max_by_key(|turned| turned.0)
            .map_or(Condition::Absent, |turned| turned.1)
    }

    /// When a replica was well, in truth. Spells of anything else that are shorter than `forgive` are overlooked.
    pub fn well(&self, replica: &str, forgive: Ms) -> Vec<Span> {
        let mut moments: Vec<Ms> = self
            .containers_of(replica)
            .iter()
            .flat_map(|container| container.conditions.iter().map(|turned| turned.0))
            .collect();
        moments.sort_unstable();
        moments.dedup();
        let mut spans: Vec<Span> = Vec::new();
        for (index, &from) in moments.iter().enumerate() {
            if self.condition(replica, from) != Condition::Well {
                continue;
            }
            let to = moments.get(index + 1).copied().unwrap_or(self.end);
            match spans.last_mut() {
                Some(last) if from.saturating_sub(last.to) <= forgive => last.to = to,
                _ => spans.push(Span { from, to }),
            }
        }
        spans
    }

    /// The longest that a replica was well between two moments; short spells of anything else are overlooked.
    pub fn longest_well(&self, replica: &str, between: Span, forgive: Ms) -> Ms {
        self.well(replica, forgive)
            .into_iter()
            .map(|well| {
                let from = well.from.max(between.from);
                well.to.min(between.to).saturating_sub(from)
            })
            .max()
            .unwrap_or(0)
    }

    /// How many of a service's replicas ran at this moment.
    pub fn running(&self, service: &ServiceRule, at: Ms) -> usize {
        self.containers
            .values()
            .filter(|container| service.replicas.iter().any(|name| name == container.replica))
            .filter(|container| container.lived_at(at).is_some())
            .count()
    }

    /// True elapsed time between two moments, the host's sleep included.
    pub fn elapsed(&self, span: Span) -> Ms {
        let slept: Ms =
            self.sleeps.iter().filter(|sleep| span.holds(sleep.0)).map(|sleep| sleep.1).sum();
        span.length() + slept
    }
}

impl<'a> Container<'a> {
    /// The life that it was in at this moment.
    pub fn lived_at(&self, at: Ms) -> Option<&Lived<'a>> {
        self.instances.iter().find(|lived| lived.span.holds(at))
    }

    /// The life of this name.
    pub fn instance(&self, instance: &str) -> Option<&Lived<'a>> {
        self.instances.iter().find(|lived| lived.instance == instance)
    }

    /// Whether it was frozen at this moment.
    pub fn paused_at(&self, at: Ms) -> bool {
        self.pauses.iter().any(|pause| pause.holds(at))
    }
}

fn close(spans: &mut [Span], at: Ms) {
    if let Some(last) = spans.last_mut() {
        last.to = last.to.min(at);
    }
}

fn turn(bad: &mut Vec<Span>, at: Ms, end: Ms, fine: bool) {
    let open = bad.last().is_some_and(|last| last.to == end);
    match (fine, open) {
        (true, true) => close(bad, at),
        (false, false) => bad.push(Span { from: at, to: end }),
        (true, false) | (false, true) => {}
    }
}

/// The harness's own rules: an account that contradicts itself proves nothing.
pub fn judge(story: &Story<'_>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (id, container) in &story.containers {
        if container.replica.is_empty() {
            found.push(Violation {
                rule: "H0",
                at: 0,
                what: format!("the account never says what {id} is"),
            });
        }
        for pair in container.instances.windows(2) {
            if pair[0].span.to > pair[1].span.from {
                found.push(Violation {
                    rule: "H0",
                    at: pair[1].span.from,
                    what: format!("{id} was started while it ran"),
                });
            }
        }
    }
    if story.entries.windows(2).any(|pair| pair[0].at > pair[1].at) {
        found.push(Violation { rule: "H0", at: 0, what: "time ran backwards".to_owned() });
    }
    found
}
