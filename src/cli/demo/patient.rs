//! What runs inside the demo's containers: a small HTTP server that stops answering when its role says so, and the check
//! that Docker runs beside it every second.
//!
//! It hangs as real services do: the process lives, the port is open, connections are accepted, and no answer comes. How
//! often the container was started is counted in a file in it, which a restart keeps. The first process of a container has
//! no default action for SIGTERM, so one that is to end on it has to handle it.

use super::role::Role;
use clap::ValueEnum;
use futures_util::{StreamExt, stream::FuturesUnordered};
use std::{
    collections::VecDeque,
    error::Error,
    fmt,
    fs::{self, OpenOptions},
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Builder,
    signal::unix::{SignalKind, signal},
};

/// Where it listens, in its container's own network.
const AT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

/// Where its lives are counted.
const LIVES: &str = "/lives";

/// A check waits so long for an answer.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(1);

/// Connections that are held and never answered. The oldest go first, so that hanging does not end in a lack of descriptors,
/// which would look like another failure.
const HELD: usize = 256;

/// A request's head; whoever sends more is not the check.
const HEAD: usize = 4096;

/// What to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Well throughout.
    Fine,
    /// Hangs in its first life.
    HangsOnce,
    /// The same, and ignores SIGTERM.
    IgnoresTerm,
    /// Hangs in every life.
    Hopeless,
    /// Asks the server beside it; exit code 0: it answers.
    Healthcheck,
}

impl Mode {
    /// The mode of a role.
    pub fn of(role: Role) -> Self {
        match role {
            Role::Fine => Self::Fine,
            Role::Hangs => Self::HangsOnce,
            Role::Stubborn => Self::IgnoresTerm,
            Role::Hopeless => Self::Hopeless,
        }
    }

    /// As the command line has it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fine => "fine",
            Self::HangsOnce => "hangs-once",
            Self::IgnoresTerm => "ignores-term",
            Self::Hopeless => "hopeless",
            Self::Healthcheck => "healthcheck",
        }
    }
}

/// Why a patient ended otherwise than it should.
#[derive(Debug)]
pub enum PatientProblem {
    /// It is no first process: somebody ran it by hand.
    NotInAContainer,
    /// The system refuses something.
    System(io::Error),
}

impl fmt::Display for PatientProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInAContainer => f.write_str(
                "this is what the containers of `defib demo` run; to see the demo, run `defib demo`",
            ),
            Self::System(_) => f.write_str("failed to serve inside the demo's container"),
        }
    }
}

impl Error for PatientProblem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::NotInAContainer => None,
            Self::System(error) => Some(error),
        }
    }
}

impl From<io::Error> for PatientProblem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

/// Serves until it is told to end, or checks once and writes what it found to `out`, which Docker keeps. Says with what to
/// exit.
///
/// # Errors
/// See [`PatientProblem`].
pub fn run(mode: Mode, out: &mut dyn Write) -> Result<u8, PatientProblem> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let role = match mode {
        Mode::Healthcheck => {
            let found = runtime.block_on(check(AT, ANSWER_WITHIN));
            let words = found.as_ref().err().map_or("answers", String::as_str);
            writeln!(out, "{words}")?;
            return Ok(u8::from(found.is_err()));
        }
        Mode::Fine => Role::Fine,
        Mode::HangsOnce => Role::Hangs,
        Mode::IgnoresTerm => Role::Stubborn,
        Mode::Hopeless => Role::Hopeless,
    };
    if std::process::id() != 1 {
        return Err(PatientProblem::NotInAContainer);
    }
    // In messages a process is called by this name, and would else be called after the loader that runs it. A name that
    // can't be set costs nothing but that.
    drop(fs::write("/proc/self/comm", "demo-server"));
    let life = count_life(Path::new(LIVES))?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate())?;
        let listener = TcpListener::bind(AT).await?;
        let told_to_end = async {
            loop {
                term.recv().await;
                if role.obeys() {
                    return;
                }
            }
        };
        tokio::select! {
            () = serve(&listener, role.hangs_after(life)) => {}
            () = told_to_end => {}
        }
        Ok(0)
    })
}

