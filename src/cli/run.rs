//! `defib run`: builds the world out of the config and runs the daemon in it until a signal ends it.
//!
//! What can't be had at the start is said and gone without, wherever watching can still go on: no engine yet, no state
//! directory, no control socket. Only what makes the daemon wrong ends it: a config with errors, and a second daemon on the
//! same state.

pub(super) mod problem;
pub(super) mod request;
mod state;

pub use problem::RunProblem;
pub use request::Request;

use problem::log_lines;
use state::{begin_journal, open_store, salt};

use super::places::Place;
use super::reload::{Lacking, OnlyAtStart, Reloading, look_at_secrets};
use super::workers::Workers;
use crate::{
    chronicle::Chronicle,
    clock::{Clock, HostClock},
    config::{self, Config, ConfigError, Loaded, problem::Style},
    daemon::{self, World},
    docker::{adapter::DockerEngine, address::EngineAddress, port::Engine},
    domain::{
        Domain,
        name::{HostName, Seq, SinkName},
        record::Record,
    },
    evidence::proc::ProcReader,
    notify::{self, config::Surroundings, http::HttpClient, port::Sink, terminal::Terminal, times},
    operator::{HOLD, hold::HoldFile, socket},
    probe::{http::HttpProber, scheduler::POOL},
    resolve::Resolver,
    store::sqlite::ANSWERS,
    tasks::Tasks,
};
use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    path::Path,
    sync::Arc,
};
use tokio::{
    runtime::Builder,
    sync::{mpsc, watch},
};

/// Orders that wait for the loop.
const ORDERS: usize = 16;

/// Runs until SIGTERM or SIGINT.
///
/// # Errors
/// See [`RunProblem`].
pub fn run(request: &Request) -> Result<(), RunProblem> {
    let host = super::host_name();
    // Nothing is watched yet, and nothing is logged: a start that hung here would be silent.
    let mut config = read_config(request, &host, config::load_in_time)?;
    let address = EngineAddress::choose(
        request.engine.as_deref().or(config.engine.as_deref()),
        request.docker_host.as_deref(),
        |path| path.exists(),
    )
    .map_err(RunProblem::Address)?;
    let clock: Arc<dyn Clock> = Arc::new(HostClock::new());
    let workers = Workers::start()?;
    let tasks = Tasks::on(workers.handle().clone());
    let (state, runtime) =
        (request.state_place(config.state_dir.as_deref()), request.runtime_place());
    let state_dir = &state.path;
    let (answers, answered) = mpsc::channel(ANSWERS);
    let kept = open_store(state_dir, &clock, answers)?;
    let journal = begin_journal(state_dir, &host, &clock);
    let resolver = Arc::new(Resolver::system());
    let mut lacking = Lacking::default();
    let salt = salt(state_dir)?;
    workers.handle().block_on(look_at_secrets(&mut config, &mut lacking, &salt));
    let surroundings = surroundings(&clock, &resolver)?;
    let sinks = build_sinks(&config, &surroundings)?;
    let (orders, taken) = mpsc::channel(ORDERS);
    let (refused, refused_reload) = watch::channel(None);
    let hold = runtime.path.join(HOLD);
    let mut hold_file =
        HoldFile::at(hold.clone(), Arc::clone(&clock)).map_err(RunProblem::System)?;
    {
        let _entered = workers.handle().enter();
        let (dir, asked) = (&runtime.path, orders.clone());
        let served = socket::serve(dir, host.to_string(), refused_reload, asked, &tasks);
        if let Err(problem) = workers.handle().block_on(served) {
            tracing::error!("{problem}: {}", problem.cause());
        }
        let reloading = Reloading {
            read: {
                let (request, host) = (request.clone(), host.clone());
                Arc::new(move || read_config(&request, &host, config::load))
            },
            build: Arc::new(move |config| build_sinks(config, &surroundings)),
            clock: Arc::clone(&clock),
            request: request.clone(),
            started_with: OnlyAtStart::of(&config),
            config: config.clone(),
            lacking,
            salt,
            refused,
            said: None,
            out: None,
        };
        reloading.heed_signals(orders, &tasks)?;
    }
    say_what_is_ahead(
        &config,
        &address,
        [&state, &runtime],
        pages_have_arrived(&config, &*clock, &kept.records),
    );
    let world = World {
        clock,
        tasks,
        engine: Arc::new(DockerEngine::new(&address)) as Arc<dyn Engine>,
        prober: Arc::new(HttpProber::new(Arc::clone(&resolver))),
        pool: POOL,
        evidence: Arc::new(ProcReader),
        sinks,
        store: kept.store,
        answers: answered,
        records: kept.records,
        last: kept.last,
        policy: Arc::new(config.policy),
        orders: taken,
        hold: Box::new(move || hold_file.holds()),
        witness: Box::new(Chronicle::new(journal).with_hold_file(hold)),
        seed: seed(&host),
    };
    // The loop is alone on its thread; everything that waits for something outside runs on the workers.
    let alone = Builder::new_current_thread().enable_time().build()?;
    alone.block_on(daemon::run(world));
    drop(workers);
    tracing::info!("ended");
    Ok(())
}

