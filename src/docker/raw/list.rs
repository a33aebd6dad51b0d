//! The list of containers. One odd row costs that row.

use super::{Field, id, labels, name, other_name, read, state};
use crate::{
    docker::connection::CallError,
    domain::{
        name::ContainerId,
        observation::{ContainerState, Listed, Listing},
    },
};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Row<'a> {
    #[serde(borrow, default)]
    id: Field<'a>,
    #[serde(borrow, default)]
    names: Field<'a>,
    #[serde(borrow, default)]
    image: Field<'a>,
    #[serde(borrow, default)]
    state: Field<'a>,
    #[serde(borrow, default)]
    labels: Field<'a>,
}

/// Reads the full list.
pub(in crate::docker) fn decode(body: &[u8]) -> Result<Listing, CallError> {
    let mut listing = Listing { containers: Vec::new(), undecodable: 0 };
    for_each_row(body, |row| match row {
        Some((id, row)) => listing.containers.push(listed(id, &row)),
        None => listing.undecodable = listing.undecodable.saturating_add(1),
    })?;
    Ok(listing)
}

/// Reads only the IDs. A row without one is left out; the full list counts it.
pub(in crate::docker) fn decode_ids(body: &[u8]) -> Result<Vec<ContainerId>, CallError> {
    let mut ids = Vec::new();
    for_each_row(body, |row| ids.extend(row.map(|(id, _)| id)))?;
    Ok(ids)
}

fn for_each_row(
    body: &[u8],
    mut take: impl FnMut(Option<(ContainerId, Row<'_>)>),
) -> Result<(), CallError> {
    let body = String::from_utf8_lossy(body);
    // Podman writes null where there is none.
    let rows: Option<Vec<&RawValue>> = serde_json::from_str(&body)
        .map_err(|error| CallError::Garbled(format!("the list is no JSON array: {error}")))?;
    for raw in rows.unwrap_or_default() {
        let row = serde_json::from_str::<Row<'_>>(raw.get()).ok();
        take(row.and_then(|row| id(row.id).map(|id| (id, row))));
    }
    Ok(())
}

fn listed(id: ContainerId, row: &Row<'_>) -> Listed {
    Listed {
        name: name(own_name(row.names), &id),
        image: other_name(row.image).unwrap_or_default(),
        state: read::<String>(row.state)
            .map_or_else(|| ContainerState::Unknown(String::new()), |word| state(&word)),
        labels: labels(row.labels),
        id,
    }
}

/// Its own name: links of other containers show up as further ones, `/other/alias`.
fn own_name(names: Field<'_>) -> Option<String> {
    let names: Vec<Option<&RawValue>> = read(names)?;
    let mut names = names.into_iter().filter_map(read::<String>).peekable();
    let first = names.peek().cloned();
    names.find(|name| !name.trim_start_matches('/').contains('/')).or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_engine_is_read() {
        let body = br#"[{"Id":"4cc3","Names":["/web/db","/db-1"],"Image":"postgres:16","ImageID":"sha256:aa",
            "Command":"postgres","Created":1704103200,"Ports":[],"Labels":{"a":"b","defib.restart":"true"},
            "State":"running","Status":"Up 2 hours (healthy)","HostConfig":{"NetworkMode":"default"},
            "NetworkSettings":{"Networks":{}},"Mounts":[]}]"#;
        let listing = decode(body).unwrap();
        let [row] = listing.containers.as_slice() else { panic!("{listing:?}") };
        assert_eq!((row.id.as_str(), row.name.as_str()), ("4cc3", "db-1"));
        assert_eq!((row.image.as_str(), &row.state), ("postgres:16", &ContainerState::Running));
        assert_eq!(row.labels.get("defib.restart").map(String::as_str), Some("true"));
        assert_eq!(listing.undecodable, 0);
    }

    #[test]
    fn odd_rows_cost_themselves_and_never_the_list() {
        let body = br#"[
            {"Id":"a1","Names":["/fine"],"State":"running"},
            {"Id":"a2","Names":["/odd"],"State":"hibernating","Labels":null},
            {"Id":"a3","Names":null,"State":7,"Labels":["x"],"Image":{}},
            {"Id":"a4","Names":[null,3,"/named"],"Labels":{"good":"1","number":2,"null":null}},
            {"Id":null,"Names":["/no-id"]}, {"Names":["/no-id"]}, {"Id":"../../secrets"}, null, 7, "row", [],
            {"Id":"a5","Id":"a6","State":"running"},
            {"Id":"a7","Names":["/cut\ud800"],"State":"exited"}
        ]"#;
        let listing = decode(body).unwrap();
        let rows: Vec<_> =
            listing.containers.iter().map(|c| (c.id.as_str(), c.name.as_str(), &c.state)).collect();
        let unknown = |word: &str| ContainerState::Unknown(word.to_owned());
        assert_eq!(
            rows,
            [
                ("a1", "fine", &ContainerState::Running),
                ("a2", "odd", &unknown("hibernating")),
                ("a3", "a3", &unknown("")),
                ("a4", "named", &unknown("")),
                ("a7", "a7", &ContainerState::Exited),
            ]
        );
        assert_eq!(listing.undecodable, 8);
        assert_eq!(listing.containers[3].labels.len(), 1);
    }

    #[test]
    fn broken_utf8_is_replaced() {
        let mut body = br#"[{"Id":"a1","Names":["/x"],"State":"running","Labels":{"k":"v"#.to_vec();
        body.extend([0xff, 0xc3]);
        body.extend(br#""}}]"#);
        let listing = decode(&body).unwrap();
        assert_eq!(listing.containers[0].labels["k"], "v\u{fffd}\u{fffd}");
    }

    #[test]
    fn podmans_words_are_known() {
        let states = |word: &str| {
            let body = format!(r#"[{{"Id":"a","State":"{word}"}}]"#);
            decode(body.as_bytes()).unwrap().containers.remove(0).state
        };
        assert_eq!(states("stopped"), ContainerState::Exited);
        assert_eq!(states("stopping"), ContainerState::Exited);
        assert_eq!(states("configured"), ContainerState::Created);
        assert_eq!(states(&"x".repeat(999)), ContainerState::Unknown("x".repeat(64)));
    }

    #[test]
    fn the_first_twelve_digits_stand_for_a_missing_name() {
        let listing = decode(br#"[{"Id":"0123456789abcdef"}]"#).unwrap();
        assert_eq!(listing.containers[0].name, "0123456789ab");
    }

    #[test]
    fn what_is_no_list_is_garbled() {
        for body in ["", "{}", "[{]", "<html>", r#"{"message":"x"}"#] {
            assert!(matches!(decode(body.as_bytes()), Err(CallError::Garbled(_))), "{body}");
        }
        assert_eq!(decode(b"null").unwrap().containers, []);
        assert_eq!(decode_ids(br#"[{"Id":"a1"},{},{"Id":"a2"}]"#).unwrap().len(), 2);
    }
}
