//! Servers on loopback that misbehave in one way each. Plain threads, so that nothing of the code under test serves itself.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Accepts until it is dropped, and lets each connection be served by a thread of its own.
pub struct Server {
    pub address: SocketAddr,
    stopped: Arc<AtomicBool>,
    acceptor: Option<thread::JoinHandle<()>>,
}

impl Server {
    pub fn new(serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let (inside, serve) = (Arc::clone(&stopped), Arc::new(serve));
        let acceptor = defib::tasks::thread("server", move || {
            for stream in listener.incoming() {
                if inside.load(Ordering::SeqCst) {
                    return;
                }
                let serve = Arc::clone(&serve);
                let Ok(stream) = stream else { continue };
                // A client that goes away in mid-answer is what many of these provoke.
                defib::tasks::thread("connection", move || drop(serve(stream))).unwrap();
            }
        })
        .unwrap();
        Self { address, stopped, acceptor: Some(acceptor) }
    }

    /// Sends `answer` to every request, then closes.
    pub fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = answer.into();
        Self::new(move |mut stream| {
            request(&mut stream)?;
            stream.write_all(&answer)?;
            close(&mut stream)
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(self.address));
        if let Some(acceptor) = self.acceptor.take() {
            acceptor.join().unwrap();
        }
    }
}

/// Reads a request's head, and gives it back.
pub fn request(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Closes with FIN, and not before the other side has closed too: a close with unread bytes would be an RST.
pub fn close(stream: &mut TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Write)?;
    until_closed(stream)
}

/// Holds the connection and says nothing more, until the other side closes.
pub fn until_closed(stream: &mut TcpStream) -> io::Result<()> {
    io::copy(stream, &mut io::sink()).map(drop)
}

/// Closes with RST.
pub fn reset(stream: &TcpStream) -> io::Result<()> {
    Ok(rustix::net::sockopt::set_socket_linger(stream, Some(Duration::ZERO))?)
}

/// Repeats `piece` with a pause between, until the other side closes.
pub fn dribble(stream: &mut TcpStream, piece: &[u8], pause: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        stream.write_all(piece)?;
        thread::sleep(pause);
    }
}
