//! What goes wrong in a run: at least three faults, each with its beginning and its end, drawn from all that the design knows
//! how to live with.

use super::{
    Deed, ProberMood, RUN_MS, SINKS, SinkMood, Window,
    services::{House, Need},
};
use crate::{account::Ms, random::Random};
use defib::{
    docker::simulated::{
        faults::FaultKind,
        script::{Behaviour, Stopping, Trouble},
    },
    store::ledger::Mood,
};
use std::time::Duration;

/// What happens and what is at fault, in the order of time.
pub type Drawn = (Vec<(Ms, Deed)>, Vec<(Ms, Ms, Window)>);

/// How often each kind is drawn, in parts of the sum.
const KINDS: [(u64, Draw); 25] = [
    (16, hang_until_restarted),
    (7, hang_that_heals),
    (7, never_recovers),
    (5, recovers_later),
    (6, flaps),
    (7, exits),
    (4, crash_loop),
    (5, ignores_signals),
    (2, unkillable),
    (5, paused),
    (6, stopped_by_somebody),
    (4, recreated),
    (3, signalled),
    (3, restarted_by_somebody),
    (2, removed),
    (5, cannot_check),
    (3, start_fails),
    (8, storm),
    (10, engine_fault),
    (2, engine_restarts),
    (10, sink_weather),
    (8, store_weather),
    (3, prober_weather),
    (5, clocks),
    (2, reboot),
];

type Draw = fn(&mut Drawing<'_>);

struct Drawing<'a> {
    random: &'a mut Random,
    house: &'a House,
    script: Vec<(Ms, Deed)>,
    windows: Vec<(Ms, Ms, Window)>,
}

/// Draws the faults.
pub fn draw(random: &mut Random, house: &House) -> Drawn {
    let mut drawing = Drawing { random, house, script: Vec::new(), windows: Vec::new() };
    let faults = drawing.random.between(3, 7);
    let sum: u64 = KINDS.iter().map(|kind| kind.0).sum();
    for _ in 0..faults {
        let mut at = drawing.random.between(0, sum - 1);
        for (weight, draw) in KINDS {
            if at < weight {
                draw(&mut drawing);
                break;
            }
            at -= weight;
        }
    }
    let Drawing { mut script, mut windows, .. } = drawing;
    script.retain(|deed| deed.0 < RUN_MS);
    script.sort_by_key(|deed| deed.0);
    windows.sort_by_key(|window| (window.0, window.1));
    (script, windows)
}

/// What goes wrong in a long run: something early that nobody mends, and at most one thing more.
pub fn draw_calm(random: &mut Random, house: &House) -> Drawn {
    let mut drawing = Drawing { random, house, script: Vec::new(), windows: Vec::new() };
    for _ in 0..drawing.random.between(1, 2) {
        let at = drawing.random.between(60_000, 600_000);
        let replica = drawing.replica();
        match drawing.random.between(0, 3) {
            0 => drawing.deed(at, Deed::Stop(replica)),
            1 => drawing.deed(at, Deed::Exit(replica, 1)),
            _ => {
                drawing.deed(at, Deed::Behave(replica.clone(), Behaviour::NeverRecovers));
                drawing.deed(at, Deed::Trouble(replica, Trouble::Hangs));
            }
        }
    }
    match drawing.random.between(0, 5) {
        0 => clocks(&mut drawing),
        1 => sink_weather(&mut drawing),
        2 => engine_restarts(&mut drawing),
        _ => {}
    }
    let Drawing { mut script, windows, .. } = drawing;
    script.sort_by_key(|deed| deed.0);
    (script, windows)
}

/// What a service needs fails, and the service with it: before, at once or after, so that what was well when it began to
/// fail may not be any more when it is restarted, or restarted again.
pub fn draw_causes(
    random: &mut Random,
    house: &House,
    needs: &[Need],
    run_ms: Ms,
) -> Vec<(Ms, Deed)> {
    let mut script = Vec::new();
    for Need { dependent, needed, outlived } in needs {
        if !outlived && !random.percent(60) {
            continue;
        }
        let at = random.between(60_000, run_ms - 300_000);
        // What can't be asked any more is neither well nor not; what it showed last is old.
        let is_mute = *outlived || random.percent(40);
        // Well when the dependent began to fail, and no more when that fails anew after a restart in vain.
        let is_lost_between = *outlived || (is_mute && random.percent(50));
        let begins = if *outlived {
            at + random.between(10_000, 45_000)
        } else if is_lost_between {
            at + random.between(5_000, 70_000)
        } else {
            (at + random.between(0, 180_000)).saturating_sub(30_000)
        };
        let ends = begins + random.between(20_000, 400_000);
        for (name, at) in [(dependent, at), (needed, begins)] {
            let replicas = house.rules.services.iter().filter(|rule| rule.name == *name);
            for replica in replicas.flat_map(|rule| &rule.replicas) {
                if is_mute && name == needed {
                    script.push((at, Deed::CannotCheck(replica.clone(), true)));
                    script.push((ends, Deed::CannotCheck(replica.clone(), false)));
                    continue;
                }
                if is_lost_between || random.percent(60) {
                    script.push((at, Deed::Behave(replica.clone(), Behaviour::NeverRecovers)));
                    script.push((ends, Deed::Behave(replica.clone(), Behaviour::Fine)));
                    script.push((ends, Deed::Heal(replica.clone())));
                }
                script.push((at, Deed::Trouble(replica.clone(), Trouble::Hangs)));
            }
        }
    }
    script.retain(|deed| deed.0 < run_ms);
    script
}

