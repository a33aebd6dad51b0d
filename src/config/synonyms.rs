//! What other tools call what a key here is called. Somebody who comes from Compose, Kubernetes or a monitor writes their
//! word first; no spelling is near enough to guess from, so the words are listed.

use super::keys::Table::{self, *};

const SYNONYMS: &[(Table, &str, &[&str])] = &[
    (Engine, "address", &["socket", "host", "url", "uri", "path"]),
    (State, "dir", &["path", "directory", "folder"]),
    (Host, "match", &["name", "hostname", "host"]),
    (Service, "containers", &["labels", "selector", "container_name"]),
    (Service, "depends_on", &["dependencies", "requires", "needs"]),
    (Service, "probe", &["healthcheck", "check", "checks", "http", "health"]),
    (Treatment, "start_grace", &["start_period", "grace", "grace_period", "initial_delay"]),
    (Treatment, "budget", &["max_restarts", "restart_limit", "restarts"]),
    (Treatment, "backoff", &["cooldown", "delay"]),
    (Treatment, "restart", &["restart_policy", "policy", "autoheal"]),
    (Treatment, "note", &["description", "comment"]),
    (Probe, "http", &["url", "uri", "address", "endpoint", "path", "port"]),
    (Probe, "every", &["interval", "period", "frequency"]),
    (Probe, "fall", &["retries", "failure_threshold", "failures", "threshold"]),
    (Probe, "rise", &["success_threshold", "successes"]),
    (Probe, "status", &["status_code", "statuses", "code", "codes", "expected_status"]),
    (Sink, "severities", &["severity", "levels", "level"]),
];

/// The key of this table that somebody means who writes `word`.
pub(super) fn meant(table: Table, word: &str) -> Option<&'static str> {
    let word = word.to_lowercase().replace('-', "_");
    let is_here = |of: Table| of == table || (table == Table::Service && of == Table::Treatment);
    SYNONYMS
        .iter()
        .find(|(of, _, words)| is_here(*of) && words.contains(&word.as_str()))
        .map(|(_, key, _)| *key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::{Use, keys_of};

    #[test]
    fn each_stands_for_a_key_that_there_is_and_is_none_itself() {
        for (table, key, words) in SYNONYMS {
            let known = |name: &str| keys_of(*table).any(|known| known.name == name);
            assert!(keys_of(*table).any(|known| known.name == *key && known.used == Use::Now));
            assert!(words.iter().all(|word| !known(word)), "{table:?} {key}");
        }
    }

    #[test]
    fn however_it_is_written() {
        assert_eq!(meant(Probe, "Status-Code"), Some("status"));
        assert_eq!(meant(Service, "start_period"), Some("start_grace"));
        assert_eq!(meant(Host, "interval"), None);
    }
}