fn read_config(
    request: &Request,
    host: &HostName,
    load: impl FnOnce(&Path, &HostName) -> Result<Loaded, ConfigError>,
) -> Result<Config, RunProblem> {
    let mut config = match &request.config {
        None => Config::without_config(host),
        Some(path) => {
            let loaded = load(path, host).map_err(RunProblem::Config)?;
            if !loaded.warnings.is_empty() {
                tracing::warn!("the config has warnings:");
                for line in log_lines(&loaded.warnings.render(Style::Plain)) {
                    tracing::warn!("{line}");
                }
            }
            loaded.config
        }
    };
    config.policy.dry_run |= request.dry_run;
    Ok(config)
}

/// What sinks are built with. Made once: the host's certificates and its time zone are read for it, from a disk that may hang
/// later, and the terminal has one writer.
fn surroundings(
    clock: &Arc<dyn Clock>,
    resolver: &Arc<Resolver>,
) -> Result<Surroundings, RunProblem> {
    Ok(Surroundings {
        clock: Arc::clone(clock),
        tz: times::host_zone(),
        http: HttpClient::new(Some(notify::dns::sinks_resolver(resolver)))
            .map_err(|problem| RunProblem::System(io::Error::other(problem)))?,
        terminal: Terminal::opened_by(|| Box::new(io::stdout())),
    })
}

fn build_sinks(
    config: &Config,
    surroundings: &Surroundings,
) -> Result<BTreeMap<SinkName, Arc<dyn Sink>>, RunProblem> {
    let mut sinks = BTreeMap::new();
    for named in &config.sinks {
        let sink = notify::config::build(&named.name, with_colours(&named.config), surroundings)
            .map_err(RunProblem::Sink)?;
        sinks.insert(named.name.clone(), sink);
    }
    Ok(sinks)
}

/// Colours where a person looks on.
fn with_colours(config: &notify::config::SinkConfig) -> notify::config::SinkConfig {
    match config {
        notify::config::SinkConfig::Terminal { .. } if io::stdout().is_terminal() => {
            notify::config::SinkConfig::Terminal { style: notify::plain::Style::Coloured }
        }
        other => other.clone(),
    }
}

fn say_what_is_ahead(
    config: &Config,
    address: &EngineAddress,
    [state, runtime]: [&Place; 2],
    pages_have_arrived: bool,
) {
    let sinks: Vec<&str> = config.sinks.iter().map(|sink| sink.name.as_str()).collect();
    let dry = if config.policy.dry_run { " (dry run: nothing is touched)" } else { "" };
    tracing::info!(
        engine = %address,
        state = %state.path.display(),
        runtime = %runtime.path.display(),
        sinks = sinks.join(", "),
        services = config.policy.services.len(),
        "watching{dry}"
    );
    for overruled in state.overruled().chain(runtime.overruled()) {
        tracing::info!("{overruled}");
    }
    if !pages_have_arrived {
        tracing::warn!(
            "PAGES REACH NOBODY as far as is known: no sink that takes pages has confirmed a message yet, as it is defined now"
        );
    }
}

/// Whether a sink that takes pages has confirmed a message as it is defined now (P10): what the domain would show.
fn pages_have_arrived(config: &Config, clock: &dyn Clock, records: &[Record]) -> bool {
    let (policy, records) = (Arc::new(config.policy.clone()), records.to_vec());
    let (domain, _) = Domain::restore(policy, clock.boot_id(), records, Seq(0), clock.now());
    domain.view().sinks.iter().any(|sink| sink.takes_pages && sink.proven)
}

/// What spreads is the same after every start, and different from host to host.
fn seed(host: &HostName) -> u64 {
    crate::domain::hash::fnv1a(&[host.as_str().as_bytes()])
}

#[cfg(test)]
mod tests;
