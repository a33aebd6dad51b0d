//! The event stream: filters, `since`, `until`, one JSON object a line, for as long as the client reads.

use super::{
    super::{history::EventCursor, live::LiveWorld, truth::WorldTime},
    answer::{Broken, WireBody},
    faults::WireFaults,
    query::Filters,
    shape,
};
use crate::domain::moment::EngineMs;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use serde_json::json;
use std::sync::Arc;

/// With one of these among the filters, the engine compares beginnings (moby 25798).
const COMPARED_BY_BEGINNING: [&str; 3] = ["health_status", "exec_create", "exec_start"];

struct Reader {
    world: Arc<LiveWorld>,
    faults: Arc<WireFaults>,
    filters: Filters,
    cursor: EventCursor,
    until: Option<EngineMs>,
}

pub(super) fn body(
    world: Arc<LiveWorld>,
    faults: Arc<WireFaults>,
    filters: Filters,
    since: Option<EngineMs>,
    until: Option<EngineMs>,
) -> WireBody {
    let cursor = world.with(|world, _| world.open_events(since));
    let reader = Reader { world, faults, filters, cursor, until };
    let lines = stream::unfold(reader, |mut reader| async move {
        let line = reader.next_line().await?;
        Some((line.map(Frame::data), reader))
    });
    StreamBody::new(lines).boxed_unsync()
}

impl Reader {
    /// The next line; `None` where the stream ends by `until`; an error where the connection breaks.
    async fn next_line(&mut self) -> Option<Result<Bytes, Broken>> {
        let world = Arc::clone(&self.world);
        world
            .find(|world, now| {
                if !world.engine_is_up() {
                    return Ok(Some(Err(Broken)));
                }
                let engine_now = world.engine_now(now);
                loop {
                    match world.read_event(&mut self.cursor) {
                        Err(_) => return Ok(Some(Err(Broken))),
                        Ok(None) => break,
                        Ok(Some(event)) => {
                            let action = shape::action(&event);
                            if self.wants(&action, event.container.as_str(), &event.name) {
                                let mut line = String::new();
                                if self.faults.unknown_event_type() {
                                    line.push_str(&unheard_of(&event.stamp));
                                }
                                line.push_str(&format!("{}\n", shape::event(&event)));
                                return Ok(Some(Ok(Bytes::from(line))));
                            }
                        }
                    }
                }
                match self.until {
                    Some(until) if until <= engine_now => Ok(None),
                    Some(until) => Err(Some(WorldTime(now.0) + until.since(engine_now))),
                    None => Err(None),
                }
            })
            .await
    }

    fn wants(&self, action: &str, container: &str, name: &str) -> bool {
        let events = self.filters.values("event");
        let by_beginning = events.iter().any(|word| COMPARED_BY_BEGINNING.contains(&word.as_str()));
        let action_fits = events.is_empty()
            || events.iter().any(|word| {
                if by_beginning { action.starts_with(word.as_str()) } else { action == word }
            });
        let types = self.filters.values("type");
        let type_fits = types.is_empty() || types.iter().any(|word| word == "container");
        let containers = self.filters.values("container");
        let container_fits = containers.is_empty()
            || containers.iter().any(|wanted| container.starts_with(wanted) || name == wanted);
        action_fits && type_fits && container_fits
    }
}

/// An event of a type that nobody knows.
fn unheard_of(at: &EngineMs) -> String {
    let event = json!({
        "Type": "quantum",
        "Action": "entangle",
        "Actor": { "ID": "q", "Attributes": {} },
        "scope": "local",
        "time": at.0.div_euclid(1000),
        "timeNano": at.0.saturating_mul(1_000_000),
    });
    format!("{event}\n")
}
