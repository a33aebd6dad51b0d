//! How a service is treated: what `[defaults]` and `[[service]]` share. A service says only what differs from the
//! defaults, also inside `budget` and `backoff`.

use super::{
    address,
    value::{self, Bounds, Least},
};
use crate::config::{
    problem::{Problem, Problems},
    raw::{At, RawBackoff, RawBudget, RawTreatment},
    words::spelled,
};
use crate::domain::{
    message::Severity,
    policy::{Backoff, PageWhen, RestartMode, ServiceBudget, Threshold},
};
use std::time::Duration;

/// Everything that has a default.
#[derive(Clone, Debug)]
pub(super) struct Treatment {
    pub(super) restart: RestartMode,
    pub(super) page_after: Threshold,
    pub(super) restart_after: Threshold,
    pub(super) settle: Duration,
    pub(super) start_grace: Duration,
    pub(super) budget: ServiceBudget,
    pub(super) backoff: Backoff,
    pub(super) recover_within: Duration,
    pub(super) stable_for: Duration,
    pub(super) severity: Severity,
    pub(super) page: PageWhen,
    pub(super) max_acting: u32,
    pub(super) min_healthy: u32,
    pub(super) runbook: Option<String>,
    pub(super) note: Option<String>,
}

const fn failures(failures: u32) -> Threshold {
    Threshold { failures: Some(failures), failing_for: None }
}

impl Default for Treatment {
    fn default() -> Self {
        Self {
            restart: RestartMode::Auto,
            // Later than the restart, so that what a restart cures wakes nobody.
            page_after: failures(5),
            restart_after: failures(3),
            // Long enough that a common cause shows in several services before the first is restarted (S12).
            settle: Duration::from_secs(3),
            start_grace: Duration::from_secs(60),
            // What three restarts do not cure a fourth does not either (S4).
            budget: ServiceBudget {
                restarts: 3,
                refill_after_healthy: Duration::from_secs(30 * 60),
            },
            backoff: Backoff { first: Duration::from_secs(10), max: Duration::from_secs(5 * 60) },
            recover_within: Duration::from_secs(90),
            stable_for: Duration::from_secs(10 * 60),
            severity: Severity::Page,
            page: PageWhen::IfNotCured,
            max_acting: 1,
            min_healthy: 0,
            runbook: None,
            note: None,
        }
    }
}

impl Treatment {
    /// What was typed, over what holds otherwise.
    pub(super) fn read(raw: &RawTreatment<'_>, base: &Treatment, problems: &mut Problems) -> Self {
        Self {
            restart: value::choice("restart", raw.restart.as_ref(), &RESTART, problems)
                .unwrap_or(base.restart),
            page_after: value::threshold("page_after", raw.page_after.as_ref(), problems)
                .unwrap_or(base.page_after),
            restart_after: value::threshold("restart_after", raw.restart_after.as_ref(), problems)
                .unwrap_or(base.restart_after),
            settle: value::duration("settle", raw.settle.as_ref(), problems).unwrap_or(base.settle),
            start_grace: value::duration("start_grace", raw.start_grace.as_ref(), problems)
                .unwrap_or(base.start_grace),
            budget: budget(raw.budget.as_ref(), base.budget, problems),
            backoff: backoff(raw.backoff.as_ref(), base.backoff, problems),
            recover_within: value::time(
                "recover_within",
                raw.recover_within.as_ref(),
                &RECOVER_WITHIN,
                problems,
            )
            .unwrap_or(base.recover_within),
            stable_for: value::time("stable_for", raw.stable_for.as_ref(), &STABLE_FOR, problems)
                .unwrap_or(base.stable_for),
            severity: value::choice("severity", raw.severity.as_ref(), &SEVERITY, problems)
                .unwrap_or(base.severity),
            page: value::choice("page", raw.page.as_ref(), &PAGE, problems).unwrap_or(base.page),
            max_acting: value::count("max_acting", raw.max_acting.as_ref(), &MAX_ACTING, problems)
                .unwrap_or(base.max_acting),
            min_healthy: value::count(
                "min_healthy",
                raw.min_healthy.as_ref(),
                &Least::number(0, "there are no fewer than none"),
                problems,
            )
            .unwrap_or(base.min_healthy),
            runbook: runbook(raw, problems).or_else(|| base.runbook.clone()),
            note: note(raw, problems).or_else(|| base.note.clone()),
        }
    }
}

const RESTART: [(&str, RestartMode); 3] =
    [("auto", RestartMode::Auto), ("dry", RestartMode::Dry), ("never", RestartMode::Never)];

