//! The daemon's side of the control socket.
//!
//! A socket whose name is gone is open and reaches nobody: somebody cleared the runtime directory, or a second daemon's end
//! took it along. So its name is looked at now and then, and made anew where it is missing; where that can't be done, it is
//! said once. What somebody else put in its place is left alone: another daemon's socket, and whatever is no socket.

use super::{HOLD, REQUEST_BYTES, Request, SOCKET, WITHIN};
use crate::{
    daemon::Order,
    status::snapshot::{Beside, RefusedReload, Snapshot},
    tasks::{self, Tasks},
};
use rustix::{
    io::Errno,
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with},
};
use std::{
    error::Error,
    fmt, io,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc, oneshot, watch},
    task::{JoinError, JoinHandle},
    time::MissedTickBehavior,
};

/// Connections at a time: more people than ever type at one host.
const CONNECTIONS: usize = 16;

/// Between two looks at the socket's name: `defib status` works again within the time that it takes to look why not.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Opening takes no time; a disk that hangs must not keep the daemon from starting.
const OPEN_WITHIN: Duration = Duration::from_secs(5);

/// After a connection could not be accepted. A want of files or of memory does not pass within milliseconds, and people wait.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

/// Why the socket could not be opened. The daemon goes on without it.
#[derive(Debug)]
pub enum SocketProblem {
    /// Another daemon answers on it, and keeps it.
    Taken {
        /// Which socket.
        path: PathBuf,
        /// What the system says when an address is taken.
        source: io::Error,
    },
    /// Something that is no socket has its name, and stays.
    InTheWay {
        /// Which socket.
        path: PathBuf,
        /// What the system says when an address is taken.
        source: io::Error,
    },
    /// Its directory does not answer, as on a disk that hangs. It is served once that comes back.
    Hangs {
        /// Which socket.
        path: PathBuf,
        /// That it took too long.
        source: io::Error,
    },
    /// Directory or socket can't be made, or it can't be found out whether somebody answers.
    Unusable {
        /// Which socket.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl SocketProblem {
    /// What the system said.
    pub fn cause(&self) -> &io::Error {
        match self {
            Self::Taken { source, .. }
            | Self::InTheWay { source, .. }
            | Self::Hangs { source, .. }
            | Self::Unusable { source, .. } => source,
        }
    }
}

impl fmt::Display for SocketProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taken { path, .. } => write!(
                f,
                "another daemon answers on the control socket {} and keeps it; `defib status` shows that one and not this \
                 one: end one of them, or give this one a --runtime-dir of its own",
                path.display()
            ),
            Self::InTheWay { path, .. } => write!(
                f,
                "{} is no socket, and is left alone; `defib status` will not work until it is taken away",
                path.display()
            ),
            Self::Hangs { path, .. } => write!(
                f,
                "the control socket {} could not be opened within {} s; `defib status` will not work until its directory \
                 answers",
                path.display(),
                OPEN_WITHIN.as_secs()
            ),
            Self::Unusable { path, .. } => write!(
                f,
                "failed to open the control socket {}; `defib status` will not work",
                path.display()
            ),
        }
    }
}

impl Error for SocketProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.cause())
    }
}

/// Opens the socket in `dir`, which is made where it is missing, and serves it. Only the owner and the group may connect. A
/// socket that nobody listens on any more is replaced. One that somebody listens on is left alone: whoever owns another
/// state directory, or none, may be given the same runtime directory. What is no socket is left alone too: it is
/// somebody's file, and a connection to it is refused like one to a dead socket. `refused_reload` is shown beside what the
/// daemon answers, and so is where the `hold` file is.
///
/// # Errors
/// Where another daemon answers, something else has the name, or directory or socket can't be made; and where that has not
/// come back in time, which makes it late and not given up.
pub async fn serve(
    dir: &Path,
    host: String,
    refused_reload: watch::Receiver<Option<RefusedReload>>,
    orders: mpsc::Sender<Order>,
    tasks: &Tasks,
) -> Result<(), SocketProblem> {
    let at = dir.to_owned();
    let asked = Asked { host, hold_file: dir.join(HOLD), refused_reload, orders };
    serve_opened_by(move || Name::open(&at), OPEN_WITHIN, &dir.join(SOCKET), asked, tasks).await
}

