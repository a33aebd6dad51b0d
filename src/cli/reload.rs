//! What changes while `defib run` runs: signals end it or have the config read again, and secrets come and go.
//!
//! A config with errors changes nothing. What can't change without a restart of defib is said, and not half done. Secrets
//! are looked at each minute, so that a file that comes late is found without a signal and without a message that needs it;
//! a sink whose secret changed goes elsewhere, and so is no longer proven.
//!
//! Config and secrets lie on disks, and a disk may hang. So signals are heeded by a task that touches none, and reading is
//! another's, one thing at a time; what may hang for good does so on a thread that nobody else needs, and which is not asked
//! again before it has come back.

use super::run::{
    problem::{RunProblem, log_lines},
    request::Request,
};
use crate::{
    clock::Clock,
    config::{CONFIG_WITHIN, Config},
    daemon::Order,
    domain::{
        moment::{Spoken, WallMs},
        name::SinkName,
    },
    notify::{
        config::SinkConfig,
        port::Sink,
        readiness::{self, Readiness},
        salt::Salt,
    },
    status::snapshot::RefusedReload,
    tasks::{self, Tasks},
};
use futures_util::future::join_all;
use std::{
    collections::BTreeMap, error::Error as _, fmt, io, path::PathBuf, sync::Arc, time::Duration,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::{
        Notify, mpsc,
        oneshot::{self, error::TryRecvError},
        watch,
    },
    time::timeout,
};

/// How often secrets are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);

type ReadConfig = dyn Fn() -> Result<Config, RunProblem> + Send + Sync;
type Sinks = BTreeMap<SinkName, Arc<dyn Sink>>;
type BuildSinks = dyn Fn(&Config) -> Result<Sinks, RunProblem> + Send + Sync;

/// What is needed to read a config again.
pub(super) struct Reloading {
    /// Reads the config. May hang for good.
    pub(super) read: Arc<ReadConfig>,
    /// Builds a config's sinks. Does not wait.
    pub(super) build: Arc<BuildSinks>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) request: Request,
    /// The config that holds.
    pub(super) config: Config,
    /// What only a start takes up, as it was at the start.
    pub(super) started_with: OnlyAtStart,
    pub(super) lacking: Lacking,
    /// What definitions of sinks are salted with.
    pub(super) salt: Salt,
    /// The config that was not taken last, where none was since; for `status`.
    pub(super) refused: watch::Sender<Option<RefusedReload>>,
    /// Why a changed secret could not be taken up, as said in the log.
    pub(super) said: Option<String>,
    /// A read of the config that was waited for in vain.
    pub(super) out: Option<oneshot::Receiver<Result<Config, RunProblem>>>,
}

/// Why a config was not taken.
#[derive(Debug)]
enum NotTaken {
    /// It can't be used.
    Problem(RunProblem),
    /// Its disk hangs.
    NotWithin,
    /// Its disk hung when it was read before, and still does.
    NotBack,
    /// Nothing is in it, as while it is being written.
    Empty,
    /// No thread to read it on.
    NoThread(io::Error),
}

impl fmt::Display for NotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Problem(problem) => write!(f, "{problem}"),
            Self::NotWithin => write!(
                f,
                "it could not be read within {} s, as when a disk hangs; send SIGHUP again when it can be",
                CONFIG_WITHIN.as_secs()
            ),
            Self::NotBack => f.write_str(
                "it could not be read: the read of before has not come back, as when a disk hangs; send SIGHUP again when it has",
            ),
            Self::Empty => f.write_str(
                "it has no service and no sink, as a file that is just being written; to run without any, restart defib",
            ),
            Self::NoThread(error) => {
                write!(f, "it could not be read: no thread for that: {error}; send SIGHUP again")
            }
        }
    }
}

impl NotTaken {
    /// Why, in one line.
    fn in_one_line(&self) -> String {
        match self {
            Self::Problem(problem) => problem.in_one_line(),
            Self::NotWithin | Self::NotBack | Self::Empty | Self::NoThread(_) => self.to_string(),
        }
    }

    /// Why, in all its lines.
    fn in_lines(&self) -> String {
        match self {
            Self::Problem(problem) => problem.in_lines(),
            Self::NotWithin | Self::NotBack | Self::Empty | Self::NoThread(_) => self.to_string(),
        }
    }
}

/// What each sink lacks for sending. The same words are logged once.
#[derive(Debug, Default)]
pub(super) struct Lacking(BTreeMap<SinkName, String>);

