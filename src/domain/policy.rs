//! What the config means, checked and complete: no defaults are applied behind this point. Impossible values do not get
//! here; `config/` refuses them with their place. Carries no secrets and no addresses of sinks.

use super::{
    message::Severity,
    moment::Spoken,
    name::{HostName, ProbeName, ServiceName, SinkName},
};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc, time::Duration};

/// Everything the domain is told to keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// The fleet's name.
    pub fleet: String,
    /// This host's name.
    pub host: HostName,
    /// Decide, record and tell; touch nothing (`--dry-run`).
    pub dry_run: bool,
    /// `[[host]] never_act`: no action on this host at all.
    pub never_act: bool,
    /// Which containers without a `[[service]]` are watched.
    pub unlisted: Unlisted,
    /// How those are treated.
    pub unlisted_service: Arc<ServicePolicy>,
    /// Whether `autoheal=true` counts as an opt-in for unlisted containers.
    pub autoheal_labels: bool,
    /// Only containers with this label and value exist for this daemon (`demo`, tests).
    pub only_label: Option<(String, String)>,
    /// What holds for the host as a whole.
    pub limits: HostLimits,
    /// How long things may settle before anything is restarted (S12).
    pub settling: Settling,
    /// In the order of the file.
    pub services: Vec<Arc<ServicePolicy>>,
    /// In the order of the file.
    pub sinks: Vec<SinkPolicy>,
    /// Where to look and how often.
    pub looking: Looking,
}

/// Which containers without a `[[service]]` are watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unlisted {
    /// Those with a healthcheck.
    Healthchecked,
    /// All.
    All,
    /// None.
    None,
}

/// The host's own limits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostLimits {
    /// Replicas acted on or unverified at the same time on this host (S3).
    pub max_concurrent: u32,
    /// Restarts on this host (S4).
    pub budget: HostBudget,
    /// The host-wide hold (S8); `None` switches it off.
    pub brake: Option<BrakePolicy>,
}

/// So many restarts within so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostBudget {
    /// How many.
    pub restarts: u32,
    /// In boot time.
    pub within: Duration,
}

/// When much fails at once (S8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrakePolicy {
    /// At least so many services.
    pub services: u32,
    /// And at least so many percent of those watched.
    pub percent: u32,
}

/// How long things may settle before anything is restarted (S12).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settling {
    /// After our own start.
    pub own_start: Duration,
    /// After the host's boot.
    pub host_boot: Duration,
    /// After the engine's start.
    pub engine_start: Duration,
}

/// Where to look and how often, when all is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looking {
    /// The list of unhealthy containers.
    pub unhealthy_every: Duration,
    /// The full list.
    pub list_every: Duration,
}

/// A sink as far as the domain needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkPolicy {
    /// Its name.
    pub name: SinkName,
    /// Which severities it gets; empty gets all.
    pub severities: Vec<Severity>,
    /// Hard total for one attempt.
    pub deadline: Duration,
    /// Tells it from a sink of the same name that goes elsewhere: a digest of its kind, its address and its secrets.
    #[serde(default)]
    pub definition: u64,
    /// What this host lacks for sending there, when it was last looked at; in words that may be shown.
    #[serde(default)]
    pub lacks: Option<String>,
}

/// How one service is treated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServicePolicy {
    /// Its name.
    pub name: ServiceName,
    /// Which containers are its replicas: a container is, where any of these matches. Empty: a URL alone.
    pub containers: Vec<ContainerMatch>,
    /// How many should run; `None`: as many as were seen running.
    pub replicas: Option<u32>,
    /// How much a failure of it disturbs at most.
    pub severity: Severity,
    /// Whether the first message waits for the cure (P9).
    pub page: PageWhen,
    /// Whether it may be restarted.
    pub restart: RestartMode,
    /// When a person is told; counts within the trouble.
    pub page_after: Threshold,
    /// When it is restarted; counts within the instance.
    pub restart_after: Threshold,
    /// No restart earlier than this after its verdict, so that common causes show first (S12).
    pub settle: Duration,
    /// In which a new instance's failing probes do not count. A healthcheck brings its own start period.
    pub start_grace: Duration,
    /// Restarts for one trouble (S4).
    pub budget: ServiceBudget,
    /// How long between restarts.
    pub backoff: Backoff,
    /// How long a restarted replica may take to be well.
    pub recover_within: Duration,
    /// How long it must be well until its trouble is over.
    pub stable_for: Duration,
    /// Replicas acted on or unverified at the same time (S3).
    pub max_acting: u32,
    /// Replicas that must stay healthy while one is restarted.
    pub min_healthy: u32,
    /// Whether it holds data (S12); `None`: by its image.
    pub stateful: Option<bool>,
    /// What it needs; by service name (S9).
    pub depends_on: Vec<ServiceName>,
    /// A page to read.
    pub runbook: Option<String>,
    /// A line to read.
    pub note: Option<String>,
    /// defib's own probes.
    pub probes: Vec<ProbePolicy>,
}

