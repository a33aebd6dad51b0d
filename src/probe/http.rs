//! One HTTP/1.1 probe: a fresh connection, one request, one answer, one exact class.
//!
//! By hand over hyper's connection and not through a client, because a client cannot say in which phase the time went, and
//! because nothing of a client is wanted here: no pool, no proxy from the environment, no redirects (a 3xx is judged as the
//! status it is), no retries. Everything runs inside the caller's future, also the connection: dropping it closes what it
//! opened.
//!
//! `watch.probe.timeout` is one hard total over all phases. A timeout for each read would be stretched for ever by a server
//! that sends a byte a second, which is exactly what a hung server behind a patient proxy looks like.
//!
//! What it refuses: to call our own trouble (descriptors, ports, routes, a starved process) a failure of the target (S5).

mod class;
mod connect;
mod request;
mod wire;

use super::port::{Probed, Prober};
use crate::{
    domain::{
        effect::Watch,
        moment::Spoken,
        observation::{Phase, Phases, ProbeOutcome},
        policy::{HttpProbe, Place, ProbeSpec},
    },
    resolve::{Lane, Resolver},
    tasks::Pending,
};
use http_body_util::BodyExt as _;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use std::{
    future::{Future, poll_fn},
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};
use tokio::time::Instant;

/// An answer's head at most. nginx and Node.js stop at 8 and 16 KiB; what sends more is not a health page.
const HEAD_CAP: usize = 16 * 1024;
/// Fields in an answer's head at most, with room over hyper's usual 100.
const FIELDS_CAP: usize = 128;
/// A deadline that is seen later than this was missed by us: the process was stopped or starved, and the target may have
/// answered long ago. Well over what a busy host delays a timer, well under a timeout of seconds. A shorter timeout has less
/// to miss: see [`starved_after`].
const STARVED: Duration = Duration::from_millis(500);
/// A deadline that is seen late by more than one part in so many of its timeout was missed by us as well. Who was not run for
/// a quarter of the time after the deadline was hardly run well before it, and what the target had of the timeout is
/// unknown; from a timeout of 2 s on, the default, [`STARVED`] is the narrower of the two. A host that delays a timer of
/// 200 ms by 50 ms calls that sample silence, which costs a streak nothing (S5).
const STARVED_PART: u32 = 4;
/// The resolver's share of the total above which a later deadline is the resolver's too. Whoever has half of the timeout left
/// would have been asked with a timeout of half that length, which is still a question; with less, most of the time that the
/// config grants the target went to somebody else, and a target that answers slowly but within its timeout would be called
/// hung whenever DNS is slow (S5). What the target does within what is left counts as ever.
const RESOLVER_PART: u32 = 2;

/// Runs HTTP/1.1 probes.
#[derive(Debug)]
pub struct HttpProber {
    resolver: Arc<Resolver>,
}

impl HttpProber {
    /// Resolves the hosts of URLs with `resolver`.
    pub fn new(resolver: Arc<Resolver>) -> Self {
        Self { resolver }
    }

    async fn run(&self, watch: &Watch, spec: &HttpProbe) -> Probed {
        let mut course = Course::begin();
        let timeout = watch.probe.timeout;
        let deadline = course.started + timeout;
        let run = ask(&self.resolver, watch, spec, &mut course);
        let outcome = match tokio::time::timeout_at(deadline, run).await {
            Ok(outcome) => outcome,
            Err(_) => match instant().duration_since(course.started).saturating_sub(timeout) {
                late if late > starved_after(timeout) => ProbeOutcome::Local(format!(
                    "defib itself was not run for {}, and so missed the probe's deadline",
                    Spoken(late)
                )),
                _ => course.timed_out(timeout),
            },
        };
        course.end(outcome)
    }
}

impl Prober for HttpProber {
    fn probe(&self, watch: Arc<Watch>) -> Pending<'_, Probed> {
        Box::pin(async move {
            match &watch.probe.spec {
                ProbeSpec::Http(spec) => self.run(&watch, spec).await,
            }
        })
    }
}

/// How late a deadline may be seen and still be the target's.
fn starved_after(timeout: Duration) -> Duration {
    STARVED.min(timeout / STARVED_PART)
}

/// Goes through the phases. An outcome may come from any of them.
async fn ask(
    resolver: &Resolver,
    watch: &Watch,
    spec: &HttpProbe,
    course: &mut Course,
) -> ProbeOutcome {
    let addresses = match addresses(resolver, watch, spec, course).await {
        Ok(addresses) => addresses,
        Err(outcome) => return outcome,
    };
    let request = match request::build(spec, addresses[0]) {
        Ok(request) => request,
        Err(fault) => return ProbeOutcome::Local(format!("the request cannot be made: {fault}")),
    };

    course.enter(Phase::Connect);
    course.address = Some(addresses[0]);
    let stream = match connect::first(&addresses).await {
        Ok((stream, address)) => {
            course.address = Some(address);
            stream
        }
        Err(failed) => {
            course.address = Some(failed.address);
            return class::of_connect(&failed);
        }
    };

    course.enter(Phase::FirstByte);
    let (io, seen) = wire::watch(stream, HEAD_CAP);
    course.seen = Some(seen.clone());
    let handshake = http1::Builder::new()
        .max_buf_size(HEAD_CAP)
        .max_headers(FIELDS_CAP)
        .handshake(TokioIo::new(io))
        .await;
    let (mut sender, connection) = match handshake {
        Ok(both) => both,
        Err(fault) => return class::of_head(&fault, &seen.look()),
    };
    let mut connection = Driven { connection: pin!(connection), ended: false };
    let response = match connection.while_waiting_for(sender.send_request(request)).await {
        Ok(response) => response,
        Err(fault) => return class::of_head(&fault, &seen.look()),
    };

    seen.head_is_whole();
    course.enter(Phase::Body);
    let status = response.status().as_u16();
    // The cheapest assertion first: what the body of an unwanted status says changes nothing.
    if !spec.status.iter().any(|&(from, to)| (from..=to).contains(&status)) {
        return ProbeOutcome::Status(status);
    }
    let mut body = response.into_body();
    let mut length = 0_u64;
    // Read to its end also where only the status counts, so that an answer that breaks off fails.
    while let Some(frame) = connection.while_waiting_for(body.frame()).await {
        match frame {
            Ok(frame) => length += frame.data_ref().map_or(0, |data| data.len() as u64),
            Err(fault) => return class::of_body(&fault, &seen.look()),
        }
        if length > spec.body_cap {
            return if spec.cap_is_ok {
                ProbeOutcome::Ok { status: Some(status) }
            } else {
                ProbeOutcome::TooLarge
            };
        }
    }
    ProbeOutcome::Ok { status: Some(status) }
}

