//! That too few of a service run (P8).

use crate::domain::{
    Domain,
    acting::brake::Brake,
    judging::absence,
    message::Severity,
    moment::AwakeMs,
    name::ServiceName,
    policy::ServicePolicy,
    telling::{incident::Picture, wording},
};

impl Domain {
    pub(in crate::domain::service) fn picture_down(
        &mut self,
        name: &ServiceName,
        policy: &ServicePolicy,
        listed: bool,
        deadlines: &mut Vec<AwakeMs>,
    ) -> Option<Picture> {
        let now = self.now;
        let members = self.members(name);
        // A service that the config does not name any more, and that an attempt keeps until it ends, wants nothing.
        let wanted = policy.replicas.filter(|_| listed);
        let mut count = absence::count(&members, wanted);
        // What this service and another one match may be meant to be here: of that it can't be said to be missing.
        let contested = self.services.get(name).map_or(0, |service| service.contested.len());
        let contested = u32::try_from(contested).unwrap_or(u32::MAX);
        count.never_seen = count.never_seen.saturating_sub(contested);
        let braked = matches!(self.host.brake, Brake::Engaged(_));
        let too_few_since = self.services.get(name).and_then(|service| service.too_few_since);
        let seen_all = self.looking.blind().is_none();
        // While the engine can't be asked nothing new is known to be missing, and nothing to be back.
        let too_few_since = match (count.never_seen > 0, seen_all) {
            (true, true) => too_few_since.or(Some(now)),
            (true, false) => too_few_since,
            (false, _) => None,
        };
        let content = wording::down(policy, &count, wanted, &members);
        let since =
            [count.since, too_few_since].into_iter().flatten().min_by_key(|since| since.awake);
        if let Some(service) = self.services.get_mut(name) {
            service.too_few_since = too_few_since;
        }
        let lasts = since.is_some_and(|since| now.awake.since(since.awake) >= absence::DOWN_AFTER);
        let missing = !count.missing.is_empty() || count.never_seen > 0;
        self.note_down(name, lasts && missing);
        let since = since?;
        deadlines.push(since.awake + absence::DOWN_AFTER);
        let severity = if listed { policy.severity } else { policy.severity.min(Severity::Ticket) };
        // While the brake is on it is told of with all the rest.
        let is_seen = seen_all || !count.missing.is_empty();
        let level = (lasts && missing && !braked && is_seen).then_some(severity);
        Some(Picture::failing(since, level, content))
    }
}
