//! Every class of an HTTP sample, each against a server that shows it.

use crate::{
    servers::{self, Server},
    watches::{TIMEOUT, asking, probe, probe_at},
};
use defib::{
    domain::{
        observation::{Phase, ProbeOutcome},
        policy::Place,
    },
    probe::{
        http::HttpProber,
        port::{Probed, Prober as _},
    },
    resolve::Resolver,
};
use std::{
    io::Write as _,
    net::{Shutdown, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn passed(probed: &Probed) -> bool {
    probed.outcome == (ProbeOutcome::Ok { status: Some(200) })
}

fn is_protocol(probed: &Probed) -> bool {
    matches!(probed.outcome, ProbeOutcome::Protocol(_))
}

#[tokio::test]
async fn a_whole_answer_passes_with_all_phases_and_the_address() {
    let server = Server::answering(OK);
    let probed = probe_at(server.address).await;
    assert!(passed(&probed), "{probed:?}");
    let phases = probed.phases;
    assert!(phases.dns.is_none() && phases.tls.is_none(), "an address needs no resolver");
    let parts = [phases.connect, phases.first_byte, phases.headers, phases.body];
    let sum: Duration = parts.into_iter().map(Option::unwrap).sum();
    assert!(sum <= phases.total, "{phases:?}");
    assert_eq!(probed.address, Some(server.address.to_string()));
}

#[tokio::test]
async fn the_request_says_who_asks_and_keeps_no_connection() {
    let asked = Arc::new(Mutex::new(String::new()));
    let inside = Arc::clone(&asked);
    let server = Server::new(move |mut stream| {
        *inside.lock().unwrap() = servers::request(&mut stream)?;
        stream.write_all(OK.as_bytes())
    });
    let probed =
        probe(asking(server.address, |spec| spec.headers = vec![("X-A".into(), "b".into())])).await;
    assert!(passed(&probed), "{probed:?}");
    let asked = asked.lock().unwrap().to_ascii_lowercase();
    assert!(asked.starts_with("get /health http/1.1\r\n"), "{asked}");
    for field in [
        format!("host: {}", server.address),
        format!("user-agent: defib/{}", env!("CARGO_PKG_VERSION")),
        "accept: */*".into(),
        "connection: close".into(),
        "x-a: b".into(),
    ] {
        assert!(asked.contains(&field), "{field} in {asked}");
    }
}

#[tokio::test]
async fn a_url_is_resolved_and_localhost_answers_on_whichever_family_listens() {
    let server = Server::answering(OK);
    let port = server.address.port();
    let watch = asking(server.address, |spec| {
        spec.place = Place::Url { host: "localhost".into(), port };
    });
    let probed = probe(watch).await;
    assert!(passed(&probed), "{probed:?}");
    assert!(probed.phases.dns.is_some());
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_the_resolvers_failure() {
    let watch = asking(([127, 0, 0, 1], 1).into(), |spec| {
        spec.place = Place::Url { host: "no-such-host.invalid".into(), port: 80 };
    });
    let probed = probe(watch).await;
    assert!(matches!(probed.outcome, ProbeOutcome::Dns(_)), "{probed:?}");
}

#[tokio::test]
async fn a_timeout_after_a_slow_resolver_is_the_resolvers_and_after_a_fast_one_the_targets() {
    let hung = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = hung.local_addr().unwrap().port();
    let watch = asking(hung.local_addr().unwrap(), |spec| {
        spec.place = Place::Url { host: "shop.example".into(), port };
    });
    let after = |takes: Duration| {
        HttpProber::new(Arc::new(Resolver::with_lookup(Arc::new(move |_: &str| {
            std::thread::sleep(takes);
            Ok(vec![[127, 0, 0, 1].into()])
        }))))
    };
    let slow = after(TIMEOUT * 3 / 4).probe(Arc::new(watch.clone())).await;
    let ProbeOutcome::Dns(why) = &slow.outcome else { panic!("{slow:?}") };
    assert!(why.contains("the resolver took"), "{why}");
    assert!(slow.phases.dns.unwrap() >= TIMEOUT / 2, "{slow:?}");
    let fast = after(Duration::ZERO).probe(Arc::new(watch)).await;
    assert_eq!(fast.outcome, ProbeOutcome::Timeout(Phase::FirstByte));
}

#[tokio::test]
async fn what_the_target_did_counts_however_slow_the_resolver_was() {
    let server = Server::answering("HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
    let port = server.address.port();
    let watch = asking(server.address, |spec| {
        spec.place = Place::Url { host: "shop.example".into(), port };
    });
    let resolver = Resolver::with_lookup(Arc::new(|_: &str| {
        std::thread::sleep(TIMEOUT * 3 / 5);
        Ok(vec![[127, 0, 0, 1].into()])
    }));
    let probed = HttpProber::new(Arc::new(resolver)).probe(Arc::new(watch)).await;
    assert_eq!(probed.outcome, ProbeOutcome::Status(503));
}

#[tokio::test]
async fn a_replica_without_an_address_is_our_trouble() {
    let mut watch = asking(([127, 0, 0, 1], 1).into(), |_| {});
    watch.address = None;
    let probed = probe(watch).await;
    let ProbeOutcome::Local(why) = probed.outcome else { panic!("{probed:?}") };
    assert!(why.contains("no address"), "{why}");
}

#[tokio::test]
async fn a_redirect_is_judged_as_the_status_it_is() {
    let server = Server::answering(
        "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n",
    );
    assert_eq!(probe_at(server.address).await.outcome, ProbeOutcome::Status(302));
    let wanted = probe(asking(server.address, |spec| spec.status = vec![(200, 399)])).await;
    assert_eq!(wanted.outcome, ProbeOutcome::Ok { status: Some(302) });
}

#[tokio::test]
async fn an_unwanted_status_is_said_although_its_body_never_comes() {
    let server = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        stream.write_all(b"HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\n")?;
        servers::until_closed(&mut stream)
    });
    assert_eq!(probe_at(server.address).await.outcome, ProbeOutcome::Status(503));
}

#[tokio::test]
async fn an_answer_to_head_has_no_body_to_wait_for() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n");
    let probed = probe(asking(server.address, |spec| spec.method = "HEAD".into())).await;
    assert!(passed(&probed), "{probed:?}");
}

#[tokio::test]
async fn nobody_listening_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let probed = probe_at(address).await;
    assert_eq!(probed.outcome, ProbeOutcome::Refused);
    assert!(probed.phases.connect.is_some() && probed.phases.first_byte.is_none());
}

