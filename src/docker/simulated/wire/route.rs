//! One request: its version prefix, its path, its query, and what the world says.

use super::{
    super::{
        live::{Caller, LiveWorld},
        truth::{Actor, Order},
        world::World,
    },
    answer::{self, API_VERSION, Broken, ENGINE_VERSION, WireResponse},
    events,
    faults::{Misbehaviour, WireEndpoint, WireFaults},
    query::{Filters, Query},
    shape,
};
use crate::domain::{effect::Primitive, moment::EngineMs, name::ContainerId};
use hyper::{Method, Request, StatusCode, body::Incoming};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

/// API versions that the model speaks: minor numbers of 1.x.
const OLDEST_MINOR: u32 = 12;
const NEWEST_MINOR: u32 = 41;

/// Answers one request, after its fault had its way.
pub(super) async fn answer(
    request: Request<Incoming>,
    world: &Arc<LiveWorld>,
    faults: &Arc<WireFaults>,
) -> Result<WireResponse, Broken> {
    let now =
        world.with(
            |world, now| {
                if world.engine_is_up() { Ok(world.engine_now(now)) } else { Err(Broken) }
            },
        )?;
    let path = request.uri().path();
    let path = match unversioned(path) {
        Ok(path) => path,
        Err(text) => return Ok(answer::error(StatusCode::BAD_REQUEST, &text, now)),
    };
    let _waiting = faults.begin(format!("{} {path}", request.method()));
    let query = Query::of(request.uri().query().unwrap_or(""));
    let call = Call { method: request.method(), path, query: &query };
    let fault = faults.misbehaviour(&call.endpoint(world));
    match &fault {
        Some(Misbehaviour::Silent) => return std::future::pending().await,
        Some(Misbehaviour::Denied) => {
            let text = "administrative rules forbid this request";
            return Ok(answer::error(StatusCode::FORBIDDEN, text, now));
        }
        Some(Misbehaviour::Fails(text)) => {
            return Ok(answer::error(StatusCode::INTERNAL_SERVER_ERROR, text, now));
        }
        Some(
            Misbehaviour::Garbled
            | Misbehaviour::StalledBody
            | Misbehaviour::EndlessBody
            | Misbehaviour::CutBody,
        )
        | None => {}
    }
    let response = call.answer(world, faults).await?;
    match &fault {
        Some(how) if call.segments().as_slice() != ["events"] => {
            answer::spoiled(response, how).await
        }
        // The body of the event stream has no end to wait for: it is spoiled from its beginning.
        Some(how) => {
            let empty = answer::response(StatusCode::OK, answer::whole("{\n"), now);
            answer::spoiled(empty, how).await
        }
        None => Ok(response),
    }
}

struct Call<'a> {
    method: &'a Method,
    path: &'a str,
    query: &'a Query,
}

