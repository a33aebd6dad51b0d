//! What the two kinds of evidence make of what they see, asked of the code.

use crate::{
    domain::{
        judging::{
            health::HealthEvidence,
            probing::{Meaning, meaning},
            streak::{Failure, Streak},
        },
        moment::{AwakeMs, EngineMs, Moment},
        name::{ProbeName, ReplicaName, ServiceName},
        observation::{
            ContainerState, Health, HealthEntry, HealthResult, HealthStatus, Healthcheck, Phase,
            Phases, ProbeOutcome, Sample, Target,
        },
        policy::{HttpProbe, Place, ProbePolicy, ProbeSpec},
    },
    generated::{code, name, table},
    lifecycles::inspection,
};
use std::time::Duration;

const FALL: u32 = 3;
const RISE: u32 = 2;

pub fn probe() -> ProbePolicy {
    ProbePolicy {
        name: ProbeName::new("health"),
        definition: 1,
        spec: ProbeSpec::Http(HttpProbe {
            place: Place::Replica { port: 80, network: None },
            path: "/".to_owned(),
            method: "GET".to_owned(),
            headers: Vec::new(),
            status: vec![(200, 299)],
            body_cap: 1024,
            cap_is_ok: false,
        }),
        every: Duration::from_secs(5),
        timeout: Duration::from_secs(2),
        fall: FALL,
        rise: RISE,
        may_restart: None,
    }
}

/// Every class, with when it comes.
fn outcomes() -> Vec<(&'static str, ProbeOutcome, &'static str)> {
    let text = String::new;
    vec![
        (
            "",
            ProbeOutcome::Ok { status: None },
            "a wanted status, and the whole body within its cap",
        ),
        (
            " 500–599",
            ProbeOutcome::Status(503),
            "a status that is not wanted, of the server's kind",
        ),
        (
            " other",
            ProbeOutcome::Status(404),
            "any other status that is not wanted, redirects included",
        ),
        (
            "",
            ProbeOutcome::Assertion(text()),
            "an answer that is not as asserted; no probe asserts more than the status yet",
        ),
        (
            "",
            ProbeOutcome::Timeout(Phase::FirstByte),
            "the hard total passed; it says in which phase",
        ),
        (
            " while resolving",
            ProbeOutcome::Timeout(Phase::Dns),
            "the hard total passed before there was an address",
        ),
        ("", ProbeOutcome::Refused, "nobody listens on the port"),
        ("", ProbeOutcome::Reset, "the connection broke, or was closed before a byte of an answer"),
        (
            "",
            ProbeOutcome::Truncated,
            "the answer began, and the connection was closed before its end",
        ),
        ("", ProbeOutcome::TooLarge, "the body is longer than its cap"),
        ("", ProbeOutcome::Protocol(text()), "what came is not HTTP, or its head has no end"),
        ("", ProbeOutcome::Decode(text()), "the body can't be read; no probe reads one yet"),
        ("", ProbeOutcome::Tls(text()), "the TLS handshake failed; no probe speaks TLS yet"),
        (
            "",
            ProbeOutcome::Certificate(text()),
            "the certificate is not accepted; no probe speaks TLS yet",
        ),
        ("", ProbeOutcome::Redirect(text()), "too many redirects; none is followed yet"),
        (
            "",
            ProbeOutcome::Dns(text()),
            "the resolver failed, knows no address, or did not answer in time",
        ),
        (
            "",
            ProbeOutcome::Local(text()),
            "trouble of our own: descriptors, memory, ports, routes, no address, a host that slept, a request that can't be made",
        ),
        (
            "",
            ProbeOutcome::Infra(text()),
            "something between us and the target that is neither's; nothing makes it yet",
        ),
        (
            "",
            ProbeOutcome::Gone,
            "the instance ended, or is not watched any more, while it was asked",
        ),
    ]
}

