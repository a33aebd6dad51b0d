//! Events: what is asked for, and what a line means.
//!
//! `Action` and `Actor.ID` are read first; the old `status` and `id` stand in where they are missing (they are gone from API
//! 1.52 on). Podman says `died` and `remove` and gives a bare `health_status` with its value in a field of its own.

use super::{Field, health, id, pairs, read, signal, text, time};
use crate::domain::{
    moment::EngineMs,
    observation::{EngineEvent, EventAction},
};
use serde::Deserialize;

/// The actions that are asked for. Each healthcheck makes three exec events, which are what costs without this filter; Docker
/// compares beginnings as soon as `health_status` is among the filters, so nothing in here may begin an exec action's name.
/// `died` and `remove` are Podman's.
const ACTIONS: [&str; 15] = [
    "create",
    "start",
    "die",
    "died",
    "stop",
    "restart",
    "kill",
    "pause",
    "unpause",
    "update",
    "rename",
    "destroy",
    "remove",
    "oom",
    "health_status",
];

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default, rename = "Type")]
    kind: Field<'a>,
    #[serde(borrow, default, rename = "Action")]
    action: Field<'a>,
    #[serde(borrow, default)]
    status: Field<'a>,
    #[serde(borrow, default, rename = "Actor")]
    actor: Field<'a>,
    #[serde(borrow, default)]
    id: Field<'a>,
    #[serde(borrow, default)]
    time: Field<'a>,
    #[serde(borrow, default, rename = "timeNano")]
    time_nano: Field<'a>,
    #[serde(borrow, default, rename = "HealthStatus")]
    health_status: Field<'a>,
}

#[derive(Deserialize)]
struct Actor<'a> {
    #[serde(borrow, default, rename = "ID")]
    id: Field<'a>,
    #[serde(borrow, default, rename = "Attributes")]
    attributes: Field<'a>,
}

/// What a line of the stream is.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::docker) enum Heard {
    /// Something happened to a container.
    Event(EngineEvent),
    /// An event, but none that was asked for, or of a kind nobody knows.
    OfNoInterest,
    /// No event that can be read.
    Unreadable,
}

/// The path of the stream, from `since` on or from now.
pub(in crate::docker) fn path(since: Option<EngineMs>) -> String {
    let filters = serde_json::json!({ "type": ["container"], "event": ACTIONS }).to_string();
    let mut path = format!("/events?filters={}", escaped(&filters));
    if let Some(EngineMs(ms)) = since {
        let ms = ms.max(0);
        // The events of the same millisecond come again: better twice than never.
        path.push_str(&format!("&since={}.{:03}000000", ms / 1000, ms % 1000));
    }
    path
}

/// Escapes a value of a query.
pub(in crate::docker) fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len() * 2);
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

/// Reads one line of the stream.
pub(in crate::docker) fn decode(line: &[u8]) -> Heard {
    let line = String::from_utf8_lossy(line);
    let Ok(raw) = serde_json::from_str::<Event<'_>>(&line) else { return Heard::Unreadable };
    if read::<String>(raw.kind).is_some_and(|kind| kind != "container") {
        return Heard::OfNoInterest;
    }
    let actor = read::<Actor<'_>>(raw.actor);
    let attributes = actor.as_ref().map(|actor| pairs(actor.attributes)).unwrap_or_default();
    let container = actor.and_then(|actor| id(actor.id)).or_else(|| id(raw.id));
    let word = read::<String>(raw.action).or_else(|| read(raw.status));
    let (Some(container), Some(word), Some(at)) = (container, word, happened(&raw)) else {
        return Heard::Unreadable;
    };
    let attribute = |key: &str| attributes.get(key).map(String::as_str);
    let (verb, value) = word.split_once(':').map_or((word.as_str(), ""), |(v, s)| (v, s.trim()));
    let action = match verb {
        "create" => EventAction::Created,
        "start" => EventAction::Started,
        "die" | "died" => {
            let code = attribute("exitCode").or_else(|| attribute("containerExitCode"));
            EventAction::Died { exit_code: code.and_then(|code| code.parse().ok()) }
        }
        "stop" => EventAction::Stopped,
        "restart" => EventAction::Restarted,
        "kill" => EventAction::Killed { signal: attribute("signal").and_then(signal::number) },
        "pause" => EventAction::Paused,
        "unpause" => EventAction::Unpaused,
        "update" => EventAction::Updated,
        "rename" => EventAction::Renamed,
        "destroy" | "remove" => EventAction::Destroyed,
        "oom" => EventAction::OutOfMemory,
        "health_status" => {
            let apart = || read::<String>(raw.health_status);
            let value = if value.is_empty() { apart() } else { Some(value.to_owned()) };
            let value = value.or_else(|| attribute("health_status").map(str::to_owned));
            EventAction::HealthChanged(health::status(&value.unwrap_or_default()))
        }
        _ => return Heard::OfNoInterest,
    };
    Heard::Event(EngineEvent { container, name: attribute("name").map(text::name), action, at })
}

