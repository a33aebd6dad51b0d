//! The real engine, driven with the docker command: the suite's view of it shares nothing with the adapter's.
//!
//! Runs where `DEFIB_TEST_ENGINE` is an address such as `unix:///var/run/docker.sock`; says that it is left out where it is unset
//! or `none`. The image is made from a static busybox; containers are named `defib-test-engine-<pid>-<n>` and removed with
//! their driver, the image with the last of them.

use crate::{
    driver::{Check, Driver, Made, Order, Wanted},
    left_out::{left_out, say},
    suite::{self, for_every_behaviour},
};
use defib::{
    docker::{adapter::DockerEngine, address::EngineAddress, port::Engine},
    domain::name::ContainerId,
    tasks::Pending,
};
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

macro_rules! on_the_real_engine {
    ($($behaviour:ident),* $(,)?) => {
        $(
            #[tokio::test]
            async fn $behaviour() {
                if let Some(driver) = RealEngine::for_the_test(stringify!($behaviour)) {
                    suite::$behaviour(&driver).await;
                }
            }
        )*
    };
}
for_every_behaviour!(on_the_real_engine);

#[tokio::test]
async fn it_says_what_it_is() {
    let Some(driver) = RealEngine::for_the_test("it_says_what_it_is") else { return };
    let version = driver.engine.version().await.unwrap();
    assert!(!version.version.is_empty());
    assert!(version.api >= defib::docker::connection::LOWEST_API, "{version:?}");
}

