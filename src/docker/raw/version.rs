//! `/version`: who answers, and which API both know.

use super::{Field, LONGEST_WORD, read, text};
use crate::docker::connection::{
    ApiVersion, CallError, EngineVersion, Flavour, HIGHEST_API, LOWEST_API,
};
use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Version<'a> {
    #[serde(borrow, default)]
    version: Field<'a>,
    #[serde(borrow, default)]
    api_version: Field<'a>,
    #[serde(borrow, default, rename = "MinAPIVersion")]
    min_api_version: Field<'a>,
    #[serde(borrow, default)]
    components: Field<'a>,
}

#[derive(Deserialize)]
struct Component<'a> {
    #[serde(borrow, default, rename = "Name")]
    name: Field<'a>,
}

/// Reads `/version` and chooses the API version: the engine's highest, at most [`HIGHEST_API`], unless the engine's lowest is
/// above that, which is then spoken in the hope that what is read has kept its form.
pub(in crate::docker) fn decode(body: &[u8]) -> Result<EngineVersion, CallError> {
    let body = String::from_utf8_lossy(body);
    let raw: Version<'_> = serde_json::from_str(&body).map_err(|error| {
        CallError::Garbled(format!("/version is not what an engine says: {error}"))
    })?;
    let Some(highest) = api(raw.api_version) else {
        return Err(CallError::Garbled("/version names no API version".to_owned()));
    };
    let version = read::<String>(raw.version).unwrap_or_default();
    let version = text::cleaned(&version, LONGEST_WORD);
    if highest < LOWEST_API {
        return Err(CallError::NoCommonApi(format!(
            "engine {version} speaks API {highest} at most and defib needs {LOWEST_API}: upgrade \
             it to Docker 20.10 or later"
        )));
    }
    let lowest = api(raw.min_api_version).unwrap_or(LOWEST_API);
    let api = highest.min(HIGHEST_API).max(lowest);
    let components: Vec<Option<&RawValue>> = read(raw.components).unwrap_or_default();
    let podman = components.into_iter().any(|component| {
        read::<Component<'_>>(component)
            .and_then(|component| read::<String>(component.name))
            .is_some_and(|name| name.to_ascii_lowercase().contains("podman"))
    });
    let flavour = if podman { Flavour::Podman } else { Flavour::Docker };
    Ok(EngineVersion { version, api, flavour })
}

fn api(field: Field<'_>) -> Option<ApiVersion> {
    let text = read::<String>(field)?;
    let (major, minor) = text.split_once('.')?;
    // Podman once wrote three parts.
    let minor = minor.split('.').next()?;
    Some(ApiVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(highest: &str, lowest: &str) -> String {
        let body =
            format!(r#"{{"Version":"x","ApiVersion":"{highest}","MinAPIVersion":"{lowest}"}}"#);
        decode(body.as_bytes()).map_or_else(|error| error.to_string(), |v| v.api.to_string())
    }

    #[test]
    fn the_highest_that_both_know_is_spoken() {
        assert_eq!(chosen("1.41", "1.12"), "1.41");
        assert_eq!(chosen("1.43", "1.12"), "1.43");
        assert_eq!(chosen("1.52", "1.44"), "1.47");
        assert_eq!(chosen("1.60", "1.50"), "1.50");
        assert_eq!(chosen("2.0", "1.44"), "1.47");
    }

    #[test]
    fn an_engine_too_old_is_told_what_it_takes() {
        let said = chosen("1.40", "1.12");
        assert_eq!(
            said,
            "engine x speaks API 1.40 at most and defib needs 1.41: upgrade it to Docker 20.10 or \
             later"
        );
    }

    #[test]
    fn podman_is_known_by_its_component() {
        let body = br#"{"Version":"4.9.3","ApiVersion":"1.41","MinAPIVersion":"1.24",
            "Components":[null,{"Name":7},{"Name":"Podman Engine"}]}"#;
        assert_eq!(decode(body).unwrap().flavour, Flavour::Podman);
        let body = br#"{"ApiVersion":"1.41.0","Components":"none"}"#;
        assert_eq!(decode(body).unwrap().flavour, Flavour::Docker);
    }

    #[test]
    fn what_is_no_version_is_garbled() {
        for body in ["", "[]", "{}", r#"{"ApiVersion":null}"#, r#"{"ApiVersion":"new"}"#, "<html>"]
        {
            assert!(matches!(decode(body.as_bytes()), Err(CallError::Garbled(_))), "{body}");
        }
    }
}