impl Drawing<'_> {
    fn begins(&mut self) -> Ms {
        self.random.between(40_000, RUN_MS - 240_000)
    }

    fn replica(&mut self) -> String {
        self.random.pick(&self.house.containers).0.clone()
    }

    fn deed(&mut self, at: Ms, deed: Deed) {
        self.script.push((at, deed));
    }

    fn trouble(&mut self) -> Trouble {
        *self.random.pick(&[
            Trouble::Hangs,
            Trouble::Hangs,
            Trouble::Answers(500),
            Trouble::Answers(503),
            Trouble::Refuses,
            Trouble::Resets,
            Trouble::OnlyHealthcheck,
            Trouble::OnlyProbes,
            Trouble::Answers(404),
        ])
    }
}

fn hang_until_restarted(drawing: &mut Drawing<'_>) {
    let (at, replica, trouble) = (drawing.begins(), drawing.replica(), drawing.trouble());
    drawing.deed(at, Deed::Trouble(replica, trouble));
}

fn hang_that_heals(drawing: &mut Drawing<'_>) {
    let (at, replica, trouble) = (drawing.begins(), drawing.replica(), drawing.trouble());
    let lasts = drawing.random.between(2_000, 180_000);
    drawing.deed(at, Deed::Trouble(replica.clone(), trouble));
    drawing.deed(at + lasts, Deed::Heal(replica));
}

fn never_recovers(drawing: &mut Drawing<'_>) {
    let (at, replica, trouble) = (drawing.begins(), drawing.replica(), drawing.trouble());
    drawing.deed(at, Deed::Behave(replica.clone(), Behaviour::NeverRecovers));
    drawing.deed(at, Deed::Trouble(replica.clone(), trouble));
    if drawing.random.percent(60) {
        let lasts = drawing.random.between(240_000, 900_000);
        drawing.deed(at + lasts, Deed::Behave(replica.clone(), Behaviour::Fine));
        drawing.deed(at + lasts, Deed::Heal(replica));
    }
}

fn recovers_later(drawing: &mut Drawing<'_>) {
    let (at, replica, trouble) = (drawing.begins(), drawing.replica(), drawing.trouble());
    let starts = u32::try_from(drawing.random.between(2, 3)).unwrap_or(2);
    drawing.deed(at, Deed::Behave(replica.clone(), Behaviour::RecoversAfter { starts }));
    drawing.deed(at, Deed::Trouble(replica, trouble));
}

/// The quiet loop: well after each start, hangs again after a while.
fn flaps(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    if drawing.random.percent(50) {
        let runs = Duration::from_secs(drawing.random.between(10, 120));
        drawing.deed(at, Deed::Behave(replica.clone(), Behaviour::HangsAfter(runs)));
        drawing.deed(at, Deed::Trouble(replica, Trouble::Hangs));
    } else {
        let mut at = at;
        for _ in 0..drawing.random.between(2, 12) {
            drawing.deed(at, Deed::Trouble(replica.clone(), Trouble::Hangs));
            at += drawing.random.between(3_000, 60_000);
            drawing.deed(at, Deed::Heal(replica.clone()));
            at += drawing.random.between(3_000, 60_000);
        }
    }
}

fn exits(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    let code = *drawing.random.pick(&[0, 1, 1, 137, 139]);
    drawing.deed(at, Deed::Exit(replica.clone(), code));
    if drawing.random.percent(40) {
        let after = drawing.random.between(1_000, 300_000);
        drawing.deed(at + after, Deed::Start(replica));
    }
}

fn crash_loop(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    let runs = Duration::from_secs(drawing.random.between(1, 30));
    drawing.deed(at, Deed::Behave(replica.clone(), Behaviour::ExitsAfter { runs, exit_code: 1 }));
    drawing.deed(at, Deed::Exit(replica.clone(), 1));
    let lasts = drawing.random.between(60_000, 400_000);
    drawing.deed(at + lasts, Deed::Behave(replica, Behaviour::Fine));
}