/// What of a config only a start takes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OnlyAtStart {
    engine: Option<String>,
    state_dir: Option<PathBuf>,
}

/// What comes of a key that has changed and that only a start takes up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    /// The next start takes it up.
    AtNextStart,
    /// Nothing: what was said at the start goes before the config, also at the next one if it is said there too.
    Overruled(&'static str),
}

impl OnlyAtStart {
    pub(super) fn of(config: &Config) -> Self {
        Self { engine: config.engine.clone(), state_dir: config.state_dir.clone() }
    }

    /// What differs, by its key.
    fn changed(&self, now: &Self, request: &Request) -> Vec<(&'static str, Change)> {
        let change = |overruled: bool, by| {
            if overruled { Change::Overruled(by) } else { Change::AtNextStart }
        };
        let engine = (self.engine != now.engine)
            .then(|| ("engine.address", change(request.engine.is_some(), "--engine")));
        let state = (self.state_dir != now.state_dir)
            .then(|| ("state.dir", change(request.state_dir.is_some(), "--state-dir")));
        engine.into_iter().chain(state).collect()
    }
}

/// Whether a config asks for nothing: a file that was cut, or is just being written, reads as one without errors, and means
/// what holds without any file.
fn is_empty(config: &Config) -> bool {
    let without = Config::without_config(&config.policy.host);
    config.policy.services.is_empty() && config.sinks == without.sinks
}

/// Reads every sink's secrets: each sink is defined by them too, and what one lacks is an error in the log. Returns whether
/// a definition changed.
pub(super) async fn look_at_secrets(
    config: &mut Config,
    lacking: &mut Lacking,
    salt: &Salt,
) -> bool {
    let seen = look_at_all(config, |sink| readiness::look(sink, salt)).await;
    take_up(config, seen, lacking)
}

/// Looks at all at once: each may take its whole time where a disk hangs, and together they take no longer than one.
async fn look_at_all<'a, L: Future<Output = Readiness>>(
    config: &'a Config,
    look: impl Fn(&'a SinkConfig) -> L,
) -> Vec<Readiness> {
    join_all(config.sinks.iter().map(|sink| look(&sink.config))).await
}

fn take_up(config: &mut Config, seen: Vec<Readiness>, lacking: &mut Lacking) -> bool {
    let mut changed = false;
    for (sink, seen) in config.sinks.iter().zip(seen) {
        let policy = config.policy.sinks.iter_mut().find(|policy| policy.name == sink.name);
        if let Some(policy) = policy {
            changed |= policy.definition != seen.definition || policy.lacks != seen.lacks;
            policy.definition = seen.definition;
            policy.lacks.clone_from(&seen.lacks);
        }
        match seen.lacks {
            Some(why) if lacking.0.get(&sink.name) != Some(&why) => {
                let name = sink.name.as_str();
                tracing::error!(
                    sink = name,
                    "no message can be sent to {name}: {why}; looking again every {}",
                    Spoken(LOOK_EVERY)
                );
                lacking.0.insert(sink.name.clone(), why);
            }
            None if lacking.0.remove(&sink.name).is_some() => {
                let sink = sink.name.as_str();
                tracing::info!(sink, "messages can be sent to {sink} again");
            }
            Some(_) | None => {}
        }
    }
    lacking.0.retain(|name, _| config.sinks.iter().any(|sink| sink.name == *name));
    changed
}

