//! What is said of what can't be judged: it can't be looked at, has never passed, or nobody can say which container is meant.

use super::bounded;
use crate::domain::{
    name::ServiceName, policy::ServicePolicy, telling::incident::Content,
    watching::replica::Replica,
};

pub(crate) fn cannot_evaluate(name: &ServiceName, lines: Vec<String>) -> Content {
    Content {
        headline: format!("{name} can't be evaluated"),
        members: bounded(lines),
        done: vec!["nothing: what could not be looked at is no evidence against it".to_owned()],
        ..Content::default()
    }
}

pub(crate) fn never_passed(policy: &ServicePolicy, lines: Vec<String>) -> Content {
    Content {
        headline: format!("{}: a probe has never passed since it was defined", policy.name),
        members: bounded(lines),
        done: vec!["not restarted: a probe that has never passed may itself be wrong".to_owned()],
        next_steps: vec!["check the probe's port, path and expected status in the config; if they are right, the service has not worked since".to_owned()],
        runbook: policy.runbook.clone(),
        note: policy.note.clone(),
        ..Content::default()
    }
}

pub(crate) fn ambiguous(members: &[&Replica]) -> Content {
    let contested = |replica: &&Replica| !replica.rivals.is_empty();
    let rivals = |replica: &Replica| {
        let rivals = replica.rivals.iter().map(|rival| format!("`{rival}`"));
        let own = format!("`{}`", replica.policy.name);
        [own].into_iter().chain(rivals).collect::<Vec<_>>().join(" and ")
    };
    let container = |replica: &Replica| {
        replica.inspection.as_ref().map_or(String::new(), |known| known.name.clone())
    };
    let lines = members.iter().flat_map(|replica| {
        let by_config = contested(replica)
            .then(|| format!("{}: matched by {}", replica.kept.name, rivals(replica)));
        let doubles = replica.doubles.values().map(|double| {
            format!(
                "{}: by its labels this is `{}`, which is watched, and `{}`, which is not",
                replica.kept.name,
                container(replica),
                double.name
            )
        });
        by_config.into_iter().chain(doubles).collect::<Vec<_>>()
    });
    let members_of = bounded(lines.collect());
    let (headline, done, next) = match members.iter().find(|replica| contested(replica)) {
        Some(replica) => (
            format!("{} is matched by {}", replica.kept.name, rivals(replica)),
            "watched as the first of them, and not restarted: which one speaks for it can't be told",
            "narrow the `containers` of one of these services, so that each container has one",
        ),
        None => (
            format!(
                "{} runs twice by its labels, and only one of them is watched",
                members.first().map(|replica| replica.kept.name.to_string()).unwrap_or_default()
            ),
            "the younger one is watched and may be restarted; the other is left alone",
            "remove the container that should not be there, or its labels `com.docker.compose.…`",
        ),
    };
    Content {
        headline,
        members: members_of,
        done: vec![done.to_owned()],
        next_steps: vec![next.to_owned()],
        ..Content::default()
    }
}
