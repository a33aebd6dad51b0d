//! Joins the world's log of what truly happened with what was overheard, into one account in the order of time.

use crate::{
    account::{Account, Entry, Fact, Ms, Who},
    ports::engine::short,
    scenario::Scenario,
    stage::Stage,
};
use defib::{
    docker::simulated::truth::{Actor, Happened, Truth},
    domain::effect::Primitive,
};
use std::collections::BTreeMap;

/// The account of a run that has ended.
pub fn complete(scenario: &Scenario, stage: &Stage) -> Account {
    let (mut entries, slept) = stage.recorder.take();
    let truths = stage.world.with(|world, _| world.truth().to_vec());
    let mut instances: BTreeMap<String, String> = BTreeMap::new();
    let mut calls = Calls::of(&entries);
    for truth in &truths {
        let elapsed = truth.at.0;
        let at = awake(elapsed, &slept);
        let life = life_at(&entries, at);
        if let Some(fact) = fact(truth, stage, &mut instances, &mut calls, at) {
            entries.push(Entry { at, elapsed, life, fact });
        }
    }
    weather(stage, &slept, &mut entries);
    entries.sort_by_key(|entry| (entry.at, order(&entry.fact)));
    entries.retain(|entry| entry.at <= scenario.run_ms);
    Account { rules: scenario.rules.clone(), entries, end: scenario.run_ms }
}

/// Within a millisecond: first the truth, then what was overheard; but a call is received after it was made.
fn order(fact: &Fact) -> u8 {
    match fact {
        Fact::Created { .. } => 0,
        Fact::ActReceived { .. } => 3,
        Fact::Started { .. }
        | Fact::Stopping { .. }
        | Fact::Died { .. }
        | Fact::Paused { .. }
        | Fact::Unpaused { .. }
        | Fact::Destroyed { .. }
        | Fact::HealthChecked { .. }
        | Fact::EngineWeather { .. } => 1,
        _ => 2,
    }
}

/// True elapsed time without the host's sleep.
fn awake(elapsed: Ms, slept: &[(Ms, Ms)]) -> Ms {
    let mut before = 0;
    for (at, span) in slept {
        if elapsed >= at + before + span {
            before += span;
        } else if elapsed > at + before {
            // Within the sleep, which no timer of the world should be.
            return *at;
        }
    }
    elapsed - before
}

fn life_at(entries: &[Entry], at: Ms) -> u32 {
    entries.iter().take_while(|entry| entry.at <= at).last().map_or(1, |entry| entry.life)
}

fn who(actor: Actor) -> Who {
    match actor {
        Actor::Defib => Who::Defib,
        Actor::Somebody => Who::Somebody,
        Actor::DockerPolicy => Who::Docker,
        Actor::Itself => Who::Itself,
    }
}

fn fact(
    truth: &Truth,
    stage: &Stage,
    instances: &mut BTreeMap<String, String>,
    calls: &mut Calls,
    at: Ms,
) -> Option<Fact> {
    match &truth.what {
        Happened::Created { container, .. } => {
            let container = short(container);
            let replica = stage.replicas().get(&container)?.clone();
            Some(Fact::Created { container, replica })
        }
        Happened::Started { container, by, started_at } => {
            let container = short(container);
            let instance = started_at.to_string();
            instances.insert(container.clone(), instance.clone());
            Some(Fact::Started { container, instance, by: who(*by) })
        }
        Happened::Died { container, by, exit_code, .. } => {
            let exit_code = *exit_code;
            Some(Fact::Died { container: short(container), by: who(*by), exit_code })
        }
        Happened::Stopping { container, by } => {
            Some(Fact::Stopping { container: short(container), by: who(*by) })
        }
        Happened::Paused { container, .. } => Some(Fact::Paused { container: short(container) }),
        Happened::Unpaused { container, .. } => {
            Some(Fact::Unpaused { container: short(container) })
        }
        Happened::Destroyed { container, by } => {
            Some(Fact::Destroyed { container: short(container), by: who(*by) })
        }
        Happened::HealthChecked { container, result, .. } => {
            let container = short(container);
            let instance = instances.get(&container)?.clone();
            Some(Fact::HealthChecked { container, instance, result: *result })
        }
        Happened::ActionReceived { container, primitive, found, instance, .. } => {
            let container = short(container);
            let call = calls.received(&container, *primitive, at)?;
            let instance = instance.to_string();
            Some(Fact::ActReceived { call, container, found: found.clone(), instance })
        }
        Happened::EngineWentDown => {
            Some(Fact::EngineWeather { fine: false, what: "down".to_owned() })
        }
        Happened::EngineCameUp => Some(Fact::EngineWeather { fine: true, what: "down".to_owned() }),
        Happened::StartFailed { .. }
        | Happened::Stopped { .. }
        | Happened::Restarted { .. }
        | Happened::Signalled { .. }
        | Happened::Renamed { .. }
        | Happened::Updated { .. }
        | Happened::HealthTurned { .. }
        | Happened::Troubled { .. }
        | Happened::Recovered { .. }
        | Happened::ActionRefused { .. }
        | Happened::ActionEnded { .. }
        | Happened::ActionCancelled { .. }
        | Happened::HostSlept { .. } => None,
    }
}

/// Which call the engine received: the last one made for this container that asks for the same.
struct Calls {
    made: Vec<(Ms, u64, String, Primitive)>,
}

impl Calls {
    fn of(entries: &[Entry]) -> Self {
        let made = entries.iter().filter_map(|entry| match &entry.fact {
            Fact::ActCalled { call, container, primitive } => {
                Some((entry.at, *call, container.clone(), *primitive))
            }
            _ => None,
        });
        Self { made: made.collect() }
    }

    fn received(&mut self, container: &str, primitive: Primitive, at: Ms) -> Option<u64> {
        let found = self.made.iter().rposition(|(made, _, other, asked)| {
            *made <= at && other == container && *asked == primitive
        })?;
        Some(self.made.remove(found).1)
    }
}

/// The windows in which looking at the engine did not work. Those in which only events or acts went wrong are no excuse.
fn weather(stage: &Stage, slept: &[(Ms, Ms)], entries: &mut Vec<Entry>) {
    use defib::docker::simulated::faults::FaultKind;
    for window in &stage.faults.windows {
        let blind = match &window.kind {
            FaultKind::EngineUnreachable
            | FaultKind::EngineHangs
            | FaultKind::InspectHangs(_)
            | FaultKind::ListGarbled
            | FaultKind::ActDenied
            | FaultKind::ActFails
            | FaultKind::ActAnswerLost
            | FaultKind::ActHeld
            | FaultKind::EventsDropped
            | FaultKind::StreamCut => true,
            FaultKind::EventsDuplicated | FaultKind::EventsLate(_) => false,
        };
        for (elapsed, begins) in [(window.from.0, true), (window.to.0, false)] {
            let at = awake(elapsed, slept);
            let what = format!("{:?}", window.kind);
            let life = life_at(entries, at);
            let fine = !begins || !blind;
            entries.push(Entry { at, elapsed, life, fact: Fact::EngineWeather { fine, what } });
        }
    }
}
