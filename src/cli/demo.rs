//! `defib demo`: shows in less than a minute what defib does, on four containers made for it.
//!
//! One is well, one hangs and is cured by a restart, one has to be killed for that, one never recovers. The daemon that
//! looks after them is the real one; so is the engine, where one answers, and else it is the simulated one behind its
//! socket. What happens is told as it happens, and judged at the end: exit code 0 means that each was handled rightly.
//!
//! It refuses to look at or touch anything that it did not make ([`fence`]), and to leave anything behind: whatever ends
//! it, what it made is removed first ([`stage`]).

mod choice;
mod closing;
pub mod fence;
mod folder;
pub mod happening;
pub mod image;
pub mod interrupts;
pub mod judgement;
pub mod patient;
pub mod problem;
pub mod receiver;
pub mod role;
pub mod run_id;
pub mod stage;
pub mod story;
pub mod voice;
pub mod watchdog;

use crate::{
    clock::{Clock, HostClock},
    docker::adapter::DockerEngine,
    domain::{moment::AwakeMs, observation::LookFailure},
    tasks::Tasks,
};
use choice::{Choice, choose, unanswered};
use closing::{removed, table};
use fence::Fence;
use folder::Folder;
use happening::Happening;
use interrupts::{Interrupt, Interrupts};
use judgement::Judgement;
pub use problem::DemoProblem;
use problem::system;
use role::Role;
use run_id::RunId;
use stage::{Cleared, Stage, StageProblem, real::Real, simulated::Simulated};
use std::{error::Error as _, io::Write, sync::Arc, time::Duration};
use story::Story;
use tokio::{runtime::Builder, sync::mpsc};
use voice::{Tone, Voice};
use watchdog::{Ground, Watchdog};

/// An engine that takes longer to say its version is not one to show anything on.
const ENGINE_ANSWERS_WITHIN: Duration = Duration::from_secs(3);

/// The story ends by then, whatever was seen: the rest of a minute is for clearing up.
const STORY_ENDS_WITHIN: Duration = Duration::from_secs(50);

/// When all is as expected, it is watched for so long that nothing more happens.
const WATCHED_ON: Duration = Duration::from_secs(4);

/// What was asked for.
pub struct Request {
    /// The engine's address, where said.
    pub engine: Option<String>,
    /// `DOCKER_HOST`.
    pub docker_host: Option<String>,
    /// Not on the host's engine, whatever answers.
    pub simulated: bool,
    /// Where the story goes.
    pub out: Box<dyn Write + Send>,
    /// Whether that takes colours.
    pub coloured: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Each was handled rightly, and nothing was left behind.
    Right,
    /// Not so.
    Wrong,
    /// Somebody ended it.
    Interrupted(Interrupt),
}

impl Outcome {
    /// For the process.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Right => 0,
            Self::Wrong => 1,
            Self::Interrupted(interrupt) => interrupt.exit_code(),
        }
    }
}

/// Runs the demo.
///
/// # Errors
/// See [`DemoProblem`]. What was made until then is removed.
pub fn run(request: Request) -> Result<Outcome, DemoProblem> {
    let clock: Arc<dyn Clock> = Arc::new(HostClock::new());
    let workers = Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("worker")
        .enable_all()
        .build()
        .map_err(system("start threads"))?;
    let tasks = Tasks::on(workers.handle().clone());
    let outcome = workers.block_on(Demo::play(request, clock, tasks));
    workers.shutdown_timeout(Duration::from_secs(1));
    outcome
}

struct Demo {
    run: RunId,
    folder: Folder,
    /// Dropped after the folder: it may wait for its reader, and then nothing must be left behind any more.
    voice: Voice,
    clock: Arc<dyn Clock>,
    tasks: Tasks,
    interrupts: Interrupts,
    judgement: Judgement,
}

impl Demo {
    async fn play(
        request: Request,
        clock: Arc<dyn Clock>,
        tasks: Tasks,
    ) -> Result<Outcome, DemoProblem> {
        let interrupts = Interrupts::heed(&tasks).map_err(system("heed signals"))?;
        let choice = choose(&request)?;
        let run = RunId::new(&*clock);
        let folder = Folder::make(&run)?;
        let voice =
            Voice::begin(request.out, request.coloured, Arc::clone(&clock), interrupts.clone())
                .map_err(system("start threads"))?;
        let judgement = Judgement::default();
        let mut demo = Self { run, folder, voice, clock, tasks, interrupts, judgement };
        let mut stage = demo.stage(choice).await?;
        let told = demo.tell(&mut stage).await;
        let interrupt = demo.interrupts.came();
        if let Some(interrupt) = interrupt {
            demo.voice
                .at(Tone::Plain, &format!("{interrupt}: ending here; removing what was made"));
        }
        let cleared = stage.clear().await;
        demo.close(told, interrupt, &cleared)
    }

    /// The host's engine where it answers, else the simulated one.
    async fn stage(&mut self, choice: Choice) -> Result<Stage, DemoProblem> {
        self.voice.line(
            Tone::Plain,
            "defib demo: four containers, and what defib does when three of them hang.\n",
        );
        let why = match choice {
            Choice::Simulated(why) => why,
            Choice::Real(address) => {
                let engine = Arc::new(DockerEngine::new(&address));
                let version = tokio::time::timeout(ENGINE_ANSWERS_WITHIN, engine.version()).await;
                match version.unwrap_or(Err(LookFailure::TimedOut(ENGINE_ANSWERS_WITHIN))) {
                    Ok(version) => {
                        let text = format!(
                            "Engine: {:?} {} at {address}.",
                            version.flavour, version.version
                        );
                        self.voice.line(Tone::Plain, &text);
                        return Real::on(&address, engine, &version)
                            .map(Stage::Real)
                            .map_err(DemoProblem::Stage);
                    }
                    Err(failure) => unanswered(&address, &failure),
                }
            }
        };
        self.voice.line(
            Tone::Plain,
            &format!("Engine: a simulated one, behind a socket of its own ({why})."),
        );
        self.voice.line(Tone::Plain, "The daemon is the real one and can't tell the difference.");
        let simulated = Simulated::begin(self.folder.path(), Arc::clone(&self.clock), &self.tasks);
        simulated.map(Stage::Simulated).map_err(|error| {
            let cause = error.source().map_or_else(String::new, ToString::to_string);
            DemoProblem::Stage(StageProblem {
                doing: "serve the simulated engine".to_owned(),
                cause: format!("{error}: {cause}"),
            })
        })
    }

