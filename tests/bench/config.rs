//! Config files of benchmarks. Only containers of a benchmark are watched, whatever else runs on the host.

use crate::container::Container;
use std::{fmt::Write, path::Path};

/// Everything as it is by default, but for the waits after a start, which would only make the run longer.
pub(crate) fn by_default(engine: &Path) -> String {
    format!(
        r#"[engine]
address = "unix://{}"

[watch]
unlisted = "none"

[settling]
own_start = "0s"
host_boot = "0s"
engine_start = "0s"

[sink.console]
terminal = {{}}
"#,
        engine.display()
    )
}

/// As fast as the config allows: nothing settles, one failing healthcheck is enough, no brake, budgets that do not end.
pub(crate) fn at_once(engine: &Path) -> String {
    by_default(engine)
        + r#"
[host_limits]
max_concurrent = 20
budget = { restarts = 100000, within = "30m" }
brake = "off"

[defaults]
settle         = "0s"
restart_after  = "1 failure"
backoff        = { first = "0s", max = "0s" }
budget         = { restarts = 10000 }
stable_for     = "1s"
"#
}

/// A service each for these containers.
pub(crate) fn services(config: &mut String, containers: &[Container]) {
    for container in containers {
        let name = &container.name;
        write!(config, "\n[[service]]\nname = \"{name}\"\ncontainers = {{ name = \"{name}\" }}\n")
            .unwrap();
    }
}

/// The others on the host, ten to a service.
pub(crate) fn crowd(config: &mut String, containers: &[Container]) {
    for (number, ten) in containers.chunks(10).enumerate() {
        let each: Vec<String> =
            ten.iter().map(|container| format!("{{ name = \"{}\" }}", container.name)).collect();
        write!(
            config,
            "\n[[service]]\nname = \"crowd-{number}\"\ncontainers = [{}]\n",
            each.join(", ")
        )
        .unwrap();
    }
}
