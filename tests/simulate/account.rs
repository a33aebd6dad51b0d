//! The account of one run: what truly happened, what defib was shown of it, what defib did, in one order. It is all that the
//! referee sees, and what a failing seed prints.
//!
//! Times are milliseconds of the run, on a clock that stops while the host sleeps; [`Entry::elapsed`] does not stop. Both go
//! on while defib is down.

use defib::domain::{
    effect::Primitive,
    message::{Message, Severity},
    observation::{
        ActOutcome, ContainerState, DeliveryOutcome, EventAction, HealthResult, HealthStatus,
        LookFailure, ProbeOutcome,
    },
};
use std::{collections::BTreeMap, fmt, sync::Arc};

/// Milliseconds of the run.
pub type Ms = u64;

/// All of one run.
#[derive(Clone, Debug)]
pub struct Account {
    /// What the run was to be judged by.
    pub rules: Rules,
    /// In order.
    pub entries: Vec<Entry>,
    /// When the run ended.
    pub end: Ms,
}

/// One thing that happened.
#[derive(Clone, Debug)]
pub struct Entry {
    /// When, in time that stops while the host sleeps.
    pub at: Ms,
    /// When, in time that never stops.
    pub elapsed: Ms,
    /// In which life of defib, counted from 1; also while it is down after that life.
    pub life: u32,
    /// What.
    pub fact: Fact,
}

/// Who did something to a container, in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Who {
    /// The daemon under test.
    Defib,
    /// A person or another tool.
    Somebody,
    /// The engine by its restart policy.
    Docker,
    /// The process itself.
    Itself,
}

/// How a container would answer if asked now, in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// Right, and in time.
    Well,
    /// In a way that a restart can cure: no answer, refused, reset, 5xx.
    Failing,
    /// In a way that no restart cures: 4xx, a wrong answer.
    Wrong,
    /// It does not run, or is frozen.
    Absent,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A life of defib began.
    DefibStarted,
    /// A life of defib was cut off; where.
    DefibCrashed(String),
    /// The host booted; every container had died.
    HostBooted,
    /// The host slept for so long.
    HostSlept(Ms),
    /// The wall clock was set by so many milliseconds.
    WallStepped(i64),

    /// The `hold` file was made, or taken away.
    HoldFile { exists: bool },
    /// The config was read again, or is when defib starts next: a service is not in it any more, nothing may be acted on.
    Reloaded { removed: Option<String>, hands_off: bool },

    /// Truth: a container was made for a replica.
    Created { container: String, replica: String },
    /// Truth: its process was started.
    Started { container: String, instance: String, by: Who },
    /// Truth: it was told to stop.
    Stopping { container: String, by: Who },
    /// Truth: its process ended.
    Died { container: String, by: Who, exit_code: i64 },
    /// Truth: it was frozen.
    Paused { container: String },
    /// Truth: it was thawed.
    Unpaused { container: String },
    /// Truth: it was removed.
    Destroyed { container: String, by: Who },
    /// Truth: it would answer differently from now on.
    Turned { container: String, condition: Condition },
    /// Truth: a healthcheck of it ended.
    HealthChecked { container: String, instance: String, result: HealthResult },
    /// Truth: this no longer keeps looking at the engine from working, or does from now on. Others may as well.
    EngineWeather { fine: bool, what: String },
    /// Truth: the store takes records (again), or does not.
    StoreWeather { fine: bool, what: String },
    /// Truth: a sink takes messages (again), or does not.
    SinkWeather { sink: String, fine: bool, what: String },

    /// defib asked and was told this about a container.
    Inspected { container: String, seen: Seen },
    /// defib asked about a container and was told nothing.
    InspectFailed { container: String, failure: LookFailure },
    /// defib asked for the list and had an answer (`None`) or none.
    Listed { failure: Option<LookFailure> },
    /// defib was told this event.
    EventTold { container: String, action: EventAction },
    /// defib's event stream was opened, or it was told that there is none.
    EventStream { open: bool },
    /// A probe ended; what defib was told. `slept`: the host slept meanwhile, so it proves nothing.
    Sampled(Sampled),

    /// defib called for an action.
    ActCalled { call: u64, container: String, primitive: Primitive },
    /// The engine got the call, and what it met.
    ActReceived { call: u64, container: String, found: ContainerState, instance: String },
    /// defib got the answer.
    ActAnswered { call: u64, outcome: ActOutcome },

    /// defib began an attempt at delivery.
    SendBegun { send: u64, sink: String, message: Arc<Message>, attempt: u32, durable: bool },
    /// The message of that attempt truly arrived.
    Landed { send: u64 },
    /// defib was told this of that attempt.
    SendAnswered { send: u64, outcome: DeliveryOutcome },

    /// defib handed records to the store.
    Submitted { seq: u64, records: usize },
    /// The store told defib that all up to this one are safe.
    Committed { seq: u64 },
    /// The store told defib that all up to this one are lost.
    RecordsRefused { seq: u64 },
    /// A decision among the safe records.
    Decided { replica: Option<String>, decision: String, reason: String },
}