fn ignores_signals(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    drawing.deed(at, Deed::Stopping(replica.clone(), Stopping::IgnoresSignal));
    drawing.deed(at, Deed::Trouble(replica, Trouble::Hangs));
}

fn unkillable(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    drawing.deed(at, Deed::Stopping(replica.clone(), Stopping::Unkillable));
    drawing.deed(at, Deed::Trouble(replica.clone(), Trouble::Hangs));
    let lasts = drawing.random.between(60_000, 400_000);
    let obeys = Stopping::Obeys(Duration::from_millis(20));
    drawing.deed(at + lasts, Deed::Stopping(replica, obeys));
}

fn paused(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    let lasts = drawing.random.between(5_000, 240_000);
    if drawing.random.percent(40) {
        // Frozen in the middle of being judged, or of being acted on.
        let before = drawing.random.between(1_000, 45_000);
        drawing.deed(at.saturating_sub(before), Deed::Trouble(replica.clone(), Trouble::Hangs));
    }
    drawing.deed(at, Deed::Pause(replica.clone()));
    drawing.deed(at + lasts, Deed::Unpause(replica));
}

fn stopped_by_somebody(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    if drawing.random.percent(60) {
        let before = drawing.random.between(1_000, 60_000);
        drawing.deed(at.saturating_sub(before), Deed::Trouble(replica.clone(), Trouble::Hangs));
    }
    drawing.deed(at, Deed::Stop(replica.clone()));
    if drawing.random.percent(50) {
        let after = drawing.random.between(10_000, 900_000);
        drawing.deed(at + after, Deed::Start(replica));
    }
}

/// A signal that ends most things, and that it lives through; later it hangs, and its start may fail.
fn signalled(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    drawing.deed(at, Deed::Signal(replica.clone(), 2));
    let later = at + drawing.random.between(5_000, 900_000);
    drawing.deed(later, Deed::Trouble(replica.clone(), Trouble::Hangs));
    if drawing.random.percent(50) {
        drawing.deed(later, Deed::StartFails(replica.clone(), true));
        let lasts = drawing.random.between(20_000, 200_000);
        drawing.deed(later + lasts, Deed::StartFails(replica, false));
    }
}

fn recreated(drawing: &mut Drawing<'_>) {
    let (mut at, replica) = (drawing.begins(), drawing.replica());
    if drawing.random.percent(60) {
        let before = drawing.random.between(1_000, 60_000);
        drawing.deed(
            at.saturating_sub(before),
            Deed::Behave(replica.clone(), Behaviour::NeverRecovers),
        );
        drawing.deed(at.saturating_sub(before), Deed::Trouble(replica.clone(), Trouble::Hangs));
    }
    for _ in 0..drawing.random.between(1, 5) {
        drawing.deed(at, Deed::Recreate(replica.clone()));
        at += drawing.random.between(2_000, 90_000);
    }
    if drawing.random.percent(30) {
        // A bad deploy: what comes last ends at once.
        let runs = Duration::from_millis(drawing.random.between(50, 3_000));
        let ends = Behaviour::ExitsAfter { runs, exit_code: 1 };
        drawing.deed(at, Deed::Behave(replica.clone(), ends));
        drawing.deed(at, Deed::Recreate(replica.clone()));
    }
}

fn restarted_by_somebody(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    let before = drawing.random.between(1_000, 60_000);
    drawing.deed(at.saturating_sub(before), Deed::Trouble(replica.clone(), Trouble::Hangs));
    drawing.deed(at, Deed::Restart(replica));
}

fn removed(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    drawing.deed(at, Deed::Remove(replica));
}

fn cannot_check(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    let lasts = drawing.random.between(20_000, 400_000);
    drawing.deed(at, Deed::CannotCheck(replica.clone(), true));
    drawing.deed(at + lasts, Deed::CannotCheck(replica, false));
}

fn start_fails(drawing: &mut Drawing<'_>) {
    let (at, replica) = (drawing.begins(), drawing.replica());
    drawing.deed(at, Deed::StartFails(replica.clone(), true));
    drawing.deed(at, Deed::Trouble(replica.clone(), Trouble::Hangs));
    let lasts = drawing.random.between(20_000, 300_000);
    drawing.deed(at + lasts, Deed::StartFails(replica, false));
}