pub fn classes() -> String {
    let rows: Vec<Vec<String>> = outcomes()
        .into_iter()
        .map(|(which, outcome, comes)| {
            let class = format!("{}{which}", code(name(&outcome)));
            let sample = Sample {
                target: Target {
                    replica: ReplicaName::new("web"),
                    probe: ProbeName::new("health"),
                },
                service: ServiceName::new("web"),
                instance: None,
                outcome,
                phases: Phases::default(),
                address: None,
                lag: Duration::ZERO,
                skipped: 0,
            };
            let counts = match meaning(&sample, &probe()) {
                Meaning::Pass => "a pass",
                Meaning::Fail(Failure { curable: true, .. }) => "a failure that a restart may cure",
                Meaning::Fail(Failure { curable: false, .. }) => {
                    "a failure that is told, not restarted for"
                }
                Meaning::NoEvidence(_) => "nothing: no evidence",
            };
            vec![class, comes.to_owned(), counts.to_owned()]
        })
        .collect();
    table(&["class".into(), "comes when".into(), "counts as".into()], &rows)
}

fn failure() -> Failure {
    Failure { shows: "down".to_owned(), curable: true }
}

/// What a streak says of itself.
fn described(streak: &Streak) -> String {
    let failing = if streak.failing { ", failing" } else { "" };
    format!("failures {}, passes {}{failing}", streak.failures, streak.passes)
}

pub fn streak() -> String {
    let now = Moment::default();
    let failing = || {
        let mut streak = Streak::default();
        (0..FALL).for_each(|_| streak.fail(failure(), FALL, now));
        streak
    };
    let begun = || {
        let mut streak = Streak::default();
        (1..FALL).for_each(|_| streak.fail(failure(), FALL, now));
        streak
    };
    let mending = || {
        let mut streak = failing();
        (1..RISE).for_each(|_| streak.pass(RISE));
        streak
    };
    let befores: [(&str, Streak); 4] = [
        ("nothing yet", Streak::default()),
        ("one short of `fall`", begun()),
        ("failing", failing()),
        ("failing, one short of `rise`", mending()),
    ];
    let rows = befores.map(|(said, before)| {
        let (mut failed, mut passed) = (before.clone(), before.clone());
        failed.fail(failure(), FALL, now);
        passed.pass(RISE);
        vec![
            format!("{said} ({})", described(&before)),
            described(&failed),
            described(&passed),
            "·".to_owned(),
        ]
    });
    let head = ["streak", "a failure", "a pass", "no evidence"].map(str::to_owned);
    table(&head, &rows)
}

const CHECK: Healthcheck = Healthcheck {
    interval: Duration::from_secs(5),
    timeout: Duration::from_secs(2),
    start_period: Duration::ZERO,
    retries: 3,
};

pub fn healthcheck() -> String {
    let entry = |result, end| HealthEntry {
        start: EngineMs(end - 100),
        end: EngineMs(end),
        result,
        output: "down".to_owned(),
    };
    let fresh = 99_000;
    let entries: Vec<(&str, Option<HealthEntry>)> = vec![
        ("passed", Some(entry(HealthResult::Passed, fresh))),
        ("failed", Some(entry(HealthResult::Failed, fresh))),
        ("could not be executed", Some(entry(HealthResult::CouldNotRun, fresh))),
        ("none of this life since the last pause", None),
        ("too long ago for its interval", Some(entry(HealthResult::Failed, 20_000))),
    ];
    let statuses = [
        HealthStatus::Starting,
        HealthStatus::Healthy,
        HealthStatus::Unhealthy,
        HealthStatus::Unknown("odd".to_owned()),
    ];
    let mut rows = Vec::new();
    for (said, entry) in entries {
        let mut row = vec![said.to_owned()];
        for status in &statuses {
            // It was failing, so that what each look does to the streak shows.
            let mut seen = HealthEvidence::default();
            seen.streak.reach(3, failure(), Moment::default());
            seen.streak.failing = true;
            let mut look = inspection(ContainerState::Running, "1");
            look.healthcheck = Some(CHECK);
            look.health = Some(Health {
                status: status.clone(),
                failing_streak: if matches!(status, HealthStatus::Unhealthy) { 4 } else { 0 },
                log: entry.clone().into_iter().collect(),
            });
            let now = Moment { awake: AwakeMs(100_000), ..Moment::default() };
            seen.observe(&look, Some(EngineMs(1_000)), now);
            let streak = match (seen.streak.failing, seen.streak.failures) {
                (true, 3) => "streak kept",
                (true, _) => "streak grows",
                (false, _) => "streak ends",
            };
            row.push(format!("{}, {streak}", code(name(&seen.reading))));
        }
        rows.push(row);
    }
    let mut head = vec!["newest result".to_owned()];
    head.extend(statuses.iter().map(|status| code(name(status))));
    table(&head, &rows)
}
