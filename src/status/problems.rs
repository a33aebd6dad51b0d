//! What is wrong with defib's own surroundings, and what somebody wants so, in words. The log says of the `hold` file the
//! same as the status does.

use super::snapshot::{Beside, RefusedReload};
use crate::{
    domain::{
        RestartsNothing, View,
        moment::{Spoken, WallMs},
    },
    probe::stats::Stats,
};
use std::{path::Path, time::Duration};

/// A schedule that broke down can't be gone on with: what was ordered went with it.
pub(crate) const BROKE_DOWN: &str = "nothing is probed any more: the scheduler of the probes broke down, which is a fault of defib; \
                                     restart it, and please report what its log says";

/// What is wrong with defib's own surroundings.
pub(super) fn problems(view: &View, probing: &Stats, beside: &Beside) -> Vec<String> {
    let mut problems = Vec::new();
    if probing.ended {
        problems.push(BROKE_DOWN.to_owned());
    }
    if let Some((_, why)) = &view.engine_problem {
        problems.push(format!("the container engine can't be asked: {why}"));
    } else if let Some((since, why)) = &view.events_problem {
        let span = Spoken(Duration::from_secs(view.now.awake.since(since.awake).as_secs()));
        problems.push(format!(
            "the engine's event stream has been away for {span}, so nothing is restarted: nobody else who acts would be seen: \
             {why}"
        ));
    }
    if let Some(why) = &view.store_problem {
        problems.push(format!("what is done can't be recorded, so nothing is restarted: {why}"));
    }
    if view.brake {
        problems.push("much fails at once: restarts are held back on this host".to_owned());
    }
    if view.hold_file {
        problems.push(held_by(beside.hold_file.as_deref()));
    }
    if let Some(RefusedReload { since_ms, why }) = &beside.refused_reload {
        let WallMs(now) = view.now.wall;
        let since = Duration::from_millis(u64::try_from(now - since_ms).unwrap_or(0));
        let since = Spoken(Duration::from_secs(since.as_secs()));
        problems.push(format!(
            "the config was not taken when it was read again, and the one of before has held for {since} since: {why}; mend \
             it and send SIGHUP again"
        ));
    }
    problems
}

/// That the `hold` file holds, which file that is, and how to go on.
pub fn held_by(path: Option<&Path>) -> String {
    match path {
        Some(path) => format!(
            "`{}` exists, or can't be looked for: nothing is acted on; if it can't be looked for, the log says why; if it is \
             a directory, it takes rm -r; to go on: rm {}",
            path.display(),
            as_one_word(path)
        ),
        None => "the `hold` file exists, or can't be looked for: nothing is acted on".to_owned(),
    }
}

/// As one word of a shell.
fn as_one_word(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if path.chars().all(is_plain) && !path.starts_with('-') {
        path
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}

/// That nothing is restarted, and how it would be.
pub(super) fn note(nothing: RestartsNothing) -> String {
    match nothing {
        RestartsNothing::NeverAct => {
            "nothing is restarted on this host: the config says `never_act` for it".to_owned()
        }
        RestartsNothing::DryRun => {
            "dry run: nothing is restarted, only what would be is said; to have it done, start `defib run` without --dry-run"
                .to_owned()
        }
        RestartsNothing::NoService => {
            "nothing is restarted: all that is watched has `restart = \"never\"` or `\"dry\"` in the config".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_removed_is_one_word_of_a_shell() {
        for (path, word) in [
            ("/run/defib/hold", "/run/defib/hold"),
            ("/srv/my state/run/hold", "'/srv/my state/run/hold'"),
            ("/srv/it's; reboot/hold", r"'/srv/it'\''s; reboot/hold'"),
            ("-rf/hold", "'-rf/hold'"),
        ] {
            assert_eq!(as_one_word(Path::new(path)), word);
        }
    }
}
