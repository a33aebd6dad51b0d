//! The wire form and what goes wrong on it, seen by the real adapter in real time, with short deadlines.

use super::{
    super::{
        live::LiveWorld,
        script::ContainerScript,
        truth::{Actor::Somebody, Happened},
        wire::{Misbehaviour, WireEndpoint, WireEngine, WireFault},
    },
    stubborn, web, world,
};
use crate::{
    clock::HostClock,
    docker::{
        adapter::{DockerEngine, Limits},
        connection::UnixDial,
        port::Engine,
    },
    domain::{
        effect::Primitive,
        name::ContainerId,
        observation::{ActOutcome, ContainerState, EventAction, LookFailure},
    },
    tasks::Tasks,
};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
};

const RESTART: Primitive = Primitive::Restart { stop_timeout: Duration::from_secs(10) };
/// Long enough for a busy machine, short enough to wait for.
const DEADLINE: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(30);

struct Served {
    live: Arc<LiveWorld>,
    wire: WireEngine,
    engine: Arc<DockerEngine>,
    _folder: tempfile::TempDir,
}

fn served() -> Served {
    let live = LiveWorld::begin(world(), Arc::new(HostClock::new()));
    let folder = tempfile::tempdir().unwrap();
    let tasks = Tasks::on(tokio::runtime::Handle::current());
    let path = folder.path().join("engine.sock");
    let wire = WireEngine::serve(Arc::clone(&live), path.clone(), &tasks).unwrap();
    let limits = Limits {
        list: DEADLINE,
        inspect: DEADLINE,
        version: DEADLINE,
        open_events: DEADLINE,
        ..Limits::default()
    };
    let engine = DockerEngine::reached_by(UnixDial(path), wire.address(), limits);
    Served { live, wire, engine: Arc::new(engine), _folder: folder }
}

impl Served {
    fn run(&self, script: ContainerScript) -> ContainerId {
        self.live.with(|world, now| world.run(now, script))
    }

    /// Waits until the truth holds it.
    async fn until(&self, wanted: impl Fn(&Happened) -> bool) {
        let found = self.live.find(|world, _| {
            let happened = world.truth().iter().any(|truth| wanted(&truth.what));
            if happened { Ok(()) } else { Err(None) }
        });
        tokio::time::timeout(PATIENCE, found).await.expect("it does not happen");
    }

    fn at(&self, endpoint: WireEndpoint, misbehaviour: Misbehaviour) {
        self.wire.faults().set(vec![WireFault::At(endpoint, misbehaviour)]);
    }

    /// What comes back for one request, whole, as text.
    async fn raw(&self, request: &str) -> String {
        let mut socket = UnixStream::connect(self.wire.path()).await.unwrap();
        let request = format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let reading = socket.read_to_end(&mut answer);
        tokio::time::timeout(PATIENCE, reading).await.unwrap().unwrap();
        String::from_utf8(answer).unwrap()
    }
}

