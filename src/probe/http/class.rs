//! From what was seen on the wire to a sample's class.
//!
//! A connection that ends before the first byte of an answer is `reset`, whether it ended by FIN or by RST: which of the two
//! comes depends on whether the kernel had our request yet, and a class must not depend on that race. Once an answer has
//! begun, FIN is `truncated` and RST is `reset`.
//!
//! "No route to host" (EHOSTUNREACH, EHOSTDOWN) is said by two that could not differ more. At once, by our own side: a route or
//! a firewall of this host (firewalld rejects in these words), or a router that was asked and knew without asking; nothing
//! of ours reached the target, so that it proves nothing (S5). And after a wait, by a kernel that asked its network for the
//! address and heard nobody: a container whose end of the bridge is gone looks like that, which a restart does cure, and
//! which with a timeout of less than those 3 s passes as a timeout anyway. The wait tells them apart.

use super::{connect::ConnectFailure, wire::Sight};
use crate::{
    domain::observation::{Phase, ProbeOutcome},
    redact,
    resolve::ResolveFailure,
};
use rustix::io::Errno;
use std::{error::Error, io, time::Duration};

/// "No route to host" after so long was said because nobody answered for the address: the kernel asks a network for it three
/// times, a second apart. Sooner, it was known without asking. A sample that shares the last of another's three questions
/// falls under it too, and is silence: the next one asks anew.
const ASKED_FOR: Duration = Duration::from_secs(1);

/// The class of a name without addresses: never evidence, but whose trouble it is matters to whoever is told.
pub(super) fn of_resolve(failure: &ResolveFailure) -> ProbeOutcome {
    let text = failure
        .source()
        .map_or_else(|| failure.to_string(), |source| format!("{failure}: {source}"));
    match failure {
        ResolveFailure::NoThread { .. } => ProbeOutcome::Local(text),
        // The resolver's library could not even open a socket.
        ResolveFailure::Failed { source, .. } if is_shortage(source) => ProbeOutcome::Local(text),
        ResolveFailure::Failed { .. }
        | ResolveFailure::NoAddress { .. }
        | ResolveFailure::TimedOut { .. }
        | ResolveFailure::Busy { .. } => ProbeOutcome::Dns(text),
    }
}

fn is_shortage(fault: &io::Error) -> bool {
    let shortages = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NOBUFS];
    Errno::from_io_error(fault).is_some_and(|number| shortages.contains(&number))
}

/// The class of a connection that did not come about.
pub(super) fn of_connect(failed: &ConnectFailure) -> ProbeOutcome {
    evidence_in(failed)
        .unwrap_or_else(|| ProbeOutcome::Local(format!("failed to connect: {}", failed.source)))
}

/// Whether a failure to connect is trouble of our own.
pub(super) fn is_ours(failed: &ConnectFailure) -> bool {
    evidence_in(failed).is_none()
}

fn evidence_in(failed: &ConnectFailure) -> Option<ProbeOutcome> {
    let number = failed.source.raw_os_error().unwrap_or(0);
    match Errno::from_raw_os_error(number) {
        Errno::HOSTUNREACH | Errno::HOSTDOWN if failed.waited >= ASKED_FOR => {
            Some(ProbeOutcome::Timeout(Phase::Connect))
        }
        _ => of_errno(number, Phase::Connect),
    }
}

/// The class of an answer whose head did not come whole.
pub(super) fn of_head(fault: &hyper::Error, sight: &Sight) -> ProbeOutcome {
    if sight.head_without_end || fault.is_parse_too_large() {
        return ProbeOutcome::Protocol("the answer's head is too large".into());
    }
    if fault.is_parse() {
        let why = words(fault);
        return ProbeOutcome::Protocol(format!("what came can't be read as HTTP/1.1 ({why})"));
    }
    let phase = if sight.first_byte.is_some() { Phase::Headers } else { Phase::FirstByte };
    if let Some(outcome) = of_broken(sight, phase) {
        return outcome;
    }
    match (sight.first_byte, sight.ended) {
        (None, true) => ProbeOutcome::Reset,
        (Some(_), true) => ProbeOutcome::Truncated,
        (_, false) => ProbeOutcome::Protocol(words(fault)),
    }
}