impl<'a> Call<'a> {
    fn segments(&self) -> Vec<&'a str> {
        self.path.split('/').filter(|segment| !segment.is_empty()).collect()
    }

    fn endpoint(&self, world: &LiveWorld) -> WireEndpoint {
        match self.segments().as_slice() {
            ["containers", "json"] => WireEndpoint::List,
            ["containers", reference, "json"] => {
                let found = world.with(|world, _| resolve(world, reference));
                WireEndpoint::Inspect(found.unwrap_or_else(|| ContainerId::new(*reference)))
            }
            ["containers", ..] => WireEndpoint::Act,
            ["events"] => WireEndpoint::Events,
            _ => WireEndpoint::Version,
        }
    }

    async fn answer(
        &self,
        world: &Arc<LiveWorld>,
        faults: &Arc<WireFaults>,
    ) -> Result<WireResponse, Broken> {
        let now = world.with(|world, now| world.engine_now(now));
        let get = self.method == Method::GET || self.method == Method::HEAD;
        match self.segments().as_slice() {
            ["_ping"] if get => Ok(answer::response(StatusCode::OK, answer::whole("OK"), now)),
            ["version"] if get => Ok(answer::json(&version(), now)),
            ["info"] if get => Ok(answer::json(&info(world), now)),
            ["containers", "json"] if get => Ok(self.list(world, faults, now)),
            ["containers", reference, "json"] if get => Ok(inspect(world, faults, reference, now)),
            ["events"] if get => Ok(self.events(world, faults, now)),
            ["containers", reference, verb] if self.method == Method::POST => {
                match self.order(verb) {
                    Ok(order) => self.change(world, reference, order).await,
                    Err(text) => Ok(answer::error(StatusCode::BAD_REQUEST, &text, now)),
                }
            }
            ["containers", reference] if self.method == Method::DELETE => {
                let force = self.query.is_true("force");
                self.change(world, reference, Order::Remove { force }).await
            }
            _ => Ok(answer::error(StatusCode::NOT_FOUND, "page not found", now)),
        }
    }

    fn list(&self, world: &LiveWorld, faults: &WireFaults, now: EngineMs) -> WireResponse {
        let filters = match Filters::of(self.query) {
            Ok(filters) => filters,
            Err(text) => return answer::error(StatusCode::INTERNAL_SERVER_ERROR, &text, now),
        };
        // A filter by state lists all, as the engine does.
        let all = self.query.is_true("all") || !filters.values("status").is_empty();
        let rows: Vec<Value> = world.with(|world, _| {
            let containers = world.containers.values().rev();
            containers
                .filter(|container| all || container.listed_by_default())
                .filter_map(|container| {
                    let word = shape::state_word(container, faults.state_word(&container.id));
                    let health = container
                        .monitor
                        .as_ref()
                        .map_or("none", |monitor| shape::health_word(&monitor.status));
                    let label = |wanted: &str| match wanted.split_once('=') {
                        Some((key, value)) => {
                            container.labels.get(key).is_some_and(|found| found == value)
                        }
                        None => container.labels.contains_key(wanted),
                    };
                    let fits = filters.fit("health", |wanted| wanted == health)
                        && filters.fit("status", |wanted| wanted == word)
                        && filters.fit("id", |wanted| container.id.as_str().starts_with(wanted))
                        && filters.fit("name", |wanted| container.script.name.contains(wanted))
                        && filters.values("label").iter().all(|wanted| label(wanted));
                    fits.then(|| shape::row(container, &word, now))
                })
                .collect()
        });
        answer::json(&Value::Array(rows), now)
    }

    fn events(
        &self,
        world: &Arc<LiveWorld>,
        faults: &Arc<WireFaults>,
        now: EngineMs,
    ) -> WireResponse {
        let read = || {
            let filters = Filters::of(self.query)?;
            Ok((filters, self.query.moment("since")?, self.query.moment("until")?))
        };
        let (filters, since, until) = match read() {
            Ok(read) => read,
            Err(text) => {
                let text: String = text;
                return answer::error(StatusCode::INTERNAL_SERVER_ERROR, &text, now);
            }
        };
        let body = events::body(Arc::clone(world), Arc::clone(faults), filters, since, until);
        answer::response(StatusCode::OK, body, now)
    }

    /// What a path's last word and the query ask for.
    fn order(&self, verb: &str) -> Result<Order, String> {
        let seconds = || match self.query.get("t") {
            None => Ok(None),
            // Negative is for ever; this is longer than any test.
            Some(text) => match text.parse::<i64>() {
                Ok(t) => Ok(Some(Duration::from_secs(u64::try_from(t).unwrap_or(u32::MAX.into())))),
                Err(error) => Err(format!("strconv.Atoi: parsing \"{text}\": {error}")),
            },
        };
        Ok(match verb {
            "start" => Order::Start,
            "stop" => Order::Stop { timeout: seconds()? },
            "restart" => Order::Restart { timeout: seconds()? },
            "kill" => Order::Kill { signal: signal(self.query.get("signal"))? },
            "pause" => Order::Pause,
            "unpause" => Order::Unpause,
            "update" => Order::Update,
            "rename" => match self.query.get("name") {
                Some(name) => Order::Rename(name.to_owned()),
                None => return Err("Neither old nor new names may be empty".to_owned()),
            },
            other => return Err(format!("the simulated engine knows no `{other}`")),
        })
    }

    async fn change(
        &self,
        live: &LiveWorld,
        reference: &str,
        order: Order,
    ) -> Result<WireResponse, Broken> {
        let request = live.with(|world, now| {
            // A reference that nothing answers to goes on as it is: the world says so and records it.
            let id =
                resolve(world, reference).unwrap_or_else(|| ContainerId::new(reference.to_owned()));
            let primitive = match &order {
                Order::Start => Some(Primitive::Start),
                Order::Restart { timeout } => {
                    let own = world.script_of(&id).and_then(|script| script.stop_timeout);
                    let stop_timeout = timeout.or(own).unwrap_or(Duration::from_secs(10));
                    Some(Primitive::Restart { stop_timeout })
                }
                Order::Kill { signal: 9 } => Some(Primitive::Kill),
                Order::Kill { .. }
                | Order::Stop { .. }
                | Order::Pause
                | Order::Unpause
                | Order::Remove { .. }
                | Order::Rename(_)
                | Order::Update => None,
            };
            let by = if primitive.is_some() { Actor::Defib } else { Actor::Somebody };
            world.receive(now, &id, order, by, primitive)
        });
        let caller = Caller::of(live, request);
        let answer = live.find(|world, _| world.take_answer(request).ok_or(None)).await;
        caller.heard();
        let now = live.with(|world, now| world.engine_now(now));
        answer::changed(&answer, reference, now)
    }
}

