//! The daemon's side of the control socket: opens it, keeps its name (`name`), accepts, and answers.
//!
//! Opening and looking after the name may hang with the disk that the name is on, so they are done beside: who is connected
//! already is answered meanwhile.

mod name;

pub use name::SocketProblem;

use name::{LOOK_AGAIN, Name, OPEN_WITHIN};

use super::{HOLD, REQUEST_BYTES, Request, SOCKET, WITHIN};
use crate::{
    daemon::Order,
    status::snapshot::{Beside, RefusedReload, Snapshot},
    tasks::{self, Tasks},
};
use std::{
    io,
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

/// After a connection could not be accepted. A want of files or of memory does not pass within milliseconds, and people wait.
const ACCEPT_AGAIN: Duration = Duration::from_secs(1);

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
        self.tasks.spawn("control socket's name", keep(name, anew, Name::look_after));
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

/// Looks after the socket's name by `look`, beside: on a disk that hangs a look does not come back, and holds up nothing else.
/// One that breaks down changes nothing, and is done again.
async fn keep(
    mut name: Name,
    anew: mpsc::Sender<UnixListener>,
    look: impl Fn(&mut Name) -> Option<UnixListener> + Clone + Send + 'static,
) {
    let mut looks = tokio::time::interval(LOOK_AGAIN);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_broken = false;
    loop {
        looks.tick().await;
        let (mut seen, look) = (name.clone(), look.clone());
        let looked = tasks::blocking(move || {
            let listener = look(&mut seen);
            (seen, listener)
        });
        let Some((seen, listener)) = looked.await else {
            if !std::mem::replace(&mut is_broken, true) {
                tracing::error!(
                    "the control socket's name is no longer looked after: the look at it broke down, which is a fault of \
                     defib; trying again every {} s, and until then a socket that is removed is not made anew",
                    LOOK_AGAIN.as_secs()
                );
            }
            continue;
        };
        is_broken = false;
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

async fn answer(stream: UnixStream, asked: &Asked) -> io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut line = String::new();
    BufReader::new(from.take(REQUEST_BYTES)).read_line(&mut line).await?;
    let text = match serde_json::from_str::<Request>(&line) {
        Ok(Request::Status) => match asked.status().await {
            Some(snapshot) => serde_json::to_string(&snapshot).map_err(io::Error::other)?,
            None => {
                r#"{"error":"the daemon is ending; its log says what it waits for"}"#.to_owned()
            }
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
mod tests;
