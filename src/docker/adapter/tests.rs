//! The adapter against an engine that says exactly what it is told to, over a real socket.

mod events;

use super::*;
use crate::docker::scripted::{DOCKER, PODMAN, Reply, Scripted};
use std::{
    collections::BTreeMap,
    os::unix::net::UnixListener,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
};

fn short() -> Limits {
    let moment = Duration::from_millis(300);
    Limits {
        list: moment,
        inspect: moment,
        version: moment,
        open_events: moment,
        events_idle: moment,
        ..Limits::default()
    }
}

fn id() -> ContainerId {
    ContainerId::new("ab12")
}

const RESTART: Primitive = Primitive::Restart { stop_timeout: Duration::from_secs(45) };

async fn acted(reply: Reply, primitive: Primitive) -> (ActOutcome, Vec<String>) {
    let scripted = Scripted::docker(reply);
    let outcome = scripted.engine().act(id(), primitive).await;
    (outcome, scripted.requests())
}

#[tokio::test]
async fn each_act_is_one_request_by_id_with_the_version_in_front() {
    let done = || Reply::Says(204, String::new());
    for (primitive, wanted) in [
        (RESTART, "POST /v1.41/containers/ab12/restart"),
        (Primitive::Kill, "POST /v1.41/containers/ab12/kill?signal=SIGKILL"),
        (Primitive::Start, "POST /v1.41/containers/ab12/start"),
    ] {
        let (outcome, requests) = acted(done(), primitive).await;
        assert_eq!(outcome, ActOutcome::Done);
        assert_eq!(requests, ["GET /version", wanted]);
    }
}

#[tokio::test]
async fn podman_is_told_the_stop_timeout() {
    let scripted = Scripted::following(|request| match request {
        "GET /version" => Reply::Says(200, PODMAN.to_owned()),
        _ => Reply::Says(204, String::new()),
    });
    assert_eq!(scripted.engine().act(id(), RESTART).await, ActOutcome::Done);
    assert_eq!(scripted.requests()[1], "POST /v1.41/containers/ab12/restart?t=45");
}