/// What an inspect told.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// The state.
    pub state: ContainerState,
    /// Which life.
    pub instance: String,
    /// The engine's judgement, and its count of failures; `None` without a healthcheck.
    pub health: Option<(HealthStatus, u32)>,
}

/// What one run of a probe told.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// Of which replica.
    pub replica: String,
    /// Which of its probes.
    pub probe: String,
    /// Of which container.
    pub container: String,
    /// Of which life of it.
    pub instance: String,
    /// When the run began; the entry's time is when it ended.
    pub begun: Ms,
    /// What it told.
    pub outcome: ProbeOutcome,
    /// The host slept meanwhile.
    pub slept: bool,
}

/// What the run is judged by: the scenario's policies in the referee's own words.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What the wall clock showed when the run began.
    pub wall_began: i64,
    /// Every sink.
    pub sinks: Vec<String>,
    /// Those that do not take all severities, and which they take.
    pub choosy: BTreeMap<String, Vec<Severity>>,
    /// Every service, the unlisted containers' included.
    pub services: Vec<ServiceRule>,
    /// Replicas acted on or unverified at the same time (S3).
    pub max_concurrent: usize,
    /// So many restarts within so long (S4).
    pub host_budget: (usize, Ms),
    /// So many services and so many percent (S8).
    pub brake: Option<(usize, usize)>,
    /// No restarts for so long after defib's start (S12).
    pub own_start: Ms,
    /// No restarts for so long after the host's boot (S12).
    pub host_boot: Ms,
    /// `--dry-run` or `never_act`: no action at all.
    pub hands_off: bool,
    /// How often everything is listed.
    pub list_every: Ms,
}

/// One service.
#[derive(Clone, Debug, Default)]
pub struct ServiceRule {
    /// Its name.
    pub name: String,
    /// Its replicas.
    pub replicas: Vec<String>,
    /// Whether the config names it.
    pub listed: bool,
    /// How many should run; `None`: as many as were seen.
    pub wanted: Option<usize>,
    /// Whether the policy lets it be restarted at all (S7).
    pub may_act: bool,
    /// Why not, for people.
    pub hands_off_because: &'static str,
    /// Whether its failures page; else they are tickets.
    pub pages: bool,
    /// Whether the first message is the page (P9).
    pub page_at_once: bool,
    /// A person is told at so many failures; `u32::MAX`: no count does.
    pub page_after: u32,
    /// Or when it has been failing for so long.
    pub page_after_ms: Option<Ms>,
    /// It is restarted at so many failures of one instance; `u32::MAX`: no count does.
    pub restart_after: u32,
    /// Or when that instance has been failing for so long.
    pub restart_after_ms: Option<Ms>,
    /// No restart earlier than this after its verdict.
    pub settle: Ms,
    /// A new instance's failing probes do not count for so long.
    pub start_grace: Ms,
    /// Restarts for one trouble, until well for so long.
    pub budget: (usize, Ms),
    /// How long a restarted replica may take to be well.
    pub recover_within: Ms,
    /// How long it must be well until its trouble is over.
    pub stable_for: Ms,
    /// Replicas acted on or unverified at the same time.
    pub max_acting: usize,
    /// Replicas that must stay healthy while one is restarted.
    pub min_healthy: usize,
    /// Which services it needs, by name; never in a circle (S9).
    pub depends_on: Vec<String>,
    /// Another service of the config that matches its containers too: whose they are nobody can say.
    pub rival: Option<String>,
    /// Whether it holds data (S12).
    pub stateful: bool,
    /// Removed by the engine as soon as it stops.
    pub auto_remove: bool,
    /// How long a stop may take before the engine kills.
    pub stop_timeout: Ms,
    /// Its healthcheck.
    pub healthcheck: Option<HealthcheckRule>,
    /// defib's probes.
    pub probes: Vec<ProbeRule>,
}

