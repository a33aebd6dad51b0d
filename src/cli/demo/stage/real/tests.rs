//! Clearing up after an engine that answers late, never, or with what a terminal obeys.

use super::*;
use crate::docker::scripted::{Reply, Scripted};
use std::sync::atomic::{AtomicU32, Ordering};

/// On a scripted engine, with short patience for what is made.
fn on(engine: &Scripted) -> Real {
    let address = EngineAddress::parse(&format!("unix://{}", engine.socket().display())).unwrap();
    let version = EngineVersion {
        version: String::new(),
        api: ApiVersion { major: 1, minor: 41 },
        flavour: crate::docker::connection::Flavour::Docker,
    };
    let moment = Duration::from_millis(200);
    let real = Real::on(&address, Arc::new(DockerEngine::new(&address)), &version).unwrap();
    Real { patience: Patience { import: moment, create: moment }, ..real }
}

fn says(status: u16, body: &str) -> Reply {
    Reply::Says(status, body.to_owned())
}

fn image() -> Image {
    Image { tar: b"tar".to_vec(), start: vec!["/defib".to_owned()] }
}

#[tokio::test]
async fn a_container_that_is_made_after_its_call_was_given_up_is_removed() {
    let (run, looks) = (RunId::new(&crate::clock::HostClock::new()), AtomicU32::new(0));
    let body = format!(r#"{{"Id":"ab12","Config":{{"Labels":{{"{LABEL}":"{run}"}}}}}}"#);
    let engine = Scripted::following(move |request| match request.split(' ').next() {
        Some("POST") => Reply::Stalls(Vec::new()),
        Some("GET") if looks.fetch_add(1, Ordering::SeqCst) < 2 => says(404, "{}"),
        Some("GET") => says(200, &body),
        _ => says(204, ""),
    });
    let mut real = on(&engine);
    let problem = real.create(&run, Role::ALL[0], &[]).await.unwrap_err();
    assert!(problem.cause.contains("no answer within"), "{}", problem.cause);
    let cleared = real.clear().await;
    assert_eq!(cleared, Cleared { containers: 1, images: 0, left: Vec::new() });
    assert!(engine.requests().iter().any(|asked| asked.starts_with("DELETE")));
}

#[tokio::test]
async fn what_may_still_be_made_is_named_and_not_called_removed() {
    let run = RunId::new(&crate::clock::HostClock::new());
    let engine = Scripted::following(|request| match request.split(' ').next() {
        Some("POST") => Reply::Stalls(Vec::new()),
        _ => says(404, "{}"),
    });
    let mut real = on(&engine);
    real.import(&run, image()).await.unwrap_err();
    let cleared = real.clear().await;
    let image = format!("docker rmi --force {REPOSITORY}:{run}");
    assert_eq!(cleared, Cleared { containers: 0, images: 0, left: vec![image] });

    let mut real = on(&engine);
    real.create(&run, Role::ALL[0], &[]).await.unwrap_err();
    let name = container_name(&run, Role::ALL[0]);
    assert_eq!(real.clear().await.left, [format!("docker rm --force {name}")]);
}

#[tokio::test]
async fn what_the_engine_refused_to_make_is_not_waited_for_and_shows_no_secret() {
    let engine = Scripted::following(|request| match request.split(' ').next() {
        Some("POST") => {
            says(500, r#"{"message":"pull of https://u:hunter2@hub/x\n\u001b[2Jdenied"}"#)
        }
        _ => says(404, "{}"),
    });
    let mut real = on(&engine);
    let problem = real
        .create(&RunId::new(&crate::clock::HostClock::new()), Role::ALL[0], &[])
        .await
        .unwrap_err();
    let said = problem.to_string();
    assert!(said.contains("https://u:[redacted]@hub/x"), "{said}");
    assert!(!said.contains("hunter2") && !said.contains(char::is_control), "{said}");
    assert_eq!(real.clear().await, Cleared::default());
    let looks = engine.requests().iter().filter(|asked| asked.starts_with("GET")).count();
    assert_eq!(looks, 1, "it said that there is none");
}