#[tokio::test]
async fn an_acts_outcome_is_told_by_its_status() {
    let said = |status, text: &str| Reply::Says(status, format!(r#"{{"message":"{text}"}}"#));
    let outcome = async |reply| acted(reply, RESTART).await.0;
    assert_eq!(outcome(said(304, "")).await, ActOutcome::Done);
    assert_eq!(outcome(said(404, "No such container: ab12")).await, ActOutcome::NoSuchContainer);
    let ActOutcome::Denied(text) = outcome(said(403, "Forbidden by policy")).await else {
        panic!("not denied")
    };
    assert!(text.starts_with("unix:///the.sock answered 403: Forbidden by policy;"), "{text}");
    let message = "did not receive an exit event".to_owned();
    let failed = ActOutcome::Failed { status: 500, message: message.clone() };
    assert_eq!(outcome(said(500, &message)).await, failed);
    let ActOutcome::Failed { status: 409, message } = outcome(said(409, &"x".repeat(9000))).await
    else {
        panic!("not failed")
    };
    assert_eq!(message.len(), 500);
    let endless = b"HTTP/1.1 500 X\r\n\r\n".iter().copied().chain([b'x'; 200_000]).collect();
    let ActOutcome::Failed { status: 500, message } = outcome(Reply::Raw(endless)).await else {
        panic!("not failed")
    };
    assert_eq!(message, "the answer is larger than 65536 bytes");
}

#[tokio::test]
async fn an_act_whose_connection_breaks_may_have_arrived() {
    for bytes in ["", "HTTP/1.1 20", "SSH-2.0-OpenSSH\r\n"] {
        let (outcome, _) = acted(Reply::Raw(bytes.as_bytes().to_vec()), RESTART).await;
        let ActOutcome::Unreachable(text) = outcome else { panic!("{outcome:?}") };
        assert!(text.contains("the connection broke before the answer was whole"), "{text}");
    }
}

#[tokio::test]
async fn what_is_no_id_is_never_sent() {
    let scripted = Scripted::docker(Reply::Says(204, String::new()));
    let engine = scripted.engine();
    for text in ["", "../info", "web 1", "a?b", "a%2fb", "web-1"] {
        let outcome = engine.act(ContainerId::new(text), Primitive::Kill).await;
        assert!(matches!(outcome, ActOutcome::Unreachable(_)), "{outcome:?}");
        let look = engine.inspect(ContainerId::new(text)).await;
        assert!(matches!(look, Err(LookFailure::Garbled(_))), "{look:?}");
    }
    assert_eq!(scripted.requests(), [""; 0]);
}

#[tokio::test]
async fn an_engine_that_is_not_there_yet_is_found_when_it_comes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("late.sock");
    let engine = DockerEngine::new(&EngineAddress::Unix(path.clone()));
    let Err(LookFailure::Unreachable(text)) = engine.list().await else {
        panic!("not unreachable")
    };
    assert!(text.contains("late.sock: there is no such socket"), "{text}");
    assert!(text.contains("systemctl start docker"), "{text}");
    let outcome = engine.act(id(), RESTART).await;
    assert!(matches!(outcome, ActOutcome::Unreachable(_)), "{outcome:?}");

    drop(UnixListener::bind(&path).unwrap());
    let Err(LookFailure::Unreachable(text)) = engine.list().await else {
        panic!("not unreachable")
    };
    assert!(text.contains("nobody listens"), "{text}");

    let scripted = Scripted::docker(Reply::Says(200, "[]".to_owned()));
    std::fs::rename(scripted.socket(), &path).unwrap();
    assert_eq!(engine.list().await.map(|listing| listing.containers.len()), Ok(0));
    std::fs::rename(&path, scripted.socket()).unwrap();
}

#[tokio::test]
async fn the_version_is_asked_once_and_again_after_it_was_refused() {
    let refused = Arc::new(AtomicBool::new(false));
    let refuse = Arc::clone(&refused);
    let scripted = Scripted::following(move |request| match request {
        "GET /version" if refuse.load(Ordering::Relaxed) => {
            Reply::Says(200, r#"{"ApiVersion":"1.52","MinAPIVersion":"1.44"}"#.to_owned())
        }
        "GET /version" => Reply::Says(200, DOCKER.to_owned()),
        old if old.contains("v1.41") && refuse.load(Ordering::Relaxed) => {
            Reply::Says(400, r#"{"message":"client version 1.41 is too old"}"#.to_owned())
        }
        _ => Reply::Says(200, "[]".to_owned()),
    });
    let engine = scripted.engine();
    engine.list().await.unwrap();
    engine.list().await.unwrap();
    refused.store(true, Ordering::Relaxed);
    let message = "client version 1.41 is too old".to_owned();
    assert_eq!(engine.list().await, Err(LookFailure::Engine { status: 400, message }));
    engine.list().await.unwrap();
    let mut paths = BTreeMap::new();
    for request in scripted.requests() {
        *paths.entry(request).or_insert(0) += 1;
    }
    let counted: Vec<_> = paths.iter().map(|(path, n)| (path.as_str(), *n)).collect();
    assert_eq!(
        counted,
        [
            ("GET /v1.41/containers/json?all=true", 3),
            ("GET /v1.47/containers/json?all=true", 1),
            ("GET /version", 2),
        ]
    );
}

#[tokio::test]
async fn looks_fail_as_what_they_are() {
    let inspected = async |reply| Scripted::docker(reply).engine().inspect(id()).await.unwrap_err();
    let missing = inspected(Reply::Says(404, "page not found".to_owned())).await;
    assert_eq!(missing, LookFailure::NoSuchContainer);
    let denied = inspected(Reply::Says(403, "no".to_owned())).await;
    assert!(matches!(denied, LookFailure::Denied(_)), "{denied:?}");
    let failed = inspected(Reply::Says(500, r#"{"message":"boom"}"#.to_owned())).await;
    assert_eq!(failed, LookFailure::Engine { status: 500, message: "boom".to_owned() });
    let garbled = inspected(Reply::Says(200, "<html>".to_owned())).await;
    assert!(matches!(garbled, LookFailure::Garbled(_)), "{garbled:?}");
    let huge = inspected(Reply::Says(200, " ".repeat(INSPECT_LIMIT + 1))).await;
    let text = "unix:///the.sock: the answer is larger than 1048576 bytes".to_owned();
    assert_eq!(huge, LookFailure::Garbled(text));
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"Id\"".to_vec();
    let broken = inspected(Reply::Raw(cut)).await;
    assert!(matches!(broken, LookFailure::Unreachable(_)), "{broken:?}");
}

#[tokio::test]
async fn an_engine_that_does_not_tell_its_version_says_nothing_of_a_container() {
    for status in [404, 503] {
        let scripted = Scripted::following(move |_| Reply::Says(status, "page not found".into()));
        let engine = scripted.engine();
        let message = "page not found (asked for its version)".to_owned();
        let failure = LookFailure::Engine { status, message };
        assert_eq!(engine.inspect(id()).await.unwrap_err(), failure);
        assert_eq!(engine.list().await.unwrap_err(), failure);
        let outcome = engine.act(id(), RESTART).await;
        let text = format!(
            "not sent to unix:///the.sock: asked for its version, it answers {status}: page not found"
        );
        assert_eq!(outcome, ActOutcome::Unreachable(text));
        assert!(scripted.requests().iter().all(|request| request == "GET /version"));
    }
    let scripted = Scripted::following(|_| Reply::Says(403, "no".to_owned()));
    let denied = scripted.engine().inspect(id()).await.unwrap_err();
    assert!(matches!(denied, LookFailure::Denied(_)), "{denied:?}");
    let denied = scripted.engine().act(id(), RESTART).await;
    assert!(matches!(denied, ActOutcome::Denied(_)), "{denied:?}");
}

#[tokio::test]
async fn a_body_without_an_end_is_given_up_at_its_bound() {
    let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    bytes.resize(bytes.len() + INSPECT_LIMIT + 4096, b' ');
    let scripted = Scripted::docker(Reply::Stalls(bytes));
    let failure = scripted.engine().inspect(id()).await.unwrap_err();
    assert!(matches!(failure, LookFailure::Garbled(_)), "{failure:?}");
    assert_eq!(
        scripted.hung_up.recv_timeout(Duration::from_secs(10)).unwrap(),
        "GET /v1.41/containers/ab12/json"
    );
}

#[tokio::test]
async fn a_look_without_an_answer_ends_in_its_time_and_closes_its_connection() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{".to_vec();
    for bytes in [Vec::new(), head] {
        let scripted = Scripted::docker(Reply::Stalls(bytes));
        let failure = scripted.engine_within(short()).inspect(id()).await.unwrap_err();
        assert_eq!(failure, LookFailure::TimedOut(Duration::from_millis(300)));
        scripted.hung_up.recv_timeout(Duration::from_secs(10)).expect("the connection stays open");
    }
}

#[tokio::test]
async fn a_hung_inspection_does_not_hold_up_the_list_and_leaks_no_turn() {
    let scripted = Scripted::following(|request| match request {
        "GET /version" => Reply::Says(200, DOCKER.to_owned()),
        inspect if inspect.ends_with("ab12/json") => Reply::Stalls(Vec::new()),
        inspect if inspect.ends_with("cd34/json") => {
            Reply::Says(200, r#"{"Id":"cd34","State":{"Status":"running"}}"#.to_owned())
        }
        _ => Reply::Says(200, "[]".to_owned()),
    });
    let limits = Limits { inspects_at_once: 1, list: Duration::from_secs(10), ..short() };
    let engine = scripted.engine_within(limits);
    let timed_out = LookFailure::TimedOut(limits.inspect);
    let (hung, waiting, listed) =
        tokio::join!(engine.inspect(id()), engine.inspect(id()), engine.list());
    assert_eq!(hung.unwrap_err(), timed_out);
    assert_eq!(waiting.unwrap_err(), timed_out, "waiting for a turn counts");
    assert_eq!(listed.unwrap().containers.len(), 0);
    assert_eq!(engine.inspect(ContainerId::new("cd34")).await.unwrap().name, "cd34");
}

#[tokio::test]
async fn an_act_on_an_engine_that_hangs_is_found_out_before_it_is_sent() {
    let scripted = Scripted::following(|_| Reply::Stalls(Vec::new()));
    let outcome = scripted.engine_within(short()).act(id(), RESTART).await;
    let ActOutcome::Unreachable(text) = outcome else { panic!("{outcome:?}") };
    assert!(text.starts_with("not sent to unix:///the.sock"), "{text}");
    assert_eq!(scripted.requests(), ["GET /version"]);
}
