//! Sockets whose disk hangs, whose name goes away, or whose name somebody else has.

use super::{name::connect_to, *};
use crate::log_of::LogOf;
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with},
};
use std::{
    os::unix::{
        fs::MetadataExt,
        net::{UnixListener as Somebody, UnixStream as Peer},
    },
    sync::atomic::{AtomicBool, Ordering},
};
use tokio::{runtime::Handle, time::timeout};

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

async fn served(dir: &Path) -> Result<mpsc::Receiver<Order>, SocketProblem> {
    let (orders, taken) = mpsc::channel(1);
    let (_, refused) = watch::channel(None);
    let tasks = Tasks::on(Handle::current());
    serve(dir, "host".to_owned(), refused, orders, &tasks).await.map(|()| taken)
}

fn asked() -> (Asked, mpsc::Receiver<Order>) {
    let (orders, taken) = mpsc::channel(1);
    let (_, refused_reload) = watch::channel(None);
    (Asked { host: "host".to_owned(), hold_file: HOLD.into(), refused_reload, orders }, taken)
}

#[tokio::test]
async fn a_socket_on_a_disk_that_hangs_holds_nothing_up_and_is_served_when_it_comes_back() {
    let dir = tempfile::tempdir().unwrap();
    let (at, path) = (dir.path().to_owned(), dir.path().join(SOCKET));
    let (disk_is_mended, hangs) = std::sync::mpsc::sync_channel::<()>(0);
    let (asked, mut taken) = asked();
    let tasks = Tasks::on(Handle::current());
    let open = move || {
        hangs.recv().ok();
        Name::open(&at)
    };
    let served = serve_opened_by(open, Duration::from_millis(50), &path, asked, &tasks);
    let problem = timeout(PATIENCE, served).await.unwrap().unwrap_err();
    assert!(matches!(problem, SocketProblem::Hangs { .. }), "{problem:?}");
    drop(disk_is_mended);
    let asking = async {
        let mut asks = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        asks.write_all(b"\"status\"\n").await.unwrap();
        taken.recv().await
    };
    let order = timeout(PATIENCE, asking).await.expect("it is served");
    assert!(matches!(order, Some(Order::Show(_))));
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_accepted_is_told_of_once() {
    let dir = tempfile::tempdir().unwrap();
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
    bind(&socket, &SocketAddrUnix::new(dir.path().join(SOCKET)).unwrap()).unwrap();
    // It does not listen: each accept fails at once, as it does where the process has no files left.
    let listener = UnixListener::from_std(socket.into()).unwrap();
    let (_anew, listeners) = mpsc::channel(1);
    let (asked, _taken) = asked();
    let tasks = Tasks::on(Handle::current());
    let log = LogOf::here();
    let accepts = accept(listener, listeners, Arc::new(asked), tasks);
    assert!(timeout(60 * ACCEPT_AGAIN, accepts).await.is_err());
    let log = log.text();
    assert_eq!(log.matches("could not accept").count(), 1, "{log}");
}

#[tokio::test]
async fn a_socket_on_which_another_daemon_answers_is_left_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let mut first = served(dir.path()).await.unwrap();
    let problem = served(dir.path()).await.unwrap_err();
    assert!(matches!(problem, SocketProblem::Taken { .. }), "{problem:?}");
    let text = problem.to_string();
    assert!(text.starts_with("another daemon answers on the control socket "), "{text}");

    let mut asks = UnixStream::connect(dir.path().join(SOCKET)).await.unwrap();
    asks.write_all(b"\"status\"\n").await.unwrap();
    assert!(matches!(first.recv().await, Some(Order::Show(_))), "the first one still answers");
}

#[tokio::test]
async fn a_daemon_that_hangs_keeps_its_socket_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(SOCKET);
    let address = SocketAddrUnix::new(&path).unwrap();
    let hangs =
        socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
    bind(&hangs, &address).unwrap();
    listen(&hangs, 0).unwrap();
    let _waits = Peer::connect(&path).unwrap();
    assert_eq!(connect_to(&path), Err(Errno::AGAIN), "its queue is full");
    assert!(matches!(served(dir.path()).await, Err(SocketProblem::Taken { .. })));
}

#[tokio::test]
async fn what_a_dead_daemon_left_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(SOCKET);
    drop(Somebody::bind(&path).unwrap());
    assert!(path.exists());
    served(dir.path()).await.unwrap();
    assert_eq!(connect_to(&path), Ok(()));
}

