//! The real engine behind the port.
//!
//! Looks are decoded by our own tolerant structs (`raw`). Acts go through bollard, by ID only, over our own
//! connection: bollard sends no API version and has a single timeout for everything, so the transport sets the one, and its
//! own is set out of reach. An answer with an error status is read in the transport too, because bollard reads such bodies
//! without a bound.
//!
//! Every look has one deadline over waiting for its turn, connecting, asking the version and reading the answer (L2). Lists and
//! inspections wait in lanes of their own: inspections hang one container at a time (moby 18848 and many after it), and must
//! not take the list down with them. The engine need not be there when this is made.
//!
//! Refuses: to repeat a call, to act by name, and to end an act early. Dropping a restart in mid-flight leaves the container
//! stopped on Engine 24.0.0 to 24.0.6 (moby 44365). Only after `ACT_PATIENCE` beyond the stop timeout is a call that the
//! engine itself has lost given up, or a wedged container would collect a connection with every attempt.

mod events;

use self::events::Events;
use super::{
    address::EngineAddress,
    connection::{CallError, Connection, Dial, EngineVersion, Exchange, Flavour, UnixDial},
    failure,
    port::{
        ACT_PATIENCE, Engine, EventStream, INSPECT_WITHIN, LIST_WITHIN, OPEN_EVENTS_WITHIN, within,
    },
    raw,
};
use crate::{
    domain::{
        effect::Primitive,
        moment::EngineMs,
        name::ContainerId,
        observation::{ActOutcome, Inspection, Listing, LookFailure},
    },
    tasks::Pending,
};
use bollard::{
    BollardRequest, ClientVersion, Docker,
    errors::Error as BollardError,
    query_parameters::{
        KillContainerOptionsBuilder, RestartContainerOptionsBuilder, StartContainerOptions,
    },
};
use std::{future::Future, io, pin::Pin, sync::Arc, time::Duration};
use tokio::{sync::Semaphore, time::timeout};

/// About 1.1 kB a container: enough for 10,000 and more.
const LIST_LIMIT: usize = 16 * 1024 * 1024;

/// 5 kB is usual; an environment of many secrets and five full health outputs stay far below.
const INSPECT_LIMIT: usize = 1024 * 1024;

/// Acts that may wait for an answer at the same time. The domain starts few, and never more than the config's
/// `max_concurrent`, which is bound by this; lost ones last `ACT_PATIENCE`.
pub const ACTS_AT_ONCE: usize = 64;

/// How long, and how much at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a list.
    pub list: Duration,
    /// For an inspection.
    pub inspect: Duration,
    /// For asking the version, by itself and before an act.
    pub version: Duration,
    /// For the event stream's head.
    pub open_events: Duration,
    /// After so long without a byte the event stream ends, so that it is opened anew: a connection whose other end vanished
    /// looks like silence, and socket proxies cut streams after 10 minutes anyway.
    pub events_idle: Duration,
    /// Lists at the same time.
    pub lists_at_once: usize,
    /// Inspections at the same time.
    pub inspects_at_once: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            list: LIST_WITHIN,
            inspect: INSPECT_WITHIN,
            version: Duration::from_secs(5),
            open_events: OPEN_EVENTS_WITHIN,
            events_idle: Duration::from_secs(600),
            lists_at_once: 4,
            inspects_at_once: 28,
        }
    }
}

/// An engine that is reached over HTTP.
pub struct DockerEngine {
    /// The address, for people.
    at: String,
    connection: Arc<Connection>,
    docker: Result<Docker, BollardError>,
    limits: Limits,
    lists: Semaphore,
    inspects: Semaphore,
    acts: Semaphore,
}

impl DockerEngine {
    /// The engine at `address`, which need not be there yet.
    pub fn new(address: &EngineAddress) -> Self {
        let dial = UnixDial(address.path().to_owned());
        Self::reached_by(dial, address.to_string(), Limits::default())
    }

    /// An engine that is dialled in another way, or with other limits. `at` names it in errors.
    pub fn reached_by(dial: impl Dial, at: String, limits: Limits) -> Self {
        let connection = Arc::new(Connection::new(dial));
        Self {
            at,
            docker: over(Arc::clone(&connection)),
            connection,
            limits,
            lists: Semaphore::new(limits.lists_at_once),
            inspects: Semaphore::new(limits.inspects_at_once),
            acts: Semaphore::new(ACTS_AT_ONCE),
        }
    }

    /// What the engine says of itself, for the start log and for `check`.
    ///
    /// # Errors
    /// As every look.
    pub async fn version(&self) -> Result<EngineVersion, LookFailure> {
        within(self.limits.version, self.connection.version())
            .await?
            .map_err(|error| failure::of_look(&error, &self.at, false))
    }