/// The class of an answer whose body did not come whole.
pub(super) fn of_body(fault: &hyper::Error, sight: &Sight) -> ProbeOutcome {
    of_broken(sight, Phase::Body).unwrap_or_else(|| {
        if sight.ended { ProbeOutcome::Truncated } else { ProbeOutcome::Protocol(words(fault)) }
    })
}

fn of_broken(sight: &Sight, phase: Phase) -> Option<ProbeOutcome> {
    let (number, text) = sight.broke.as_ref()?;
    Some(of_errno(*number, phase).unwrap_or_else(|| {
        ProbeOutcome::Local(format!("the connection broke on our side: {text}"))
    }))
}

/// What a system error says of the target; `None` where it speaks of ourselves: descriptors (EMFILE, ENFILE), memory
/// (ENOBUFS, ENOMEM), ports (EADDRNOTAVAIL), routes (ENETUNREACH, EHOSTUNREACH), a firewall of our own (EPERM, EACCES), and
/// whatever nobody thought of, because an error that is not understood proves nothing (S5).
fn of_errno(number: i32, phase: Phase) -> Option<ProbeOutcome> {
    match Errno::from_raw_os_error(number) {
        Errno::CONNREFUSED => Some(ProbeOutcome::Refused),
        Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Some(ProbeOutcome::Reset),
        // The kernel asked again and again and stopped waiting sooner than we would have. It says so after seconds of its own
        // and never at once: no route, firewall or router is told of with this number.
        Errno::TIMEDOUT => Some(ProbeOutcome::Timeout(phase)),
        _ => None,
    }
}

/// An error with its causes, in one line.
fn words(fault: &hyper::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(next) = cause {
        text.push_str(": ");
        text.push_str(&next.to_string());
        cause = next.source();
    }
    redact::text(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(waited: Duration, number: Errno) -> ConnectFailure {
        ConnectFailure { address: ([172, 17, 0, 2], 80).into(), source: number.into(), waited }
    }

    fn at_once(number: Errno) -> ConnectFailure {
        after(Duration::from_millis(1), number)
    }

    #[test]
    fn our_own_trouble_is_never_evidence() {
        for ours in [
            Errno::MFILE,
            Errno::NFILE,
            Errno::NOBUFS,
            Errno::NOMEM,
            Errno::ADDRNOTAVAIL,
            Errno::NETUNREACH,
            Errno::HOSTUNREACH,
            Errno::HOSTDOWN,
            Errno::PERM,
            Errno::ACCESS,
            Errno::AFNOSUPPORT,
            Errno::INVAL,
        ] {
            let outcome = of_connect(&at_once(ours));
            assert!(matches!(outcome, ProbeOutcome::Local(_)), "{ours:?}: {outcome:?}");
        }
    }

    #[test]
    fn a_resolver_without_descriptors_is_our_trouble_and_one_that_is_down_is_its_own() {
        let failed = |source: io::Error| ResolveFailure::Failed {
            name: "shop.example".into(),
            source: std::sync::Arc::new(source),
        };
        let ours = of_resolve(&failed(Errno::MFILE.into()));
        assert!(matches!(ours, ProbeOutcome::Local(_)), "{ours:?}");
        let theirs = of_resolve(&failed(io::Error::other("no such name")));
        let words = "failed to resolve `shop.example`: no such name";
        assert_eq!(theirs, ProbeOutcome::Dns(words.into()));
    }

    #[test]
    fn what_the_other_side_did_is() {
        assert_eq!(of_connect(&at_once(Errno::CONNREFUSED)), ProbeOutcome::Refused);
        assert_eq!(of_connect(&at_once(Errno::CONNRESET)), ProbeOutcome::Reset);
    }

    #[test]
    fn no_route_is_evidence_only_where_the_network_was_asked_and_nobody_answered() {
        let unanswered = ProbeOutcome::Timeout(Phase::Connect);
        for number in [Errno::HOSTUNREACH, Errno::HOSTDOWN] {
            assert!(is_ours(&at_once(number)));
            assert!(is_ours(&after(Duration::from_millis(999), number)));
            assert_eq!(of_connect(&after(Duration::from_secs(3), number)), unanswered);
        }
        let no_network = after(Duration::from_secs(3), Errno::NETUNREACH);
        assert!(is_ours(&no_network), "who has no route has asked nobody, however long it took");
        assert_eq!(of_connect(&after(Duration::from_secs(7), Errno::TIMEDOUT)), unanswered);
    }
}
