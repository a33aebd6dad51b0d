//! Which service a container belongs to, and under which stable name.
//!
//! A container's labels are text from outside: they may narrow what the config allows, never widen it, and never name a
//! command or an address. Compose's one-off containers (`docker compose run`) are somebody's shell and match nothing.

use crate::domain::{
    name::{ReplicaName, ServiceName},
    policy::{ContainerMatch, Policy, ServicePolicy, Unlisted},
};
use std::{collections::BTreeMap, sync::Arc};

const PROJECT: &str = "com.docker.compose.project";
const SERVICE: &str = "com.docker.compose.service";
const NUMBER: &str = "com.docker.compose.container-number";
const ONE_OFF: &str = "com.docker.compose.oneoff";

/// A label that is longer is no part of a name, in bytes.
const LONGEST_LABEL: usize = 200;

/// What a container is to us.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Belonging {
    /// A replica of a service of the config.
    Listed {
        /// Which.
        service: Arc<ServicePolicy>,
        /// Other services of the config that match it too, which is an error: what they say may contradict this one.
        rivals: Vec<ServiceName>,
    },
    /// Not in the config, watched all the same.
    Unlisted,
    /// None of our business.
    Foreign,
}

/// What of a container decides where it belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Traits<'a> {
    pub(crate) name: &'a str,
    pub(crate) image: &'a str,
    pub(crate) labels: &'a BTreeMap<String, String>,
    pub(crate) has_healthcheck: bool,
}

/// The stable name of a container across re-creation.
pub(crate) fn replica_name(name: &str, labels: &BTreeMap<String, String>) -> ReplicaName {
    // Compose's own are short; what is not is somebody's text, and a name stands in every line that is about it.
    let label = |key: &str| labels.get(key).filter(|value| value.len() <= LONGEST_LABEL);
    match (label(PROJECT), label(SERVICE), label(NUMBER)) {
        (Some(project), Some(service), Some(number)) => {
            ReplicaName::new(format!("{project}/{service}/{number}"))
        }
        (_, _, _) => ReplicaName::new(name),
    }
}

/// Where a container belongs. The first service of the config that matches has it. Where others match too nobody can say
/// which is meant: `config/` refuses what it can see to be so, and of the rest nothing is acted on.
pub(crate) fn belonging(policy: &Policy, container: Traits<'_>) -> Belonging {
    let one_off =
        container.labels.get(ONE_OFF).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let hidden = policy
        .only_label
        .as_ref()
        .is_some_and(|(key, value)| container.labels.get(key) != Some(value));
    if one_off || hidden {
        return Belonging::Foreign;
    }
    let mut listed = policy
        .services
        .iter()
        .filter(|service| service.containers.iter().any(|pattern| matches(pattern, container)));
    match (listed.next(), policy.unlisted) {
        (Some(service), _) => Belonging::Listed {
            service: Arc::clone(service),
            rivals: listed.map(|rival| rival.name.clone()).collect(),
        },
        (None, Unlisted::All) => Belonging::Unlisted,
        (None, Unlisted::Healthchecked) if container.has_healthcheck => Belonging::Unlisted,
        (None, Unlisted::Healthchecked | Unlisted::None) => Belonging::Foreign,
    }
}

/// The policy of an unlisted container: the one for all of them, under the container's own name.
pub(crate) fn unlisted_policy(policy: &Policy, replica: &ReplicaName) -> Arc<ServicePolicy> {
    let taken = policy.services.iter().any(|service| service.name.as_str() == replica.as_str());
    let name = if taken { format!("{replica} (container)") } else { replica.to_string() };
    Arc::new(ServicePolicy { name: ServiceName::new(name), ..(*policy.unlisted_service).clone() })
}

fn matches(pattern: &ContainerMatch, container: Traits<'_>) -> bool {
    match pattern {
        ContainerMatch::Compose { project, service } => {
            container.labels.get(PROJECT) == Some(project)
                && container.labels.get(SERVICE) == Some(service)
        }
        ContainerMatch::Name(glob) => glob_matches(glob, container.name),
        ContainerMatch::Image(glob) => glob_matches(glob, container.image),
        ContainerMatch::Label { key, value } => match (container.labels.get(key), value) {
            (Some(have), Some(want)) => have == want,
            (Some(_), None) => true,
            (None, _) => false,
        },
    }
}

/// `*` stands for any run of characters. Linear in the text for each part, so that no pattern can make it slow.
pub(crate) fn glob_matches(glob: &str, text: &str) -> bool {
    let mut parts = glob.split('*');
    let Some(mut rest) = parts.next().and_then(|head| text.strip_prefix(head)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(tail) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(tail)
}

/// Images of which one copy usually holds the data (S12): the usual databases, queues and stores, by the last part of the
/// image's path.
const STATEFUL_IMAGES: [&str; 43] = [
    "postgres",
    "pgvector",
    "timescaledb-ha",
    "mysql-server",
    "percona-server",
    "mongodb-community-server",
    "redis-stack",
    "redis-stack-server",
    "cp-kafka",
    "mssql-server",
    "postgresql",
    "postgis",
    "timescaledb",
    "mysql",
    "mariadb",
    "percona",
    "mongo",
    "mongodb",
    "redis",
    "valkey",
    "keydb",
    "memcached",
    "rabbitmq",
    "kafka",
    "zookeeper",
    "nats",
    "pulsar",
    "elasticsearch",
    "opensearch",
    "solr",
    "cassandra",
    "scylla",
    "couchdb",
    "couchbase",
    "influxdb",
    "clickhouse",
    "clickhouse-server",
    "neo4j",
    "etcd",
    "consul",
    "vault",
    "minio",
    "cockroach",
];

/// Whether an image is one of the usual databases, queues and stores.
pub(crate) fn holds_data(image: &str) -> bool {
    let path = image.split('@').next().unwrap_or(image);
    let last = path.rsplit('/').next().unwrap_or(path);
    let name = last.split(':').next().unwrap_or(last);
    STATEFUL_IMAGES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (glob, text, want) in [
            ("web", "web", true),
            ("web", "web-1", false),
            ("web-*", "web-1", true),
            ("*", "", true),
            ("*-db", "shop-db", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(glob_matches(glob, text), want, "{glob} on {text}");
        }
    }

    #[test]
    fn the_usual_databases_hold_data_whatever_their_registry_and_tag() {
        for image in [
            "postgres:16",
            "docker.io/library/redis",
            "registry:5000/bitnami/mongodb:7@sha256:00",
            "mysql",
        ] {
            assert!(holds_data(image), "{image}");
        }
        for image in ["nginx", "shop/postgres-exporter:1", "localhost:5000/web"] {
            assert!(!holds_data(image), "{image}");
        }
    }
}