/// One healthcheck.
#[derive(Clone, Debug)]
pub struct HealthcheckRule {
    /// Between two runs.
    pub interval: Ms,
    /// For one run.
    pub timeout: Ms,
    /// In which failures do not count.
    pub start_period: Ms,
    /// How many failures make it unhealthy.
    pub retries: u32,
}

/// One probe.
#[derive(Clone, Debug)]
pub struct ProbeRule {
    /// Its name.
    pub name: String,
    /// Between two samples.
    pub every: Ms,
    /// Hard total of one sample.
    pub timeout: Ms,
    /// So many failures are failing.
    pub fall: u32,
    /// So many passes are well again.
    pub rise: u32,
}

impl Rules {
    /// Whether a sink takes messages of this severity.
    pub fn takes(&self, sink: &str, severity: Severity) -> bool {
        self.choosy.get(sink).is_none_or(|taken| taken.contains(&severity))
    }

    /// The service that a replica belongs to.
    pub fn service_of(&self, replica: &str) -> Option<&ServiceRule> {
        self.services.iter().find(|service| service.replicas.iter().any(|name| name == replica))
    }
}

impl ServiceRule {
    /// The longest that seeing it fail can take: its slowest evidence, from the first failure to the verdict.
    pub fn slowest_verdict(&self) -> Ms {
        let by_count = if self.page_after == u32::MAX { 0 } else { self.page_after };
        let probes = self
            .probes
            .iter()
            .map(|probe| (u64::from(probe.fall.max(by_count)) + 1) * (probe.every + probe.timeout));
        let healthcheck = self.healthcheck.iter().map(|check| {
            (u64::from(check.retries.max(by_count)) + 1) * (check.interval + check.timeout) + 20_000
        });
        let by_time = self.page_after_ms.unwrap_or(0);
        probes.chain(healthcheck).max().unwrap_or(0) + by_time
    }

    /// The longest that one attempt to heal it can take, from the call to the judgement whether it helped.
    pub fn longest_attempt(&self) -> Ms {
        let healthcheck = self.healthcheck.as_ref().map_or(0, |check| {
            check.start_period + (u64::from(check.retries) + 2) * (check.interval + check.timeout)
        });
        self.stop_timeout + 45_000 + self.start_grace + self.recover_within.max(healthcheck)
    }
}

/// A moment of a run as people read it: `12:34.567`.
pub struct Clockface(pub Ms);