/// Much fails at once, from a cause that is elsewhere: what is restarted fails again until the cause is gone.
fn storm(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    let lasts = drawing.random.between(60_000, 600_000);
    let share = drawing.random.between(60, 100);
    let cured = drawing.random.percent(30);
    for (replica, _) in &drawing.house.containers {
        if !drawing.random.percent(share) {
            continue;
        }
        let begins = at + drawing.random.between(0, 10_000);
        if !cured {
            drawing.script.push((begins, Deed::Behave(replica.clone(), Behaviour::NeverRecovers)));
            drawing.script.push((at + lasts, Deed::Behave(replica.clone(), Behaviour::Fine)));
            drawing.script.push((at + lasts, Deed::Heal(replica.clone())));
        }
        drawing.script.push((begins, Deed::Trouble(replica.clone(), Trouble::Hangs)));
    }
}

fn engine_fault(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    let lasts = drawing.random.between(2_000, 150_000);
    let replica = drawing.replica();
    let late = Duration::from_millis(drawing.random.between(100, 8_000));
    let window = match drawing.random.between(0, 11) {
        0 => Window::Kind(FaultKind::EngineUnreachable),
        1 => Window::Kind(FaultKind::EngineHangs),
        2 => Window::InspectHangs(replica),
        3 => Window::Kind(FaultKind::ListGarbled),
        4 => Window::Kind(FaultKind::ActDenied),
        5 => Window::Kind(FaultKind::ActFails),
        6 => Window::Kind(FaultKind::ActAnswerLost),
        7 => Window::Kind(FaultKind::StreamCut),
        8 => Window::Kind(FaultKind::EventsDropped),
        9 => Window::Kind(FaultKind::EventsDuplicated),
        10 => Window::Kind(FaultKind::ActHeld),
        _ => Window::Kind(FaultKind::EventsLate(late)),
    };
    // Most say something only where something happens meanwhile.
    if drawing.random.percent(70) {
        let (replica, trouble) = (drawing.replica(), drawing.trouble());
        let offset = drawing.random.between(0, 40_000);
        drawing.deed((at + offset).saturating_sub(30_000), Deed::Trouble(replica, trouble));
    }
    drawing.windows.push((at, at + lasts, window));
}

fn engine_restarts(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    let away = drawing.random.between(1_000, 20_000);
    drawing.deed(at, Deed::EngineRestarts(away));
}

fn sink_weather(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    let sink = *drawing.random.pick(&SINKS);
    let slow = Duration::from_millis(drawing.random.between(500, 9_000));
    let wait = drawing.random.percent(60).then(|| Duration::from_secs(3));
    let mood = *drawing.random.pick(&[
        SinkMood::Slow(slow),
        SinkMood::Hangs,
        SinkMood::HangsAndDelivers,
        SinkMood::Errors,
        SinkMood::ErrorsAndDelivers,
        SinkMood::Busy(wait),
        SinkMood::Broken,
        SinkMood::Rejects,
        SinkMood::Unready,
    ]);
    let lasts = drawing.random.between(5_000, 900_000);
    drawing.deed(at, Deed::Sink(sink, mood));
    drawing.deed(at + lasts, Deed::Sink(sink, SinkMood::Fine));
    // Weather is felt only by what is sent in it.
    let (replica, trouble) = (drawing.replica(), drawing.trouble());
    let offset = drawing.random.between(0, 60_000);
    drawing.deed((at + offset).saturating_sub(40_000), Deed::Trouble(replica, trouble));
}

fn store_weather(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    let mood = if drawing.random.percent(50) {
        Mood::Hanging
    } else {
        Mood::Refusing("no space left on device".to_owned())
    };
    let lasts = drawing.random.between(1_000, 240_000);
    drawing.deed(at, Deed::Store(mood));
    drawing.deed(at + lasts, Deed::Store(Mood::Well));
    let (replica, trouble) = (drawing.replica(), drawing.trouble());
    let offset = drawing.random.between(0, 60_000);
    drawing.deed((at + offset).saturating_sub(40_000), Deed::Trouble(replica, trouble));
}

fn prober_weather(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    let lasts = drawing.random.between(10_000, 200_000);
    let mood = *drawing.random.pick(&[ProberMood::NoSockets, ProberMood::NoNames]);
    drawing.deed(at, Deed::Prober(mood));
    drawing.deed(at + lasts, Deed::Prober(ProberMood::Fine));
}

fn clocks(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    if drawing.random.percent(50) {
        let by = if drawing.random.percent(50) { 6 * 3_600_000 } else { -6 * 3_600_000 };
        drawing.deed(at, Deed::StepWall(by));
    } else {
        let sleeps = *drawing.random.pick(&[5_000, 120_000, 3_600_000, 8 * 3_600_000]);
        drawing.deed(at, Deed::Sleep(sleeps));
    }
}

fn reboot(drawing: &mut Drawing<'_>) {
    let at = drawing.begins();
    drawing.deed(at, Deed::Reboot);
}
