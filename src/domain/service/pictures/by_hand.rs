//! That somebody has stopped, paused or removed something of a service, and left it so (P8).

use crate::domain::{
    Domain,
    judging::absence,
    message::Severity,
    moment::AwakeMs,
    name::ServiceName,
    telling::{incident::Picture, wording},
    watching::replica::Replica,
};

impl Domain {
    pub(in crate::domain::service) fn picture_by_hand(
        &self,
        name: &ServiceName,
        listed: bool,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        if !listed {
            return None;
        }
        let theirs =
            |replica: &&Replica| absence::is_by_hand(replica) || replica.paused_since.is_some();
        let members: Vec<&Replica> = self.members(name).into_iter().filter(theirs).collect();
        let since = members
            .iter()
            .filter_map(|replica| replica.paused_since.or_else(|| absence::stands_since(replica)))
            .min_by_key(|since| since.awake)?;
        deadlines.push(since.awake + absence::BY_HAND_AFTER);
        let due = self.now.awake.since(since.awake) >= absence::BY_HAND_AFTER;
        let content = wording::by_hand(&members);
        Some(Picture::failing(since, due.then_some(Severity::Ticket), content))
    }
}