    /// One look: waits for its turn and asks, all within `deadline`.
    async fn look<T>(
        &self,
        lane: &Semaphore,
        deadline: Duration,
        one: bool,
        ask: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, LookFailure> {
        let turn = async {
            let _turn = lane.acquire().await.map_err(|closed| {
                CallError::Garbled(format!("our own queue of looks is closed: {closed}"))
            })?;
            ask.await
        };
        within(deadline, turn).await?.map_err(|error| failure::of_look(&error, &self.at, one))
    }

    async fn do_act(&self, container: ContainerId, primitive: Primitive) -> ActOutcome {
        let unsent =
            |why: String| ActOutcome::Unreachable(format!("not sent to {}: {why}", self.at));
        let id = container.as_str();
        if !raw::is_id(id) {
            return unsent(format!("`{id}` is no container ID"));
        }
        let docker = match &self.docker {
            Ok(docker) => docker,
            Err(error) => return unsent(error.to_string()),
        };
        let Ok(_turn) = self.acts.try_acquire() else {
            return unsent(format!("{ACTS_AT_ONCE} earlier actions are still without an answer"));
        };
        // Asked before, so that a dead engine is found out within seconds and not after the patience for an act.
        let version = match within(self.limits.version, self.connection.version()).await {
            Ok(Ok(version)) => version,
            Ok(Err(error)) => return failure::of_act(&error, &self.at),
            Err(_) => {
                return unsent(format!("no answer within {} s", self.limits.version.as_secs()));
            }
        };
        let (patience, call) = match primitive {
            Primitive::Restart { stop_timeout } => {
                let options = match version.flavour {
                    Flavour::Docker => None,
                    // Without `t` Podman takes 0 s, which is SIGKILL.
                    Flavour::Podman => {
                        let seconds = i32::try_from(stop_timeout.as_secs()).unwrap_or(i32::MAX);
                        Some(RestartContainerOptionsBuilder::new().t(seconds).build())
                    }
                };
                let call: Act<'_> = Box::pin(docker.restart_container(id, options));
                (stop_timeout.saturating_add(ACT_PATIENCE), call)
            }
            Primitive::Kill => {
                let options = KillContainerOptionsBuilder::new().signal("SIGKILL").build();
                let call: Act<'_> = Box::pin(docker.kill_container(id, Some(options)));
                (ACT_PATIENCE, call)
            }
            Primitive::Start => {
                let call: Act<'_> =
                    Box::pin(docker.start_container(id, None::<StartContainerOptions>));
                (ACT_PATIENCE, call)
            }
        };
        match timeout(patience, call).await {
            Ok(Ok(())) => ActOutcome::Done,
            Ok(Err(error)) => failure::of_act(&from_bollard(error), &self.at),
            Err(_) => ActOutcome::TimedOut(patience),
        }
    }

    async fn open_events(&self, since: Option<EngineMs>) -> Result<Events, LookFailure> {
        // The stream is opened anew after every loss: the moment to find out that another engine answers.
        self.connection.forget_version();
        let path = raw::events::path(since);
        let exchange = within(self.limits.open_events, self.connection.open(&path))
            .await?
            .map_err(|error| failure::of_look(&error, &self.at, false))?;
        Ok(Events::of(exchange, self.at.clone(), self.limits.events_idle))
    }
}

impl Engine for DockerEngine {
    fn list(&self) -> Pending<'_, Result<Listing, LookFailure>> {
        Box::pin(self.look(&self.lists, self.limits.list, false, async {
            let answer = self.connection.get("/containers/json?all=true", LIST_LIMIT).await?;
            raw::list::decode(&answer.body)
        }))
    }

    fn list_unhealthy(&self) -> Pending<'_, Result<Vec<ContainerId>, LookFailure>> {
        Box::pin(self.look(&self.lists, self.limits.list, false, async {
            let filters = raw::events::escaped(r#"{"health":["unhealthy"]}"#);
            let path = format!("/containers/json?filters={filters}");
            let answer = self.connection.get(&path, LIST_LIMIT).await?;
            raw::list::decode_ids(&answer.body)
        }))
    }

    fn inspect(&self, container: ContainerId) -> Pending<'_, Result<Box<Inspection>, LookFailure>> {
        Box::pin(async move {
            let id = container.as_str();
            if !raw::is_id(id) {
                return Err(LookFailure::Garbled(format!("`{id}` is no container ID")));
            }
            let path = format!("/containers/{id}/json");
            self.look(&self.inspects, self.limits.inspect, true, async {
                let flavour = self.connection.version().await?.flavour;
                let answer = self.connection.get(&path, INSPECT_LIMIT).await?;
                raw::inspect::decode(&answer, flavour).map(Box::new)
            })
            .await
        })
    }

    fn act(&self, container: ContainerId, primitive: Primitive) -> Pending<'_, ActOutcome> {
        Box::pin(self.do_act(container, primitive))
    }

    fn events(
        &self,
        since: Option<EngineMs>,
    ) -> Pending<'_, Result<Box<dyn EventStream>, LookFailure>> {
        Box::pin(async move {
            let events = self.open_events(since).await?;
            Ok(Box::new(events) as Box<dyn EventStream>)
        })
    }
}

/// An act on its way through bollard.
type Act<'a> = Pin<Box<dyn Future<Output = Result<(), BollardError>> + Send + 'a>>;

/// Bollard over our connection. Its version is not used: it leaves it out of the path, and the connection puts ours in.
fn over(connection: Arc<Connection>) -> Result<Docker, BollardError> {
    let transport = move |request: BollardRequest| {
        let connection = Arc::clone(&connection);
        async move {
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            let sent = connection.send(request.method().clone(), path).await;
            sent.map(Exchange::into_response)
                .map_err(|error| BollardError::from(io::Error::other(error)))
        }
    };
    // In whole seconds, and above every patience of ours, which ends the call first.
    let out_of_reach = 30 * 24 * 60 * 60;
    let unused = ClientVersion { major_version: 1, minor_version: 41 };
    Docker::connect_with_custom_transport(transport, Some("http://engine"), out_of_reach, &unused)
}

/// Our own error, which travelled through bollard; else bollard could not make a request of it.
fn from_bollard(error: BollardError) -> CallError {
    match error {
        BollardError::IOError { err } => match err.downcast::<CallError>() {
            Ok(ours) => ours,
            Err(other) => CallError::Broken(Box::new(other)),
        },
        other => CallError::Broken(Box::new(other)),
    }
}

#[cfg(test)]
mod tests;
