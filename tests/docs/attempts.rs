//! The attempt's table, cell by cell: each phase is given each input.

use crate::{
    domain::{
        acting::{
            attempt::{Attempt, Ending, Input, Limits, Output, Phase, Report, Rung, word},
            hold::Hold,
        },
        effect::Primitive,
        moment::{AwakeMs, EngineMs, Moment},
        name::{AttemptId, Seq},
        observation::{ActOutcome, ContainerState},
    },
    generated::{code, name, table},
    lifecycles::{inspection, instance},
};
use std::time::Duration;

pub fn at(awake: u64) -> Moment {
    Moment { awake: AwakeMs(awake), ..Moment::default() }
}

pub fn begun() -> Attempt {
    let verify_within = Duration::from_secs(90);
    let limits = Limits { stop_timeout: None, may_kill: true, verify_within, own_stop: None };
    Attempt::begin(AttemptId(1), instance("1"), at(1_000), limits)
}

pub fn in_phase(phase: Phase) -> Attempt {
    let mut attempt = begun();
    attempt.phase = phase;
    attempt.intent_at = Some((EngineMs(90_000), EngineMs(90_000)));
    attempt
}

fn phases() -> Vec<(&'static str, Attempt)> {
    let done = Report::Answered(ActOutcome::Done);
    let rung = Rung::Restart;
    let mut second = in_phase(Phase::Intent { rung: Rung::Kill, seq: Seq(7) });
    second.outcomes.push("restart: the stop did not end it".to_owned());
    vec![
        ("`Evidence`", in_phase(Phase::Evidence)),
        ("`Inspecting`", in_phase(Phase::Inspecting)),
        ("`Intent`, first rung", in_phase(Phase::Intent { rung, seq: Seq(7) })),
        ("`Intent`, later rung", second),
        ("`Acting`", in_phase(Phase::Acting { rung })),
        ("`Observing`", in_phase(Phase::Observing { rung, report: done })),
        (
            "`Verifying`",
            in_phase(Phase::Verifying { instance: instance("1"), within: Duration::from_secs(90) }),
        ),
    ]
}

pub fn by_input() -> String {
    let running = inspection(ContainerState::Running, "1");
    let standing = inspection(ContainerState::Exited, "1");
    let next_life = inspection(ContainerState::Running, "3");
    let (this, other) = (instance("1"), instance("2"));
    let hold = Some(Hold::Recovered);
    let failed = ActOutcome::Failed { status: 500, message: String::new() };
    let inputs: Vec<(&str, Input<'_>)> = vec![
        ("`Durable`, gates open", Input::Durable { hold: None }),
        ("`Durable`, a gate shut", Input::Durable { hold: hold.clone() }),
        ("`NotDurable`", Input::NotDurable),
        ("`Evidence`", Input::Evidence(Vec::new())),
        ("`Seen` running, gates open", Input::Seen { inspection: &running, hold: None }),
        ("`Seen` standing still, gates open", Input::Seen { inspection: &standing, hold: None }),
        ("`Seen`, a gate shut", Input::Seen { inspection: &running, hold }),
        ("`Seen` in one more life", Input::Seen { inspection: &next_life, hold: None }),
        ("`Unseen`", Input::Unseen),
        ("`Gone`", Input::Gone),
        ("`Acted`: done, failed, or no answer", Input::Acted(failed)),
        ("`Acted`: refused (403)", Input::Acted(ActOutcome::Denied(String::new()))),
        ("`Acted`: no such container", Input::Acted(ActOutcome::NoSuchContainer)),
        ("`Healthy`, the new instance", Input::Healthy(&this)),
        ("`Healthy`, another instance", Input::Healthy(&other)),
        ("`TakenOver`", Input::TakenOver("somebody stopped it")),
        ("`TooLate`", Input::TooLate),
        ("`Nothing`", Input::Nothing),
    ];
    let mut head = vec!["input".to_owned()];
    head.extend(phases().iter().map(|(said, _)| (*said).to_owned()));
    let mut rows = Vec::new();
    for (said, input) in inputs {
        let mut row = vec![said.to_owned()];
        for (phase, mut attempt) in phases() {
            // The last phase before this one ended, and its answers, come in these: they have a table of their own.
            if phase == "`Observing`" && matches!(input, Input::Seen { .. }) {
                row.push("see below".to_owned());
                continue;
            }
            let before = attempt.clone();
            let outputs = attempt.step(input.clone(), at(2_000), Seq(8));
            row.push(described(&before, &attempt, &outputs));
        }
        rows.push(row);
    }
    table(&head, &rows)
}

pub fn by_crash() -> String {
    let rows: Vec<Vec<String>> = phases()
        .into_iter()
        .filter(|(said, attempt)| !attempt.only_looked() && *said != "`Intent`, later rung")
        .map(|(said, attempt)| {
            let resumed = |same_boot| {
                let mut resumed = attempt.clone();
                let outputs = resumed.resume(same_boot, at(9_000));
                described(&attempt, &resumed, &outputs)
            };
            vec![said.replace(", first rung", ""), resumed(true), resumed(false)]
        })
        .collect();
    table(&["on disk", "at the next start", "after a boot of the host"].map(str::to_owned), &rows)
}

/// What a step did to an attempt.
pub fn described(before: &Attempt, after: &Attempt, outputs: &[Output]) -> String {
    let mut parts = Vec::new();
    if before.phase != after.phase {
        parts.push(match &after.phase {
            Phase::Intent { rung, .. } | Phase::Acting { rung } => {
                format!("→ {} ({})", code(name(&after.phase)), word(*rung))
            }
            Phase::Verifying { .. } if matches!(before.phase, Phase::Verifying { .. }) => {
                "waits for that life".to_owned()
            }
            Phase::Evidence
            | Phase::Inspecting
            | Phase::Observing { .. }
            | Phase::Verifying { .. } => format!("→ {}", code(name(&after.phase))),
        });
    }
    for output in outputs {
        parts.push(match output {
            Output::Inspect => "look".to_owned(),
            Output::Pay => "pay".to_owned(),
            Output::Record => "record".to_owned(),
            Output::Act { primitive, .. } => format!("**{}**", primitive_word(*primitive)),
            Output::End(ending) => format!("ends: {}", code(ending_name(ending))),
        });
    }
    if parts.is_empty() { "·".to_owned() } else { parts.join(", ") }
}

fn primitive_word(primitive: Primitive) -> String {
    primitive.to_string()
}

fn ending_name(ending: &Ending) -> String {
    name(ending)
}
