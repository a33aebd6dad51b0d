//! `defib status`: how things stand, as the running daemon says it.

use crate::{
    operator::client::{self, ClientProblem},
    status::page::page,
};
use std::{
    io::{self, Write},
    path::Path,
};

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    /// All is well: exit code 0.
    Well,
    /// Something needs to be looked at: exit code 1.
    NotWell,
    /// The daemon could not be asked: exit code 2.
    NotAsked(ClientProblem),
}

/// Asks the daemon whose runtime directory this is and writes the answer.
///
/// # Errors
/// Where the answer can't be written.
pub fn status(dir: &Path, json: bool, out: &mut dyn Write) -> io::Result<Outcome> {
    let snapshot = match client::status(dir) {
        Ok(snapshot) => snapshot,
        Err(problem) => return Ok(Outcome::NotAsked(problem)),
    };
    if json {
        super::json::write(&snapshot, out)?;
    } else {
        out.write_all(page(&snapshot).as_bytes())?;
    }
    Ok(if snapshot.is_well() { Outcome::Well } else { Outcome::NotWell })
}