const SEVERITY: [(&str, Severity); 2] = [("page", Severity::Page), ("ticket", Severity::Ticket)];

const PAGE: [(&str, PageWhen); 2] =
    [("if_not_cured", PageWhen::IfNotCured), ("at_once", PageWhen::AtOnce)];

const MAX_ACTING: Least = Least::one("with 0 nothing could ever be restarted")
    .instead("to watch without restarting, set `restart = \"dry\"` or `restart = \"never\"`");

const RESTARTS: Least = Least::one("with 0 nothing could ever be restarted")
    .instead("to watch without restarting, set `restart = \"dry\"` or `restart = \"never\"`");

/// The shortest wait that a start and a first check can take.
const RECOVER_WITHIN: Bounds =
    Bounds::at_least(Duration::from_secs(1), "no restart could ever have helped by then");

const STABLE_FOR: Bounds = Bounds::at_least(
    Duration::from_secs(1),
    "every single pass would end the trouble and begin a new one",
);

/// What dies again and again is well for some seconds between: only a span that it does not live through bounds its restarts.
const REFILL_AFTER_HEALTHY: Bounds = Bounds::at_least(
    Duration::from_secs(60),
    "the budget would never be spent: what dies again and again would be restarted for ever",
);

fn budget(
    raw: Option<&RawBudget<'_>>,
    base: ServiceBudget,
    problems: &mut Problems,
) -> ServiceBudget {
    let Some(raw) = raw else { return base };
    ServiceBudget {
        restarts: value::count("restarts", raw.restarts.as_ref(), &RESTARTS, problems)
            .unwrap_or(base.restarts),
        refill_after_healthy: value::time(
            "refill_after_healthy",
            raw.refill_after_healthy.as_ref(),
            &REFILL_AFTER_HEALTHY,
            problems,
        )
        .unwrap_or(base.refill_after_healthy),
    }
}

fn backoff(raw: Option<&RawBackoff<'_>>, base: Backoff, problems: &mut Problems) -> Backoff {
    let Some(raw) = raw else { return base };
    let first = value::duration("first", raw.first.as_ref(), problems).unwrap_or(base.first);
    let max = value::duration("max", raw.max.as_ref(), problems).unwrap_or(base.max);
    if first > max {
        problems.push(
            Problem::error(raw.at.clone(), "`backoff` begins above its own maximum")
                .cause(format!("`first` is {}, `max` is {}", spelled(first), spelled(max)))
                .hint("it doubles from `first` to `max` with each restart"),
        );
        return base;
    }
    Backoff { first, max }
}

/// Both go into every message, and so to whoever is told and wherever that is kept (P7).
fn refuses_a_secret(key: &str, given: &At<&str>, hint: &str, problems: &mut Problems) -> bool {
    let holds_one = value::holds_a_secret(given.get_ref());
    if holds_one {
        problems.push(
            Problem::error(given.span(), format!("`{key}` must not hold a secret"))
                .cause("it stands in every message, and something in it is one or looks like one")
                .hint(hint),
        );
    }
    holds_one
}

fn runbook(raw: &RawTreatment<'_>, problems: &mut Problems) -> Option<String> {
    let runbook = raw.runbook.as_ref()?;
    let hint = "name a page that asks whoever opens it who they are";
    if refuses_a_secret("runbook", runbook, hint, problems) {
        return None;
    }
    match address::url(runbook.get_ref()) {
        Ok(()) => Some((*runbook.get_ref()).to_owned()),
        Err(cause) => {
            problems.push(value::wrong(
                runbook,
                "`runbook` takes the address of a page",
                cause.hint("what is no address goes into `note`"),
            ));
            None
        }
    }
}

/// A note longer than this would push what is wrong off the screen of a phone.
const LONGEST_NOTE: usize = 1_000;

fn note(raw: &RawTreatment<'_>, problems: &mut Problems) -> Option<String> {
    let note = raw.note.as_ref()?;
    let hint = "say where it is kept, and not what it is: what stands behind a word such as \"password\" and `:` or `=` \
                counts as one";
    if refuses_a_secret("note", note, hint, problems) {
        return None;
    }
    if note.get_ref().chars().count() > LONGEST_NOTE {
        problems.push(
            Problem::error(note.span(), "`note` is longer than 1000 characters")
                .cause("it stands in every message")
                .hint("name a page in `runbook` and put it there"),
        );
        return None;
    }
    Some(note.get_ref().trim().to_owned()).filter(|note| !note.is_empty())
}
