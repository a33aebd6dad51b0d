//! How a matter stands for one sink, by the messages that reached it.

use super::story::{Span, Story};
use crate::account::Ms;
use defib::domain::message::{IncidentKind, Message, MessageKind, Severity};

/// When the host's incident is over, what it stood for is told by itself: one message after the other, each recorded first.
const HANDED_OVER_MS: Ms = 5_000;

/// The moments at which it counts that this sink has been told of what it is to know by some moment: that one, and where the
/// host's incident that had stood for it has just ended there, each at which something arrives a little later.
pub fn asked_at(story: &Story<'_>, sink: &str, by: Ms) -> Vec<Ms> {
    let lately = Span { from: by.saturating_sub(HANDED_OVER_MS), to: by + 1 };
    let arrivals = || {
        let sends = story.sends.iter().filter(|send| send.sink == sink);
        sends.filter_map(|send| send.landed.map(|at| (at, send.message)))
    };
    let ended = arrivals()
        .filter(|(at, message)| {
            lately.holds(*at) && message.service.is_none() && message.kind == MessageKind::Resolved
        })
        .map(|(at, _)| at)
        .max();
    let until = ended.map_or(by, |at| at + HANDED_OVER_MS);
    let later = arrivals().map(|(at, _)| at).filter(|at| *at > by && *at <= until);
    [by].into_iter().chain(later).collect()
}

/// Whether a host incident's message names this service, however it says that it stands.
pub fn names(message: &Message, service: &str) -> bool {
    let rest = |member: &String| member.strip_prefix(service).map(str::to_owned);
    message
        .members
        .iter()
        .filter_map(rest)
        .any(|rest| rest.is_empty() || rest.starts_with(" (") || rest.starts_with(':'))
}

/// Whether the brake was open for this sink at this moment: what fails meanwhile joins that, some together.
pub fn brake_is_open(story: &Story<'_>, sink: &str, at: Ms) -> bool {
    let told = story.sends.iter().filter(|send| {
        send.sink == sink
            && send.message.incident_kind == IncidentKind::Brake
            && send.landed.is_some_and(|landed| landed <= at)
    });
    told.fold(Standing::Closed, |standing, send| standing.after(send.message)) != Standing::Closed
}

/// How a matter stands for one sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Never told of, or told to its end.
    Closed,
    /// Told of, at most so loudly.
    Open(Severity),
    /// Told to be well again; its end is owed.
    Recovered(Severity),
}

impl Standing {
    /// After one more message.
    pub fn after(self, message: &Message) -> Self {
        let loudest = match self {
            Standing::Closed => message.severity,
            Standing::Open(level) | Standing::Recovered(level) => level.max(message.severity),
        };
        match message.kind {
            // A new incident begins anew, whatever was said of the last one.
            MessageKind::Opened => Standing::Open(message.severity),
            MessageKind::Raised
            | MessageKind::GivenUp
            | MessageKind::Grown
            | MessageKind::Relapsed
            | MessageKind::Reminder => Standing::Open(loudest),
            // A notice that was answered needs no second end (P9). What was raised while nothing could be recorded is a
            // notice again after a crash, and says so.
            MessageKind::Recovered if message.severity == Severity::Notice => Standing::Closed,
            MessageKind::Recovered => Standing::Recovered(loudest),
            MessageKind::Resolved | MessageKind::Missed => Standing::Closed,
        }
    }
}
