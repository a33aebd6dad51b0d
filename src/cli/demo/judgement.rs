//! Whether each container was handled rightly. Judged by what the engine says happened and by what arrived at the
//! receiver; of the daemon's own word only what nobody else can know: that it verified a recovery, and that it gave up.

use super::{
    happening::Happening,
    receiver::Told,
    role::{BUDGET, Role},
    story::KILL,
};
use crate::domain::{
    acting::{attempt::Ending, hold::Hold},
    message::{MessageKind, Severity},
    name::StartedAt,
    observation::{ContainerState, EventAction, HealthStatus, Inspection},
    record::Decision,
};
use std::collections::BTreeMap;

/// What was seen of all.
#[derive(Default)]
pub struct Judgement {
    seen: BTreeMap<Role, Seen>,
    /// Messages about none of them.
    strays: Vec<String>,
}

/// What was seen of one container.
#[derive(Clone, Debug, Default)]
struct Seen {
    first_life: Option<StartedAt>,
    life: Option<StartedAt>,
    state: Option<ContainerState>,
    health: Option<HealthStatus>,
    restarts: u32,
    starts: u32,
    sigkills: u32,
    deaths: u32,
    /// Restarts at the time of giving up.
    gave_up_after: Option<u32>,
    verified: u32,
    not_cured: u32,
    messages: Vec<Message>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Message {
    kind: MessageKind,
    severity: Severity,
    says_no_help: bool,
}

/// A row of the closing table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which container.
    pub role: Role,
    /// What was to be seen.
    pub expected: String,
    /// What was seen.
    pub seen: String,
    /// Whether that is right.
    pub right: bool,
}

impl Judgement {
    /// Takes in what happened.
    pub fn take(&mut self, happening: &Happening) {
        match happening {
            Happening::Engine(role, action) => self.of(*role).engine(action),
            Happening::Looked(role, inspection) => self.of(*role).looked(inspection),
            Happening::Decided(role, decision) => self.of(*role).decided(decision),
            Happening::Told(told) => {
                let about = told.service.as_deref();
                match Role::ALL.into_iter().find(|role| about == Some(role.name())) {
                    Some(role) => self.of(role).told(told),
                    None => self.strays.push(told.headline.clone()),
                }
            }
        }
    }

    fn of(&mut self, role: Role) -> &mut Seen {
        self.seen.entry(role).or_default()
    }

    /// Whether nothing is missing any more: what is still to be seen is that nothing more happens.
    pub fn is_over(&self) -> bool {
        self.rows().iter().all(|row| row.right)
    }

    /// Whether each was handled rightly, and nobody was told of anything else.
    pub fn is_right(&self) -> bool {
        self.is_over() && self.strays.is_empty()
    }

    /// What was told beside.
    pub fn strays(&self) -> &[String] {
        &self.strays
    }

    /// The closing table.
    pub fn rows(&self) -> Vec<Row> {
        let nothing = Seen::default();
        let row = |role| {
            let seen = self.seen.get(&role).unwrap_or(&nothing);
            Row {
                role,
                expected: expected(role),
                seen: seen.in_words(),
                right: seen.is_right(role),
            }
        };
        Role::ALL.into_iter().map(row).collect()
    }
}

fn expected(role: Role) -> String {
    match role {
        Role::Fine => "not touched, healthy, nobody told".to_owned(),
        Role::Hangs => "1 restart, healthy, told: notice, recovered".to_owned(),
        Role::Stubborn => "1 restart with SIGKILL, healthy, told: notice, recovered".to_owned(),
        Role::Hopeless => {
            format!("{BUDGET} restarts, then left alone, not healthy, told: notice, page, given up")
        }
    }
}

impl Seen {
    fn engine(&mut self, action: &EventAction) {
        match action {
            EventAction::Restarted => self.restarts += 1,
            EventAction::Started => self.starts += 1,
            EventAction::Killed { signal: Some(KILL) } => self.sigkills += 1,
            EventAction::Died { .. } => self.deaths += 1,
            EventAction::Killed { .. }
            | EventAction::Created
            | EventAction::Stopped
            | EventAction::Paused
            | EventAction::Unpaused
            | EventAction::Updated
            | EventAction::Renamed
            | EventAction::Destroyed
            | EventAction::OutOfMemory
            | EventAction::HealthChanged(_) => {}
        }
    }

    fn looked(&mut self, inspection: &Inspection) {
        let life = inspection.started_at.clone();
        if inspection.started.is_some() {
            self.first_life.get_or_insert_with(|| life.clone());
            self.life = Some(life);
        }
        self.state = Some(inspection.state.clone());
        self.health = inspection.health.as_ref().map(|health| health.status.clone());
    }