#[tokio::test]
async fn a_close_without_a_byte_of_an_answer_is_reset_whether_by_fin_or_by_rst() {
    let by_fin = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        servers::close(&mut stream)
    });
    let by_rst = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        servers::reset(&stream)
    });
    // Without having read: FIN or RST, as the kernel happens to have our request yet or not.
    let at_once = Server::new(|_| Ok(()));
    for server in [by_fin, by_rst, at_once] {
        for _ in 0..20 {
            let probed = probe_at(server.address).await;
            assert_eq!(probed.outcome, ProbeOutcome::Reset, "{probed:?}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_truncated_by_fin_and_reset_by_rst() {
    for piece in [
        "HTTP/1.1 200 O",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhe",
    ] {
        let server = Server::answering(piece);
        let probed = probe_at(server.address).await;
        assert_eq!(probed.outcome, ProbeOutcome::Truncated, "{piece:?}");

        let server = Server::new(move |mut stream| {
            servers::request(&mut stream)?;
            stream.write_all(piece.as_bytes())?;
            // The bytes come first; a half-closed connection then waits to be read before it breaks.
            std::thread::sleep(Duration::from_millis(100));
            servers::reset(&stream)
        });
        let probed = probe_at(server.address).await;
        assert_eq!(probed.outcome, ProbeOutcome::Reset, "{piece:?}");
    }
}

#[tokio::test]
async fn an_answer_longer_than_it_said_passes_as_what_it_said() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more");
    assert!(passed(&probe_at(server.address).await));
}

#[tokio::test]
async fn without_a_length_the_end_of_the_connection_is_the_end_of_the_body() {
    let server = Server::answering("HTTP/1.0 200 OK\r\n\r\nhello");
    assert!(passed(&probe_at(server.address).await));
}

#[tokio::test]
async fn what_is_not_http_is_a_protocol_fault() {
    let noise: Vec<u8> =
        (0..4_096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let answers: [Vec<u8>; 7] = [
        noise,
        b"SSH-2.0-OpenSSH_9.2p1\r\n".to_vec(),
        b"\x15\x03\x03\x00\x02\x02\x46".to_vec(),
        b"HTTP/2.0 200 OK\r\n\r\n".to_vec(),
        b"HTTP/1.1 2000 OK\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: five\r\n\r\nhello".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello".to_vec(),
    ];
    for answer in answers {
        let said = String::from_utf8_lossy(&answer[..answer.len().min(60)]).into_owned();
        let server = Server::answering(answer);
        let probed = probe_at(server.address).await;
        assert!(is_protocol(&probed), "{said:?}: {probed:?}");
    }
}

#[tokio::test]
async fn a_chunk_without_a_size_is_a_protocol_fault() {
    let server =
        Server::answering("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n");
    let probed = probe_at(server.address).await;
    assert!(is_protocol(&probed), "{probed:?}");
}

#[tokio::test]
async fn who_speaks_first_is_judged_by_what_was_said_and_not_by_who_was_faster() {
    let banner = Server::new(|mut stream| {
        stream.write_all(b"220 mail.example ESMTP\r\n")?;
        servers::until_closed(&mut stream)
    });
    let eager = Server::new(|mut stream| {
        stream.write_all(OK.as_bytes())?;
        servers::until_closed(&mut stream)
    });
    for _ in 0..20 {
        let probed = probe_at(banner.address).await;
        assert!(is_protocol(&probed), "{probed:?}");
        let probed = probe_at(eager.address).await;
        assert!(passed(&probed), "{probed:?}");
    }
}

#[tokio::test]
async fn a_head_without_end_is_a_protocol_fault_long_before_the_deadline() {
    let fields = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        let mut head = String::from("HTTP/1.1 200 OK\r\n");
        for n in 0..10_000 {
            head.push_str(&format!("X-{n}: y\r\n"));
        }
        stream.write_all(head.as_bytes())?;
        servers::until_closed(&mut stream)
    });
    let one_field = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        stream.write_all(b"HTTP/1.1 200 OK\r\nX: ")?;
        servers::dribble(&mut stream, &[b'y'; 4_096], Duration::ZERO)
    });
    let interim = Server::new(|mut stream| {
        servers::request(&mut stream)?;
        let many = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(100);
        servers::dribble(&mut stream, &many, Duration::ZERO)
    });
    for server in [fields, one_field, interim] {
        let probed = probe_at(server.address).await;
        assert!(is_protocol(&probed), "{probed:?}");
        assert!(probed.phases.total < TIMEOUT, "{probed:?}");
    }
}

