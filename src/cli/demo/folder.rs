//! The demo's own folder: for the state, and the simulated engine's socket.

use super::{
    problem::{DemoProblem, system},
    run_id::RunId,
};
use std::{
    fs,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

/// Goes with its scope.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn make(run: &RunId) -> Result<Self, DemoProblem> {
        let path = std::env::temp_dir().join(format!("defib-demo-{run}"));
        let doing = format!("make the folder {}", path.display());
        // Fails where it exists: a folder that somebody else made is not ours to write to.
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(system(&doing))?;
        Ok(Self(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "the demo's folder was left behind");
        }
    }
}
