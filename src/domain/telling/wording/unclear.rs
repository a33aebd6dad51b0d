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

/// `may_be_restarted`: whether nothing that people ordered speaks against a restart of it.
pub(crate) fn ambiguous(
    members: &[&Replica],
    may_be_restarted: impl Fn(&Replica) -> bool,
) -> Content {
    let contested = |replica: &&&Replica| !replica.rivals.is_empty();
    let rivals = |replica: &Replica| {
        let rivals = replica.rivals.iter().map(|rival| format!("`{rival}`"));
        let own = format!("`{}`", replica.policy.name);
        [own].into_iter().chain(rivals).collect::<Vec<_>>().join(" and ")
    };
    let doubles = |replica: &Replica| {
        let names = replica.doubles.values().map(|double| format!("`{}`", double.name));
        names.collect::<Vec<_>>().join(" and ")
    };
    // The younger one is watched, or the one that the config names.
    let watched = |replica: &Replica| {
        let name = replica.inspection.as_ref().map(|known| &known.name);
        name.or(replica.matched_as.as_ref()).cloned().unwrap_or_default()
    };
    let mut lines = Vec::new();
    let mut done = Vec::new();
    let mut next_steps = Vec::new();
    for replica in members {
        let name = &replica.kept.name;
        if !replica.rivals.is_empty() {
            lines.push(format!("{name}: matched by {}", rivals(replica)));
        }
        if !replica.doubles.is_empty() {
            let (watched, doubles) = (watched(replica), doubles(replica));
            lines.push(format!(
                "{name}: by its labels this is `{watched}`, which is watched, and {doubles}, which is not"
            ));
            let what = if may_be_restarted(replica) {
                "watched and may be restarted"
            } else {
                "watched and not restarted"
            };
            done.push(format!("`{watched}` is {what}; {doubles} is left alone"));
        }
    }
    let of_two = members.iter().find(contested);
    if of_two.is_some() {
        done.insert(0, "watched as the first of them, and not restarted: which one speaks for it can't be told".to_owned());
        next_steps.push(
            "narrow the `containers` of one of these services, so that each container has one"
                .to_owned(),
        );
    }
    let twice = members.iter().find(|replica| !replica.doubles.is_empty());
    if twice.is_some() {
        next_steps.push(
            "remove the container that should not be there, or its labels `com.docker.compose.…`"
                .to_owned(),
        );
    }
    let headline = match (of_two, twice.or(members.first())) {
        (Some(replica), _) => format!("{} is matched by {}", replica.kept.name, rivals(replica)),
        (None, Some(replica)) => {
            format!(
                "{} runs twice by its labels, and only one of them is watched",
                replica.kept.name
            )
        }
        (None, None) => String::new(),
    };
    Content {
        headline,
        members: bounded(lines),
        done: bounded(done),
        next_steps,
        ..Content::default()
    }
}
