//! The cases of probing that every version has to pass, on real sockets: a dribbler, an endless body, a server that listens
//! and never accepts, a dead listener under a living connection. The never overlapping target is in `schedule`.

use crate::{
    servers::{self, Server},
    watches::{TIMEOUT, asking, probe, probe_at},
};
use defib::domain::observation::{Phase, ProbeOutcome};
use rustix::net::{AddressFamily, SocketType};
use std::{
    io::Write as _,
    net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream},
    time::Duration,
};

/// What a sample may last over its total: under it the deadline was kept, over it the prober itself says `local`.
const SLACK: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(50);

#[tokio::test]
async fn case_1_a_dribbler_cannot_stretch_the_deadline() {
    let body = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")?;
        servers::dribble(&mut stream, b"x", PAUSE)
    });
    let headers = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
        servers::dribble(&mut stream, b"x", PAUSE)
    });
    let interim = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        servers::dribble(&mut stream, b"HTTP/1.1 100 Continue\r\n\r\n", PAUSE)
    });
    for (server, phase) in
        [(body, Phase::Body), (headers, Phase::Headers), (interim, Phase::Headers)]
    {
        let probed = probe_at(server.address).await;
        assert_eq!(probed.outcome, ProbeOutcome::Timeout(phase));
        assert!(probed.phases.total < TIMEOUT + SLACK, "{probed:?}");
    }
}

#[tokio::test]
async fn case_2_an_endless_body_is_too_large_at_the_cap_or_passes_where_that_is_ok() {
    let server = endless();
    let probed = probe_at(server.address).await;
    assert_eq!(probed.outcome, ProbeOutcome::TooLarge);
    assert!(probed.phases.total < TIMEOUT, "closed early: {probed:?}");
    let probed = probe(asking(server.address, |spec| spec.cap_is_ok = true)).await;
    assert_eq!(probed.outcome, ProbeOutcome::Ok { status: Some(200) });
}

/// Sends chunks as fast as they are taken.
pub fn endless() -> Server {
    Server::new(|mut stream| {
        servers::request(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
        let chunk = [b"1000\r\n".as_slice(), &[b'x'; 0x1000], b"\r\n"].concat();
        servers::dribble(&mut stream, &chunk, Duration::ZERO)
    })
}

#[tokio::test]
async fn case_3a_who_listens_and_never_accepts_times_out_at_the_first_byte() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let probed = probe_at(listener.local_addr().unwrap()).await;
    assert_eq!(probed.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
    assert!(probed.phases.connect.is_some(), "the kernel did connect");
}

#[tokio::test]
async fn case_3b_a_full_backlog_times_out_in_connect_and_is_not_refused() {
    let (listener, address) = backlog_of_none();
    // The queue is full when a connection no longer comes about.
    let mut waiting = Vec::new();
    while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(300)) {
        waiting.push(stream);
        assert!(waiting.len() < 64, "the backlog never fills");
    }
    let probed = probe_at(address).await;
    assert_eq!(probed.outcome, ProbeOutcome::Timeout(Phase::Connect));
    assert!(probed.phases.connect.unwrap() >= TIMEOUT && probed.phases.first_byte.is_none());
    drop(listener);
}

fn backlog_of_none() -> (TcpListener, SocketAddr) {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    rustix::net::listen(&socket, 0).unwrap();
    let listener = TcpListener::from(socket);
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[tokio::test]
async fn case_8_a_dead_listener_is_refused_although_old_connections_still_work() {
    let server = Server::new(|mut stream| {
        loop {
            servers::request(&mut stream)?;
            stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n")?;
        }
    });
    let mut old = TcpStream::connect(server.address).unwrap();
    let address = server.address;
    for _ in 0..2 {
        assert_eq!(probe_at(address).await.outcome, ProbeOutcome::Ok { status: Some(204) });
    }
    drop(server);
    assert_eq!(probe_at(address).await.outcome, ProbeOutcome::Refused);
    old.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    assert!(servers::request(&mut old).unwrap().starts_with("HTTP/1.1 204"), "the old one works");
}

#[tokio::test]
async fn a_deadline_that_we_missed_by_much_of_a_short_timeout_is_our_own_trouble() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut watch = asking(listener.local_addr().unwrap(), |_| {});
    watch.probe.timeout = Duration::from_millis(400);
    let others = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        // Nothing else runs on this thread meanwhile: the deadline is seen 200 ms late.
        std::thread::sleep(Duration::from_millis(400));
    };
    let (probed, ()) = tokio::join!(probe(watch), others);
    let ProbeOutcome::Local(why) = &probed.outcome else { panic!("{probed:?}") };
    assert!(why.contains("defib itself was not run"), "{why}");
}