impl fmt::Display for Clockface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02}:{:02}.{:03}", self.0 / 60_000, self.0 / 1000 % 60, self.0 % 1000)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", Clockface(self.at))?;
        match &self.fact {
            Fact::DefibStarted => write!(f, "== defib starts, life {}", self.life),
            Fact::DefibCrashed(place) => write!(f, "== defib crashes: {place}"),
            Fact::HostBooted => write!(f, "== the host boots"),
            Fact::HostSlept(ms) => write!(f, "== the host slept for {ms} ms"),
            Fact::WallStepped(ms) => write!(f, "== the wall clock is set by {ms} ms"),
            Fact::HoldFile { exists } => write!(f, "== the hold file exists: {exists}"),
            Fact::Reloaded { removed, hands_off } => write!(
                f,
                "== the config is read again; removed: {}, never_act: {hands_off}",
                removed.as_deref().unwrap_or("nothing")
            ),
            Fact::Created { container, replica } => {
                write!(f, "truth   {container} created for {replica}")
            }
            Fact::Started { container, instance, by } => {
                write!(f, "truth   {container} started by {by:?} as {instance}")
            }
            Fact::Stopping { container, by } => {
                write!(f, "truth   {container} told to stop by {by:?}")
            }
            Fact::Died { container, by, exit_code } => {
                write!(f, "truth   {container} died by {by:?} with {exit_code}")
            }
            Fact::Paused { container } => write!(f, "truth   {container} paused"),
            Fact::Unpaused { container } => write!(f, "truth   {container} unpaused"),
            Fact::Destroyed { container, by } => write!(f, "truth   {container} removed by {by:?}"),
            Fact::Turned { container, condition } => {
                write!(f, "truth   {container} is {condition:?}")
            }
            Fact::HealthChecked { container, result, .. } => {
                write!(f, "truth   {container} healthcheck {result:?}")
            }
            Fact::EngineWeather { fine, what } => write!(f, "weather engine fine={fine}: {what}"),
            Fact::StoreWeather { fine, what } => write!(f, "weather store fine={fine}: {what}"),
            Fact::SinkWeather { sink, fine, what } => {
                write!(f, "weather sink {sink} fine={fine}: {what}")
            }
            Fact::Inspected { container, seen } => write!(
                f,
                "shown   {container} {:?} {} {:?}",
                seen.state, seen.instance, seen.health
            ),
            Fact::InspectFailed { container, failure } => {
                write!(f, "shown   {container} can't be inspected: {failure:?}")
            }
            Fact::Listed { failure: None } => write!(f, "shown   the list"),
            Fact::Listed { failure: Some(failure) } => write!(f, "shown   no list: {failure:?}"),
            Fact::EventStream { open: true } => write!(f, "shown   the event stream is open"),
            Fact::EventStream { open: false } => write!(f, "shown   there is no event stream"),
            Fact::EventTold { container, action } => {
                write!(f, "shown   {container} event {action:?}")
            }
            Fact::Sampled(sample) => write!(
                f,
                "shown   {} {} {:?}{} ({} ms)",
                sample.replica,
                sample.probe,
                sample.outcome,
                if sample.slept { " asleep" } else { "" },
                self.at.saturating_sub(sample.begun)
            ),
            Fact::ActCalled { call, container, primitive } => {
                write!(f, "act     #{call} {primitive} {container}")
            }
            Fact::ActReceived { call, found, instance, .. } => {
                write!(f, "act     #{call} meets {found:?} {instance}")
            }
            Fact::ActAnswered { call, outcome } => {
                write!(f, "act     #{call} answered {outcome:?}")
            }
            Fact::SendBegun { send, sink, message, attempt, durable } => write!(
                f,
                "send    #{send} {sink} {:?} {} {} incident {} key {} attempt {attempt} durable={durable}: {}",
                message.kind,
                message.severity,
                message.key,
                message.incident,
                message.idempotency_key(),
                message.headline
            ),
            Fact::Landed { send } => write!(f, "send    #{send} landed"),
            Fact::SendAnswered { send, outcome } => {
                write!(f, "send    #{send} answered {outcome:?}")
            }
            Fact::Submitted { seq, records } => write!(f, "store   {records} records up to {seq}"),
            Fact::Committed { seq } => write!(f, "store   committed up to {seq}"),
            Fact::RecordsRefused { seq } => write!(f, "store   refused up to {seq}"),
            Fact::Decided { replica, decision, reason } => {
                write!(f, "decided {} {decision}: {reason}", replica.as_deref().unwrap_or("host"))
            }
        }
    }
}

impl Account {
    /// The whole run as text: the same for the same seed, byte for byte.
    pub fn transcript(&self) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            text.push_str(&entry.to_string());
            text.push('\n');
        }
        text
    }
}
