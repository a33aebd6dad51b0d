//! The host that scenarios run on: an engine that may be used, and an image to run on it.
//!
//! The engine is the one that `DEFIB_TEST_ENGINE` names (`unix:///…`), as `tests/run.sh` sets it. Without it every scenario
//! says what it leaves out and passes, so that plain `cargo test` needs neither root nor an engine. Nothing is pulled: the
//! image is one static file, compiled here from `tests/programs/misbehave.rs`.

use crate::{
    engine::{Engine, escaped},
    left_out::left_out,
};
use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex, OnceLock, Weak},
    time::SystemTime,
};

/// An engine and the image made on it. The image lives as long as any case uses it.
pub(crate) struct Host {
    /// The engine to use.
    pub(crate) engine: Engine,
    /// What to run.
    pub(crate) image: String,
}

/// Marks all that a run makes; `tests/run.sh` chooses it, to remove what a killed run left.
pub(crate) fn run_id() -> &'static str {
    static RUN: OnceLock<String> = OnceLock::new();
    RUN.get_or_init(|| {
        std::env::var("DEFIB_TEST_RUN").unwrap_or_else(|_| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
            format!("{}-{}", now.as_secs(), std::process::id())
        })
    })
}

impl Host {
    /// The engine to test on, or `None` after saying what is left out.
    pub(crate) fn here(scenario: &str) -> Option<Arc<Self>> {
        let address = std::env::var("DEFIB_TEST_ENGINE").unwrap_or_default();
        if ["", "none"].contains(&address.as_str()) {
            left_out(scenario, "DEFIB_TEST_ENGINE names no engine; `tests/run.sh engine` sets it");
            return None;
        }
        let socket = address
            .strip_prefix("unix://")
            .unwrap_or_else(|| panic!("DEFIB_TEST_ENGINE must be unix:///path, is {address:?}"));
        Some(Self::on(Engine { socket: PathBuf::from(socket) }))
    }

    fn on(engine: Engine) -> Arc<Self> {
        static HOST: Mutex<Weak<Host>> = Mutex::new(Weak::new());
        let mut known = HOST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        known.upgrade().unwrap_or_else(|| {
            let image = import_image(&engine);
            let made = Arc::new(Self { engine, image });
            *known = Arc::downgrade(&made);
            made
        })
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.engine.clear(&format!("/images/{}", self.image));
    }
}

/// Compiles the program, packs it and imports it under a tag of this run.
fn import_image(engine: &Engine) -> String {
    static MADE: Mutex<u32> = Mutex::new(0);
    let mut made = MADE.lock().unwrap();
    *made += 1;
    let (repository, tag) = (format!("defib-test-{}", run_id()), format!("{made}"));
    let changes = escaped(&format!("LABEL defib.test={}", run_id()));
    let path = format!("/images/create?fromSrc=-&repo={repository}&tag={tag}&changes={changes}");
    let root = tempfile::tempdir().unwrap();
    compile(&root.path().join("misbehave"));
    let answer = engine.send("POST", &path, "application/x-tar", &packed(root.path()));
    let said = String::from_utf8_lossy(&answer.body);
    assert!(answer.status == 200 && !said.contains("error"), "import: {} {said}", answer.status);
    format!("{repository}:{tag}")
}

fn compile(program: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/misbehave.rs");
    let options = ["--edition=2024", "-O", "-Ctarget-feature=+crt-static", "-Cstrip=symbols"];
    run(Command::new("rustc").args(options).arg(source).arg("-o").arg(program));
}

fn packed(root: &Path) -> Vec<u8> {
    run(Command::new("tar").arg("-C").arg(root).args(["--owner=0", "--group=0", "-c", "."]))
}

fn run(command: &mut Command) -> Vec<u8> {
    let done = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command:?}: {}: {said}", done.status);
    done.stdout
}
