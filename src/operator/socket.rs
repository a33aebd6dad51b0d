//! The daemon's side of the control socket.

use super::{REQUEST_BYTES, Request, SOCKET, WITHIN};
use crate::{daemon::Order, status::snapshot::Snapshot, tasks::Tasks};
use std::{
    error::Error,
    fmt, io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::{Semaphore, mpsc, oneshot},
};

/// Connections at a time: more people than ever type at one host.
const CONNECTIONS: usize = 16;

/// Why the socket could not be opened. The daemon goes on without it.
#[derive(Debug)]
pub struct SocketProblem {
    path: PathBuf,
    source: io::Error,
}

impl SocketProblem {
    /// What the system said.
    pub fn cause(&self) -> &io::Error {
        &self.source
    }
}

impl fmt::Display for SocketProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "failed to open the control socket {}; `defib status` will not work",
            self.path.display()
        )
    }
}

impl Error for SocketProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}

/// Opens the socket in `dir`, which is made where it is missing, and serves it. Only the owner and the group may connect. A
/// stale socket is replaced; whoever calls owns the state directory, so there is no other daemon behind it.
///
/// # Errors
/// Where directory or socket can't be made.
pub fn serve(
    dir: &Path,
    host: String,
    orders: mpsc::Sender<Order>,
    tasks: &Tasks,
) -> Result<(), SocketProblem> {
    let path = dir.join(SOCKET);
    let problem = |source| SocketProblem { path: path.clone(), source };
    std::fs::create_dir_all(dir).map_err(problem)?;
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(problem(error)),
        Err(_) | Ok(()) => {}
    }
    let listener = UnixListener::bind(&path).map_err(problem)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o660)).map_err(problem)?;
    let accepting = tasks.clone();
    tasks.spawn("control socket", async move {
        let slots = Arc::new(Semaphore::new(CONNECTIONS));
        let host: Arc<str> = host.into();
        // Ends with the daemon, which never closes the semaphore.
        while let Ok(slot) = Arc::clone(&slots).acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let (orders, host) = (orders.clone(), Arc::clone(&host));
                    accepting.spawn("control connection", async move {
                        match tokio::time::timeout(WITHIN, answer(stream, &orders, &host)).await {
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
                    tracing::warn!("the control socket could not accept: {error}; trying again");
                    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                }
            }
        }
    });
    Ok(())
}

async fn answer(stream: UnixStream, orders: &mpsc::Sender<Order>, host: &str) -> io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut line = String::new();
    BufReader::new(from.take(REQUEST_BYTES)).read_line(&mut line).await?;
    let text = match serde_json::from_str::<Request>(&line) {
        Ok(Request::Status) => match ask(orders, host).await {
            Some(snapshot) => serde_json::to_string(&snapshot).map_err(io::Error::other)?,
            None => r#"{"error":"the daemon is busy or ending; try again"}"#.to_owned(),
        },
        Err(_) => r#"{"error":"not a request that is known"}"#.to_owned(),
    };
    to.write_all(text.as_bytes()).await?;
    to.write_all(b"\n").await?;
    to.shutdown().await
}

async fn ask(orders: &mpsc::Sender<Order>, host: &str) -> Option<Snapshot> {
    let (answer, shown) = oneshot::channel();
    orders.send(Order::Show(answer)).await.ok()?;
    Some(Snapshot::of(&shown.await.ok()?, host))
}
