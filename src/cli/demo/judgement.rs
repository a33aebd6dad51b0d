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
mod tests;
