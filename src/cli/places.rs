//! Where state, control socket and `hold` file are, and who says so.
//!
//! Whoever is nearest goes first: the command line, then the config, then the environment, then what is usual. The environment
//! stands behind the config, since a unit's `StateDirectory=` is about what systemd makes and cleans, and says nothing of
//! where this daemon was told to keep its state.
//!
//! Whoever asks a daemon (`defib status`, `touch hold`) has neither its config nor its environment. So of a state directory
//! only one that was typed moves the runtime directory along: it can be typed again. What is overruled is said at the start,
//! else somebody changes it in vain.

use std::{
    ffi::OsString,
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

/// What systemd says of a unit's directories.
#[derive(Clone, Debug, Default)]
pub struct Systemd {
    /// `STATE_DIRECTORY`, by `StateDirectory=`.
    pub state: Option<OsString>,
    /// `RUNTIME_DIRECTORY`, by `RuntimeDirectory=`.
    pub runtime: Option<OsString>,
}

impl Systemd {
    /// What this process was given.
    pub fn of_this_process() -> Self {
        Self {
            state: std::env::var_os("STATE_DIRECTORY"),
            runtime: std::env::var_os("RUNTIME_DIRECTORY"),
        }
    }
}

/// A directory, and what else it could have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which.
    pub path: PathBuf,
    /// Who said so; `None`: nobody.
    by: Option<&'static str>,
    /// Who said otherwise.
    overruled: Vec<(&'static str, PathBuf)>,
}

impl Place {
    /// The first that was said, in the order of who goes first.
    fn first<const N: usize>(said: [(&'static str, Option<PathBuf>); N], usual: &str) -> Self {
        let mut said = said.into_iter().filter_map(|(by, path)| path.map(|path| (by, path)));
        match said.next() {
            None => Self { path: PathBuf::from(usual), by: None, overruled: Vec::new() },
            Some((by, path)) => {
                let overruled = said.filter(|(_, other)| *other != path).collect();
                Self { path, by: Some(by), overruled }
            }
        }
    }

    /// Who is not heeded, a line each.
    pub(super) fn overruled(&self) -> impl Iterator<Item = Overruled<'_>> {
        let by = self.by.unwrap_or_default();
        self.overruled.iter().map(move |(who, path)| Overruled { who, path, by })
    }
}

/// That something was said in vain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overruled<'a> {
    who: &'static str,
    path: &'a Path,
    by: &'static str,
}

impl fmt::Display for Overruled<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} says {}, and {} goes before it", self.who, self.path.display(), self.by)
    }
}

/// Where state is kept.
pub fn state_dir(argument: Option<&Path>, config: Option<&Path>, systemd: &Systemd) -> Place {
    Place::first(
        [
            ("--state-dir", argument.map(Path::to_owned)),
            ("the config's `state.dir`", config.map(Path::to_owned)),
            ("systemd's STATE_DIRECTORY", first_of(systemd.state.as_ref())),
        ],
        "/var/lib/defib",
    )
}

/// Where the control socket and the `hold` file are. Both arguments as typed; the state directory's moves it along.
pub fn runtime_dir(argument: Option<&Path>, state_dir: Option<&Path>, systemd: &Systemd) -> Place {
    let below = state_dir.map(|dir| dir.join("run"));
    // Below the state directory is where it is then, and not what somebody wanted.
    let below = below.filter(|_| argument.is_none());
    Place::first(
        [
            ("--runtime-dir", argument.map(Path::to_owned)),
            ("--state-dir", below),
            ("systemd's RUNTIME_DIRECTORY", first_of(systemd.runtime.as_ref())),
        ],
        "/run/defib",
    )
}

/// A unit may have several, with a colon between them; an empty variable is none.
fn first_of(directories: Option<&OsString>) -> Option<PathBuf> {
    let first = directories?.as_bytes().split(|byte| *byte == b':').next()?;
    (!first.is_empty()).then(|| PathBuf::from(OsString::from_vec(first.to_vec())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn systemd(state: &str, runtime: &str) -> Systemd {
        let said = |text: &str| Some(OsString::from(text));
        Systemd { state: said(state), runtime: said(runtime) }
    }

    #[test]
    fn the_argument_goes_before_the_config_and_that_before_the_environment() {
        let (a, c) = (Some(Path::new("/a")), Some(Path::new("/c")));
        let unit = systemd("/s:/t", "");
        let path = |argument, config, unit: &Systemd| state_dir(argument, config, unit).path;
        assert_eq!(path(a, c, &unit), Path::new("/a"));
        assert_eq!(path(None, c, &unit), Path::new("/c"));
        assert_eq!(path(None, None, &unit), Path::new("/s"), "the first of several");
        assert_eq!(path(None, None, &systemd("", "")), Path::new("/var/lib/defib"));
        assert_eq!(path(None, None, &Systemd::default()), Path::new("/var/lib/defib"));
    }

    #[test]
    fn only_a_state_directory_that_was_typed_moves_the_runtime_directory() {
        let (a, r) = (Some(Path::new("/a")), Some(Path::new("/r")));
        let path = |argument, state, unit: &Systemd| runtime_dir(argument, state, unit).path;
        let unit = systemd("/var/lib/defib", "");
        assert_eq!(path(None, None, &unit), Path::new("/run/defib"), "as `status` finds it");
        assert_eq!(path(None, a, &unit), Path::new("/a/run"));
        assert_eq!(path(r, a, &unit), Path::new("/r"));
        let unit = systemd("", "/run/other");
        assert_eq!(path(None, None, &unit), Path::new("/run/other"));
        assert_eq!(path(None, a, &unit), Path::new("/a/run"), "as `status --state-dir` finds it");
    }

    #[test]
    fn what_is_overruled_is_said() {
        let unit = systemd("/s", "/run/defib");
        let said = |place: &Place| place.overruled().map(|one| one.to_string()).collect::<Vec<_>>();
        assert_eq!(
            said(&state_dir(Some(Path::new("/a")), Some(Path::new("/c")), &unit)),
            [
                "the config's `state.dir` says /c, and --state-dir goes before it",
                "systemd's STATE_DIRECTORY says /s, and --state-dir goes before it",
            ]
        );
        assert_eq!(
            said(&state_dir(None, Some(Path::new("/c")), &unit)),
            ["systemd's STATE_DIRECTORY says /s, and the config's `state.dir` goes before it"]
        );
        let (a, r) = (Some(Path::new("/a")), Some(Path::new("/r")));
        assert_eq!(
            said(&runtime_dir(r, a, &unit)),
            ["systemd's RUNTIME_DIRECTORY says /run/defib, and --runtime-dir goes before it"]
        );
        assert!(said(&state_dir(None, Some(Path::new("/s")), &unit)).is_empty(), "they agree");
        assert!(said(&runtime_dir(None, None, &unit)).is_empty());
    }
}