async fn serve_opened_by(
    open: impl FnOnce() -> Opened + Send + 'static,
    within: Duration,
    path: &Path,
    asked: Asked,
    tasks: &Tasks,
) -> Result<(), SocketProblem> {
    let serving = Serving { asked: Arc::new(asked), tasks: tasks.clone() };
    let mut opening = tasks.spawn("control socket's opening", tasks::blocking(open));
    match tokio::time::timeout(within, &mut opening).await {
        Ok(opened) => serving.begin(whole(opened, path)?),
        Err(late) => {
            tasks.spawn(
                "control socket's late opening",
                serving.begin_late(opening, path.to_owned()),
            );
            return Err(SocketProblem::Hangs { path: path.to_owned(), source: late.into() });
        }
    }
    Ok(())
}

type Opened = Result<(Name, UnixListener), SocketProblem>;

/// What was opened, or that not even this could be found out.
fn whole(opened: Result<Option<Opened>, JoinError>, path: &Path) -> Opened {
    let no_end = || io::Error::other("opening it did not end");
    opened
        .ok()
        .flatten()
        .unwrap_or_else(|| Err(SocketProblem::Unusable { path: path.to_owned(), source: no_end() }))
}

/// What serves once the socket is open.
struct Serving {
    asked: Arc<Asked>,
    tasks: Tasks,
}

impl Serving {
    fn begin(self, (name, listener): (Name, UnixListener)) {
        let (anew, listeners) = mpsc::channel(1);
        self.tasks.spawn("control socket's name", keep(name, anew));
        let accepting = accept(listener, listeners, self.asked, self.tasks.clone());
        self.tasks.spawn("control socket", accepting);
    }

    async fn begin_late(self, opening: JoinHandle<Option<Opened>>, path: PathBuf) {
        match whole(opening.await, &path) {
            Ok(opened) => {
                tracing::info!(
                    "the control socket {} is open now; `defib status` works",
                    path.display()
                );
                self.begin(opened);
            }
            Err(problem) => tracing::error!("{problem}: {}", problem.cause()),
        }
    }
}

/// Who is asked, and what is known beside its answer.
struct Asked {
    host: String,
    hold_file: PathBuf,
    refused_reload: watch::Receiver<Option<RefusedReload>>,
    orders: mpsc::Sender<Order>,
}

/// Looks after the socket's name, beside: on a disk that hangs a look does not come back, and holds up nothing else.
async fn keep(mut name: Name, anew: mpsc::Sender<UnixListener>) {
    let mut looks = tokio::time::interval(LOOK_AGAIN);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        looks.tick().await;
        let looked = tasks::blocking(move || {
            let listener = name.look_after();
            (name, listener)
        });
        let Some((seen, listener)) = looked.await else { return };
        name = seen;
        if let Some(listener) = listener
            && anew.send(listener).await.is_err()
        {
            return;
        }
    }
}

