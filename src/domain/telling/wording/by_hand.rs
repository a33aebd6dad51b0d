//! What is said of what somebody has stopped, paused or removed.

use super::lines;
use crate::domain::{telling::incident::Content, watching::replica::Replica};

pub(crate) fn by_hand(members: &[&Replica]) -> Content {
    let first = members.first().map(|replica| replica.kept.name.to_string()).unwrap_or_default();
    let more = members.len().saturating_sub(1);
    let who = if more == 0 { first } else { format!("{first} and {more} more") };
    Content {
        headline: format!(
            "{who}: stopped, paused, removed or renamed by somebody else, and left so"
        ),
        members: lines(members, |replica| format!("{}: {}", replica.kept.name, replica.lifecycle)),
        done: vec!["left alone: what somebody stopped or paused is theirs to start".to_owned()],
        ..Content::default()
    }
}
