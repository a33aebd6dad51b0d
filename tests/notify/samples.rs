//! Messages as the domain would decide them, and surroundings with a clock that stands still.

use defib::{
    clock::Clock,
    domain::{
        effect::SendOrder,
        message::{IncidentKind, Message, MessageKind, Severity},
        moment::{AwakeMs, BootId, Moment, WallMs},
        name::{HostName, IncidentId, MessageId, ServiceName, SinkName},
    },
    notify::{config::Surroundings, http::HttpClient, terminal::Terminal},
    tasks::Pending,
};
use jiff::tz::TimeZone;
use std::{sync::Arc, time::Duration};

/// 2026-09-02 12:02:11.250 UTC, a Wednesday.
pub(crate) const SINCE: i64 = 1_788_350_531_250;

pub(crate) fn berlin() -> TimeZone {
    TimeZone::get("Europe/Berlin").unwrap()
}

fn strings(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// A service failed and a restart is being tried.
pub(crate) fn notice() -> Message {
    Message {
        id: MessageId(1),
        incident: IncidentId(12),
        key: "windy-prod/kit-1/account-server/unhealthy".to_owned(),
        kind: MessageKind::Opened,
        severity: Severity::Notice,
        incident_kind: IncidentKind::Unhealthy,
        fleet: "windy-prod".to_owned(),
        host: HostName::new("kit-1"),
        service: Some(ServiceName::new("account-server")),
        headline: "account-server is unhealthy and is being restarted".to_owned(),
        since: WallMs(SINCE),
        until: None,
        decided: WallMs(SINCE + 34_000),
        members: strings(&[
            "windy/account-server/1 (unhealthy, for 34s, 3 failures): Docker's healthcheck fails: wget: download timed out",
        ]),
        done: strings(&["restart 1 of 3 is under way"]),
        findings: vec![],
        next_steps: strings(&["$ docker logs --tail 50 account-server"]),
        runbook: Some("https://wiki.example.org/account-server?a=1&b=2".to_owned()),
        note: None,
    }
}

/// The restarts did not help.
pub(crate) fn page() -> Message {
    Message {
        id: MessageId(2),
        kind: MessageKind::Raised,
        severity: Severity::Page,
        headline: "account-server is unhealthy and restarts do not help".to_owned(),
        decided: WallMs(SINCE + 250_000),
        members: strings(&[
            "windy/account-server/1 (unhealthy, for 4m 10s, 9 failures): Docker's healthcheck fails: wget: download timed out",
        ]),
        done: strings(&[
            "restart 1 of 2: healthy again 40s after it was begun",
            "restart 2 of 2: did not help: not healthy within 1m 30s after it",
            "not restarted now: all of its 2 restarts are spent; new ones come when it has been healthy for 1h",
        ]),
        findings: strings(&[
            "first process `node`: state S (sleeping), waiting in the kernel's wait_woken",
            "port 4000: 510 connections wait to be accepted",
        ]),
        next_steps: strings(&[
            "$ docker logs --tail 50 account-server",
            "$ docker inspect --format '{{json .State.Health}}' account-server",
            "$ docker restart account-server",
        ]),
        note: Some("Login for every product.\nOwner: identity team.".to_owned()),
        ..notice()
    }
}

pub(crate) fn recovered() -> Message {
    Message {
        id: MessageId(3),
        kind: MessageKind::Recovered,
        severity: Severity::Notice,
        headline: "account-server is healthy again after a restart".to_owned(),
        until: Some(WallMs(SINCE + 65_000)),
        decided: WallMs(SINCE + 65_000),
        members: vec![],
        done: strings(&["restart 1 of 3: healthy again 31s after it was begun"]),
        next_steps: vec![],
        ..notice()
    }
}

pub(crate) fn resolved() -> Message {
    Message {
        id: MessageId(4),
        kind: MessageKind::Resolved,
        headline: "account-server is healthy again after a restart".to_owned(),
        decided: WallMs(SINCE + 665_000),
        ..recovered()
    }
}

pub(crate) fn reminder() -> Message {
    Message {
        id: MessageId(5),
        kind: MessageKind::Reminder,
        decided: WallMs(SINCE + 3_900_000),
        ..page()
    }
}

pub(crate) fn relapsed() -> Message {
    Message {
        id: MessageId(6),
        kind: MessageKind::Relapsed,
        decided: WallMs(SINCE + 245_000),
        headline: "account-server is unhealthy (5 failures)".to_owned(),
        members: vec!["windy/account-server/1 (unhealthy again for 12s; 5 failures in all, since it first failed, 4m 5s): Docker's healthcheck fails: wget: download timed out".to_owned()],
        done: vec!["restart 1 of 2: healthy again 40s after it was begun".to_owned(), "not restarted yet: the last try ended less than 5m ago; the next is restart 2 of 2".to_owned()],
        ..page()
    }
}

pub(crate) fn missed() -> Message {
    Message {
        id: MessageId(6),
        kind: MessageKind::Missed,
        severity: Severity::Page,
        headline: "account-server is healthy again after a restart".to_owned(),
        until: Some(WallMs(SINCE + 1_200_000)),
        decided: WallMs(SINCE + 3_600_000),
        members: vec![],
        ..recovered()
    }
}

/// A ticket of a host, without a service.
pub(crate) fn ticket() -> Message {
    Message {
        id: MessageId(7),
        incident: IncidentId(13),
        key: "windy-prod/kit-1//actions_refused".to_owned(),
        severity: Severity::Ticket,
        incident_kind: IncidentKind::ActionsRefused,
        service: None,
        headline: "the engine refuses to restart containers".to_owned(),
        members: vec![],
        done: strings(&["watching goes on; nothing is restarted"]),
        findings: strings(&["POST /containers/…/restart was answered with 403"]),
        next_steps: strings(&["Allow it, or tell defib not to try:", "$ sudo defib run --dry-run"]),
        runbook: None,
        ..notice()
    }
}

/// Everything that people and programs have ever put into a name or an output.
pub(crate) const HOSTILE: &str = "<!channel> <https://evil.example|ok> @everyone <@U123> &amp; \"quoted\" 'single' `code` \
    ```block``` *bold* _odd \\ back\r\nsecond line\u{0}\u{1b}[31mred\u{1b}[0m\u{202e}desrever\u{2066} \u{fffd} \
    https://evil.example/x #general :fire:\u{2028}PAGE: all is lost";

pub(crate) fn hostile() -> Message {
    let lines = || vec![HOSTILE.to_owned(), String::new(), format!("$ {HOSTILE}")];
    Message {
        id: MessageId(8),
        key: HOSTILE.to_owned(),
        fleet: HOSTILE.to_owned(),
        host: HostName::new(HOSTILE),
        service: Some(ServiceName::new(HOSTILE)),
        headline: HOSTILE.to_owned(),
        members: lines(),
        done: lines(),
        findings: lines(),
        next_steps: lines(),
        runbook: Some(HOSTILE.to_owned()),
        note: Some(HOSTILE.to_owned()),
        ..page()
    }
}

/// Larger than anything the domain will ever decide, of the given stuff.
pub(crate) fn largest(stuff: &str) -> Message {
    let long = stuff.repeat(100_000 / stuff.len());
    let lines: Vec<String> =
        (0..300).map(|n| format!("{n} {}", long.get(..4000).unwrap_or(&long))).collect();
    let mut next_steps = lines.clone();
    for step in next_steps.iter_mut().step_by(2) {
        *step = format!("$ {step}");
    }
    Message {
        id: MessageId(9),
        key: long.clone(),
        fleet: long.clone(),
        host: HostName::new(long.clone()),
        service: Some(ServiceName::new(long.clone())),
        headline: long.clone(),
        members: lines.clone(),
        done: lines.clone(),
        findings: lines,
        next_steps,
        runbook: Some(long.clone()),
        note: Some(format!("{long}\n").repeat(20)),
        ..page()
    }
}

/// What is left of a message that a sink refused.
pub(crate) fn bare(message: &Message) -> Message {
    Message {
        members: vec![],
        done: vec![],
        findings: vec![],
        next_steps: vec![],
        runbook: None,
        note: None,
        ..message.clone()
    }
}

pub(crate) fn all() -> Vec<(&'static str, Message)> {
    vec![
        ("notice", notice()),
        ("page", page()),
        ("ticket", ticket()),
        ("recovered", recovered()),
        ("relapsed", relapsed()),
        ("reminder", reminder()),
        ("resolved", resolved()),
        ("missed", missed()),
        ("hostile", hostile()),
    ]
}

pub(crate) fn order(message: Message, attempt: u32) -> Arc<SendOrder> {
    Arc::new(SendOrder { attempt, ..leaving(&message, true) })
}

/// The message as it leaves at once, at its first attempt.
pub(crate) fn leaving(message: &Message, durable: bool) -> SendOrder {
    SendOrder {
        sink: SinkName::new("oncall"),
        message: message.clone(),
        attempt: 1,
        deadline: Duration::from_secs(5),
        durable,
        late: Duration::ZERO,
    }
}

pub(crate) fn hurried(message: Message, deadline: Duration) -> Arc<SendOrder> {
    Arc::new(SendOrder { deadline, ..SendOrder::clone(&order(message, 1)) })
}

/// Steps by a second at each reading.
#[derive(Default)]
pub(crate) struct SteppingClock {
    readings: std::sync::atomic::AtomicI64,
}

impl Clock for SteppingClock {
    fn now(&self) -> Moment {
        let n = self.readings.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Moment { wall: WallMs(SINCE + n * 1000), ..Moment::default() }
    }

    fn boot_id(&self) -> BootId {
        BootId(Arc::from("test"))
    }

    fn sleep_until(&self, _: AwakeMs) -> Pending<'_, ()> {
        Box::pin(std::future::pending())
    }
}

pub(crate) fn surroundings() -> Surroundings {
    Surroundings {
        clock: Arc::new(SteppingClock::default()),
        tz: berlin(),
        http: HttpClient::new(None).unwrap(),
        terminal: Terminal::opened_by(|| Box::new(std::io::sink())),
    }
}
