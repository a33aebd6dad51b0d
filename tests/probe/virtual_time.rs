//! A scheduler in virtual time: one paused thread, a clock that can be made to sleep, a prober in memory.

use crate::watches::{instance, watch};
use defib::{
    clock::Clock,
    domain::{
        effect::{ProbeOrder, Watch},
        moment::{AwakeMs, BootId, BootMs, Moment, WallMs},
        observation::{Phase, Phases, ProbeOutcome, Sample},
    },
    probe::{
        port::{Probed, Prober},
        scheduler::{SampleReceiver, SchedulerHandle, Setup, start},
    },
    tasks::{Pending, Tasks},
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout},
};

pub const SECOND: Duration = Duration::from_secs(1);
pub const EVERY: Duration = Duration::from_secs(5);

/// The three clocks of a host in virtual time, whose sleep can be faked.
pub struct VirtualClock {
    pub epoch: Instant,
    pub slept_ms: AtomicU64,
}

#[allow(clippy::disallowed_methods, reason = "a clock for tests, on the paused runtime's time")]
pub fn instant() -> Instant {
    Instant::now()
}

impl Clock for VirtualClock {
    fn now(&self) -> Moment {
        let awake = 1_000_000 + instant().duration_since(self.epoch).as_millis() as u64;
        let boot = awake + self.slept_ms.load(Ordering::SeqCst);
        Moment { awake: AwakeMs(awake), boot: BootMs(boot), wall: WallMs(boot as i64) }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from("boot"))
    }

    fn sleep_until(&self, until: AwakeMs) -> Pending<'_, ()> {
        Box::pin(sleep(until.since(self.now().awake)))
    }
}

/// A prober that takes the time it is told to, and remembers who ran when.
pub struct InMemory {
    pub clock: Arc<VirtualClock>,
    /// How a target behaves, by the name of its replica; others pass within a millisecond.
    pub behaviour: BTreeMap<&'static str, (Duration, ProbeOutcome)>,
    pub log: Mutex<Log>,
}

#[derive(Default)]
pub struct Log {
    pub running: BTreeMap<String, u32>,
    pub starts: Vec<(u64, String)>,
    pub at_once: usize,
    pub most_at_once: usize,
    pub overlapped: bool,
}

struct Running<'a>(&'a InMemory, String);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut log = self.0.log.lock().unwrap();
        log.at_once -= 1;
        *log.running.get_mut(&self.1).unwrap() -= 1;
    }
}

impl Prober for InMemory {
    fn probe(&self, watch: Arc<Watch>) -> Pending<'_, Probed> {
        Box::pin(async move {
            let name = watch.target.replica.as_str().to_owned();
            {
                let mut log = self.log.lock().unwrap();
                log.starts.push((self.clock.now().awake.0, name.clone()));
                let running = log.running.entry(name.clone()).or_default();
                *running += 1;
                let overlaps = *running > 1;
                log.overlapped |= overlaps;
                log.at_once += 1;
                log.most_at_once = log.most_at_once.max(log.at_once);
            }
            let _running = Running(self, name.clone());
            let kind = name.split('/').next().unwrap_or_default();
            let (takes, outcome) = self
                .behaviour
                .get(kind)
                .cloned()
                .unwrap_or((Duration::from_millis(1), ProbeOutcome::Ok { status: Some(200) }));
            sleep(takes).await;
            assert!(kind != "panics", "as the test wants");
            let phases = Phases { total: takes, ..Phases::default() };
            Probed { outcome, phases, address: None }
        })
    }
}

pub struct Bench {
    pub clock: Arc<VirtualClock>,
    pub prober: Arc<InMemory>,
    pub handle: SchedulerHandle,
    pub samples: SampleReceiver,
}

pub fn bench(pool: usize) -> Bench {
    bench_with(pool, 7)
}

pub fn bench_with(pool: usize, seed: u64) -> Bench {
    let clock = Arc::new(VirtualClock { epoch: instant(), slept_ms: AtomicU64::new(0) });
    let timed_out = |phase| ProbeOutcome::Timeout(phase);
    let behaviour = BTreeMap::from([
        ("hung", (2 * SECOND, timed_out(Phase::FirstByte))),
        ("slow", (7 * SECOND, ProbeOutcome::Ok { status: Some(200) })),
        ("panics", (SECOND, timed_out(Phase::Body))),
        ("endless", (Duration::from_secs(86_400), timed_out(Phase::Body))),
    ]);
    let log = Mutex::default();
    let prober = Arc::new(InMemory { clock: Arc::clone(&clock), behaviour, log });
    let (handle, samples) = start(Setup {
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        tasks: Tasks::on(Handle::current()),
        prober: Arc::clone(&prober) as Arc<dyn Prober>,
        pool,
        seed,
    });
    Bench { clock, prober, handle, samples }
}

impl Bench {
    pub fn watch(&self, name: &str, every: Duration) {
        self.handle.order(ProbeOrder::Watch(Box::new(watched(name, 1, every))));
    }

    pub fn now(&self) -> u64 {
        self.clock.now().awake.0
    }

    /// All samples that come within `span`, each with its time.
    pub async fn samples_for(&mut self, span: Duration) -> Vec<(u64, Sample)> {
        let end = instant() + span;
        let mut samples = Vec::new();
        while let Ok(Some(sample)) = tokio::time::timeout_at(end, self.samples.recv()).await {
            samples.push((self.now(), sample));
        }
        samples
    }

    pub async fn one(&mut self) -> Sample {
        timeout(Duration::from_secs(60), self.samples.recv()).await.unwrap().unwrap()
    }

    /// Waits until `name` runs.
    pub async fn running(&self, name: &str) {
        let runs = || self.prober.log.lock().unwrap().running.get(name).is_some_and(|n| *n > 0);
        while !runs() {
            sleep(Duration::from_millis(1)).await;
        }
    }

    pub fn runs_of(&self, kind: &str) -> usize {
        let log = self.prober.log.lock().unwrap();
        log.starts.iter().filter(|(_, name)| name.starts_with(kind)).count()
    }
}

pub fn watched(name: &str, life: u32, every: Duration) -> Watch {
    let mut watch = watch(name, ([10, 0, 0, 1], 80).into(), every);
    watch.instance = Some(instance(name, life));
    watch.probe.timeout = 2 * SECOND;
    watch
}

/// How many samples ten thousand targets at 5 s give within `span`, for the bench.
pub async fn ten_thousand_for(span: Duration) -> usize {
    let mut bench = bench(512);
    for n in 0..10_000 {
        bench.watch(&format!("fine/{n}"), EVERY);
    }
    let end = instant() + span;
    let mut samples = 0;
    while let Ok(Some(_)) = tokio::time::timeout_at(end, bench.samples.recv()).await {
        samples += 1;
    }
    samples
}