#[tokio::test]
async fn a_few_interim_answers_are_not_the_answer() {
    let server = Server::answering(format!(
        "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n{OK}"
    ));
    assert!(passed(&probe_at(server.address).await));
}

#[tokio::test]
async fn a_body_at_the_cap_passes_and_one_byte_more_is_too_large() {
    let body = |length: usize| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        [head.into_bytes(), vec![b'x'; length]].concat()
    };
    let (fits, over) = (Server::answering(body(65_536)), Server::answering(body(65_537)));
    assert!(passed(&probe_at(fits.address).await));
    assert_eq!(probe_at(over.address).await.outcome, ProbeOutcome::TooLarge);
    assert!(passed(&probe(asking(over.address, |spec| spec.cap_is_ok = true)).await));
}

#[tokio::test]
async fn the_phase_of_a_timeout_is_the_one_it_stands_in() {
    for (said, phase) in [
        ("", Phase::FirstByte),
        ("H", Phase::Headers),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n", Phase::Headers),
        ("HTTP/1.1 100 Continue\r\n\r\n", Phase::Headers),
        ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Phase::Body),
        ("HTTP/1.1 200 OK\r\n\r\nhello", Phase::Body),
    ] {
        let server = Server::new(move |mut stream| {
            servers::request(&mut stream)?;
            stream.write_all(said.as_bytes())?;
            servers::until_closed(&mut stream)
        });
        let probed = probe_at(server.address).await;
        assert_eq!(probed.outcome, ProbeOutcome::Timeout(phase), "{said:?}");
        assert!(probed.phases.total >= TIMEOUT, "{probed:?}");
    }
}

#[tokio::test]
async fn a_server_that_closed_its_half_at_once_is_reset_and_does_not_hang_the_probe() {
    let server = Server::new(|mut stream| {
        stream.shutdown(Shutdown::Write)?;
        servers::until_closed(&mut stream)
    });
    let probed = probe_at(server.address).await;
    assert_eq!(probed.outcome, ProbeOutcome::Reset);
    assert!(probed.phases.total < TIMEOUT);
}

#[tokio::test]
async fn a_request_that_cannot_be_made_is_our_trouble() {
    let server = Server::answering(OK);
    let probed = probe(asking(server.address, |spec| spec.path = "/a b".into())).await;
    assert!(matches!(probed.outcome, ProbeOutcome::Local(_)), "{probed:?}");
}