impl Reloading {
    /// SIGTERM and SIGINT end, SIGHUP reloads. Whatever a reload waits for, an end is ordered at once.
    pub(super) fn heed_signals(self, orders: mpsc::Sender<Order>, tasks: &Tasks) -> io::Result<()> {
        let (mut term, mut interrupt, mut hangup) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        );
        // Keeps one wish: however often it is asked for meanwhile, the config is read once more.
        let wish = Arc::new(Notify::new());
        tasks.spawn("reload", self.reload_when_asked(Arc::clone(&wish), orders.clone()));
        tasks.spawn("signals", async move {
            loop {
                tokio::select! {
                    _ = term.recv() => {}
                    _ = interrupt.recv() => {}
                    _ = hangup.recv() => {
                        wish.notify_one();
                        continue;
                    }
                }
                if orders.send(Order::Stop).await.is_err() {
                    return;
                }
            }
        });
        Ok(())
    }

    async fn reload_when_asked(mut self, wish: Arc<Notify>, orders: mpsc::Sender<Order>) {
        let clock = Arc::clone(&self.clock);
        loop {
            let due = clock.now().awake + LOOK_EVERY;
            let order = tokio::select! {
                () = wish.notified() => self.reload().await,
                () = clock.sleep_until(due) => self.look_again().await,
            };
            if let Some(order) = order
                && orders.send(order).await.is_err()
            {
                return;
            }
        }
    }

    /// Reads the config again. One with errors changes nothing.
    async fn reload(&mut self) -> Option<Order> {
        let taken = match self.read_apart().await {
            Ok(config) if is_empty(&config) && !is_empty(&self.config) => Err(NotTaken::Empty),
            Ok(mut config) => {
                look_at_secrets(&mut config, &mut self.lacking, &self.salt).await;
                self.say_what_only_a_start_takes_up(&config);
                self.take(config, "the config was read again").map_err(NotTaken::Problem)
            }
            Err(problem) => Err(problem),
        };
        match taken {
            Ok(order) => {
                self.said = None;
                self.refused.send_replace(None);
                Some(order)
            }
            Err(problem) => {
                tracing::error!(
                    "the config was not taken, and the one of before stays; mend it and send SIGHUP again:"
                );
                for line in log_lines(&problem.in_lines()) {
                    tracing::error!("{line}");
                }
                self.note_refusal(problem.in_one_line());
                None
            }
        }
    }

    /// For `status`: the config that holds is not the one that was to hold since the first that was refused.
    fn note_refusal(&self, why: String) {
        let WallMs(now) = self.clock.now().wall;
        self.refused.send_modify(|refused| {
            let since_ms = refused.as_ref().map_or(now, |before| before.since_ms);
            *refused = Some(RefusedReload { since_ms, why });
        });
    }

    fn say_what_only_a_start_takes_up(&self, config: &Config) {
        let now = OnlyAtStart::of(config);
        for (key, change) in self.started_with.changed(&now, &self.request) {
            match change {
                Change::AtNextStart => tracing::warn!(
                    "`{key}` has changed: that needs a restart of defib; until then the one of before holds"
                ),
                Change::Overruled(by) => tracing::warn!(
                    "`{key}` has changed, and does not count: {by} was given at the start and goes before the config"
                ),
            }
        }
    }

    /// Reads the config on a thread of its own, and never on a second one while that hangs.
    async fn read_apart(&mut self) -> Result<Config, NotTaken> {
        if let Some(out) = &mut self.out
            && matches!(out.try_recv(), Err(TryRecvError::Empty))
        {
            return Err(NotTaken::NotBack);
        }
        self.out = None;
        let (came, mut coming) = oneshot::channel();
        let read = Arc::clone(&self.read);
        // Whoever waited may be gone.
        tasks::thread("config", move || drop(came.send(read()))).map_err(NotTaken::NoThread)?;
        match timeout(CONFIG_WITHIN, &mut coming).await {
            Ok(Ok(read)) => read.map_err(NotTaken::Problem),
            Ok(Err(ended)) => Err(NotTaken::NoThread(io::Error::other(ended))),
            Err(_) => {
                self.out = Some(coming);
                Err(NotTaken::NotWithin)
            }
        }
    }

    /// Looks at the secrets again. Where one changed, its sink goes elsewhere now.
    async fn look_again(&mut self) -> Option<Order> {
        let mut config = self.config.clone();
        if !look_at_secrets(&mut config, &mut self.lacking, &self.salt).await {
            return None;
        }
        match self.take(config, "the sinks were built anew, as their secrets are now") {
            Ok(order) => {
                self.said = None;
                Some(order)
            }
            Err(problem) => {
                let why = problem.source().map(ToString::to_string).unwrap_or_default();
                let problem = format!(
                    "the sinks could not be built anew, as their secrets are now: {problem}: {why}; the sinks of before \
                     stay, and it is tried again every {}",
                    Spoken(LOOK_EVERY)
                );
                if self.said.as_ref() != Some(&problem) {
                    tracing::error!("{problem}");
                    self.said = Some(problem);
                }
                None
            }
        }
    }

    fn take(&mut self, config: Config, why: &str) -> Result<Order, RunProblem> {
        let sinks = (self.build)(&config)?;
        tracing::info!("{why}");
        let policy = Arc::new(config.policy.clone());
        self.config = config;
        Ok(Order::Reload { policy, sinks })
    }
}

#[cfg(test)]
mod tests;