fn inspect(world: &LiveWorld, faults: &WireFaults, reference: &str, now: EngineMs) -> WireResponse {
    let whole = world.with(|world, _| {
        let id = resolve(world, reference)?;
        let container = world.get(&id)?;
        let word = shape::state_word(container, faults.state_word(&id));
        Some(shape::whole(container, &word))
    });
    match whole {
        Some(whole) => answer::json(&whole, now),
        None => answer::missing(reference, now),
    }
}

/// A container by its ID, its name, or the beginning of its ID where that is nobody else's too.
fn resolve(world: &World, reference: &str) -> Option<ContainerId> {
    let id = ContainerId::new(reference.to_owned());
    if world.get(&id).is_some() {
        return Some(id);
    }
    if let Some(found) = world.find(reference) {
        return Some(found);
    }
    let mut beginnings = world.slots.keys().filter(|id| id.as_str().starts_with(reference));
    match (beginnings.next(), beginnings.next()) {
        (Some(found), None) => Some(found.clone()),
        _ => None,
    }
}

fn version() -> Value {
    json!({
        "Platform": { "Name": "defib's simulated engine" },
        "Components": [{ "Name": "Engine", "Version": ENGINE_VERSION }],
        "Version": ENGINE_VERSION,
        "ApiVersion": API_VERSION,
        "MinAPIVersion": format!("1.{OLDEST_MINOR}"),
        "Os": "linux",
        "Arch": "amd64",
    })
}

fn info(world: &LiveWorld) -> Value {
    let (all, running) = world.with(|world, _| {
        let running = world.containers.values().filter(|it| it.alive()).count();
        (world.containers.len(), running)
    });
    json!({
        "ID": "SIMU:LATE:DENG:INE0",
        "Name": "simulated",
        "Containers": all,
        "ContainersRunning": running,
        "ServerVersion": ENGINE_VERSION,
        "OperatingSystem": "simulated",
        "OSType": "linux",
        "LiveRestoreEnabled": true,
        "Swarm": { "LocalNodeState": "inactive" },
    })
}

/// A path without its version; an error in the engine's words where it is not spoken.
fn unversioned(path: &str) -> Result<&str, String> {
    let Some(rest) = path.strip_prefix("/v") else { return Ok(path) };
    let (version, _) = rest.split_once('/').unwrap_or((rest, ""));
    let Some((Ok(major), Ok(minor))) =
        version.split_once('.').map(|(major, minor)| (major.parse::<u32>(), minor.parse::<u32>()))
    else {
        return Ok(path);
    };
    if (major, minor) > (1, NEWEST_MINOR) {
        return Err(format!(
            "client version {version} is too new. Maximum supported API version is {API_VERSION}"
        ));
    }
    if (major, minor) < (1, OLDEST_MINOR) {
        return Err(format!(
            "client version {version} is too old. Minimum supported API version is \
             1.{OLDEST_MINOR}, please upgrade your client to a newer version"
        ));
    }
    Ok(rest.get(version.len()..).unwrap_or(""))
}

fn signal(text: Option<&str>) -> Result<u32, String> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(9) };
    match text.strip_prefix("SIG").unwrap_or(text) {
        "HUP" => Ok(1),
        "INT" => Ok(2),
        "QUIT" => Ok(3),
        "KILL" => Ok(9),
        "USR1" => Ok(10),
        "USR2" => Ok(12),
        "TERM" => Ok(15),
        number => number.parse().map_err(|_| format!("Invalid signal: {text}")),
    }
}
