//! What is over, in one line that stands alone on a lock screen: it names how things are now, never only what they were, and
//! claims no more than was seen. What has recovered first has its own words.

use crate::domain::{message::IncidentKind, telling::IncidentKey};

/// Why what was told of something ends that the config does not name any more.
pub(crate) const GONE_FOR_GOOD: &str = "no longer configured, or gone for good";

/// How many of a service run, and should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) running: u32,
    pub(crate) wanted: u32,
}

/// `told`: the headline so far. `running`: of the service.
pub(crate) fn headline(key: &IncidentKey, told: &str, running: Running) -> String {
    let of = |what: &str| match &key.service {
        Some(service) => format!("{service} {what}"),
        None => what.to_owned(),
    };
    match key.kind {
        IncidentKind::Unhealthy => of("is not seen unhealthy any more"),
        IncidentKind::Down if running.running > 0 && running.running >= running.wanted => {
            of(&format!("runs again: {} of {} run", running.running, running.wanted))
        }
        IncidentKind::Down => of("is not missed any more"),
        IncidentKind::StoppedByHand => of("has nothing left that somebody stopped and left so"),
        IncidentKind::CannotEvaluate => of("can be evaluated again"),
        IncidentKind::NeverPassed => of("has no probe left that has never passed"),
        IncidentKind::Chronic => of("is no longer restarted often"),
        IncidentKind::Ambiguous => of("can be told apart again"),
        // Its release has said why.
        IncidentKind::Brake if told.starts_with(BRAKE_RELEASED) => told.to_owned(),
        IncidentKind::Brake => BRAKE_RELEASED.to_owned(),
        IncidentKind::EngineUnreachable => "the container engine answers again".to_owned(),
        IncidentKind::ActionsRefused => {
            "the container engine is no longer seen to refuse restarts".to_owned()
        }
        IncidentKind::StoreFailing => "defib can record again what it does".to_owned(),
        IncidentKind::MemoryLost => "defib has kept its memory anew for a day".to_owned(),
        IncidentKind::SinkFailing => "messages are no longer held up at a sink".to_owned(),
    }
}

/// The same of what is watched no more.
pub(crate) fn gone(key: &IncidentKey) -> String {
    match &key.service {
        Some(service) => format!("{service} is watched no more"),
        None => "watched no more".to_owned(),
    }
}

/// How the end of the brake begins.
pub(crate) const BRAKE_RELEASED: &str = "restarts are free again";
