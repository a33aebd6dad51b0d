//! What changes while `defib run` runs: signals end it or have the config read again, and secrets come and go.
//!
//! A config with errors changes nothing. What can't change without a restart of defib is said, and not half done. Secrets
//! are looked at each minute, so that a file that comes late is found without a signal and without a message that needs it;
//! a sink whose secret changed goes elsewhere, and so is no longer proven.
//!
//! Config and secrets lie on disks, and a disk may hang. So signals are heeded by a task that touches none, and reading is
//! another's, one thing at a time; what may hang for good does so on a thread that nobody else needs, and which is not asked
//! again before it has come back.

use super::run::{Request, RunProblem};
use crate::{
    clock::Clock,
    config::Config,
    daemon::Order,
    domain::name::SinkName,
    notify::{
        config::SinkConfig,
        port::Sink,
        readiness::{self, Readiness},
        salt::Salt,
    },
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
    },
    time::timeout,
};

/// How often secrets are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// A config is read within milliseconds; ten seconds are those of a disk that has to wake up and then fails a few times.
const CONFIG_WITHIN: Duration = Duration::from_secs(10);

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
            Self::NoThread(error) => {
                write!(f, "it could not be read: no thread for that: {error}; send SIGHUP again")
            }
        }
    }
}

/// What each sink lacks for sending. The same words are logged once.
#[derive(Debug, Default)]
pub(super) struct Lacking(BTreeMap<SinkName, String>);

/// What of a config only a start takes up. `None` where the command line said it, and the config does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OnlyAtStart {
    engine: Option<Option<String>>,
    state_dir: Option<Option<PathBuf>>,
}

impl OnlyAtStart {
    pub(super) fn of(config: &Config, request: &Request) -> Self {
        Self {
            engine: request.engine.is_none().then(|| config.engine.clone()),
            state_dir: request.state_dir.is_none().then(|| config.state_dir.clone()),
        }
    }

