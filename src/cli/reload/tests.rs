use super::*;
use crate::cli::places::Systemd;
use crate::{clock::HostClock, config, domain::name::HostName, notify::config::SinkNotBuilt};
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
        runtime_dir: None,
        systemd: Systemd::default(),
    }
}

#[test]
fn what_only_a_start_takes_up_is_named_when_it_changes() {
    let before = "engine.address = 'unix:///a.sock'\nstate.dir = '/a'\n[sink.a]\nterminal = {}\n";
    let after = before.replace("/a", "/b");
    let changed = |request: &Request| {
        let of = |text: &str| OnlyAtStart::of(&parsed(text));
        assert!(of(before).changed(&of(before), request).is_empty());
        of(before).changed(&of(&after), request)
    };
    let (engine, state) = ("engine.address", "state.dir");
    let next = Change::AtNextStart;
    assert_eq!(changed(&request(None)), [(engine, next), (state, next)]);
    // What the command line says goes before the config, and whoever changes that in vain has to hear of it.
    let overruled = Change::Overruled("--engine");
    assert_eq!(changed(&request(Some("unix:///c.sock"))), [(engine, overruled), (state, next)]);
    let moved = Request { state_dir: Some("/c".into()), ..request(None) };
    let overruled = Change::Overruled("--state-dir");
    assert_eq!(changed(&moved), [(engine, next), (state, overruled)]);
    // What systemd says goes behind the config.
    let unit = Systemd { state: Some("/s".into()), runtime: None };
    assert_eq!(
        changed(&Request { systemd: unit, ..request(None) }),
        [(engine, next), (state, next)]
    );
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
        started_with: OnlyAtStart::of(&config),
        request,
        config,
        lacking: Lacking::default(),
        salt: Salt::random().unwrap(),
        refused: watch::Sender::new(None),
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
    let order = timeout(bound, ordered.recv()).await.expect("the config comes late, and counts");
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
        Err(RunProblem::Sink(SinkNotBuilt {
            sink: SinkName::new("a"),
            source: io::ErrorKind::OutOfMemory.into(),
        }))
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
    assert_eq!(log.matches("the sinks could not be built anew").count(), 1, "{log}");
    assert!(!log.contains("the config was not taken"), "{log}");
    assert!(!log.contains("failed to start: "), "it runs: {log}");
}

/// Reads these, one after another.
fn reads(texts: &'static [&'static str]) -> Arc<ReadConfig> {
    let next = AtomicUsize::new(0);
    let host = HostName::new("kit-1");
    Arc::new(move || {
        let text = texts[next.fetch_add(1, Ordering::SeqCst)];
        let loaded = config::parse("/etc/defib.toml", text, &host).map_err(RunProblem::Config)?;
        Ok(loaded.config)
    })
}

#[tokio::test]
async fn a_config_that_is_not_taken_is_kept_for_status_since_the_first_and_until_one_is_taken() {
    const SINK: &str = "[sink.a]\nterminal = {}\n";
    const TEXTS: &[&str] = &["a = 1\nb = 2\n", "[sink.a]\nterminl = {}\n", SINK];
    let build: Arc<BuildSinks> = Arc::new(|_| Ok(Sinks::new()));
    let mut reloading = reloading(parsed(SINK), reads(TEXTS), build);
    let log = Arc::new(Mutex::new(Vec::new()));
    let writer = Arc::clone(&log);
    let subscriber =
        tracing_subscriber::fmt().with_writer(move || Shared(Arc::clone(&writer))).finish();
    let logging = tracing::subscriber::set_default(subscriber);
    assert!(reloading.reload().await.is_none());
    let first = reloading.refused.borrow().clone().unwrap();
    assert!(first.why.starts_with("/etc/defib.toml:1:1: "), "{}", first.why);
    assert!(first.why.ends_with(" (and one more error)") && !first.why.contains('\n'));
    assert!(reloading.reload().await.is_none());
    let second = reloading.refused.borrow().clone().unwrap();
    assert!(second.since_ms == first.since_ms && second.why.contains("`terminl`"), "{second:?}");
    assert!(reloading.reload().await.is_some());
    assert_eq!(*reloading.refused.borrow(), None);
    drop(logging);
    let log = String::from_utf8(log.lock().unwrap().clone()).unwrap();
    assert!(log.contains("/etc/defib.toml:1:1"), "each line is there: {log}");
    assert!(!log.contains("error: "), "the level says that already: {log}");
}

#[tokio::test]
async fn a_config_without_any_service_and_sink_does_not_take_the_place_of_one_that_has_some() {
    const TEXTS: &[&str] = &["", "# being written\n \n", "[fleet]\nname = 'a'\n"];
    const SINK: &str = "[sink.a]\nterminal = {}\n";
    let build: Arc<BuildSinks> = Arc::new(|_| Ok(Sinks::new()));
    let mut reloading = reloading(parsed(SINK), reads(TEXTS), Arc::clone(&build));
    for text in TEXTS {
        assert!(reloading.reload().await.is_none(), "{text:?}");
        let refused = reloading.refused.borrow().clone().unwrap();
        assert!(refused.why.contains("no service and no sink"), "{}", refused.why);
    }
    assert_eq!(reloading.config.sinks, parsed(SINK).sinks);
    // Where there was none before, nothing is lost.
    let mut reloading = self::reloading(parsed(""), reads(&["", SINK]), build);
    assert!(reloading.reload().await.is_some());
    assert!(reloading.reload().await.is_some());
}

#[test]
fn why_a_config_can_not_be_read_is_said_with_its_cause() {
    let problem = RunProblem::Config(config::ConfigError::Unreadable {
        path: "/etc/defib.toml".into(),
        source: io::Error::other("the disk is gone"),
    });
    let said = "config `/etc/defib.toml` can't be read: the disk is gone";
    assert_eq!(problem.in_one_line(), said);
    assert_eq!(NotTaken::Problem(problem).in_lines(), said);
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
