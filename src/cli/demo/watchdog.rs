//! The daemon of the demo: the very loop of `defib run`, with its own store, sink and engine adapter, on a thread of its
//! own. Only its config is the demo's, and its engine has a fence.

use super::{
    fence::Fence,
    happening::{Happening, Onlooker},
    run_id::{LABEL, RunId},
};
use crate::{
    clock::Clock,
    config,
    daemon::{self, Order, World},
    domain::{
        hash::fnv1a,
        name::{HostName, SinkName},
        policy::Policy,
    },
    evidence::port::EvidenceReader,
    notify::{self, config::Surroundings, http::HttpClient, port::Sink, terminal::Terminal},
    probe::{http::HttpProber, scheduler::POOL},
    resolve::Resolver,
    store::{
        problem::StoreProblem,
        sqlite::{ANSWERS, SqliteStore},
    },
    tasks::{self, Tasks},
};
use std::{
    collections::BTreeMap, error::Error, fmt, io, net::SocketAddr, path::Path, sync::Arc,
    time::Duration,
};
use tokio::{
    runtime::Builder,
    sync::{mpsc, oneshot},
};

/// What the daemon is told, with two places to fill in.
const CONFIG: &str = include_str!("demo.toml");

/// The daemon gives deliveries 10 s and its store 5 s. A restart has ended within that, by the stop timeout of the demo's own
/// containers, which are removed next anyway.
const ENDS_WITHIN: Duration = Duration::from_secs(16);

/// Why the daemon could not be started.
#[derive(Debug)]
pub enum WatchdogProblem {
    /// The store can't be opened.
    Store(StoreProblem),
    /// The demo's own config is wrong, or a sink of it can't be built: a fault of this program.
    Config(String),
    /// No thread for it.
    Thread(io::Error),
}

impl fmt::Display for WatchdogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(problem) => write!(f, "{problem}"),
            Self::Config(why) => write!(f, "the demo's own config can't be used: {why}"),
            Self::Thread(_) => f.write_str("failed to start the daemon's thread"),
        }
    }
}

impl Error for WatchdogProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Store(problem) => problem.source(),
            Self::Config(_) => None,
            Self::Thread(error) => Some(error),
        }
    }
}

/// What the daemon stands on.
pub struct Ground<'a> {
    /// The run.
    pub run: &'a RunId,
    /// The engine, fenced.
    pub engine: Arc<Fence>,
    /// Who reads why something fails.
    pub evidence: Arc<dyn EvidenceReader>,
    /// Where people are told.
    pub receiver: SocketAddr,
    /// Where its state is.
    pub folder: &'a Path,
    /// The three clocks.
    pub clock: Arc<dyn Clock>,
    /// Who sees what it decides.
    pub happenings: mpsc::Sender<Happening>,
    /// Where engine and sinks run.
    pub tasks: &'a Tasks,
}

/// A daemon that runs.
pub struct Watchdog {
    orders: mpsc::Sender<Order>,
    ended: oneshot::Receiver<()>,
}

impl Watchdog {
    /// Starts it.
    ///
    /// # Errors
    /// See [`WatchdogProblem`].
    pub fn start(ground: Ground<'_>) -> Result<Self, WatchdogProblem> {
        let Ground { run, engine, evidence, receiver, folder, clock, happenings, tasks } = ground;
        let host = crate::cli::host_name();
        let seed = fnv1a(&[host.as_str().as_bytes()]);
        let resolver = Arc::new(Resolver::system());
        let (policy, sinks) = meaning(run, receiver, &host, &clock, &resolver)?;
        let (answers, answered) = mpsc::channel(ANSWERS);
        let opened = SqliteStore::open(&folder.join("state"), Arc::clone(&clock), answers)
            .map_err(WatchdogProblem::Store)?;
        let (orders, taken) = mpsc::channel(1);
        let world = World {
            clock,
            tasks: tasks.clone(),
            engine,
            prober: Arc::new(HttpProber::new(resolver)),
            pool: POOL,
            evidence,
            sinks,
            store: Box::new(opened.store),
            answers: answered,
            records: opened.records,
            last: opened.last_seq,
            policy: Arc::new(policy),
            orders: taken,
            hold: Box::new(|| false),
            witness: Box::new(Onlooker::new(happenings)),
            seed,
        };
        let alone =
            Builder::new_current_thread().enable_time().build().map_err(WatchdogProblem::Thread)?;
        let (end, ended) = oneshot::channel();
        tasks::thread("daemon", move || {
            alone.block_on(daemon::run(world));
            drop(end);
        })
        .map_err(WatchdogProblem::Thread)?;
        Ok(Self { orders, ended })
    }

