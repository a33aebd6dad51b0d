//! A receiver on the loopback that keeps every request and answers by script, byte by byte where it has to misbehave.

use defib::tasks::Tasks;
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Handle,
};

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

/// How to answer one request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// Status line without the version, header lines, body.
    Http(&'static str, Vec<(&'static str, String)>, String),
    /// As the real service would: by a check of the request.
    Judge(fn(&Received) -> Result<(), String>),
    /// Takes the request and never answers.
    Hang,
    /// This head, then a byte of body every 20 ms for ever.
    Drip(&'static str),
    /// A byte of the head every 20 ms for ever.
    DripHead,
    /// Takes the request, then resets the connection.
    Reset,
    /// This status, and 100 MB of body.
    Flood(&'static str),
    /// Promises more body than it sends.
    Truncate(&'static str, &'static str),
    /// Not HTTP.
    Garbage,
}

pub(crate) fn http(status: &'static str, body: &str) -> Reply {
    Reply::Http(status, vec![], body.to_owned())
}

pub(crate) fn with_header(
    status: &'static str,
    name: &'static str,
    value: &str,
    body: &str,
) -> Reply {
    Reply::Http(status, vec![(name, value.to_owned())], body.to_owned())
}

#[derive(Clone)]
pub(crate) struct Receiver {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    script: VecDeque<Reply>,
    received: Vec<Received>,
    bytes_flooded: usize,
}

impl Receiver {
    /// Answers by the script, one reply a request; the last one for ever.
    pub(crate) async fn start(script: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = State { script: script.into(), received: vec![], bytes_flooded: 0 };
        let receiver = Self { port, state: Arc::new(Mutex::new(state)) };
        let tasks = Tasks::on(Handle::current());
        let (accepting, inner) = (receiver.clone(), tasks.clone());
        tasks.spawn("receiver", async move {
            while let Ok((stream, _)) = listener.accept().await {
                let serving = accepting.clone();
                inner.spawn("receiver's connection", async move { serving.serve(stream).await });
            }
        });
        receiver
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    pub(crate) fn bytes_flooded(&self) -> usize {
        self.state.lock().unwrap().bytes_flooded
    }

    fn next_reply(&self, request: Received) -> Reply {
        let mut state = self.state.lock().unwrap();
        state.received.push(request);
        if state.script.len() > 1 {
            state.script.pop_front().unwrap()
        } else {
            state.script[0].clone()
        }
    }

    async fn serve(&self, mut stream: TcpStream) {
        let Some(request) = read(&mut stream).await else { return };
        let reply = self.next_reply(request.clone());
        // The sink may hang up at any time: that is what many of these tests are about.
        let _ = self.reply(&mut stream, reply, &request).await;
    }

    async fn reply(
        &self,
        stream: &mut TcpStream,
        reply: Reply,
        request: &Received,
    ) -> std::io::Result<()> {
        match reply {
            Reply::Http(status, headers, body) => answer(stream, status, &headers, &body).await,
            Reply::Judge(judge) => match judge(request) {
                Ok(()) => answer(stream, "200 OK", &[], "ok").await,
                Err(why) => {
                    eprintln!("the receiver refuses: {why}");
                    answer(stream, "400 Bad Request", &[], "invalid_payload").await
                }
            },
            Reply::Hang => {
                let mut end = [0];
                stream.read(&mut end).await.map(|_| ())
            }
            Reply::Drip(head) => {
                stream.write_all(head.as_bytes()).await?;
                drip(stream, b"x").await
            }
            Reply::DripHead => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nx: ").await?;
                drip(stream, b"y").await
            }
            Reply::Reset => {
                stream.set_zero_linger()?;
                Ok(())
            }
            Reply::Flood(status) => {
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: 100000000\r\n\r\n");
                stream.write_all(head.as_bytes()).await?;
                for _ in 0..1000 {
                    stream.write_all(&[b'x'; 100_000]).await?;
                    self.state.lock().unwrap().bytes_flooded += 100_000;
                }
                Ok(())
            }
            Reply::Truncate(status, body) => {
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: 1000\r\n\r\n{body}");
                stream.write_all(head.as_bytes()).await
            }
            Reply::Garbage => stream.write_all(b"SSH-2.0-OpenSSH_9.7\r\n").await,
        }
    }
}

async fn answer(
    stream: &mut TcpStream,
    status: &str,
    headers: &[(&'static str, String)],
    body: &str,
) -> std::io::Result<()> {
    let headers: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len());
    stream.write_all(head.as_bytes()).await
}

async fn drip(stream: &mut TcpStream, byte: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(byte).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Reads one request: a head, and as much body as it says.
async fn read(stream: &mut TcpStream) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let mut request_line = lines.next().unwrap().split(' ');
    assert_eq!(request_line.next(), Some("POST"));
    let path = request_line.next().unwrap().to_owned();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers["content-length"].parse().unwrap();
    while bytes.len() < head_end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    Some(Received { path, headers, body: bytes[head_end + 4..].to_vec() })
}
