//! The stage on the host's engine.
//!
//! Making and removing is none of the daemon's work and not in its port: it goes through bollard's own client here. The
//! containers need no network, no volume and no rights, and run what is in [`image`]. Docker's healthcheck is the evidence,
//! so nothing has to be reached from outside.

mod calls;

use self::calls::{call, problem, status};
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

/// A call that makes something and was left without an answer may still be carried out: what it makes is looked for so often …
const LOOKS: u32 = 12;

/// … with this between.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// A removal that fails is tried again, this often …
const REMOVALS: u32 = 3;

/// … within so long: who waits for the end of the demo is told what is left then.
const REMOVED_WITHIN: Duration = Duration::from_secs(12);

const REPOSITORY: &str = "defib-demo";

/// See the module.
pub struct Real {
    docker: Docker,
    engine: Arc<DockerEngine>,
    patience: Patience,
    image: Option<Imported>,
    containers: Vec<Made>,
}

/// How long the making calls may take.
struct Patience {
    import: Duration,
    create: Duration,
}

/// An image that was asked for.
struct Imported {
    name: String,
    /// The engine may still make it.
    unanswered: bool,
}

/// A container that was asked for.
struct Made {
    role: Role,
    name: String,
    run: RunId,
    /// Not known where the answer was lost.
    id: Option<ContainerId>,
    /// The engine may still make it.
    unanswered: bool,
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
        let patience = Patience { import: IMPORT_WITHIN, create: CALL_WITHIN };
        Ok(Self { docker, engine, patience, image: None, containers: Vec::new() })
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
        let imported = Imported { name: format!("{REPOSITORY}:{run}"), unanswered: true };
        let known = self.image.insert(imported);
        let options = CreateImageOptionsBuilder::new()
            .from_src("-")
            .repo(REPOSITORY)
            .tag(run.as_str())
            .changes(vec![format!("LABEL {LABEL}={run}")])
            .build();
        let body = bollard::body_full(image.tar.into());
        let steps = self.docker.create_image(Some(options), Some(body), None);
        let imported = steps.try_for_each(|_| async { Ok(()) });
        let imported = call(self.patience.import, "import the image", imported).await;
        known.unanswered = imported.as_ref().is_err_and(|failed| !failed.is_answer);
        imported?;
        Ok(image.start)
    }

    async fn create(
        &mut self,
        run: &RunId,
        role: Role,
        start: &[String],
    ) -> Result<(), StageProblem> {
        let name = container_name(run, role);
        let body = self.container(run, role, start);
        self.containers.push(Made {
            role,
            name: name.clone(),
            run: run.clone(),
            id: None,
            unanswered: true,
        });
        let options = CreateContainerOptionsBuilder::new().name(&name).build();
        let doing = format!("create the container `{name}`");
        let asked = self.docker.create_container(Some(options), body);
        let created = call(self.patience.create, &doing, asked).await;
        if let Some(made) = self.containers.last_mut() {
            made.unanswered = created.as_ref().is_err_and(|failed| !failed.is_answer);
            made.id = created.as_ref().ok().map(|created| ContainerId::new(created.id.clone()));
        }
        created?;
        Ok(())
    }

    fn container(&self, run: &RunId, role: Role, start: &[String]) -> ContainerCreateBody {
        let command = |mode: Mode| {
            start.iter().cloned().chain(["demo-patient".to_owned(), mode.word().to_owned()])
        };
        let check = ["CMD".to_owned()].into_iter().chain(command(Mode::Healthcheck)).collect();
        let nanoseconds = |span: Duration| i64::try_from(span.as_nanos()).unwrap_or(i64::MAX);
        ContainerCreateBody {
            image: self.image.as_ref().map(|image| image.name.clone()),
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
                tracing::warn!(image = image.name, cause, "an image was left behind");
                cleared.left.push(format!("docker rmi --force {}", image.name));
            }
        }
        cleared
    }

    /// True where there was one.
    async fn remove(&self, made: &Made) -> Result<bool, StageProblem> {
        let id = match &made.id {
            Some(id) => id.as_str().to_owned(),
            None => {
                let found = when_it_comes(made.unanswered, async || self.find(made).await).await?;
                match found {
                    Some(id) => id,
                    None => return Ok(false),
                }
            }
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

    async fn remove_image(&self, image: &Imported) -> Result<bool, StageProblem> {
        let options = || RemoveImageOptionsBuilder::new().force(true).build();
        let remove = async || {
            let gone = removed(|| self.docker.remove_image(&image.name, Some(options()), None));
            Ok(gone.await?.then_some(()))
        };
        Ok(when_it_comes(image.unanswered, remove).await?.is_some())
    }
}

/// What a look finds. Where the engine may still be making it, it is looked for again for some seconds; and nobody can say that
/// it is not there even then.
async fn when_it_comes<T>(
    unanswered: bool,
    look: impl AsyncFn() -> Result<Option<T>, StageProblem>,
) -> Result<Option<T>, StageProblem> {
    let mut looks = 1;
    loop {
        match look().await? {
            None if unanswered && looks < LOOKS => {
                looks += 1;
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            None if unanswered => {
                return Err(StageProblem {
                    doing: "remove it".to_owned(),
                    cause: "the engine did not answer when it was asked to make it, and may do so \
                            yet"
                    .to_owned(),
                });
            }
            found => return Ok(found),
        }
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
            other => return Ok(other?),
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

#[cfg(test)]
mod tests;