    /// Waits for an end that nobody ordered.
    pub async fn ended(&mut self) {
        // The other side sends nothing; it is dropped when the loop ends, by a panic too.
        drop((&mut self.ended).await);
    }

    /// Ends it: what it is at is ended, or named in the log.
    pub async fn stop(mut self) {
        if self.orders.send(Order::Stop).await.is_err() {
            return;
        }
        if tokio::time::timeout(ENDS_WITHIN, self.ended()).await.is_err() {
            tracing::error!("the demo's daemon does not end; clearing up all the same");
        }
    }
}

type Sinks = BTreeMap<SinkName, Arc<dyn Sink>>;

fn meaning(
    run: &RunId,
    receiver: SocketAddr,
    host: &HostName,
    clock: &Arc<dyn Clock>,
    resolver: &Arc<Resolver>,
) -> Result<(Policy, Sinks), WatchdogProblem> {
    let wrong = |why: String| WatchdogProblem::Config(why);
    let text = CONFIG.replace("RUN", run.as_str()).replace("PORT", &receiver.port().to_string());
    let loaded =
        config::parse("demo.toml", &text, host).map_err(|error| wrong(error.to_string()))?;
    let mut policy = loaded.config.policy;
    policy.only_label = Some((LABEL.to_owned(), run.to_string()));
    let surroundings = Surroundings {
        clock: Arc::clone(clock),
        tz: notify::times::host_zone(),
        http: HttpClient::new(Some(notify::dns::sinks_resolver(resolver)))
            .map_err(|error| wrong(error.to_string()))?,
        terminal: Terminal::opened_by(|| Box::new(io::sink())),
    };
    let mut sinks = Sinks::new();
    for named in loaded.config.sinks {
        let sink = notify::config::build(&named.name, named.config, &surroundings)
            .map_err(|error| wrong(error.to_string()))?;
        sinks.insert(named.name, sink);
    }
    Ok((policy, sinks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        cli::demo::{
            role::{BUDGET, Role},
            stage::container_name,
        },
        clock::HostClock,
        domain::policy::ContainerMatch,
    };

    #[test]
    fn the_config_is_about_the_four_containers_and_holds_what_the_story_says() {
        let clock: Arc<dyn Clock> = Arc::new(HostClock::new());
        let run = RunId::new(&*clock);
        let at = SocketAddr::from(([127, 0, 0, 1], 4711));
        let (policy, sinks) =
            meaning(&run, at, &HostName::new("kit-1"), &clock, &Arc::new(Resolver::system()))
                .unwrap();
        let label = (LABEL.to_owned(), run.to_string());
        assert_eq!(policy.only_label, Some(label));
        assert_eq!(policy.limits.brake, None);
        let names: Vec<Option<Role>> =
            policy.services.iter().map(|service| Role::of(&service.name)).collect();
        assert_eq!(names, Role::ALL.map(Some));
        for (service, role) in policy.services.iter().zip(Role::ALL) {
            let container = ContainerMatch::Name(container_name(&run, role));
            assert_eq!(service.containers, [container]);
            assert_eq!(service.budget.restarts, BUDGET);
            assert_eq!(service.settle, Duration::from_secs(3));
        }
        assert_eq!(sinks.len(), 1);
    }
}
