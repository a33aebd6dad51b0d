//! Config files for scenarios. What all share is here, once; what a scenario is about stands in the scenario.
//!
//! Containers outside the config are not watched at all (`unlisted = "none"`), so that a daemon under test cannot touch
//! what other tests, or the owner of the host, have running.

use crate::{case::Case, container::Container};
use std::fmt::Write;

/// A config in the making.
pub(crate) struct Config {
    text: String,
}

impl Config {
    /// Everything goes to the case's receiver; nothing waits to settle; a healthcheck's verdict is acted on at once.
    pub(crate) fn of(case: &Case) -> Self {
        Self::through(case, &format!("unix://{}", case.engine().socket.display()))
    }

    /// The same, with the engine behind this address.
    pub(crate) fn through(case: &Case, engine: &str) -> Self {
        let receiver = case.receiver.url();
        Self {
            text: format!(
                r#"[fleet]
name = "test"

[engine]
address = "{engine}"

[watch]
unlisted = "none"

[settling]
own_start = "0s"
host_boot = "0s"
engine_start = "0s"

[defaults]
settle         = "0s"
restart_after  = "2 failures"
page_after     = "2 failures"
recover_within = "4s"
stable_for     = "3s"
start_grace    = "1s"
backoff        = {{ first = "1s", max = "4s" }}
budget         = {{ restarts = 3, refill_after_healthy = "30m" }}

[sink.receiver]
webhook = {{ url = "{receiver}" }}
"#
            ),
        }
    }

    /// In place of a line that begins so, this one.
    ///
    /// # Panics
    /// Where there is no such line: a scenario would silently run with the default.
    pub(crate) fn with(mut self, begins: &str, line: &str) -> Self {
        let mut lines: Vec<&str> = self.text.lines().collect();
        let place = lines.iter_mut().find(|line| line.starts_with(begins));
        *place.unwrap_or_else(|| panic!("no line begins with {begins:?}")) = line;
        self.text = lines.join("\n") + "\n";
        self
    }

    /// A service of this one container. `more` are further lines of its table.
    pub(crate) fn service(self, container: &Container, more: &str) -> Self {
        let name = &container.name;
        self.service_matching(name, &format!("name = \"{name}\""), more)
    }

    /// A service of whatever matches.
    pub(crate) fn service_matching(mut self, name: &str, matches: &str, more: &str) -> Self {
        let table = format!("name = \"{name}\"\ncontainers = {{ {matches} }}\n{more}\n");
        write!(self.text, "\n[[service]]\n{table}").unwrap();
        self
    }

    /// A probe of the service that was added last.
    pub(crate) fn probe(mut self, lines: &str) -> Self {
        write!(self.text, "\n  [[service.probe]]\n{lines}\n").unwrap();
        self
    }

    /// The whole file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}
