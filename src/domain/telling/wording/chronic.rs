//! What is said of what is restarted again and again.

use super::lines;
use crate::domain::{name::ServiceName, telling::incident::Content, watching::replica::Replica};

pub(crate) fn chronic(name: &ServiceName, members: &[&Replica]) -> Content {
    let count = members.first().map_or(0, |replica| replica.kept.spending.recent.len());
    Content {
        headline: format!(
            "{name}: restarted at least {count} times within a day; restarts are no cure"
        ),
        members: lines(members, |replica| {
            format!(
                "{}: at least {} restarts",
                replica.kept.name,
                replica.kept.spending.recent.len()
            )
        }),
        ..Content::default()
    }
}
