//! One run: lives of the real daemon on the simulated world, one after the other, and the account of it all.

use crate::{
    account::{Account, Fact, Ms},
    ports::{
        engine::HeardEngine,
        prober::WorldProber,
        store::{Ear, HeardStore},
    },
    scenario::{CrashPlan, Scenario},
    stage::{Pause, Stage},
    time::HostView,
    truth,
};
use defib::{
    clock::Clock,
    daemon::{self, World},
    docker::{port::Engine, simulated::engine::SimulatedEngine},
    domain::name::Instance,
    evidence::port::EvidenceReader,
    tasks::{Pending, Tasks},
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    runtime::{Builder, Handle},
    sync::mpsc,
};

/// Answers of the store that may wait.
const ANSWERS: usize = 1024;

/// Orders that may wait.
const ORDERS: usize = 4;

/// How a life ended.
enum Ending {
    Crashed,
    Paused(Pause),
    /// It must not.
    Returned,
}

/// Runs a scenario to its end.
///
/// # Errors
/// What kept the harness itself from running, in words.
pub fn run(scenario: &Scenario) -> Result<Account, String> {
    let mut stage = Stage::set(scenario);
    let mut crashes = scenario.crashes.iter();
    loop {
        stage.host_is_back();
        let crash = crashes.next();
        let plan = crash.map(|crash| crash.0);
        let down_for = match live(scenario, &mut stage, plan)? {
            Ending::Paused(Pause::End) => break,
            Ending::Returned => return Err("the daemon returned by itself".to_owned()),
            Ending::Crashed => {
                let what = plan.map_or_else(String::new, |plan| plan.to_string());
                stage.recorder.note(Fact::DefibCrashed(what));
                crash.map_or(1_000, |crash| crash.1)
            }
            Ending::Paused(Pause::Reboot) => {
                stage.recorder.note(Fact::DefibCrashed("the host boots".to_owned()));
                20_000
            }
        };
        let back: Ms = stage.time.now() + down_for;
        if back >= scenario.run_ms || stage.play_alone(back) == Some(Pause::End) {
            break;
        }
    }
    Ok(truth::complete(scenario, &stage))
}

/// One life of the daemon, on a runtime of its own: dropping that is the crash.
fn live(scenario: &Scenario, stage: &mut Stage, plan: Option<CrashPlan>) -> Result<Ending, String> {
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let ending = runtime.block_on(async {
        stage.time.life_begins();
        stage.recorder.life_begins(plan);
        let tasks = Tasks::on(Handle::current());
        let (orders, outside) = mpsc::channel(ORDERS);
        stage.orders = Some(orders);
        let daemon = daemon::run(world(scenario, stage, &tasks, outside)?);
        let recorder = Arc::clone(&stage.recorder);
        let ending = tokio::select! {
            biased;
            () = recorder.crash() => Ending::Crashed,
            pause = stage.play() => Ending::Paused(pause),
            () = daemon => Ending::Returned,
        };
        stage.orders = None;
        stage.time.life_ends();
        Ok::<Ending, String>(ending)
    })?;
    stage.disk.crash();
    drop(runtime);
    Ok(ending)
}

fn world(
    scenario: &Scenario,
    stage: &Stage,
    tasks: &Tasks,
    orders: mpsc::Receiver<daemon::Order>,
) -> Result<World, String> {
    let clock: Arc<dyn Clock> = Arc::new(HostView(Arc::clone(&stage.time)));
    let (sender, answers) = mpsc::channel(ANSWERS);
    let opened = stage
        .disk
        .open(Arc::clone(&clock), tasks, sender)
        .map_err(|error| format!("a record can't be read back: {error}"))?;
    let recorder = &stage.recorder;
    let engine = SimulatedEngine::new(Arc::clone(&stage.world), Arc::clone(&stage.faults));
    let engine: Arc<dyn Engine> = Arc::new(HeardEngine { engine, recorder: Arc::clone(recorder) });
    let hold = Arc::clone(&stage.hold);
    Ok(World {
        clock,
        tasks: tasks.clone(),
        engine,
        prober: Arc::new(WorldProber {
            world: Arc::clone(&stage.world),
            recorder: Arc::clone(recorder),
            mood: Arc::clone(&stage.prober),
        }),
        pool: 64,
        evidence: Arc::new(SlowReader),
        sinks: stage.new_sinks(),
        store: Box::new(HeardStore { ledger: opened.ledger, recorder: Arc::clone(recorder) }),
        answers,
        records: opened.records,
        last: opened.last_seq,
        policy: Arc::clone(&stage.policy),
        orders,
        hold: Box::new(move || hold.load(Ordering::Relaxed)),
        witness: Box::new(Ear { recorder: Arc::clone(recorder) }),
        seed: scenario.seed,
    })
}

/// Reads nothing, and takes its time about it, so that something can happen meanwhile.
struct SlowReader;

impl EvidenceReader for SlowReader {
    fn gather(&self, instance: Instance, _pid: Option<u32>) -> Pending<'_, Vec<String>> {
        Box::pin(async move {
            // Some containers' evidence takes longer than its deadline.
            let slow = instance.container.as_str().bytes().map(u64::from).sum::<u64>() % 4;
            tokio::time::sleep(Duration::from_millis(slow * 1_300)).await;
            vec!["nothing was read: this is a simulation".to_owned()]
        })
    }
}
