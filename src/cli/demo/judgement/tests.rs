//! What is right, and that one thing too many or too few is not.

use super::*;
use crate::domain::name::AttemptId;

fn told(role: Role, kind: MessageKind, severity: Severity, done: &str) -> Happening {
    Happening::Told(Told {
        id: format!("{role}-{kind:?}"),
        kind,
        severity,
        service: Some(role.name().to_owned()),
        headline: String::new(),
        done: vec![done.to_owned()],
        findings: Vec::new(),
        next_steps: Vec::new(),
    })
}

fn engine(role: Role, action: EventAction) -> Happening {
    Happening::Engine(role, action)
}

fn looked(role: Role, life: u32, status: HealthStatus) -> Happening {
    use crate::{
        clock::HostClock,
        docker::simulated::{live::LiveWorld, script::ContainerScript, world::World},
        domain::{moment::EngineMs, observation::Health},
    };
    let world = LiveWorld::begin(World::new(EngineMs(0)), std::sync::Arc::new(HostClock::new()));
    let mut inspection = world.with(|world, now| {
        let id = world.run(now, ContainerScript::named(role.name()));
        world.inspect(now, &id).unwrap()
    });
    inspection.started_at = StartedAt::new(format!("life {life}"));
    inspection.health = Some(Health { status, failing_streak: 0, log: Vec::new() });
    Happening::Looked(role, Box::new(inspection))
}

fn restart(role: Role, cured: bool) -> Vec<Happening> {
    let mut happenings = vec![
        engine(role, EventAction::Killed { signal: Some(15) }),
        engine(role, EventAction::Died { exit_code: Some(0) }),
        engine(role, EventAction::Started),
        engine(role, EventAction::Restarted),
    ];
    if role == Role::Stubborn {
        happenings.insert(1, engine(role, EventAction::Killed { signal: Some(KILL) }));
    }
    let ending = if cured {
        Ending::Verified { after_ms: 900 }
    } else {
        Ending::NotCured("not healthy".to_owned())
    };
    happenings.push(Happening::Decided(role, Decision::Ended(AttemptId(1), ending)));
    happenings
}

/// As it should be, a role at a time.
fn as_it_should_be(role: Role) -> Vec<Happening> {
    use MessageKind::{GivenUp, Opened, Raised, Recovered};
    let mut story =
        vec![engine(role, EventAction::Started), looked(role, 1, HealthStatus::Healthy)];
    match role {
        Role::Fine => {}
        Role::Hangs | Role::Stubborn => {
            story.push(told(role, Opened, Severity::Notice, ""));
            story.extend(restart(role, true));
            story.push(told(role, Recovered, Severity::Notice, ""));
            story.push(looked(role, 2, HealthStatus::Healthy));
        }
        Role::Hopeless => {
            story.push(told(role, Opened, Severity::Notice, ""));
            story.extend(restart(role, false));
            story.push(told(role, Raised, Severity::Page, "restart 1 of 2: did not help"));
            story.extend(restart(role, false));
            let hold = Hold::BudgetSpent { restarts: BUDGET, refill_after_ms: 3_600_000 };
            story.push(Happening::Decided(role, Decision::Held(hold)));
            story.push(told(role, GivenUp, Severity::Page, "restart 2 of 2: did not help"));
            story.push(looked(role, 3, HealthStatus::Unhealthy));
        }
    }
    story
}

fn judged(story: impl IntoIterator<Item = Happening>) -> Judgement {
    let mut judgement = Judgement::default();
    story.into_iter().for_each(|happening| judgement.take(&happening));
    judgement
}

fn wrong(judgement: &Judgement) -> Vec<Role> {
    judgement.rows().iter().filter(|row| !row.right).map(|row| row.role).collect()
}

#[test]
fn as_it_should_be_it_is_right_and_what_was_seen_reads_as_what_was_expected() {
    let judgement = judged(Role::ALL.into_iter().flat_map(as_it_should_be));
    assert!(judgement.is_right(), "{:?}", judgement.rows());
    for row in judgement.rows() {
        assert_eq!(row.expected, row.seen);
    }
}

#[test]
fn nothing_seen_is_wrong_for_all() {
    assert_eq!(wrong(&Judgement::default()), Role::ALL);
}

#[test]
fn one_thing_too_many_is_wrong_for_whom_it_concerns() {
    use MessageKind::{Opened, Reminder};
    for role in Role::ALL {
        let more = [
            engine(role, EventAction::Restarted),
            engine(role, EventAction::Died { exit_code: Some(1) }),
            told(role, Opened, Severity::Page, "did not help"),
            told(role, Reminder, Severity::Notice, ""),
            looked(role, 9, HealthStatus::Starting),
        ];
        for extra in more {
            // A life of its own in which it does not answer is what the hopeless one is about.
            let is_its_nature = role == Role::Hopeless && matches!(extra, Happening::Looked(..));
            let story = Role::ALL.into_iter().flat_map(as_it_should_be);
            let judgement = judged(story.chain([extra.clone()]));
            let expected = if is_its_nature { vec![] } else { vec![role] };
            assert_eq!(wrong(&judgement), expected, "{extra:?}");
        }
    }
}

#[test]
fn the_one_that_ignores_sigterm_must_have_been_killed_and_the_other_must_not() {
    let kill = |happening: &Happening| {
        matches!(happening, Happening::Engine(_, EventAction::Killed { signal: Some(KILL) }))
    };
    let story = Role::ALL.into_iter().flat_map(as_it_should_be);
    let judgement = judged(story.filter(|happening| !kill(happening)));
    assert_eq!(wrong(&judgement), [Role::Stubborn]);
    let story = Role::ALL.into_iter().flat_map(as_it_should_be);
    let extra = engine(Role::Hangs, EventAction::Killed { signal: Some(KILL) });
    assert_eq!(wrong(&judged(story.chain([extra]))), [Role::Hangs]);
}

#[test]
fn a_message_about_anything_else_is_wrong() {
    let mut stray = told(Role::Fine, MessageKind::Opened, Severity::Page, "");
    if let Happening::Told(told) = &mut stray {
        told.service = None;
    }
    let judgement = judged(Role::ALL.into_iter().flat_map(as_it_should_be).chain([stray]));
    assert!(judgement.is_over() && !judgement.is_right());
}