#[tokio::test]
async fn a_socket_whose_directory_was_removed_is_made_anew() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let (mut name, listener) = Name::open(&run).unwrap();
    drop(listener);
    assert!(name.look_after().is_none());
    std::fs::remove_dir_all(&run).unwrap();
    assert_eq!(connect_to(&run.join(SOCKET)), Err(Errno::NOENT));
    let listener = name.look_after().unwrap();
    assert_eq!(connect_to(&run.join(SOCKET)), Ok(()));
    let (connection, _) = listener.accept().await.unwrap();
    drop(connection);
}

#[tokio::test]
async fn a_socket_that_cannot_be_made_anew_is_told_of_once_and_made_when_it_can() {
    let dir = tempfile::tempdir().unwrap();
    let run = dir.path().join("run");
    let (mut name, _listener) = Name::open(&run).unwrap();
    std::fs::remove_dir_all(&run).unwrap();
    std::fs::write(&run, "in its place").unwrap();
    assert!(name.look_after().is_none());
    let said = name.said.clone().unwrap();
    assert!(said.contains("control.sock can't be looked at: "), "{said}");
    assert!(name.look_after().is_none());
    assert_eq!(name.said, Some(said));
    std::fs::remove_file(&run).unwrap();
    let _anew = name.look_after().unwrap();
    assert_eq!((connect_to(&run.join(SOCKET)), &name.said), (Ok(()), &None));
}

#[tokio::test]
async fn another_daemon_that_took_the_name_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(SOCKET);
    let (mut name, _listener) = Name::open(dir.path()).unwrap();
    std::fs::remove_file(&path).unwrap();
    let other = Somebody::bind(&path).unwrap();
    assert!(name.look_after().is_none());
    assert!(name.said.as_ref().unwrap().starts_with("another daemon answers"));
    drop(other);
    let _anew = name.look_after().unwrap();
    assert_eq!((connect_to(&path), &name.said), (Ok(()), &None));
}

#[tokio::test]
async fn what_is_no_socket_is_left_alone_and_told_of_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(SOCKET);
    let other = dir.path().join("other");
    std::fs::write(&other, "somebody's").unwrap();
    let (mut name, _listener) = Name::open(dir.path()).unwrap();
    let put: [&dyn Fn(); 3] = [
        &|| std::fs::write(&path, "somebody's").unwrap(),
        &|| std::os::unix::fs::symlink(&other, &path).unwrap(),
        &|| std::fs::create_dir(&path).unwrap(),
    ];
    for put in put {
        std::fs::remove_file(&path).unwrap();
        put();
        let is = path.symlink_metadata().unwrap().ino();
        assert!(name.look_after().is_none());
        let said = name.said.clone().unwrap();
        assert!(said.contains("is no socket, and is left alone"), "{said}");
        assert!(name.look_after().is_none());
        assert_eq!(name.said, Some(said), "once");
        assert_eq!(path.symlink_metadata().unwrap().ino(), is);
        assert!(matches!(served(dir.path()).await, Err(SocketProblem::InTheWay { .. })));
    }
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "somebody's");
    std::fs::remove_dir(&path).unwrap();
    let _anew = name.look_after().unwrap();
    assert_eq!((connect_to(&path), &name.said), (Ok(()), &None));
}

#[tokio::test(start_paused = true)]
async fn a_look_at_the_name_that_breaks_down_is_said_and_done_again() {
    let log = LogOf::here();
    let dir = tempfile::tempdir().unwrap();
    let (name, _listener) = Name::open(dir.path()).unwrap();
    std::fs::remove_file(dir.path().join(SOCKET)).unwrap();
    let broken = Arc::new(AtomicBool::new(false));
    let (anew, mut listeners) = mpsc::channel(1);
    let keeping = keep(name, anew, move |name| {
        assert!(broken.swap(true, Ordering::Relaxed), "it breaks down once");
        name.look_after()
    });
    let made = async {
        tokio::select! {
            () = keeping => None,
            made = listeners.recv() => made,
        }
    };
    let made = timeout(10 * LOOK_AGAIN, made).await.expect("it is looked at again");
    assert!(made.is_some());
    let log = log.text();
    assert_eq!(log.matches("is no longer looked after").count(), 1, "{log}");
}
