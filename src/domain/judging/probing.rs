//! defib's own probes as evidence.

use super::streak::{Failure, Streak};
use crate::domain::{
    moment::{AwakeMs, Moment},
    observation::{Phase, ProbeOutcome, Sample},
    policy::ProbePolicy,
    stall::leave_out,
};
use std::time::Duration;

/// What one probe of the current instance showed so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProbeEvidence {
    pub(crate) streak: Streak,
    /// Since when it could not be carried out, and why.
    pub(crate) could_not_look: Option<(Moment, String)>,
    /// When the last sample came that was evidence.
    pub(crate) last_evidence: Option<Moment>,
    /// When it last passed.
    pub(crate) last_pass: Option<Moment>,
    /// What the last sample showed, where it failed within the grace: it counts for nothing, and is there to be seen.
    pub(crate) fails_in_grace: Option<String>,
}

/// What a sample is to its streak.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Pass,
    Fail(Failure),
    /// It says nothing of the target, and why (S5).
    NoEvidence(String),
}

impl ProbeEvidence {
    /// Takes a sample in. `in_grace`: failures of a new instance do not count yet (S6). True where it was a pass.
    pub(crate) fn observe(
        &mut self,
        sample: &Sample,
        probe: &ProbePolicy,
        in_grace: bool,
        now: Moment,
    ) -> bool {
        match meaning(sample, probe) {
            Meaning::Pass => {
                self.could_not_look = None;
                self.fails_in_grace = None;
                self.last_evidence = Some(now);
                self.last_pass = Some(now);
                self.streak.pass(probe.rise);
                true
            }
            Meaning::Fail(failure) => {
                self.could_not_look = None;
                if in_grace {
                    self.fails_in_grace = Some(failure.shows);
                } else {
                    self.fails_in_grace = None;
                    self.last_evidence = Some(now);
                    self.streak.fail(failure, probe.fall, now);
                }
                false
            }
            Meaning::NoEvidence(why) => {
                let since = self.could_not_look.take().map_or(now, |(since, _)| since);
                self.could_not_look = Some((since, why));
                false
            }
        }
    }
}

impl ProbeEvidence {
    /// Nobody looked for so long. How old the last evidence is stays true.
    pub(crate) fn leave_out(&mut self, stalled: Duration) {
        self.streak.leave_out(stalled);
        if let Some((since, _)) = &mut self.could_not_look {
            leave_out(since, stalled);
        }
    }

    /// Whether its last evidence is of now: there was one within two intervals, and the time that a sample may take.
    pub(crate) fn is_fresh(&self, probe: &ProbePolicy, now: AwakeMs) -> bool {
        let patience = probe.every.saturating_mul(2) + probe.timeout;
        self.last_evidence.is_some_and(|at| now.since(at.awake) <= patience)
    }
}

/// What a sample is to its streak (S5), and whether a restart can cure it (S11).
pub(crate) fn meaning(sample: &Sample, probe: &ProbePolicy) -> Meaning {
    let name = &probe.name;
    let fail = |what: String, curable: bool| {
        let curable = probe.may_restart.unwrap_or(curable);
        Meaning::Fail(Failure { shows: format!("probe `{name}` {what}"), curable })
    };
    match &sample.outcome {
        ProbeOutcome::Ok { .. } => Meaning::Pass,
        ProbeOutcome::Timeout(Phase::Dns) => {
            Meaning::NoEvidence(format!("probe `{name}`: the name was not resolved in time"))
        }
        ProbeOutcome::Timeout(phase) => fail(
            format!(
                "gets no answer within {} ({})",
                crate::domain::moment::Spoken(probe.timeout),
                phase_words(*phase)
            ),
            true,
        ),
        ProbeOutcome::Refused => {
            fail("is refused a connection: nobody listens on the port".to_owned(), true)
        }
        ProbeOutcome::Reset => {
            fail("loses its connection: reset, or closed before an answer".to_owned(), true)
        }
        ProbeOutcome::Status(status) => {
            fail(format!("is answered with {status}"), (500..=599).contains(status))
        }
        ProbeOutcome::Assertion(what) => fail(format!("is answered wrongly: {what}"), false),
        ProbeOutcome::Truncated => fail("gets an answer that breaks off".to_owned(), false),
        ProbeOutcome::TooLarge => fail("gets an answer larger than its cap".to_owned(), false),
        ProbeOutcome::Protocol(what) => fail(format!("gets no HTTP: {what}"), false),
        ProbeOutcome::Decode(what) => fail(format!("can't read the answer: {what}"), false),
        ProbeOutcome::Tls(what) => fail(format!("fails at TLS: {what}"), false),
        ProbeOutcome::Certificate(what) => {
            fail(format!("does not accept the certificate: {what}"), false)
        }
        ProbeOutcome::Redirect(what) => fail(format!("is sent elsewhere: {what}"), false),
        ProbeOutcome::Dns(why) | ProbeOutcome::Local(why) | ProbeOutcome::Infra(why) => {
            Meaning::NoEvidence(format!("probe `{name}` could not run: {why}"))
        }
        ProbeOutcome::Gone => {
            Meaning::NoEvidence(format!("probe `{name}`: the instance ended meanwhile"))
        }
    }
}

fn phase_words(phase: Phase) -> &'static str {
    match phase {
        Phase::Dns => "resolving the name",
        Phase::Connect => "connecting",
        Phase::Tls => "in the TLS handshake",
        Phase::FirstByte => "connected, waiting for the first byte",
        Phase::Headers => "in the answer's head",
        Phase::Body => "in the answer's body",
    }
}