    fn decided(&mut self, decision: &Decision) {
        match decision {
            Decision::Ended(_, Ending::Verified { .. }) => self.verified += 1,
            Decision::Ended(_, Ending::NotCured(_)) => self.not_cured += 1,
            Decision::Held(Hold::BudgetSpent { .. }) => self.gave_up_after = Some(self.restarts),
            _ => {}
        }
    }

    fn told(&mut self, told: &Told) {
        let says_no_help = told.done.iter().any(|line| line.contains("did not help"));
        self.messages.push(Message { kind: told.kind, severity: told.severity, says_no_help });
    }

    fn is_healthy(&self) -> bool {
        self.state == Some(ContainerState::Running) && self.health == Some(HealthStatus::Healthy)
    }

    fn notice_answered(&self) -> bool {
        let story: Vec<_> =
            self.messages.iter().map(|message| (message.kind, message.severity)).collect();
        story
            == [(MessageKind::Opened, Severity::Notice), (MessageKind::Recovered, Severity::Notice)]
    }

    /// One page, which says that a restart did not help, and one more when none is left; before them a notice at most.
    fn paged(&self) -> bool {
        let pages: Vec<&Message> =
            self.messages.iter().filter(|message| message.severity == Severity::Page).collect();
        matches!(pages.as_slice(), [page, _] if page.says_no_help)
            && self.messages.last().is_some_and(|last| last.kind == MessageKind::GivenUp)
    }

    fn is_right(&self, role: Role) -> bool {
        let cured = self.restarts == 1
            && self.starts == 2
            && self.deaths == 1
            && self.verified == 1
            && self.not_cured == 0
            && self.is_healthy()
            && self.notice_answered();
        match role {
            Role::Fine => {
                self.first_life.is_some()
                    && self.life == self.first_life
                    && self.restarts == 0
                    && self.deaths == 0
                    && self.is_healthy()
                    && self.messages.is_empty()
            }
            Role::Hangs => cured && self.sigkills == 0,
            Role::Stubborn => cured && self.sigkills == 1,
            Role::Hopeless => {
                self.restarts == BUDGET
                    && self.deaths == BUDGET
                    && self.verified == 0
                    && self.not_cured == BUDGET
                    && self.gave_up_after == Some(BUDGET)
                    && self.paged()
                    && self.state == Some(ContainerState::Running)
            }
        }
    }

    fn in_words(&self) -> String {
        let mut words = Vec::new();
        match (self.restarts, self.deaths) {
            (0, 0) => words.push("not touched".to_owned()),
            (0, deaths) => words.push(format!("no restart, ended {deaths} times")),
            (1, _) => words.push("1 restart".to_owned()),
            (restarts, _) => words.push(format!("{restarts} restarts")),
        }
        if self.sigkills > 0 {
            words[0].push_str(" with SIGKILL");
        }
        if self.gave_up_after == Some(self.restarts) {
            words.push("then left alone".to_owned());
        }
        words.push(match (&self.state, &self.health) {
            (None, _) => "never seen".to_owned(),
            (Some(ContainerState::Running), Some(HealthStatus::Healthy)) => "healthy".to_owned(),
            (Some(ContainerState::Running), _) => "not healthy".to_owned(),
            (Some(state), _) => format!("{state:?}").to_lowercase(),
        });
        let told: Vec<String> = self
            .messages
            .iter()
            .map(|message| match message.kind {
                MessageKind::Opened | MessageKind::Raised | MessageKind::Relapsed => {
                    message.severity.to_string()
                }
                MessageKind::GivenUp => "given up".to_owned(),
                MessageKind::Grown => "grown".to_owned(),
                MessageKind::Recovered => "recovered".to_owned(),
                MessageKind::Resolved => "resolved".to_owned(),
                MessageKind::Reminder => "reminder".to_owned(),
                MessageKind::Missed => "missed".to_owned(),
            })
            .collect();
        words.push(match told.as_slice() {
            [] => "nobody told".to_owned(),
            told => format!("told: {}", told.join(", ")),
        });
        words.join(", ")
    }
}

#[cfg(test)]
mod tests {
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
        let world =
            LiveWorld::begin(World::new(EngineMs(0)), std::sync::Arc::new(HostClock::new()));
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
                let is_its_nature =
                    role == Role::Hopeless && matches!(extra, Happening::Looked(..));
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
}