    /// What differs, by its key.
    fn changed(&self, now: &Self) -> Vec<&'static str> {
        let engine = (self.engine != now.engine).then_some("engine.address");
        let state = (self.state_dir != now.state_dir).then_some("state.dir");
        engine.into_iter().chain(state).collect()
    }
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
                tracing::error!(
                    sink = sink.name.as_str(),
                    "no message can be sent here: {why}; looking again each minute"
                );
                lacking.0.insert(sink.name.clone(), why);
            }
            None if lacking.0.remove(&sink.name).is_some() => {
                tracing::info!(sink = sink.name.as_str(), "messages can be sent again");
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
            Ok(mut config) => {
                look_at_secrets(&mut config, &mut self.lacking, &self.salt).await;
                let now = OnlyAtStart::of(&config, &self.request);
                for key in self.started_with.changed(&now) {
                    tracing::warn!(
                        "`{key}` has changed: that needs a restart of defib; until then the one of before holds"
                    );
                }
                self.take(config, "the config was read again").map_err(NotTaken::Problem)
            }
            Err(problem) => Err(problem),
        };
        match taken {
            Ok(order) => {
                self.said = None;
                Some(order)
            }
            Err(problem) => {
                tracing::error!("the config was not taken; the one of before stays:");
                // A line of the log is one line: the problems stand in lines of their own.
                for line in problem.to_string().lines() {
                    tracing::error!("{line}");
                }
                None
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
        match self.take(config, "a secret of a sink has changed") {
            Ok(order) => {
                self.said = None;
                Some(order)
            }
            Err(problem) => {
                let why = problem.source().map(ToString::to_string).unwrap_or_default();
                let problem = format!(
                    "a secret of a sink has changed, and no new sink could be built: {problem}: {why}; the sinks of before \
                     stay, and it is tried again each minute"
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
mod tests {
    use super::*;
    use crate::{clock::HostClock, config, domain::name::HostName};
    use rustix::process::{Signal, getpid, kill_process};
    use std::{
        path::Path,
        sync::{
            Mutex,
            atomic::{AtomicUsize, Ordering},
            mpsc as threads,
        },
    };
    use tokio::{runtime::Handle, sync::Barrier};

    fn parsed(text: &str) -> Config {
        config::parse("defib.toml", text, &HostName::new("kit-1")).unwrap().config
    }

    fn request(engine: Option<&str>) -> Request {
        Request {
            config: None,
            dry_run: false,
            engine: engine.map(str::to_owned),
            docker_host: None,
            state_dir: None,
            runtime_dir: PathBuf::new(),
        }
    }

    #[test]
    fn what_only_a_start_takes_up_is_named_when_it_changes() {
        let before =
            "engine.address = 'unix:///a.sock'\nstate.dir = '/a'\n[sink.a]\nterminal = {}\n";
        let after = before.replace("/a", "/b");
        let changed = |request: &Request| {
            let of = |text: &str| OnlyAtStart::of(&parsed(text), request);
            assert!(of(before).changed(&of(before)).is_empty());
            of(before).changed(&of(&after))
        };
        assert_eq!(changed(&request(None)), ["engine.address", "state.dir"]);
        // What the command line says, the config does not.
        assert_eq!(changed(&request(Some("unix:///c.sock"))), ["state.dir"]);
    }

    fn slack(path: &Path) -> Config {
        parsed(&format!("[sink.a]\nslack = {{ url_file = '{}' }}\n", path.display()))
    }

    #[tokio::test]
    async fn a_secret_that_comes_late_is_found_without_a_signal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slack.url");
        let (mut config, mut lacking) = (slack(&path), Lacking::default());
        let salt = Salt::random().unwrap();
        look_at_secrets(&mut config, &mut lacking, &salt).await;
        assert_eq!(lacking.0.len(), 1);
        assert!(config.policy.sinks[0].lacks.is_some(), "`status` can say it");
        assert!(!look_at_secrets(&mut config, &mut lacking, &salt).await, "nothing has changed");
        let without = config.policy.sinks[0].definition;
        std::fs::write(&path, "https://hooks.example.org/x").unwrap();
        assert!(look_at_secrets(&mut config, &mut lacking, &salt).await);
        assert!(lacking.0.is_empty() && config.policy.sinks[0].lacks.is_none());
        let with = config.policy.sinks[0].definition;
        assert_ne!(with, without);
        std::fs::write(&path, "https://hooks.example.org/y").unwrap();
        assert!(look_at_secrets(&mut config, &mut lacking, &salt).await);
        assert_ne!(config.policy.sinks[0].definition, with);
    }

    fn reloading(config: Config, read: Arc<ReadConfig>, build: Arc<BuildSinks>) -> Reloading {
        let request = request(None);
        Reloading {
            read,
            build,
            clock: Arc::new(HostClock::new()),
            started_with: OnlyAtStart::of(&config, &request),
            request,
            config,
            lacking: Lacking::default(),
            salt: Salt::random().unwrap(),
            said: None,
            out: None,
        }
    }

    /// Reads a config that comes when the sender is dropped. Says each time that a read began.
    fn hangs() -> (Arc<ReadConfig>, threads::Sender<()>, mpsc::UnboundedReceiver<()>) {
        let (release, held) = threads::channel::<()>();
        let (begins, begun) = mpsc::unbounded_channel();
        let held = Mutex::new(held);
        let read = move || {
            begins.send(()).ok();
            held.lock().unwrap().recv().ok();
            Ok(parsed(""))
        };
        (Arc::new(read), release, begun)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn an_end_is_ordered_at_once_while_the_config_can_not_be_read() {
        let (read, release, mut begun) = hangs();
        let (orders, mut ordered) = mpsc::channel(1);
        let build: Arc<BuildSinks> = Arc::new(|_| Ok(Sinks::new()));
        let tasks = Tasks::on(Handle::current());
        reloading(parsed(""), read, build).heed_signals(orders, &tasks).unwrap();
        let bound = Duration::from_secs(5);
        kill_process(getpid(), Signal::HUP).unwrap();
        timeout(bound, begun.recv()).await.unwrap().unwrap();
        kill_process(getpid(), Signal::TERM).unwrap();
        let order = timeout(bound, ordered.recv()).await.expect("the end is ordered");
        assert!(matches!(order, Some(Order::Stop)));
        drop(release);
        let order =
            timeout(bound, ordered.recv()).await.expect("the config comes late, and counts");
        assert!(matches!(order, Some(Order::Reload { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn a_config_that_hangs_is_given_up_and_read_again_only_when_it_has_come_back() {
        let (read, release, mut begun) = hangs();
        let build: Arc<BuildSinks> = Arc::new(|_| Ok(Sinks::new()));
        let mut reloading = reloading(parsed(""), read, build);
        assert!(matches!(reloading.read_apart().await, Err(NotTaken::NotWithin)));
        for _ in 0..100 {
            assert!(matches!(reloading.read_apart().await, Err(NotTaken::NotBack)));
        }
        assert!(begun.recv().await.is_some() && begun.try_recv().is_err(), "one thread");
        drop(release);
        reloading.out.as_mut().unwrap().await.unwrap().unwrap();
        // The paused clock may run ahead of the thread: what counts is that it is asked again.
        assert!(!matches!(reloading.read_apart().await, Err(NotTaken::NotBack)));
        assert!(begun.recv().await.is_some());
    }

    #[tokio::test]
    async fn the_secrets_of_all_sinks_are_looked_at_at_once() {
        let names = 'a'..='h';
        let config: String =
            names.clone().map(|name| format!("[sink.{name}]\nterminal = {{}}\n")).collect();
        let (config, all) = (parsed(&config), Barrier::new(names.count()));
        let looks = look_at_all(&config, |_| async {
            all.wait().await;
            Readiness { definition: 1, lacks: None }
        });
        let seen = timeout(Duration::from_secs(5), looks).await.expect("none waits for another");
        assert_eq!(seen.len(), 8);
    }

    #[tokio::test]
    async fn a_secret_that_can_not_be_taken_up_is_said_once_and_not_as_a_config() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slack.url");
        std::fs::write(&path, "https://hooks.example.org/x").unwrap();
        let builds = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&builds);
        let build: Arc<BuildSinks> = Arc::new(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Err(RunProblem::System(io::ErrorKind::OutOfMemory.into()))
        });
        let mut reloading = reloading(slack(&path), Arc::new(|| Ok(parsed(""))), build);
        let log = Arc::new(Mutex::new(Vec::new()));
        let writer = Arc::clone(&log);
        let subscriber =
            tracing_subscriber::fmt().with_writer(move || Shared(Arc::clone(&writer))).finish();
        let logging = tracing::subscriber::set_default(subscriber);
        for _ in 0..3 {
            assert!(reloading.look_again().await.is_none());
        }
        drop(logging);
        let log = String::from_utf8(log.lock().unwrap().clone()).unwrap();
        assert_eq!(builds.load(Ordering::SeqCst), 3, "it is tried each minute");
        assert_eq!(log.matches("a secret of a sink has changed, and").count(), 1, "{log}");
        assert!(!log.contains("the config was not taken"), "{log}");
    }

    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
}
