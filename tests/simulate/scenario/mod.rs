//! What a seed means: eight replicas in about five services with varied policies, two sinks, and a script of what goes wrong
//! in thirty virtual minutes; now and then of what stays wrong in eighty. All of it is drawn before the run begins, so that what defib does can't move what happens to
//! it.

mod crashes;
mod faults;
mod operator;
mod services;

use crate::{
    account::{Ms, Rules},
    random::Random,
};
use defib::{
    docker::simulated::{
        faults::FaultKind,
        script::{Behaviour, ContainerScript, Stopping, Trouble},
    },
    domain::policy::Policy,
    store::ledger::{Mood, Pace},
};
use std::{sync::Arc, time::Duration};

pub use crashes::{CrashPlan, CrashPoint};

/// How long most runs are.
const RUN_MS: Ms = 30 * 60_000;

/// How long a run is in which what is open is reminded of after an hour. Little happens in it, so that it costs little.
const LONG_MS: Ms = 80 * 60_000;

/// So many of a hundred are.
const LONG_PERCENT: u64 = 4;

/// Everything about a run that is known before it begins.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Where it comes from.
    pub seed: u64,
    /// How long it is.
    pub run_ms: Ms,
    /// What defib is told.
    pub policy: Arc<Policy>,
    /// What the referee is told.
    pub rules: Rules,
    /// The containers, each with the name of its replica.
    pub containers: Vec<(String, ContainerScript)>,
    /// What happens, in the order of time.
    pub script: Vec<(Ms, Deed)>,
    /// When the way to the engine is at fault.
    pub windows: Vec<(Ms, Ms, Window)>,
    /// How often and where defib dies, and for how long it is gone.
    pub crashes: Vec<(CrashPlan, Ms)>,
    /// How long the store takes.
    pub pace: Pace,
    /// An engine on which a caller that goes away leaves its restart half done.
    pub cancels: bool,
}

/// A fault of the way to the engine.
#[derive(Clone, Debug)]
pub enum Window {
    /// Of all of it.
    Kind(FaultKind),
    /// Inspecting this replica's first container hangs.
    InspectHangs(String),
}

/// One thing that happens to the world.
#[derive(Clone, Debug)]
pub enum Deed {
    /// A replica begins to misbehave.
    Trouble(String, Trouble),
    /// A replica is well again by itself.
    Heal(String),
    /// A replica's process ends.
    Exit(String, i64),
    /// Somebody stops it.
    Stop(String),
    /// Somebody starts it.
    Start(String),
    /// Somebody restarts it.
    Restart(String),
    /// Somebody freezes it.
    Pause(String),
    /// Somebody sends it a signal.
    Signal(String, u32),
    /// Somebody thaws it.
    Unpause(String),
    /// Somebody removes it and runs a new one of the same name.
    Recreate(String),
    /// Somebody removes it.
    Remove(String),
    /// Its healthcheck can't be executed, or can again.
    CannotCheck(String, bool),
    /// What its later lives do.
    Behave(String, Behaviour),
    /// What it does when told to end.
    Stopping(String, Stopping),
    /// Its starts fail, or work again.
    StartFails(String, bool),
    /// The engine goes away for so long; containers run on.
    EngineRestarts(Ms),
    /// The store's mood.
    Store(Mood),
    /// A sink's mood.
    Sink(&'static str, SinkMood),
    /// Whether defib's own sockets work, so that it can probe.
    Prober(ProberMood),
    /// The host sleeps for so long.
    Sleep(Ms),
    /// The wall clock is set by so much.
    StepWall(i64),
    /// The host boots.
    Reboot,
    /// Somebody makes the `hold` file, or takes it away.
    Hold(bool),
    /// Somebody changes the config and lets it be read again.
    Reload(Box<Reload>),
}

/// The config is read again.
#[derive(Clone, Debug)]
pub struct Reload {
    /// What it means now.
    pub policy: Arc<Policy>,
    /// Which service is not in it any more.
    pub removed: Option<String>,
    /// Whether nothing on this host may be acted on any more.
    pub hands_off: bool,
}

/// How a sink behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinkMood {
    /// It takes messages.
    Fine,
    /// It takes them and needs so long.
    Slow(Duration),
    /// It never answers; the message is lost.
    Hangs,
    /// It never answers; the message arrives.
    HangsAndDelivers,
    /// It answers 500; the message is lost.
    Errors,
    /// It answers 500; the message arrives.
    ErrorsAndDelivers,
    /// It wants to be left alone.
    Busy(Option<Duration>),
    /// It is not there any more.
    Broken,
    /// It takes no message as it is.
    Rejects,
    /// This host lacks what it takes to send there.
    Unready,
}

/// Whether defib can probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProberMood {
    /// It can.
    Fine,
    /// It has no descriptors left.
    NoSockets,
    /// Names are not resolved.
    NoNames,
}

/// The sinks' names.
pub const SINKS: [&str; 2] = ["chat", "pager"];

impl Scenario {
    /// The scenario of a seed.
    pub fn of(seed: u64) -> Self {
        // Of a stream of its own, so that the seeds that are not long mean what they always meant.
        let long = Random::new(!seed).percent(LONG_PERCENT);
        let run_ms = if long { LONG_MS } else { RUN_MS };
        let mut random = Random::new(seed);
        let mut house = services::draw(&mut random.branch(1));
        let mut faults = random.branch(2);
        let (mut script, windows) = if long {
            faults::draw_calm(&mut faults, &house)
        } else {
            faults::draw(&mut faults, &house)
        };
        let crashes = crashes::draw(&mut random.branch(3), run_ms);
        let mut rest = random.branch(4);
        let pace = Pace {
            write: Duration::from_millis(*rest.pick(&[0, 1, 5, 30, 200])),
            answer: Duration::from_millis(*rest.pick(&[0, 0, 1, 20])),
        };
        let mut last = random.branch(5);
        services::thresholds_by_time(&mut last, &mut house);
        services::choosy_sink(&mut random.branch(6), &mut house);
        let mut causes = random.branch(7);
        let needs = services::dependencies(&mut causes, &mut house);
        script.extend(faults::draw_causes(&mut causes, &house, &needs, run_ms));
        script.extend(operator::draw(&mut last, &house, run_ms));
        script.sort_by_key(|deed| deed.0);
        Self {
            seed,
            run_ms,
            policy: Arc::new(house.policy),
            rules: house.rules,
            containers: house.containers,
            script,
            windows,
            crashes,
            pace,
            cancels: rest.percent(15),
        }
    }
}
