//! The verdict's table, asked of the code.

use crate::{
    domain::{
        judging::{
            health::Reading,
            probing::ProbeEvidence,
            streak::Failure,
            verdict::{Evidence, judge},
        },
        moment::{AwakeMs, Moment},
        policy::ProbePolicy,
        watching::lifecycle::Lifecycle,
    },
    evidence::probe,
    generated::{self, code, name},
    lifecycles::{instance, states},
};

#[derive(Clone, Copy)]
enum Probes {
    None,
    Silent,
    Pass,
    Fail,
}

fn of(reading: Option<Reading>, probes: Probes, in_grace: bool) -> String {
    let mut evidence = Evidence::default();
    if let Some(reading) = reading {
        evidence.health.present = true;
        evidence.health.reading = reading;
        evidence.health.streak.failing = reading == Reading::Failing;
    }
    let policy: Vec<ProbePolicy> = match probes {
        Probes::None => Vec::new(),
        Probes::Silent | Probes::Pass | Probes::Fail => vec![probe()],
    };
    for probe in &policy {
        let mut seen = ProbeEvidence::default();
        for _ in 0..probe.fall.max(probe.rise) {
            match probes {
                Probes::Pass => seen.streak.pass(probe.rise),
                Probes::Fail => {
                    let failure = Failure { shows: String::new(), curable: true };
                    seen.streak.fail(failure, probe.fall, Moment::default());
                }
                Probes::None | Probes::Silent => {}
            }
        }
        evidence.probes.insert(probe.name.clone(), seen);
    }
    let running = Lifecycle::Running { instance: instance("1"), since: AwakeMs(0) };
    code(name(&judge(&running, &evidence, &policy, in_grace)))
}

fn table_of_standings() -> String {
    let mut rows = Vec::new();
    for state in states() {
        let judged = matches!(state, Lifecycle::Running { .. } | Lifecycle::Remote);
        let verdict = judge(&state, &Evidence::default(), &[], false);
        let said = if judged { "by the evidence".to_owned() } else { code(name(&verdict)) };
        rows.push(vec![code(name(&state)), said]);
    }
    generated::table(&["lifecycle".into(), "verdict".into()], &rows)
}

pub fn table() -> String {
    let readings = [
        Reading::Nothing,
        Reading::Starting,
        Reading::Passing,
        Reading::Failing,
        Reading::CouldNotRun,
        Reading::Stale,
    ];
    let columns = [Probes::None, Probes::Silent, Probes::Pass, Probes::Fail];
    let row = |said: String, reading: Option<Reading>| {
        let mut row = vec![said];
        row.extend(columns.iter().map(|probes| of(reading, *probes, false)));
        row.push(of(reading, Probes::Silent, true));
        row
    };
    let mut rows = vec![row("no healthcheck".to_owned(), None)];
    rows.extend(readings.map(|reading| row(code(name(&reading)), Some(reading))));
    let head = [
        "healthcheck",
        "no probe",
        "a probe without enough samples",
        "its probes pass",
        "a probe is failing",
        "a probe without enough samples, in its grace",
    ];
    let head = head.map(str::to_owned);
    format!("{}\n{}", table_of_standings(), generated::table(&head, &rows))
}
