//! What changes while `defib run` runs: signals end it or have the config read again, and secrets come and go.
//!
//! A config with errors changes nothing. What can't change without a restart of defib is said, and not half done. Secrets
//! are looked at each minute, so that a file that comes late is found without a signal and without a message that needs it;
//! a sink whose secret changed goes elsewhere, and so is no longer proven.

use super::run::{Request, RunProblem, build_sinks, read_config};
use crate::{
    clock::Clock,
    config::Config,
    daemon::Order,
    domain::name::{HostName, SinkName},
    notify::readiness,
    resolve::Resolver,
    tasks::Tasks,
};
use std::{collections::BTreeMap, io, path::PathBuf, sync::Arc, time::Duration};
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
};

/// How often secrets are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// What is needed to read a config again.
pub(super) struct Reloading {
    pub(super) request: Request,
    pub(super) host: HostName,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) resolver: Arc<Resolver>,
    /// The config that holds.
    pub(super) config: Config,
    /// What only a start takes up, as it was at the start.
    pub(super) started_with: OnlyAtStart,
    pub(super) lacking: Lacking,
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
pub(super) async fn look_at_secrets(config: &mut Config, lacking: &mut Lacking) -> bool {
    let mut changed = false;
    for sink in &config.sinks {
        let seen = readiness::look(&sink.config).await;
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
    /// SIGTERM and SIGINT end, SIGHUP reloads.
    pub(super) fn heed_signals(
        mut self,
        orders: mpsc::Sender<Order>,
        tasks: &Tasks,
    ) -> io::Result<()> {
        let (mut term, mut interrupt, mut hangup) = (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
            signal(SignalKind::hangup())?,
        );
        let clock = Arc::clone(&self.clock);
        tasks.spawn("signals", async move {
            loop {
                let due = clock.now().awake + LOOK_EVERY;
                let order = tokio::select! {
                    _ = term.recv() => Some(Order::Stop),
                    _ = interrupt.recv() => Some(Order::Stop),
                    _ = hangup.recv() => self.reload().await,
                    () = clock.sleep_until(due) => self.look_again().await,
                };
                if let Some(order) = order
                    && orders.send(order).await.is_err()
                {
                    return;
                }
            }
        });
        Ok(())
    }

    /// Reads the config again. One with errors changes nothing.
    async fn reload(&mut self) -> Option<Order> {
        match read_config(&self.request, &self.host) {
            Ok(mut config) => {
                look_at_secrets(&mut config, &mut self.lacking).await;
                let now = OnlyAtStart::of(&config, &self.request);
                for key in self.started_with.changed(&now) {
                    tracing::warn!(
                        "`{key}` has changed: that needs a restart of defib; until then the one of before holds"
                    );
                }
                self.take(config, "the config was read again")
            }
            Err(problem) => {
                not_taken(&problem);
                None
            }
        }
    }

    /// Looks at the secrets again. Where one changed, its sink goes elsewhere now.
    async fn look_again(&mut self) -> Option<Order> {
        let mut config = self.config.clone();
        let changed = look_at_secrets(&mut config, &mut self.lacking).await;
        if changed { self.take(config, "a secret of a sink has changed") } else { None }
    }

    fn take(&mut self, config: Config, why: &str) -> Option<Order> {
        match build_sinks(&config, &self.clock, &self.resolver) {
            Ok(sinks) => {
                tracing::info!("{why}");
                let policy = Arc::new(config.policy.clone());
                self.config = config;
                Some(Order::Reload { policy, sinks })
            }
            Err(problem) => {
                not_taken(&problem);
                None
            }
        }
    }
}

fn not_taken(problem: &RunProblem) {
    tracing::error!("the config was not taken; the one of before stays:");
    // A line of the log is one line: the problems stand in lines of their own.
    for line in problem.to_string().lines() {
        tracing::error!("{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use std::path::Path;

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
        look_at_secrets(&mut config, &mut lacking).await;
        assert_eq!(lacking.0.len(), 1);
        assert!(config.policy.sinks[0].lacks.is_some(), "`status` can say it");
        assert!(!look_at_secrets(&mut config, &mut lacking).await, "nothing has changed");
        let without = config.policy.sinks[0].definition;
        std::fs::write(&path, "https://hooks.example.org/x").unwrap();
        assert!(look_at_secrets(&mut config, &mut lacking).await);
        assert!(lacking.0.is_empty() && config.policy.sinks[0].lacks.is_none());
        let with = config.policy.sinks[0].definition;
        assert_ne!(with, without);
        std::fs::write(&path, "https://hooks.example.org/y").unwrap();
        assert!(look_at_secrets(&mut config, &mut lacking).await);
        assert_ne!(config.policy.sinks[0].definition, with);
    }
}