fn happened(raw: &Event<'_>) -> Option<EngineMs> {
    let nanoseconds = read::<i64>(raw.time_nano).filter(|nano| *nano > 0).map(|n| n / 1_000_000);
    let seconds = || read::<i64>(raw.time).filter(|s| *s > 0).map(|s| s.saturating_mul(1000));
    nanoseconds.or_else(seconds).map(EngineMs).or_else(|| {
        // Podman's own API writes text; its compatible one may do so some day.
        read::<String>(raw.time).and_then(|text| time::engine_time(&text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{name::ContainerId, observation::HealthStatus};

    fn heard(line: &str) -> EventAction {
        match decode(line.as_bytes()) {
            Heard::Event(event) => event.action,
            other => panic!("{other:?} of {line}"),
        }
    }

    /// An event in today's form.
    fn event(action: &str, attributes: &str) -> String {
        format!(
            r#"{{"Type":"container","Action":"{action}","Actor":{{"ID":"ab12","Attributes":{{{attributes}}}}},
               "scope":"local","time":1704103200,"timeNano":1704103200123456789}}"#
        )
    }

    #[test]
    fn an_event_of_the_engine_is_read_with_time_and_name() {
        let line = r#"{"status":"die","id":"ab12","from":"img","Type":"container","Action":"die",
            "Actor":{"ID":"ab12","Attributes":{"exitCode":"137","image":"img","name":"web"}},
            "scope":"local","time":1704103200,"timeNano":1704103200123456789}"#;
        assert_eq!(
            decode(line.as_bytes()),
            Heard::Event(EngineEvent {
                container: ContainerId::new("ab12"),
                name: Some("web".to_owned()),
                action: EventAction::Died { exit_code: Some(137) },
                at: EngineMs(1_704_103_200_123),
            })
        );
    }

    #[test]
    fn every_action_that_is_asked_for_is_understood() {
        for action in ACTIONS {
            heard(&event(action, ""));
        }
    }

    #[test]
    fn no_filter_begins_an_exec_action() {
        for exec in ["exec_create", "exec_start", "exec_die"] {
            assert!(ACTIONS.iter().all(|action| !exec.starts_with(action)), "{exec}");
        }
    }

    #[test]
    fn signals_and_health_are_read() {
        let signal = |text: &str| heard(&event("kill", &format!(r#""signal":"{text}""#)));
        assert_eq!(signal("15"), EventAction::Killed { signal: Some(15) });
        assert_eq!(signal("SIGKILL"), EventAction::Killed { signal: Some(9) });
        assert_eq!(signal("SIGRTMIN+3"), EventAction::Killed { signal: Some(37) });
        assert_eq!(signal("SIGNOTHING"), EventAction::Killed { signal: None });
        let health = heard(&event("health_status: unhealthy", ""));
        assert_eq!(health, EventAction::HealthChanged(HealthStatus::Unhealthy));
    }

    #[test]
    fn the_old_fields_stand_in_where_the_new_ones_are_missing() {
        let line = r#"{"status":"health_status: healthy","id":"ab12","time":1704103200}"#;
        assert_eq!(heard(line), EventAction::HealthChanged(HealthStatus::Healthy));
    }

    #[test]
    fn podmans_differences_are_known() {
        let line = event("health_status", r#""name":"x""#).replacen(
            '{',
            r#"{"HealthStatus":"unhealthy","#,
            1,
        );
        assert_eq!(heard(&line), EventAction::HealthChanged(HealthStatus::Unhealthy));
        let bare = EventAction::HealthChanged(HealthStatus::Unknown(String::new()));
        assert_eq!(heard(&event("health_status", "")), bare);
        let died = heard(&event("died", r#""containerExitCode":"3""#));
        assert_eq!(died, EventAction::Died { exit_code: Some(3) });
        assert_eq!(heard(&event("remove", "")), EventAction::Destroyed);
    }

    #[test]
    fn unknown_types_and_actions_are_of_no_interest() {
        for line in [
            event("exec_start: /bin/check", ""),
            event("checkpoint", ""),
            event("start", "").replace("container", "quantum"),
        ] {
            assert_eq!(decode(line.as_bytes()), Heard::OfNoInterest, "{line}");
        }
    }

    #[test]
    fn what_is_no_event_is_unreadable() {
        for line in [
            "",
            "{",
            "7",
            r#"{"Type":"container"}"#,
            r#"{"Action":"die","Actor":{"ID":"../x"},"time":1}"#,
            r#"{"Action":"die","Actor":{"ID":"ab"},"time":null}"#,
            r#"{"Action":7,"Actor":null,"id":"ab","time":5}"#,
        ] {
            assert_eq!(decode(line.as_bytes()), Heard::Unreadable, "{line}");
        }
        assert_eq!(decode(&[0xff, 0xfe]), Heard::Unreadable);
    }

    #[test]
    fn odd_attributes_cost_themselves() {
        let line = event("die", r#""exitCode":"many","name":null,"x":{"y":[1]}"#);
        assert_eq!(heard(&line), EventAction::Died { exit_code: None });
    }

    #[test]
    fn the_path_asks_for_containers_and_names_the_time() {
        let path = path(Some(EngineMs(1_704_103_200_007)));
        assert!(path.starts_with("/events?filters=%7B%22event%22%3A%5B%22create%22"), "{path}");
        assert!(path.ends_with("&since=1704103200.007000000"), "{path}");
        assert!(!super::path(None).contains("since"));
    }
}
