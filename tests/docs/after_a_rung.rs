//! What an attempt makes of a container that it looks at after a rung.

use crate::{
    attempts::{at, described, in_phase},
    domain::{
        acting::attempt::{OBSERVE_WITHIN, Phase, Report, Rung, START_FOLLOWS_WITHIN},
        moment::{AwakeMs, EngineMs, millis},
        name::Seq,
        observation::{ActOutcome, ContainerState},
    },
    generated::table as table_of,
    lifecycles::inspection,
};
use std::time::Duration;

/// What is seen, and when.
struct Sight {
    said: &'static str,
    state: ContainerState,
    life: &'static str,
    last_look: bool,
    may_kill: bool,
    stop_sent: bool,
    resumed: bool,
    report: Report,
    finished: Option<EngineMs>,
}

fn sight(said: &'static str, state: ContainerState) -> Sight {
    Sight {
        said,
        state,
        life: "1",
        last_look: false,
        may_kill: true,
        stop_sent: true,
        resumed: false,
        report: Report::Answered(ActOutcome::Done),
        finished: None,
    }
}

/// When the phase began. The stop was seen to be sent long before, so that its time is over.
const BEGAN: u64 = 100_000;

/// By the engine's clock: the look (see `inspection`), and an end within the intent's window.
const NOW: i64 = 100_000;
const JUST_NOW: Option<EngineMs> = Some(EngineMs(NOW - 1_000));

fn unreachable() -> Report {
    Report::Answered(ActOutcome::Unreachable("reset".to_owned()))
}

fn sights() -> Vec<Sight> {
    use ContainerState as S;
    let long_ago = i64::try_from(millis(START_FOLLOWS_WITHIN)).unwrap();
    vec![
        Sight { life: "2", ..sight("runs, in a new life", S::Running) },
        sight("runs, in the old life", S::Running),
        Sight { last_look: true, ..sight("the same at the last look", S::Running) },
        Sight {
            last_look: true,
            may_kill: false,
            ..sight("the same, and it must not be killed", S::Running)
        },
        Sight {
            last_look: true,
            stop_sent: false,
            report: Report::NoAnswer,
            ..sight("the same, and the stop was not seen to be sent", S::Running)
        },
        Sight {
            last_look: true,
            resumed: true,
            report: Report::NoAnswer,
            ..sight("the same, after a restart of ours", S::Running)
        },
        Sight {
            last_look: true,
            resumed: true,
            stop_sent: false,
            report: Report::NoAnswer,
            ..sight("the same, and no stop was seen to be sent before it", S::Running)
        },
        Sight {
            last_look: true,
            report: unreachable(),
            ..sight("the same, and the engine could not be reached", S::Running)
        },
        Sight {
            last_look: true,
            stop_sent: false,
            report: unreachable(),
            ..sight("the same, and no stop was seen to be sent either", S::Running)
        },
        Sight { finished: JUST_NOW, ..sight("stopped by us, the engine has answered", S::Exited) },
        Sight {
            finished: JUST_NOW,
            report: Report::NoAnswer,
            ..sight("stopped by us just now, no answer yet", S::Exited)
        },
        Sight {
            finished: Some(EngineMs(NOW - long_ago)),
            report: Report::NoAnswer,
            ..sight("stopped by us, and not started within `START_FOLLOWS_WITHIN`", S::Exited)
        },
        Sight {
            finished: JUST_NOW,
            last_look: true,
            ..sight("stopped by us, at the last look", S::Exited)
        },
        sight("stopped, and not within the intent's window", S::Exited),
        Sight { finished: JUST_NOW, life: "2", ..sight("ended in a new life", S::Exited) },
        sight("being removed", S::Removing),
        sight("paused", S::Paused),
        sight("Docker restarts it", S::Restarting),
        Sight { last_look: true, ..sight("the same at the last look", S::Restarting) },
    ]
}

pub fn table() -> String {
    let head = ["what is seen", "after restart", "after kill", "after start"].map(str::to_owned);
    let rows: Vec<Vec<String>> = sights()
        .into_iter()
        .map(|sight| {
            let mut row = vec![sight.said.to_owned()];
            for rung in [Rung::Restart, Rung::Kill, Rung::Start] {
                let mut attempt = in_phase(Phase::Observing { rung, report: sight.report.clone() });
                attempt.may_kill = sight.may_kill;
                attempt.phase_since = at(BEGAN);
                attempt.stop_sent = sight.stop_sent.then_some(AwakeMs(BEGAN - 60_000));
                attempt.resumed = sight.resumed.then(|| at(BEGAN));
                let last = millis(attempt.deadline().since(attempt.phase_since.awake));
                let until_the_stop_is_over = sight.resumed || sight.report == unreachable();
                assert!(until_the_stop_is_over || Duration::from_millis(last) == OBSERVE_WITHIN);
                let now = at(BEGAN + if sight.last_look { last } else { 1_000 });
                let mut look = inspection(sight.state.clone(), sight.life);
                (look.engine_now, look.finished) = (EngineMs(NOW), sight.finished);
                let before = attempt.clone();
                let seen =
                    crate::domain::acting::attempt::Input::Seen { inspection: &look, hold: None };
                let outputs = attempt.step(seen, now, Seq(8));
                row.push(described(&before, &attempt, &outputs));
            }
            row
        })
        .collect();
    table_of(&head, &rows)
}
