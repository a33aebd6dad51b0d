//! That something of a service is restarted again and again (S4).

use crate::domain::{
    Domain,
    message::{IncidentKind, Severity},
    moment::AwakeMs,
    name::ServiceName,
    telling::{incident::Picture, wording},
    watching::replica::Replica,
};
use std::time::Duration;

impl Domain {
    pub(in crate::domain::service) fn picture_chronic(
        &self,
        name: &ServiceName,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let asked: Vec<(&Replica, Option<bool>)> = self
            .members(name)
            .into_iter()
            .map(|replica| (replica, replica.kept.spending.is_chronic(&self.boot_id, self.now)))
            .collect();
        let is_unknown = asked.iter().any(|(_, is_chronic)| is_chronic.is_none());
        let chronic: Vec<&Replica> = asked
            .into_iter()
            .filter(|(_, is_chronic)| *is_chronic == Some(true))
            .map(|(replica, _)| replica)
            .collect();
        let Some(first) = chronic.first() else {
            let known = self.open(name, IncidentKind::Chronic).filter(|_| is_unknown)?;
            deadlines.push(self.now.awake + Duration::from_secs(60));
            return Some(Picture::failing(known.since, None, known.content.clone()));
        };
        // Looked at hourly: that it is no more so is no news that hurries.
        deadlines.push(self.now.awake + Duration::from_secs(3600));
        let since = first.kept.spending.recent.front().map_or(self.now, |stamp| stamp.moment);
        let content = wording::chronic(name, &chronic);
        Some(Picture::failing(since, Some(Severity::Ticket), content))
    }
}