/// Which containers a service has. `*` stands for any run of characters, in names and images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContainerMatch {
    /// By Compose's labels.
    Compose {
        /// The project.
        project: String,
        /// The service.
        service: String,
    },
    /// By name.
    Name(String),
    /// By label.
    Label {
        /// Which label.
        key: String,
        /// Its value; `None` takes any.
        value: Option<String>,
    },
    /// By image.
    Image(String),
}

/// Whether a person is disturbed at once, or only where the cure fails (P9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PageWhen {
    /// First a notice; a page where it is not cured in time, held, or out of budget.
    IfNotCured,
    /// A page from the start.
    AtOnce,
}

/// Whether something may be restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartMode {
    /// By the rules.
    Auto,
    /// Say what would be done.
    Dry,
    /// Never.
    Never,
    /// Only with the label `defib.restart=true` (unlisted containers).
    IfLabelled,
}

/// `5 failures`, `60s`, or `5 failures or 60s`: whichever comes first. At least one is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    /// Consecutive failures of one evidence.
    pub failures: Option<u32>,
    /// Failing for so long, in awake time.
    pub failing_for: Option<Duration>,
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failures = self.failures.map(|n| match n {
            1 => "1 failure".to_owned(),
            n => format!("{n} failures"),
        });
        let span = self.failing_for.map(|span| Spoken(span).to_string());
        let parts: Vec<String> = [failures, span].into_iter().flatten().collect();
        f.write_str(&parts.join(" or "))
    }
}

/// So many restarts for one trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceBudget {
    /// How many.
    pub restarts: u32,
    /// Full again only after it was seen healthy for so long, in awake time.
    pub refill_after_healthy: Duration,
}

/// Doubles from `first` to `max` with each restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backoff {
    /// After the first restart.
    pub first: Duration,
    /// Never longer.
    pub max: Duration,
}

/// One probe of defib's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePolicy {
    /// Unique within the service.
    pub name: ProbeName,
    /// Changes whenever what is asked or asserted changes; not with pace and thresholds. A hash, stable over versions.
    pub definition: u64,
    /// What is asked.
    pub spec: ProbeSpec,
    /// Between two samples.
    pub every: Duration,
    /// Hard total of one sample.
    pub timeout: Duration,
    /// So many consecutive failures are failing.
    pub fall: u32,
    /// So many consecutive passes are well again.
    pub rise: u32,
    /// True: also what a restart does not usually cure may restart (S11). `None`: by the rules.
    pub may_restart: Option<bool>,
}

/// What a probe asks and asserts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ProbeSpec {
    /// HTTP/1.1.
    Http(HttpProbe),
}

/// An HTTP/1.1 request and what its answer must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HttpProbe {
    /// Where to.
    pub place: Place,
    /// Path and query.
    pub path: String,
    /// `GET`, `HEAD`, …
    pub method: String,
    /// Beside `Host`, `User-Agent`, `Accept` and `Connection`, which are set by default.
    pub headers: Vec<(String, String)>,
    /// Inclusive ranges of statuses that pass.
    pub status: Vec<(u16, u16)>,
    /// The body is read to at most so many bytes.
    pub body_cap: u64,
    /// Whether reaching the cap passes.
    pub cap_is_ok: bool,
}

/// Where an HTTP probe goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Place {
    /// Each replica, at its container's own address.
    Replica {
        /// Which port.
        port: u16,
        /// On which network, where it has several.
        network: Option<String>,
    },
    /// A host, resolved anew for each sample.
    Url {
        /// Name or address.
        host: String,
        /// Which port.
        port: u16,
    },
}