async fn accept(
    mut listener: UnixListener,
    mut anew: mpsc::Receiver<UnixListener>,
    asked: Arc<Asked>,
    tasks: Tasks,
) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS));
    // Why nothing could be accepted, as said in the log.
    let mut said: Option<String> = None;
    // Ends with the daemon, which never closes the semaphore.
    while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
        let accepted = loop {
            tokio::select! {
                biased;
                accepted = listener.accept() => break accepted,
                Some(made) = anew.recv() => listener = made,
            }
        };
        match accepted {
            Ok((stream, _)) => {
                said = None;
                let asked = Arc::clone(&asked);
                tasks.spawn("control connection", async move {
                    match tokio::time::timeout(WITHIN, answer(stream, &asked)).await {
                        Ok(Ok(())) => {}
                        Ok(Err(error)) => {
                            tracing::debug!("a control connection broke: {error}")
                        }
                        Err(_) => tracing::debug!("a control connection took too long"),
                    }
                    drop(slot);
                });
            }
            Err(error) => {
                let problem = error.to_string();
                if said.as_ref() != Some(&problem) {
                    tracing::warn!(
                        "the control socket could not accept: {problem}; trying again every {} s",
                        ACCEPT_AGAIN.as_secs()
                    );
                    said = Some(problem);
                }
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// The name of the socket that is listened on, and which file it stood for when it was made.
struct Name {
    dir: PathBuf,
    file: (u64, u64),
    /// Why its name is missing and could not be made anew, as said in the log.
    said: Option<String>,
}

impl Name {
    fn open(dir: &Path) -> Result<(Self, UnixListener), SocketProblem> {
        let path = dir.join(SOCKET);
        let problem = |source| SocketProblem::Unusable { path: path.clone(), source };
        std::fs::create_dir_all(dir).map_err(problem)?;
        match path.symlink_metadata() {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(SocketProblem::InTheWay { path, source: Errno::ADDRINUSE.into() });
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(problem(error)),
        }
        match connect_to(&path) {
            // A full queue is somebody's too.
            Ok(()) | Err(Errno::AGAIN) => {
                return Err(SocketProblem::Taken { path, source: Errno::ADDRINUSE.into() });
            }
            Err(Errno::NOENT) => {}
            Err(Errno::CONNREFUSED) => std::fs::remove_file(&path).map_err(problem)?,
            Err(other) => return Err(problem(other.into())),
        }
        let listener = UnixListener::bind(&path).map_err(problem)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660)).map_err(problem)?;
        let file = file(&path).map_err(problem)?;
        Ok((Self { dir: dir.to_owned(), file, said: None }, listener))
    }

    /// Makes the socket anew where its name is gone, or stands for something else that nobody listens on. May block.
    fn look_after(&mut self) -> Option<UnixListener> {
        let path = self.dir.join(SOCKET);
        match file(&path) {
            Ok(found) if found == self.file => self.said = None,
            // Of a name that can't be looked at nothing is known; the listener may well be reached.
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                self.say(format!(
                    "the control socket {} can't be looked at: {error}",
                    path.display()
                ));
            }
            Ok(_) | Err(_) => match Self::open(&self.dir) {
                Ok((anew, listener)) => {
                    tracing::warn!(
                        "the control socket {} was removed or replaced while this daemon ran; it is made anew, and \
                         `defib status` works again",
                        path.display()
                    );
                    *self = anew;
                    return Some(listener);
                }
                Err(problem) => {
                    let cause = problem.cause();
                    self.say(format!(
                        "{problem}: {cause}; it was removed or replaced while this daemon ran"
                    ));
                }
            },
        }
        None
    }

    /// Once, until something changes.
    fn say(&mut self, problem: String) {
        if self.said.as_ref() != Some(&problem) {
            tracing::error!(
                "{problem}; trying again every {} s; make its directory one that defib may write, or start defib again",
                LOOK_AGAIN.as_secs()
            );
            self.said = Some(problem);
        }
    }
}

/// Which file a name stands for.
fn file(path: &Path) -> io::Result<(u64, u64)> {
    let file = path.symlink_metadata()?;
    Ok((file.dev(), file.ino()))
}

/// Connects and hangs up. Without waiting: somebody who hangs must not keep us from starting.
fn connect_to(path: &Path) -> rustix::io::Result<()> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

async fn answer(stream: UnixStream, asked: &Asked) -> io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut line = String::new();
    BufReader::new(from.take(REQUEST_BYTES)).read_line(&mut line).await?;
    let text = match serde_json::from_str::<Request>(&line) {
        Ok(Request::Status) => match asked.status().await {
            Some(snapshot) => serde_json::to_string(&snapshot).map_err(io::Error::other)?,
            None => r#"{"error":"the daemon is busy or ending; try again"}"#.to_owned(),
        },
        Err(_) => r#"{"error":"not a request that is known"}"#.to_owned(),
    };
    to.write_all(text.as_bytes()).await?;
    to.write_all(b"\n").await?;
    to.shutdown().await
}

impl Asked {
    async fn status(&self) -> Option<Snapshot> {
        let (answer, shown) = oneshot::channel();
        self.orders.send(Order::Show(answer)).await.ok()?;
        let shown = shown.await.ok()?;
        let beside = Beside {
            hold_file: Some(self.hold_file.clone()),
            refused_reload: self.refused_reload.borrow().clone(),
        };
        Some(Snapshot::of_daemon(&shown, &self.host, &beside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{bind, listen};
    use std::os::unix::net::{UnixListener as Somebody, UnixStream as Peer};
    use tokio::runtime::Handle;

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
        let problem =
            tokio::time::timeout(Duration::from_secs(20), served).await.unwrap().unwrap_err();
        assert!(matches!(problem, SocketProblem::Hangs { .. }), "{problem:?}");
        drop(disk_is_mended);
        let mut asks = loop {
            match UnixStream::connect(&path).await {
                Ok(stream) => break stream,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        asks.write_all(b"\"status\"\n").await.unwrap();
        assert!(matches!(taken.recv().await, Some(Order::Show(_))));
    }

    #[derive(Clone, Default)]
    struct Log(Arc<std::sync::Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
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
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let accepts = accept(listener, listeners, Arc::new(asked), tasks);
        assert!(tokio::time::timeout(60 * ACCEPT_AGAIN, accepts).await.is_err());
        drop(logging);
        let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
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
            socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
                .unwrap();
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
}
