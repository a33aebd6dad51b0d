//! The host that is measured on, and the removal of all that was made on it.

use crate::{
    container::{Container, Recipe},
    engine::{Engine, escaped},
    host::{Host, run_id},
    left_out::say,
};
use serde_json::json;
use std::{
    path::Path,
    sync::{Arc, Mutex},
    thread,
};
use tempfile::TempDir;

/// Calls to the engine at a time, in making and removing: enough to keep two cores busy, few enough not to be timed out.
const AT_A_TIME: usize = 4;

/// See the module.
pub(crate) struct Stage {
    host: Arc<Host>,
    directory: TempDir,
}

impl Stage {
    /// `None` where no engine is named.
    pub(crate) fn set() -> Option<Self> {
        std::env::var("DEFIB_TEST_ENGINE").ok().filter(|address| !address.is_empty())?;
        let host = Host::here("benchmarks")?;
        Some(Self { host, directory: tempfile::tempdir().unwrap() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.host.engine
    }

    /// For config, state and sockets.
    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Makes and starts `count` containers, called `word-0`, `word-1`, …; they are removed with the guard.
    pub(crate) fn make(&self, word: &str, count: usize, recipe: &Recipe) -> Troupe<'_> {
        let made = in_parallel((0..count).collect(), |number| {
            Container::start(&self.host, &format!("{word}-{number}"), recipe)
        });
        Troupe { engine: self.engine(), containers: made }
    }

    /// Others on the host, which do nothing at all and are fine.
    pub(crate) fn crowd(&self, size: usize) -> Troupe<'_> {
        say(&format!("making {size} idle containers"));
        self.make("idle", size, &Recipe::idle())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let filters = json!({ "label": [format!("defib.test={}", run_id())] }).to_string();
        let path = format!("/containers/json?all=true&filters={}", escaped(&filters));
        let listed = self.engine().try_send("GET", &path, "application/json", b"");
        let listed = listed.map(|answer| answer.json()).unwrap_or_default();
        let left = listed.as_array().cloned().unwrap_or_default();
        remove(
            self.engine(),
            left.iter().map(|row| row["Id"].as_str().unwrap_or_default().to_owned()).collect(),
        );
    }
}

/// Containers of one kind. Removed with their scope.
pub(crate) struct Troupe<'a> {
    engine: &'a Engine,
    containers: Vec<Container>,
}

impl std::ops::Deref for Troupe<'_> {
    type Target = [Container];

    fn deref(&self) -> &[Container] {
        &self.containers
    }
}

impl Drop for Troupe<'_> {
    fn drop(&mut self) {
        remove(self.engine, self.containers.iter().map(|container| container.id.clone()).collect());
    }
}

fn remove(engine: &Engine, ids: Vec<String>) {
    in_parallel(ids, |id| engine.clear(&format!("/containers/{id}?force=true&v=true")));
}

/// Does it to each, a few at a time; the results are in the order of the items.
pub(crate) fn in_parallel<T: Send, R: Send>(items: Vec<T>, each: impl Fn(T) -> R + Sync) -> Vec<R> {
    let left = Mutex::new(items.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let Some((index, item)) = left.lock().unwrap().next() else { return };
                    let result = each(item);
                    done.lock().unwrap().push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap();
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}