/// Where to connect to; never empty.
async fn addresses(
    resolver: &Resolver,
    watch: &Watch,
    spec: &HttpProbe,
    course: &mut Course,
) -> Result<Vec<SocketAddr>, ProbeOutcome> {
    match &spec.place {
        Place::Replica { port, .. } => match watch.address {
            Some(address) => Ok(vec![SocketAddr::new(address, *port)]),
            None => Err(ProbeOutcome::Local(
                "the container has no address on a network that can be reached from here".into(),
            )),
        },
        Place::Url { host, port } => {
            course.enter(Phase::Dns);
            // The total bounds this too; what the resolver's own limit adds is a cause in words.
            match resolver.resolve(Lane::Probes, host, watch.probe.timeout).await {
                Ok(found) => Ok(found.into_iter().map(|ip| SocketAddr::new(ip, *port)).collect()),
                Err(failure) => Err(class::of_resolve(&failure)),
            }
        }
    }
}

/// A connection that moves only while something is waited for, inside the same future.
struct Driven<'a, C> {
    connection: Pin<&'a mut C>,
    ended: bool,
}

impl<C: Future> Driven<'_, C> {
    /// What the connection itself ends with is told by what is waited for, which hyper lets fail with the cause.
    async fn while_waiting_for<F: Future>(&mut self, wanted: F) -> F::Output {
        let mut wanted = pin!(wanted);
        poll_fn(|context| {
            if !self.ended {
                self.ended = self.connection.as_mut().poll(context).is_ready();
            }
            match wanted.as_mut().poll(context) {
                Poll::Ready(output) => Poll::Ready(output),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// How far a probe has come, and what its phases took. Outlives the probe's future, so that a deadline knows where it struck.
struct Course {
    started: Instant,
    phase: Option<(Phase, Instant)>,
    phases: Phases,
    address: Option<SocketAddr>,
    seen: Option<wire::Seen>,
}

impl Course {
    fn begin() -> Self {
        Self {
            started: instant(),
            phase: None,
            phases: Phases::default(),
            address: None,
            seen: None,
        }
    }

    /// Ends the phase that was, and begins `phase`.
    fn enter(&mut self, phase: Phase) {
        let now = instant();
        self.leave(now);
        self.phase = Some((phase, now));
    }

    fn leave(&mut self, now: Instant) {
        let Some((phase, since)) = self.phase.take() else { return };
        let took = Some(now.saturating_duration_since(since));
        match phase {
            Phase::Dns => self.phases.dns = took,
            Phase::Connect => self.phases.connect = took,
            Phase::Tls => self.phases.tls = took,
            // Where the first byte came, only the wire knows: hyper speaks when the head is whole.
            Phase::FirstByte | Phase::Headers => {
                let seen = self.seen.as_ref().map(wire::Seen::look).unwrap_or_default();
                let asked = seen.asked.unwrap_or(since);
                let first = seen.first_byte.unwrap_or(now);
                self.phases.first_byte = Some(first.saturating_duration_since(asked));
                self.phases.headers = seen.first_byte.map(|at| now.saturating_duration_since(at));
            }
            Phase::Body => self.phases.body = took,
        }
    }

    fn timed_out(&self, timeout: Duration) -> ProbeOutcome {
        if self.phases.dns.is_some_and(|took| took > timeout / RESOLVER_PART) {
            return ProbeOutcome::Dns(format!(
                "the resolver took most of the {}, which left too little for an answer",
                Spoken(timeout)
            ));
        }
        let answering = self.seen.as_ref().is_some_and(|seen| seen.look().first_byte.is_some());
        ProbeOutcome::Timeout(match self.phase {
            None | Some((Phase::Dns, _)) => {
                // The resolver's failure, and no evidence against the target.
                return ProbeOutcome::Dns("the name did not resolve before the deadline".into());
            }
            Some((Phase::FirstByte, _)) if answering => Phase::Headers,
            Some((phase, _)) => phase,
        })
    }

    fn end(mut self, outcome: ProbeOutcome) -> Probed {
        let now = instant();
        self.leave(now);
        self.phases.total = now.saturating_duration_since(self.started);
        let address = self.address.map(|address| address.to_string());
        Probed { outcome, phases: self.phases, address }
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "time that passes within one probe, on the clock that its deadline runs on"
)]
fn instant() -> Instant {
    Instant::now()
}
