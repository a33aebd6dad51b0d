//! The engine's JSON, read tolerantly: lists, inspections, events, versions.
//!
//! A generated client fails a whole list for one unknown word, and ends the event stream for one unknown type. Here every
//! field is first taken raw and then read by itself: what is missing, null or of another type costs that field, at worst that
//! container, never the list. Only what is used is decoded. Bytes that are no UTF-8 are replaced before anything is parsed;
//! text that people may see is cleaned and cut ([`text`]), and so are names, in the same way wherever they occur. Labels come in
//! as they are, since services are matched by them, but for those that names are made of.
//!
//! Refuses to judge: words become the domain's types, nothing more.

pub(super) mod events;
pub(super) mod health;
pub(super) mod inspect;
pub(super) mod lines;
pub(super) mod list;
mod signal;
pub(super) mod text;
pub(super) mod time;
pub(super) mod version;

use crate::domain::{name::ContainerId, observation::ContainerState};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Longest ID that is taken for one. Docker's has 64 digits.
const LONGEST_ID: usize = 128;

/// Longest word of the engine's that is kept when nobody knows it.
const LONGEST_WORD: usize = 64;

/// A field that was taken raw; `None` where it is missing or null.
type Field<'a> = Option<&'a RawValue>;

/// Reads one field; what is not of type `T` counts as missing.
fn read<'a, T: Deserialize<'a>>(field: Field<'a>) -> Option<T> {
    field.and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// Labels that the names of replicas are made of.
const COMPOSE: &str = "com.docker.compose.";

/// Reads labels.
fn labels(field: Field<'_>) -> BTreeMap<String, String> {
    let mut labels = pairs(field);
    for (_, value) in labels.iter_mut().filter(|(key, _)| key.starts_with(COMPOSE)) {
        *value = text::name(value);
    }
    labels
}

/// Reads attributes: an object of strings. Entries that are none are left out.
fn pairs(field: Field<'_>) -> BTreeMap<String, String> {
    let raw: BTreeMap<String, Option<&RawValue>> = read(field).unwrap_or_default();
    raw.into_iter().filter_map(|(key, value)| read(value).map(|value| (key, value))).collect()
}

/// Reads an ID. IDs go into paths, so that only letters and digits are taken.
fn id(field: Field<'_>) -> Option<ContainerId> {
    read::<String>(field).filter(|id| is_id(id)).map(ContainerId::new)
}

/// Whether this can stand in a path as a container's ID.
pub(super) fn is_id(text: &str) -> bool {
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// A container's name as people write it, wherever it stands.
fn name(given: Option<String>, id: &ContainerId) -> String {
    given
        .map(|name| text::name(name.strip_prefix('/').unwrap_or(&name)))
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| id.as_str().chars().take(12).collect())
}

/// A name of something else: an image, a network.
fn other_name(field: Field<'_>) -> Option<String> {
    read::<String>(field).map(|given| text::name(&given))
}

/// The engine's word for a state, Podman's included.
fn state(word: &str) -> ContainerState {
    match word {
        "created" | "configured" | "initialized" => ContainerState::Created,
        "running" => ContainerState::Running,
        "paused" => ContainerState::Paused,
        "restarting" => ContainerState::Restarting,
        "removing" => ContainerState::Removing,
        "exited" | "stopped" | "stopping" => ContainerState::Exited,
        "dead" => ContainerState::Dead,
        other => ContainerState::Unknown(text::cleaned(other, LONGEST_WORD)),
    }
}
