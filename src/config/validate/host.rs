//! `[host_limits]`, `[settling]` and `[[host]]`: what holds for a host as a whole.

use super::value::{self, Bounds, Least};
use crate::config::{
    problem::{Problem, Problems},
    raw::{RawBrake, RawHost, RawHostBudget, RawHostLimits, RawSettling, TableOrText},
};
use crate::docker::adapter::ACTS_AT_ONCE;
use crate::domain::{
    name::HostName,
    policy::{BrakePolicy, HostBudget, HostLimits, Settling},
    watching::matching::glob_matches,
};
use std::time::Duration;

const LIMITS: HostLimits = HostLimits {
    // A host that restarts more at once gives those that still run too little to run on (S3).
    max_concurrent: 4,
    budget: HostBudget { restarts: 6, within: Duration::from_secs(30 * 60) },
    brake: Some(BRAKE),
};

const BRAKE: BrakePolicy = BrakePolicy { services: 3, percent: 20 };

const SETTLING: Settling = Settling {
    own_start: Duration::from_secs(60),
    host_boot: Duration::from_secs(5 * 60),
    engine_start: Duration::from_secs(5 * 60),
};

const NEVER_ACT: &str = "to act on nothing on some hosts, write `[[host]]` with `match` and \
                         `never_act = true`";

pub(super) fn limits(raw: &RawHostLimits<'_>, problems: &mut Problems) -> HostLimits {
    const LEAST: Least =
        Least::one("with 0 nothing could ever be restarted").instead(NEVER_ACT).at_most(
            ACTS_AT_ONCE,
            "the engine is asked for no more at once; what is beyond would fail",
        );
    HostLimits {
        max_concurrent: value::count(
            "max_concurrent",
            raw.max_concurrent.as_ref(),
            &LEAST,
            problems,
        )
        .unwrap_or(LIMITS.max_concurrent),
        budget: raw.budget.as_ref().map_or(LIMITS.budget, |raw| budget(raw, problems)),
        brake: match raw.brake.as_ref() {
            None => LIMITS.brake,
            Some(TableOrText::Table(raw)) => Some(brake(raw, problems)),
            Some(TableOrText::Text(text)) => {
                match value::choice("brake", Some(text), &[("off", ())], problems) {
                    Some(()) => None,
                    None => LIMITS.brake,
                }
            }
        },
    }
}

fn budget(raw: &RawHostBudget<'_>, problems: &mut Problems) -> HostBudget {
    const LEAST: Least = Least::one("with 0 nothing could ever be restarted").instead(NEVER_ACT);
    const WITHIN: Bounds = Bounds::at_least(
        Duration::from_secs(60),
        "the budget would never be spent: hardly two restarts fall into so short a time",
    );
    HostBudget {
        restarts: value::count("restarts", raw.restarts.as_ref(), &LEAST, problems)
            .unwrap_or(LIMITS.budget.restarts),
        within: value::time("within", raw.within.as_ref(), &WITHIN, problems)
            .unwrap_or(LIMITS.budget.within),
    }
}

fn brake(raw: &RawBrake, problems: &mut Problems) -> BrakePolicy {
    const SERVICES: Least = Least::one("with 0 it would hold for ever")
        .instead("to do without the brake, set `brake = \"off\"`");
    const PERCENT: Least = Least::number(0, "there is nothing below 0 %")
        .at_most(100, "more than all can't fail; to do without the brake, set `brake = \"off\"`");
    BrakePolicy {
        services: value::count("services", raw.services.as_ref(), &SERVICES, problems)
            .unwrap_or(BRAKE.services),
        percent: value::count("percent", raw.percent.as_ref(), &PERCENT, problems)
            .unwrap_or(BRAKE.percent),
    }
}

pub(super) fn settling(raw: &RawSettling<'_>, problems: &mut Problems) -> Settling {
    Settling {
        own_start: value::duration("own_start", raw.own_start.as_ref(), problems)
            .unwrap_or(SETTLING.own_start),
        host_boot: value::duration("host_boot", raw.host_boot.as_ref(), problems)
            .unwrap_or(SETTLING.host_boot),
        engine_start: value::duration("engine_start", raw.engine_start.as_ref(), problems)
            .unwrap_or(SETTLING.engine_start),
    }
}

/// Whether some `[[host]]` says that nothing is done on this one.
pub(super) fn never_act(raw: &[RawHost<'_>], host: &HostName, problems: &mut Problems) -> bool {
    let mut never_act = false;
    for raw in raw {
        if !raw.is_named {
            problems.push(
                Problem::missing(raw.at.clone(), "a `[[host]]` does not say which")
                    .cause("`match` is missing")
                    .hint("for example: `match = \"staging-*\"`; `*` alone matches every host"),
            );
        }
        let Some(pattern) = raw.matches.as_ref() else { continue };
        if pattern.get_ref().is_empty() {
            problems.push(
                Problem::error(pattern.span(), "`match` is empty").cause("no host has no name"),
            );
        }
        match raw.never_act.as_ref() {
            Some(flag) => {
                never_act |= *flag.get_ref() && glob_matches(pattern.get_ref(), host.as_str());
            }
            None => problems.push(
                Problem {
                    missing: true,
                    ..Problem::warning(raw.at.clone(), "a `[[host]]` changes nothing")
                }
                .cause("this says which hosts, and not what differs there")
                .hint("`never_act = true` watches and tells, and touches nothing"),
            ),
        }
    }
    never_act
}