/// How often the container was started, this time included.
fn count_life(file: &Path) -> io::Result<u64> {
    let mut lives = OpenOptions::new().create(true).append(true).open(file)?;
    lives.write_all(b".")?;
    Ok(lives.metadata()?.len())
}

/// Answers, until it hangs.
async fn serve(listener: &TcpListener, hangs_after: Option<Duration>) {
    let mut answering = FuturesUnordered::new();
    if hangs_after != Some(Duration::ZERO) {
        let until = async {
            match hangs_after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(until);
        loop {
            tokio::select! {
                biased;
                () = &mut until => break,
                Some(()) = answering.next() => {}
                Ok((stream, _)) = listener.accept() => answering.push(answer(stream)),
            }
        }
    }
    let mut held = VecDeque::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            held.push_back(stream);
            if held.len() > HELD {
                held.pop_front();
            }
        }
    }
}

/// Whoever leaves before the answer needs none.
async fn answer(mut stream: TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nwell\n";
    let conversation = async {
        let mut head = Vec::new();
        let mut chunk = [0; 512];
        while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD {
            match stream.read(&mut chunk).await {
                Ok(read) if read > 0 => head.extend_from_slice(&chunk[..read]),
                Ok(_) | Err(_) => return,
            }
        }
        drop(stream.write_all(ANSWER).await);
    };
    // It reads from who may never write.
    drop(tokio::time::timeout(ANSWER_WITHIN, conversation).await);
}

/// Asks once, within a hard total.
async fn check(at: SocketAddr, within: Duration) -> Result<(), String> {
    let conversation = async {
        let mut stream = TcpStream::connect(at)
            .await
            .map_err(|error| format!("port {} takes no connections: {error}", at.port()))?;
        let ask = async {
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: patient\r\nConnection: close\r\n\r\n")
                .await?;
            let mut start = [0; 12];
            stream.read_exact(&mut start).await.map(|_| start)
        };
        match tokio::time::timeout(within, ask).await {
            Ok(Ok(start)) if &start == b"HTTP/1.1 200" => Ok(()),
            Ok(Ok(start)) => Err(format!("answers `{}`", start.escape_ascii())),
            Ok(Err(error)) => Err(format!("the connection broke: {error}")),
            Err(_) => Err(format!(
                "accepts connections and answers none within {} s",
                within.as_secs_f32()
            )),
        }
    };
    tokio::time::timeout(within * 2, conversation)
        .await
        .unwrap_or_else(|_| Err("takes no connections in time".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn listening() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        (listener, at)
    }

    #[tokio::test]
    async fn it_answers_while_it_is_well_and_accepts_without_answering_when_it_hangs() {
        let (listener, at) = listening().await;
        let patience = Duration::from_millis(200);
        tokio::select! {
            () = serve(&listener, None) => {}
            well = check(at, Duration::from_secs(10)) => assert_eq!(well, Ok(())),
        }
        tokio::select! {
            () = serve(&listener, Some(Duration::ZERO)) => {}
            well = check(at, patience) => {
                let why = well.unwrap_err();
                assert!(why.starts_with("accepts connections and answers none"), "{why}");
            }
        }
        drop(listener);
        let why = check(at, patience).await.unwrap_err();
        assert!(why.contains("takes no connections"), "{why}");
    }

    #[test]
    fn lives_are_counted_in_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lives");
        assert_eq!(count_life(&file).unwrap(), 1);
        assert_eq!(count_life(&file).unwrap(), 2);
    }

    #[test]
    fn every_role_has_a_mode_that_the_command_line_knows() {
        for role in Role::ALL {
            let mode = Mode::of(role);
            assert_eq!(Mode::from_str(mode.word(), false), Ok(mode));
        }
        assert_eq!(Mode::from_str(Mode::Healthcheck.word(), false), Ok(Mode::Healthcheck));
    }
}
