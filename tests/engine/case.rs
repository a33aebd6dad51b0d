//! One scenario's own corner of the host: its containers, its receiver, its witness, its state directory. All of it is
//! marked, nothing else is ever touched, and everything goes when the case ends, also by a panic.

use crate::{
    container::Wanted,
    engine::{Engine, Witness, escaped},
    host::{Host, run_id},
    receiver::Receiver,
};
use serde_json::json;
use std::{path::Path, sync::Arc};
use tempfile::TempDir;

/// See the module.
pub(crate) struct Case {
    name: &'static str,
    host: Arc<Host>,
    directory: TempDir,
    /// Where defib sends its messages.
    pub(crate) receiver: Receiver,
    /// What truly happened to the case's containers.
    pub(crate) witness: Witness,
}

impl Case {
    /// Sets the stage, or says that there is none. `name` is short, unique, and fit for a container's name.
    pub(crate) fn begin(name: &'static str) -> Option<Self> {
        let host = Host::here(name)?;
        let label = format!("defib.test.case={}-{name}", run_id());
        let witness = Witness::of(&host.engine, &label);
        let directory = tempfile::tempdir().unwrap();
        Some(Self { name, host, directory, receiver: Receiver::open(), witness })
    }

    /// The case's label.
    pub(crate) fn id(&self) -> String {
        format!("{}-{}", run_id(), self.name)
    }

    /// How a container is called on the engine.
    pub(crate) fn name_of(&self, container: &str) -> String {
        format!("defib-test-{}-{container}", self.id())
    }

    /// Asks for a container.
    pub(crate) fn container(&self, name: &str) -> Wanted<'_> {
        Wanted::new(self, name)
    }

    /// The engine itself, past any proxy.
    pub(crate) fn engine(&self) -> &Engine {
        &self.host.engine
    }

    /// What containers run.
    pub(crate) fn image(&self) -> &str {
        &self.host.image
    }

    /// For sockets, config and state.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        let filters = json!({ "label": [format!("defib.test.case={}", self.id())] }).to_string();
        let path = format!("/containers/json?all=true&filters={}", escaped(&filters));
        let listed = self.engine().try_send("GET", &path, "application/json", b"");
        let listed = listed.map(|answer| answer.json()).unwrap_or_default();
        for container in listed.as_array().into_iter().flatten() {
            let id = container["Id"].as_str().unwrap_or_default();
            self.engine().clear(&format!("/containers/{id}?force=true&v=true"));
        }
    }
}
