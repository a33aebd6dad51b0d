//! The stage on the host's engine.
//!
//! Making and removing is none of the daemon's work and not in its port: it goes through bollard's own client here. The
//! containers need no network, no volume and no rights, and run what is in [`image`]. Docker's healthcheck is the evidence,
//! so nothing has to be reached from outside.

use super::{Cleared, StageProblem, container_name};
use crate::{
    cli::demo::{
        image::{self, Image},
        interrupts::Interrupts,
        patient::Mode,
        role::{Role, STOP_TIMEOUT},
        run_id::{LABEL, RunId},
    },
    docker::{
        adapter::DockerEngine,
        address::EngineAddress,
        connection::{ApiVersion, EngineVersion},
        port::within,
    },
    domain::name::ContainerId,
};
use bollard::{
    ClientVersion, Docker,
    errors::Error as BollardError,
    models::{ContainerCreateBody, HealthConfig, HostConfig},
    query_parameters::{
        CreateContainerOptionsBuilder, CreateImageOptionsBuilder, InspectContainerOptions,
        RemoveContainerOptionsBuilder, RemoveImageOptionsBuilder,
    },
};
use futures_util::{TryStreamExt, future::join_all};
use std::{collections::BTreeMap, future::Future, sync::Arc, time::Duration};

/// Bollard's own limit, above all of ours.
const BOLLARD_SECONDS: u64 = 120;

/// Some ten megabytes are unpacked; a busy disk takes a few seconds for that.
const IMPORT_WITHIN: Duration = Duration::from_secs(30);

/// Every other call.
const CALL_WITHIN: Duration = Duration::from_secs(10);

/// A removal that fails is tried again, this often …
const REMOVALS: u32 = 3;

/// … within so long: who waits for the end of the demo is told what is left then.
const REMOVED_WITHIN: Duration = Duration::from_secs(12);

const REPOSITORY: &str = "defib-demo";

/// See the module.
pub struct Real {
    docker: Docker,
    engine: Arc<DockerEngine>,
    image: Option<String>,
    containers: Vec<Made>,
}

/// A container that was asked for.
struct Made {
    role: Role,
    name: String,
    run: RunId,
    /// Not known where the answer was lost.
    id: Option<ContainerId>,
}

impl Real {
    /// On the engine that answered so.
    ///
    /// # Errors
    /// Where its socket can't be used by a second client.
    pub fn on(
        address: &EngineAddress,
        engine: Arc<DockerEngine>,
        version: &EngineVersion,
    ) -> Result<Self, StageProblem> {
        let path = address.path().to_string_lossy();
        let docker = Docker::connect_with_unix(&path, BOLLARD_SECONDS, &spoken(version.api))
            .map_err(|error| problem("connect to the engine", &error))?;
        Ok(Self { docker, engine, image: None, containers: Vec::new() })
    }

    pub(super) fn engine(&self) -> Arc<DockerEngine> {
        Arc::clone(&self.engine)
    }

    pub(super) fn containers(&self) -> BTreeMap<Role, ContainerId> {
        self.containers.iter().filter_map(|made| Some((made.role, made.id.clone()?))).collect()
    }

    /// No call is broken off half-way by an interrupt: what it makes would not be known.
    pub(super) async fn make(
        &mut self,
        run: &RunId,
        interrupts: &Interrupts,
    ) -> Result<(), StageProblem> {
        let image = image::of_this_program().map_err(|error| StageProblem {
            doing: "pack this program for an image".to_owned(),
            cause: error.to_string(),
        })?;
        let start = self.import(run, image).await?;
        for role in Role::ALL {
            if interrupts.came().is_some() {
                return Ok(());
            }
            self.create(run, role, &start).await?;
        }
        Ok(())
    }

    async fn import(&mut self, run: &RunId, image: Image) -> Result<Vec<String>, StageProblem> {
        self.image = Some(format!("{REPOSITORY}:{run}"));
        let options = CreateImageOptionsBuilder::new()
            .from_src("-")
            .repo(REPOSITORY)
            .tag(run.as_str())
            .changes(vec![format!("LABEL {LABEL}={run}")])
            .build();
        let body = bollard::body_full(image.tar.into());
        let steps = self.docker.create_image(Some(options), Some(body), None);
        let imported = steps.try_for_each(|_| async { Ok(()) });
        call(IMPORT_WITHIN, "import the image", imported).await?;
        Ok(image.start)
    }

    async fn create(
        &mut self,
        run: &RunId,
        role: Role,
        start: &[String],
    ) -> Result<(), StageProblem> {
        let name = container_name(run, role);
        self.containers.push(Made { role, name: name.clone(), run: run.clone(), id: None });
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let body = self.container(run, role, start);
        let doing = format!("create the container `{name}`");
        let created =
            call(CALL_WITHIN, &doing, self.docker.create_container(Some(options), body)).await?;
        if let Some(made) = self.containers.last_mut() {
            made.id = Some(ContainerId::new(created.id));
        }
        Ok(())
    }