#[tokio::test]
async fn it_says_what_it_is_under_every_version_it_speaks() {
    let served = served();
    for path in ["/version", "/v1.41/version", "/v1.12/version"] {
        let answer = served.raw(&format!("GET {path}")).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains(r#""ApiVersion":"1.41""#), "{answer}");
        assert!(
            answer.contains("date: Sun, 29 Nov 2026 23:30:0"),
            "by the world's clock: {answer}"
        );
    }
    let refused = served.raw("GET /v1.53/version").await;
    assert!(refused.starts_with("HTTP/1.1 400"), "{refused}");
    assert!(refused.contains("Maximum supported API version is 1.41"), "{refused}");
    assert!(served.raw("GET /_ping").await.ends_with("\r\n\r\nOK"));
    assert!(served.raw("GET /info").await.contains(r#""ContainersRunning":0"#));
    assert!(served.raw("GET /nonsense").await.contains("page not found"));
    let garbage = served.raw("GET /containers/json?filters=garbage").await;
    assert!(garbage.starts_with("HTTP/1.1 500"), "{garbage}");
}

#[tokio::test]
async fn an_unknown_word_costs_one_container() {
    let served = served();
    let (odd, fine) = (served.run(web()), served.run(ContainerScript::named("fine")));
    let word = "hibernating".to_owned();
    served.wire.faults().set(vec![
        WireFault::StateWord { container: odd.clone(), word: word.clone() },
        WireFault::UnknownEventType,
    ]);
    let listing = served.engine.list().await.unwrap();
    let state = |id: &ContainerId| {
        listing.containers.iter().find(|row| row.id == *id).map(|row| row.state.clone())
    };
    assert_eq!(state(&odd), Some(ContainerState::Unknown(word.clone())));
    assert_eq!(state(&fine), Some(ContainerState::Running));
    let inspected = served.engine.inspect(odd.clone()).await.unwrap();
    assert_eq!(inspected.state, ContainerState::Unknown(word));
    let mut events = served.engine.events(None).await.unwrap();
    served.live.with(|world, now| world.pause(now, &fine, Somebody));
    let event = tokio::time::timeout(PATIENCE, events.next()).await.unwrap().unwrap();
    assert_eq!((event.container, event.action), (fine, EventAction::Paused));
}

#[tokio::test]
async fn each_misbehaviour_of_a_list_ends_within_its_deadline_as_what_it_is() {
    let served = served();
    served.run(web());
    let list = async |how: Misbehaviour| {
        served.at(WireEndpoint::List, how);
        served.engine.list().await.unwrap_err()
    };
    assert_eq!(list(Misbehaviour::Silent).await, LookFailure::TimedOut(DEADLINE));
    assert_eq!(list(Misbehaviour::StalledBody).await, LookFailure::TimedOut(DEADLINE));
    assert!(matches!(list(Misbehaviour::Denied).await, LookFailure::Denied(_)));
    let failed = list(Misbehaviour::Fails("no".to_owned())).await;
    assert!(matches!(failed, LookFailure::Engine { status: 500, .. }), "{failed:?}");
    assert!(matches!(list(Misbehaviour::Garbled).await, LookFailure::Garbled(_)));
    assert!(matches!(list(Misbehaviour::CutBody).await, LookFailure::Unreachable(_)));
    // Blanks without end run into the bound of the body, or into the deadline, whichever is first.
    let endless = list(Misbehaviour::EndlessBody).await;
    assert!(matches!(endless, LookFailure::Garbled(_) | LookFailure::TimedOut(_)), "{endless:?}");
    served.wire.faults().set(Vec::new());
    assert!(served.engine.list().await.is_ok(), "nothing is left behind");
}

#[tokio::test]
async fn an_inspection_that_hangs_is_one_containers_own() {
    let served = served();
    let (hung, fine) = (served.run(web()), served.run(ContainerScript::named("fine")));
    served.at(WireEndpoint::Inspect(hung.clone()), Misbehaviour::Silent);
    let (inspected, listed, other) = tokio::join!(
        served.engine.inspect(hung.clone()),
        served.engine.list(),
        served.engine.inspect(fine)
    );
    assert_eq!(inspected, Err(LookFailure::TimedOut(DEADLINE)));
    assert!(listed.is_ok() && other.is_ok());
    let count = served.wire.faults().count(&format!("GET /containers/{hung}/json"));
    assert_eq!((count.asked, count.most_waiting), (1, 1));
}

#[tokio::test]
async fn a_denied_act_never_reaches_the_engine() {
    let served = served();
    let id = served.run(web());
    served.at(WireEndpoint::Act, Misbehaviour::Denied);
    let outcome = served.engine.act(id, RESTART).await;
    assert!(matches!(outcome, ActOutcome::Denied(_)), "{outcome:?}");
    served.live.with(|world, _| {
        let mut truth = world.truth().iter();
        assert!(!truth.any(|it| matches!(it.what, Happened::ActionReceived { .. })));
    });
}

#[tokio::test]
async fn a_restart_goes_on_when_its_client_disconnects() {
    let served = served();
    let stop_timeout = Some(Duration::from_secs(1));
    let id = served.run(ContainerScript { stop_timeout, ..stubborn() });
    let mut client = UnixStream::connect(served.wire.path()).await.unwrap();
    let request = format!("POST /containers/{id}/restart HTTP/1.1\r\nHost: x\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    served.until(|happened| matches!(happened, Happened::ActionReceived { .. })).await;
    drop(client);
    served.until(|happened| matches!(happened, Happened::Restarted { .. })).await;
}

#[tokio::test]
async fn an_engine_that_goes_away_breaks_what_waits_for_it() {
    let served = served();
    let id = served.run(stubborn());
    let mut events = served.engine.events(None).await.unwrap();
    let engine = Arc::clone(&served.engine);
    let acting = async { engine.act(id, RESTART).await };
    let leaving = async {
        served.until(|happened| matches!(happened, Happened::ActionReceived { .. })).await;
        served.live.with(|world, now| world.engine_restart(now, Duration::from_secs(1)));
    };
    let (outcome, ()) = tokio::join!(acting, leaving);
    assert!(matches!(outcome, ActOutcome::Unreachable(_)), "{outcome:?}");
    let ended = tokio::time::timeout(PATIENCE, async {
        loop {
            if let Err(end) = events.next().await {
                return end;
            }
        }
    });
    assert!(matches!(ended.await.unwrap(), LookFailure::Unreachable(_)));
    assert!(matches!(served.engine.list().await, Err(LookFailure::Unreachable(_))));
    served.until(|happened| matches!(happened, Happened::EngineCameUp)).await;
    assert!(served.engine.list().await.is_ok());
}

#[tokio::test]
async fn a_thousand_containers_are_listed_whole() {
    let served = served();
    for n in 0..1000 {
        served.run(ContainerScript::named(format!("c{n}")).with_label("n", n.to_string()));
    }
    let listing = served.engine.list().await.unwrap();
    assert_eq!((listing.containers.len(), listing.undecodable), (1000, 0));
}