    /// Sets the stage and tells the story to its end, or to the interrupt.
    async fn tell(&mut self, stage: &mut Stage) -> Result<(), DemoProblem> {
        self.introduce();
        stage.make(&self.run, &self.interrupts).await.map_err(DemoProblem::Stage)?;
        if self.interrupts.came().is_some() {
            return Ok(());
        }
        let (happenings, happened) = mpsc::channel(happening::WAITING);
        let (told, arrived) = mpsc::channel(happening::WAITING);
        let receiver = receiver::listen(told, &self.tasks)
            .await
            .map_err(system("listen on loopback for the pages"))?;
        let ours = stage.containers();
        let engine = Arc::new(Fence::around(stage.engine(), ours.values().cloned().collect()));
        happening::watch(
            engine.clone(),
            &ours,
            Arc::clone(&self.clock),
            happenings.clone(),
            &self.tasks,
        )
        .await;
        let mut watchdog = Watchdog::start(Ground {
            run: &self.run,
            engine,
            evidence: stage.evidence(),
            receiver,
            folder: self.folder.path(),
            clock: Arc::clone(&self.clock),
            happenings,
            tasks: &self.tasks,
        })
        .map_err(DemoProblem::Watchdog)?;
        let told = match stage.start().await {
            Ok(()) => {
                self.voice.at(Tone::Plain, "the containers run, and defib watches them\n");
                self.follow(happened, arrived, &mut watchdog).await
            }
            Err(problem) => Err(DemoProblem::Stage(problem)),
        };
        watchdog.stop().await;
        told
    }

    /// Tells and judges what happens, until nothing more is to be expected.
    async fn follow(
        &mut self,
        mut happened: mpsc::Receiver<Happening>,
        mut arrived: mpsc::Receiver<receiver::Told>,
        watchdog: &mut Watchdog,
    ) -> Result<(), DemoProblem> {
        let mut story = Story::default();
        let latest = self.voice.began() + STORY_ENDS_WITHIN;
        let mut over_at: Option<AwakeMs> = None;
        loop {
            let until = over_at.map_or(latest, |at| at.min(latest));
            let happening = tokio::select! {
                biased;
                _ = self.interrupts.next() => return Ok(()),
                () = watchdog.ended() => return Err(DemoProblem::WatchdogEnded),
                Some(told) = arrived.recv() => Happening::Told(told),
                Some(happening) = happened.recv() => happening,
                () = self.clock.sleep_until(until) => break,
            };
            self.judgement.take(&happening);
            story.tell(&happening, &mut self.voice);
            over_at = match (self.judgement.is_over(), over_at) {
                (true, None) => Some(self.clock.now().awake + WATCHED_ON),
                (true, at) => at,
                (false, _) => None,
            };
        }
        if over_at.is_none() {
            let seconds = STORY_ENDS_WITHIN.as_secs();
            let text =
                format!("not everything has come to its end within {seconds} s; ending here");
            self.voice.at(Tone::Bad, &text);
        }
        Ok(())
    }

    fn introduce(&mut self) {
        let made =
            format!("\nMade for this run, as defib-demo-{}-…, and removed at its end:", self.run);
        self.voice.line(Tone::Plain, &made);
        for role in Role::ALL {
            self.voice.line(Tone::Plain, &format!("  {role:<9} {}", role.about()));
        }
        for line in INTRODUCTION {
            self.voice.line(Tone::Quiet, line);
        }
    }

    /// The closing words.
    fn close(
        mut self,
        told: Result<(), DemoProblem>,
        interrupt: Option<Interrupt>,
        cleared: &Cleared,
    ) -> Result<Outcome, DemoProblem> {
        let voice = &mut self.voice;
        let finished = told.is_ok() && interrupt.is_none();
        if finished {
            table(&self.judgement, voice);
        }
        voice.line(Tone::Quiet, &removed(cleared));
        for command in &cleared.left {
            voice.line(Tone::Bad, &format!("Could not be removed; please run: {command}"));
        }
        told?;
        if let Some(interrupt) = interrupt {
            return Ok(Outcome::Interrupted(interrupt));
        }
        let right = self.judgement.is_right() && cleared.left.is_empty();
        Ok(if right { Outcome::Right } else { Outcome::Wrong })
    }
}

/// What somebody has to know before it begins.
const INTRODUCTION: [&str; 8] = [
    "",
    "Docker runs a healthcheck in each, every second. When one hangs, its port stays open and its",
    "process lives, so Docker's restart policy never acts: it looks only at exits.",
    "defib's brake is off here: with three of four failing at once it would, rightly, hold all restarts.",
    "Waits are shorter than by default, and each may be restarted twice, so that all fits a minute.",
    "Lines with --> are what people would get, by Slack or a webhook; here it goes to the demo itself.",
    "Commands after a $ are what a message suggests; there is nothing for you to do.",
    "It takes about 45 s; Ctrl-C ends it and removes what was made.\n",
];