    fn container(&self, run: &RunId, role: Role, start: &[String]) -> ContainerCreateBody {
        let command = |mode: Mode| {
            start.iter().cloned().chain(["demo-patient".to_owned(), mode.word().to_owned()])
        };
        let check = ["CMD".to_owned()].into_iter().chain(command(Mode::Healthcheck)).collect();
        let nanoseconds = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        ContainerCreateBody {
            image: self.image.clone(),
            entrypoint: Some(command(Mode::of(role)).collect()),
            labels: Some(labels(run)),
            stop_timeout: i64::try_from(STOP_TIMEOUT.as_secs()).ok(),
            healthcheck: Some(HealthConfig {
                test: Some(check),
                interval: Some(nanoseconds(Duration::from_secs(1))),
                // The check's own deadline is shorter, and has the better words. A busy host that is slow to start it is
                // no failure of the container's.
                timeout: Some(nanoseconds(Duration::from_secs(3))),
                retries: Some(3),
                ..HealthConfig::default()
            }),
            host_config: Some(HostConfig {
                network_mode: Some("none".to_owned()),
                // An init of the engine's would end on the SIGTERM that the program behind it ignores.
                init: Some(false),
                ..HostConfig::default()
            }),
            ..ContainerCreateBody::default()
        }
    }

    pub(super) async fn clear(self) -> Cleared {
        let mut cleared = Cleared::default();
        let removals = self.containers.iter().map(|made| bounded(self.remove(made)));
        for (made, removal) in self.containers.iter().zip(join_all(removals).await) {
            match removal {
                Ok(true) => cleared.containers += 1,
                Ok(false) => {}
                Err(StageProblem { cause, .. }) => {
                    tracing::warn!(container = made.name, cause, "a container was left behind");
                    cleared.left.push(format!("docker rm --force {}", made.name));
                }
            }
        }
        let Some(image) = &self.image else { return cleared };
        match bounded(self.remove_image(image)).await {
            Ok(true) => cleared.images += 1,
            Ok(false) => {}
            Err(StageProblem { cause, .. }) => {
                tracing::warn!(image, cause, "an image was left behind");
                cleared.left.push(format!("docker rmi --force {image}"));
            }
        }
        cleared
    }

    /// True where there was one.
    async fn remove(&self, made: &Made) -> Result<bool, StageProblem> {
        let id = match &made.id {
            Some(id) => id.as_str().to_owned(),
            None => match self.find(made).await? {
                Some(id) => id,
                None => return Ok(false),
            },
        };
        let options = || RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        removed(|| self.docker.remove_container(&id, Some(options()))).await
    }

    /// The container whose answer was lost, if it was made and is ours.
    async fn find(&self, made: &Made) -> Result<Option<String>, StageProblem> {
        let asked = self.docker.inspect_container(&made.name, None::<InspectContainerOptions>);
        let found = call(CALL_WITHIN, "look for a container", async {
            match asked.await {
                Err(error) if status(&error) == Some(404) => Ok(None),
                other => other.map(Some),
            }
        })
        .await?;
        Ok(found.and_then(|found| {
            let labels = found.config?.labels?;
            (labels.get(LABEL).map(String::as_str) == Some(made.run.as_str()))
                .then_some(found.id)
                .flatten()
        }))
    }

    async fn remove_image(&self, image: &str) -> Result<bool, StageProblem> {
        let options = || RemoveImageOptionsBuilder::new().force(true).build();
        removed(|| self.docker.remove_image(image, Some(options()), None)).await
    }
}

async fn bounded(
    removal: impl Future<Output = Result<bool, StageProblem>>,
) -> Result<bool, StageProblem> {
    let late = || StageProblem {
        doing: "remove it".to_owned(),
        cause: format!("not done within {} s", REMOVED_WITHIN.as_secs()),
    };
    tokio::time::timeout(REMOVED_WITHIN, removal).await.unwrap_or_else(|_| Err(late()))
}

/// Removes until it is gone. True where it was there.
async fn removed<T, F>(remove: impl Fn() -> F) -> Result<bool, StageProblem>
where
    F: Future<Output = Result<T, BollardError>>,
{
    let mut tries = 0;
    loop {
        tries += 1;
        let gone = call(CALL_WITHIN, "remove it", async {
            match remove().await {
                Ok(_) => Ok(true),
                Err(error) if status(&error) == Some(404) => Ok(false),
                Err(error) => Err(error),
            }
        });
        match gone.await {
            Err(_) if tries < REMOVALS => {}
            // What an earlier try removed without an answer was there.
            Ok(false) if tries > 1 => return Ok(true),
            other => return other,
        }
    }
}

#[expect(
    clippy::disallowed_types,
    reason = "bollard's models take no other map; nothing reads its order"
)]
fn labels(run: &RunId) -> std::collections::HashMap<String, String> {
    std::collections::HashMap::from([(LABEL.to_owned(), run.to_string())])
}

fn spoken(api: ApiVersion) -> ClientVersion {
    let number = |part: u32| usize::try_from(part).unwrap_or(usize::MAX);
    ClientVersion { major_version: number(api.major), minor_version: number(api.minor) }
}

fn status(error: &BollardError) -> Option<u16> {
    match error {
        BollardError::DockerResponseServerError { status_code, .. } => Some(*status_code),
        _ => None,
    }
}

async fn call<T>(
    deadline: Duration,
    doing: &str,
    work: impl Future<Output = Result<T, BollardError>>,
) -> Result<T, StageProblem> {
    within(deadline, work)
        .await
        .map_err(|late| StageProblem { doing: doing.to_owned(), cause: late.to_string() })?
        .map_err(|error| problem(doing, &error))
}

fn problem(doing: &str, error: &BollardError) -> StageProblem {
    let cause = match error {
        BollardError::DockerResponseServerError { status_code, message } => {
            format!("the engine answers {status_code}: {message}")
        }
        other => other.to_string(),
    };
    StageProblem { doing: doing.to_owned(), cause }
}
