//! What probing costs, printed beside the least it can cost; asserts nothing. Run it with
//! `cargo test --release --test probe bench -- --ignored --nocapture --test-threads=1`.

use crate::{
    servers::Server,
    virtual_time::ten_thousand_for,
    watches::{asking, prober},
};
use defib::{domain::observation::ProbeOutcome, probe::port::Prober as _};
use futures_util::{StreamExt as _, stream};
use rustix::time::{ClockId, clock_gettime};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const RUNS: usize = 3_000;
const AT_ONCE: usize = 32;

/// Processor time of this thread, which is the runtime's only one: the server's threads do not count.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

async fn micros_each<F: Future<Output = bool>>(run: impl Fn() -> F) -> f64 {
    let before = processor_time();
    let passed = stream::iter(0..RUNS).map(|_| run()).buffer_unordered(AT_ONCE);
    let passed = passed.filter(|passed| std::future::ready(*passed)).count().await;
    assert_eq!(passed, RUNS);
    (processor_time() - before).as_secs_f64() * 1e6 / RUNS as f64
}

async fn bare(address: SocketAddr) -> bool {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .await
        .unwrap();
    let mut answer = Vec::with_capacity(512);
    stream.read_to_end(&mut answer).await.unwrap();
    answer.starts_with(b"HTTP/1.1 200")
}

#[tokio::test]
#[ignore = "prints figures"]
async fn bench_one_probe_beside_a_bare_loop() {
    let server = Server::answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let address = server.address;
    let prober = prober();
    let ours = || async {
        let mut watch = asking(address, |_| {});
        watch.probe.timeout = Duration::from_secs(10);
        let probed = prober.probe(Arc::new(watch)).await;
        matches!(probed.outcome, ProbeOutcome::Ok { .. })
    };
    for round in 1..=3 {
        let floor = micros_each(|| bare(address)).await;
        let cost = micros_each(ours).await;
        println!(
            "round {round}: bare loop {floor:.0} µs, HttpProber {cost:.0} µs of CPU each: {:.2} times",
            cost / floor
        );
    }
}

#[tokio::test(start_paused = true)]
#[ignore = "prints figures"]
async fn bench_the_schedule_of_ten_thousand_targets() {
    let before = processor_time();
    let samples = ten_thousand_for(Duration::from_secs(60)).await;
    let each = (processor_time() - before).as_secs_f64() * 1e6 / samples as f64;
    println!(
        "{samples} samples of 10,000 targets: {each:.1} µs of CPU each, the prober in memory included"
    );
}