/// The engine that the environment names, and what was made on it.
struct RealEngine {
    engine: Arc<DockerEngine>,
    image: Arc<Image>,
    made: Mutex<Vec<ContainerId>>,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

fn unused_name() -> String {
    format!("defib-test-engine-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed))
}

impl RealEngine {
    /// What the environment names, or `None` after saying that the test is left out.
    fn for_the_test(test: &str) -> Option<Self> {
        let named = std::env::var("DEFIB_TEST_ENGINE").unwrap_or_default();
        if named.is_empty() || named == "none" {
            left_out(test, "DEFIB_TEST_ENGINE names no engine (unix:///var/run/docker.sock)");
            return None;
        }
        let address = EngineAddress::parse(&named).unwrap();
        let engine = Arc::new(DockerEngine::new(&address));
        Some(Self { engine, image: Image::shared(&named), made: Mutex::default() })
    }

    async fn docker(&self, arguments: &[&str]) -> String {
        let running = tokio::process::Command::new("docker")
            .args(["--host", &self.image.engine])
            .args(arguments)
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(Duration::from_secs(60), running)
            .await
            .unwrap_or_else(|_| panic!("docker {arguments:?} does not end"))
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "docker {arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    async fn shell(&self, container: &ContainerId, script: &str) {
        self.docker(&["exec", container.as_str(), "/bin/busybox", "sh", "-c", script]).await;
    }
}

impl Driver for RealEngine {
    fn engine(&self) -> Arc<dyn Engine> {
        Arc::clone(&self.engine) as Arc<dyn Engine>
    }

    fn make<'a>(&'a self, wanted: &'a Wanted) -> Pending<'a, Made> {
        Box::pin(async move {
            let name = unused_name();
            let mut arguments: Vec<String> =
                ["create", "--label", "defib.test=contract", "--name", &name]
                    .map(str::to_owned)
                    .into();
            let mut option = |name: &str, value: &str| {
                arguments.extend([name.to_owned(), value.to_owned()]);
            };
            if wanted.healthcheck {
                option("--health-cmd", "/bin/check");
                option("--health-interval", "1s");
                option("--health-timeout", "1s");
                option("--health-retries", "2");
            }
            if let Some(span) = wanted.stop_timeout {
                option("--stop-timeout", &span.as_secs().to_string());
            }
            if wanted.always_restarted {
                option("--restart", "always");
            }
            if let Some(parent) = &wanted.network_of {
                option("--network", &format!("container:{parent}"));
            }
            if let Some((key, value)) = wanted.label {
                option("--label", &format!("{key}={value}"));
            }
            arguments.push(self.image.name.clone());
            arguments.push("/bin/serve".to_owned());
            arguments.push(if wanted.ignores_sigterm { "" } else { "exit 0" }.to_owned());
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let id = ContainerId::new(self.docker(&arguments).await);
            self.made.lock().unwrap().push(id.clone());
            Made { id, name, image: self.image.name.clone() }
        })
    }

    fn order<'a>(&'a self, container: &'a ContainerId, order: Order) -> Pending<'a, ()> {
        Box::pin(async move {
            let id = container.as_str();
            match order {
                Order::Start => {
                    self.docker(&["start", id]).await;
                    // Before its trap is set, process 1 ignores what it would end on.
                    self.shell(container, "until [ -e /ready ]; do sleep 0.05; done").await;
                }
                Order::Stop => drop(self.docker(&["stop", id]).await),
                Order::Restart => drop(self.docker(&["restart", id]).await),
                Order::Pause => drop(self.docker(&["pause", id]).await),
                Order::Unpause => drop(self.docker(&["unpause", id]).await),
                Order::Signal(number) => {
                    self.docker(&["kill", "--signal", &number.to_string(), id]).await;
                }
                Order::Update => drop(self.docker(&["update", "--restart", "no", id]).await),
                Order::Rename => drop(self.docker(&["rename", id, &unused_name()]).await),
                Order::Remove => drop(self.docker(&["rm", "--force", id]).await),
                Order::Exit(code) => self.shell(container, &format!("echo {code} >/exit")).await,
                Order::Check(Check::Passes) => self.shell(container, "rm -f /sick /hang").await,
                Order::Check(Check::Fails) => self.shell(container, ": >/sick").await,
                Order::Check(Check::Hangs) => self.shell(container, ": >/hang").await,
                // The check goes through the shell, so that the runtime is who misses it.
                Order::Check(Check::CannotRun) => self.shell(container, "rm /bin/sh").await,
            }
        })
    }
}

impl Drop for RealEngine {
    fn drop(&mut self) {
        let made = std::mem::take(&mut *self.made.lock().unwrap());
        if made.is_empty() {
            return;
        }
        // Already removed ones are passed over by `--force`.
        let removed = Command::new("docker")
            .args(["--host", &self.image.engine, "rm", "--force", "--volumes"])
            .args(made.iter().map(ContainerId::as_str))
            .output();
        if !removed.is_ok_and(|output| output.status.success()) {
            say(&format!("could not remove {made:?}: remove them by hand"));
        }
    }
}

/// The one image of all test containers.
struct Image {
    engine: String,
    name: String,
}

impl Image {
    /// The image, made if no test holds it now.
    fn shared(engine: &str) -> Arc<Self> {
        static HELD: Mutex<Weak<Image>> = Mutex::new(Weak::new());
        let mut held = HELD.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(image) = held.upgrade() {
            return image;
        }
        let image = Arc::new(Self::import(engine));
        *held = Arc::downgrade(&image);
        image
    }

    fn import(engine: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let busybox = Path::new("/bin/busybox");
        assert!(busybox.exists(), "/bin/busybox is missing: apt-get install busybox-static");
        fs::copy(busybox, bin.join("busybox")).unwrap();
        for applet in ["sh", "sleep", "cat", "rm"] {
            symlink("busybox", bin.join(applet)).unwrap();
        }
        let script = |name: &str, text: &str| {
            fs::write(bin.join(name), text).unwrap();
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        };
        script("serve", SERVE);
        script("check", CHECK);

        let name = format!("{}:1", unused_name());
        let mut tar = Command::new("tar")
            .args(["--create", "--directory"])
            .arg(folder.path())
            .arg(".")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let import = Command::new("docker")
            .args(["--host", engine, "import", "-", &name])
            .stdin(tar.stdout.take().unwrap())
            .output()
            .unwrap();
        assert!(tar.wait().unwrap().success());
        assert!(import.status.success(), "{}", String::from_utf8_lossy(&import.stderr));
        Self { engine: engine.to_owned(), name }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let removed =
            Command::new("docker").args(["--host", &self.engine, "rmi", &self.name]).output();
        if !removed.is_ok_and(|output| output.status.success()) {
            say(&format!("could not remove the image {}: remove it by hand", self.name));
        }
    }
}

/// Process 1 of every container. Does its argument on SIGTERM; ends by itself with the code in `/exit`.
const SERVE: &str = r#"#!/bin/sh
rm -f /ready
trap "$1" TERM
: >/ready
while :; do
  if [ -e /exit ]; then
    code=$(cat /exit)
    rm /exit
    exit "$code"
  fi
  sleep 0.2 &
  wait $!
done
"#;

/// The healthcheck: hangs, fails or passes by the files somebody put there.
const CHECK: &str = r#"#!/bin/sh
[ -e /hang ] && sleep 100
[ -e /sick ] && { echo "no answer"; exit 1; }
exit 0
"#;
